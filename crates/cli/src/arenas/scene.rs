//! A look at an arena with the names that people know.

use std::collections::HashMap;
use std::fmt;

use ntux_platform::memory::FileId;
use ntux_sync::inspect::why::Fate;
use ntux_sync::inspect::{PeerView, Presence, Snapshot, View, WaiterView};
use ntux_sync::{Object, Result};

use super::processes::{Census, Condition, Descriptor, Process, Thread};

/// What was seen, and what /proc says of it.
pub struct Scene {
    pub file: FileId,
    pub snapshot: Snapshot,
    pub names: Names,
}

/// What /proc says of those who share an arena.
#[derive(Default)]
pub struct Names {
    processes: HashMap<u32, Process>,
    descriptors: HashMap<u64, Vec<Descriptor>>,
    devices: Vec<Descriptor>,
}

/// A thread that has a place, as it is called here if it can be seen, else in its own namespace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Person {
    pub waiter: u32,
    pub pid: Option<u32>,
    pub thread: Option<u32>,
    pub name: Option<String>,
}

impl fmt::Display for Person {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.pid, self.thread) {
            (Some(pid), Some(thread)) => write!(out, "{pid}/{thread}"),
            _ => write!(out, "place {}", self.waiter),
        }
    }
}

impl Names {
    pub fn of(peers: &[PeerView], census: &mut Census) -> Names {
        Names { processes: census.of(peers), ..Names::default() }
    }

    /// Also asks for the descriptors: one file of /proc for each.
    pub fn with_descriptors(mut self, file: FileId) -> Names {
        let mut in_order: Vec<_> = self.processes.values().collect();
        in_order.sort_by_key(|process| process.pid);
        in_order.dedup_by_key(|process| process.pid);
        for (descriptor, object) in in_order.into_iter().flat_map(|process| process.descriptors(file)) {
            match object {
                Some(object) => self.descriptors.entry(object.0).or_default().push(descriptor),
                None => self.devices.push(descriptor),
            }
        }
        self
    }

    /// Takes over the descriptors that were found earlier.
    pub fn with_descriptors_of(self, earlier: Names) -> Names {
        Names { processes: self.processes, ..earlier }
    }

    pub fn process(&self, peer: u32) -> Option<&Process> {
        self.processes.get(&peer)
    }

    pub fn descriptors(&self, object: Object) -> &[Descriptor] {
        self.descriptors.get(&object.0).map_or(&[], Vec::as_slice)
    }

    /// The descriptors of the arena itself that a process has.
    pub fn devices(&self, pid: u32) -> Vec<u32> {
        self.devices.iter().filter(|device| device.pid == pid).map(|device| device.fd).collect()
    }
}

impl Scene {
    /// Errors: those of [`View::snapshot`].
    pub fn of(view: &View, census: &mut Census) -> Result<Scene> {
        let (snapshot, file) = (view.snapshot()?, view.file());
        let names = Names::of(&snapshot.peers, census).with_descriptors(file);
        Ok(Scene { file, snapshot, names })
    }

    /// The number of a peer here, or in its own namespace if it cannot be seen.
    pub fn pid(&self, peer: u32) -> Option<u32> {
        let here = self.names.process(peer).map(|process| process.pid);
        here.or_else(|| self.snapshot.peer(peer).map(|peer| peer.process.pid))
    }

    pub fn person(&self, waiter: u32) -> Person {
        let Some(place) = self.snapshot.waiter(waiter) else {
            return Person { waiter, pid: None, thread: None, name: None };
        };
        let known = self.thread(waiter);
        Person {
            waiter,
            pid: self.pid(place.peer),
            thread: known.map(|thread| thread.number).or(number(place)),
            name: known.map(|thread| thread.name.clone()),
        }
    }

    fn thread(&self, waiter: u32) -> Option<&Thread> {
        let place = self.snapshot.waiter(waiter)?;
        self.names.process(place.peer)?.thread(number(place)?)
    }
}

/// The number of the thread that has a place; Linux gives none that is longer.
fn number(place: &WaiterView) -> Option<u32> {
    u32::try_from(place.thread?).ok()
}

/// What /proc says of the threads that have places.
pub fn fates(snapshot: &Snapshot, names: &Names) -> HashMap<u32, Fate> {
    let fate = |peer: u32, thread: u32| match snapshot.peer(peer)?.presence {
        Presence::Dead => Some(Fate::Gone),
        Presence::Alive | Presence::Unknown => Some(match names.process(peer)?.condition(thread)? {
            Condition::There => Fate::There,
            Condition::Stopped => Fate::Stopped,
            Condition::Gone => Fate::Gone,
        }),
    };
    let waiters = snapshot.waiters.iter();
    waiters.filter_map(|waiter| Some((waiter.index, fate(waiter.peer, number(waiter)?)?))).collect()
}

/// The lower half of an object's number.
pub fn slot_of(object: Object) -> u32 {
    object.0 as u32
}

/// A thread chooses its own name: what would steer the terminal is left out.
pub fn printable(name: &str) -> String {
    name.chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}
