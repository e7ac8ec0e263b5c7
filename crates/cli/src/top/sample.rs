// SPDX-License-Identifier: MIT OR Apache-2.0
//! Successive snapshots, and what has changed between them.

use std::collections::{HashMap, HashSet};
use std::io;
use std::time::{Duration, Instant};

use ntux_sync::Object;
use ntux_sync::inspect::why::{Case, Finding};
use ntux_sync::inspect::{Snapshot, WaiterView};

use crate::arenas::examine::rates;
use crate::arenas::find::{self, Found, Opened};
use crate::arenas::processes::PeerProcesses;
use crate::arenas::scene::{Fates, Names, Scene};

/// Snapshots from one search for new arenas, and for the names of descriptors, to the next.
const SEARCH: u32 = 5;

/// Arenas that are watched.
pub struct Watch {
    pub arenas: Vec<Watched>,
    /// Processes that the user may not inspect.
    pub hidden: usize,
    /// New ones are looked for.
    searches: bool,
    looks: u32,
    last: Option<Instant>,
    peer_processes: PeerProcesses,
}

/// An arena that is watched.
pub struct Watched {
    opened: Opened,
    before: Option<Snapshot>,
    pub scene: Option<Scene>,
    fates: Fates,
    /// Changes per second, for each object of the last snapshot.
    pub rates: Vec<f64>,
    /// Queues that were not empty, by object.
    queues: HashMap<Object, Queue>,
    /// By place and thread.
    sleeps: HashMap<(u32, u64), Sleep>,
    looks: u32,
    pub is_deadlocked: bool,
}

/// The length of a queue, summed over the snapshots.
#[derive(Clone, Copy, Default)]
struct Queue {
    sum: usize,
    /// The number of snapshots before it was first seen.
    first: u32,
}

/// How often a thread was seen asleep in a wait.
#[derive(Clone, Copy, Default)]
struct Sleep {
    looks: u32,
    asleep: u32,
}

impl Watch {
    pub fn new(arenas: Vec<Opened>, hidden: usize, searches: bool) -> Watch {
        let arenas = arenas.into_iter().map(Watched::new).collect();
        Watch { arenas, hidden, searches, looks: 0, last: None, peer_processes: PeerProcesses::default() }
    }

    /// Looks at everything once more.
    pub fn look(&mut self) -> io::Result<()> {
        if self.searches && self.looks > 0 && self.looks.is_multiple_of(SEARCH) {
            self.search();
        }
        let now = Instant::now();
        let elapsed = self.last.replace(now).map(|last| now - last);
        for arena in &mut self.arenas {
            arena
                .look(&mut self.peer_processes, elapsed)
                .map_err(|error| io::Error::from_raw_os_error(error.errno()))?;
        }
        self.looks += 1;
        Ok(())
    }

    /// Adds arenas that are new, and leaves out those that nobody has any more.
    fn search(&mut self) {
        self.peer_processes = PeerProcesses::default();
        let Found { arenas: found, hidden, .. } = find::everywhere();
        self.hidden = hidden;
        let inodes: HashSet<u64> = found.iter().map(|opened| opened.view.file().inode).collect();
        self.arenas.retain(|arena| inodes.contains(&arena.opened.view.file().inode));
        let known: HashSet<u64> = self.arenas.iter().map(|arena| arena.opened.view.file().inode).collect();
        let new = found.into_iter().filter(|opened| !known.contains(&opened.view.file().inode));
        self.arenas.extend(new.map(Watched::new));
    }
}

impl Watched {
    fn new(opened: Opened) -> Watched {
        Watched {
            opened,
            before: None,
            scene: None,
            fates: Fates::default(),
            rates: Vec::new(),
            queues: HashMap::new(),
            sleeps: HashMap::new(),
            looks: 0,
            is_deadlocked: false,
        }
    }

    fn look(&mut self, peer_processes: &mut PeerProcesses, elapsed: Option<Duration>) -> ntux_sync::Result<()> {
        let file = self.opened.view.file();
        let old = self.scene.take();
        // /proc is read before the snapshot: see `why`.
        let (before, known) = old.map_or((None, None), |old| (Some(old.snapshot), Some(old.names)));
        let is_copy = self.opened.is_copy;
        let mut names = before
            .as_ref()
            .filter(|_| !is_copy)
            .map(|before| Names::of(&before.peers, peer_processes))
            .unwrap_or_default();
        let mut scene = Scene::new(&self.opened.view, Names::default())?;
        if is_copy {
            scene.is_of_another_time();
        } else if before.is_none() {
            names = Names::of(&scene.snapshot.peers, peer_processes);
        }
        names = match known {
            Some(known) if !self.looks.is_multiple_of(SEARCH) => names.with_descriptors_of(known),
            _ if is_copy => names,
            _ => names.with_descriptors(file),
        };
        self.fates = before.as_ref().filter(|_| !is_copy).map(|before| Fates::of(before, &names)).unwrap_or_default();
        scene.know(names);
        self.rates = rates(before.as_ref(), &scene.snapshot, elapsed);
        self.count_queues(&scene.snapshot);
        self.count_sleeps(&scene.snapshot);
        self.before = before;
        self.scene = Some(scene);
        self.looks += 1;
        let findings = self.case().map(|case| case.findings()).unwrap_or_default();
        self.is_deadlocked = findings.iter().any(|finding| matches!(finding, Finding::Deadlock { .. }));
        Ok(())
    }

    /// Returns the last two snapshots, or None before the second.
    pub fn case(&self) -> Option<Case<'_>> {
        Some(self.fates.case(self.before.as_ref()?, &self.scene.as_ref()?.snapshot))
    }

    fn count_queues(&mut self, snapshot: &Snapshot) {
        let mut queues = HashMap::new();
        for object in &snapshot.objects {
            let length = object.waiting().count();
            let fresh = Queue { sum: 0, first: self.looks };
            let mut queue = self.queues.get(&object.object).copied().unwrap_or(fresh);
            queue.sum += length;
            if queue.sum > 0 {
                queues.insert(object.object, queue);
            }
        }
        self.queues = queues;
    }

    /// Returns how many threads have waited for an object on average, since the first one did.
    pub fn average_queue(&self, object: Object) -> f64 {
        let queue = self.queues.get(&object).copied().unwrap_or_default();
        queue.sum as f64 / f64::from((self.looks - queue.first).max(1))
    }

    fn count_sleeps(&mut self, snapshot: &Snapshot) {
        let mut sleeps = HashMap::new();
        for waiter in &snapshot.waiters {
            let Some(thread) = waiter.thread else { continue };
            let key = (waiter.index, thread);
            let mut sleep = self.sleeps.get(&key).copied().unwrap_or_default();
            sleep.looks += 1;
            sleep.asleep += u32::from(snapshot.waits(waiter));
            sleeps.insert(key, sleep);
        }
        self.sleeps = sleeps;
    }

    /// Returns the share of the snapshots in which a thread waited.
    pub fn share_asleep(&self, waiter: &WaiterView) -> f64 {
        let sleep = waiter.thread.and_then(|thread| self.sleeps.get(&(waiter.index, thread)));
        sleep.map_or(0.0, |sleep| f64::from(sleep.asleep) / f64::from(sleep.looks.max(1)))
    }
}
