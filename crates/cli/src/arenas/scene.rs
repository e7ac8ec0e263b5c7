// SPDX-License-Identifier: MIT OR Apache-2.0
//! A snapshot of an arena, with the names that people know.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::time::Duration;

use ntux_platform::clock::{self, Deadline};
use ntux_platform::memory::FileId;
use ntux_sync::inspect::why::{Case, Fate};
use ntux_sync::inspect::{LastBy, PeerView, Presence, Snapshot, Value, View, WaitState, WaiterView, WakeView};
use ntux_sync::{Object, Result};
use serde::Serialize;

use crate::printable::printable;

use super::asleep::sleeps_on_its_word;
use super::handles::{self, Win32Object};
use super::memory::Memory;
use super::proc;
use super::processes::{Descriptor, PeerProcesses, Process, Thread, WINESERVER};
use super::shown::{Shown, WindowsObject};

/// What was seen, and what /proc says of it.
pub struct Scene {
    pub file: FileId,
    pub snapshot: Snapshot,
    pub names: Names,
    /// When it was seen, on the clock of the arena's notes.
    now: u64,
    /// The last wake that each object has sent.
    wakes: HashMap<Object, WakeView>,
    /// The arena is that of a Wine, whose server takes part.
    is_of_wine: bool,
    /// What that server shows of its objects, looked for when it is needed.
    shown: OnceCell<Option<Shown>>,
    /// What native programs have behind their handles, if that was asked for.
    handled: HashMap<Object, Win32Object>,
}

/// What /proc says of the processes that share an arena.
#[derive(Default)]
pub struct Names {
    processes: HashMap<u32, Process>,
    descriptors: HashMap<u64, Vec<Descriptor>>,
    devices: Vec<Descriptor>,
}

/// How the number that owns a mutex is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Owners {
    #[default]
    Numbers,
    /// In an arena of Wine the number is that of a Windows thread. Wine's logs write it so.
    WindowsThreads,
}

impl Owners {
    pub fn text(self, owner: u32) -> String {
        match self {
            // One that the arena has given out says its place in its lowest bits.
            Owners::Numbers if owner >> 31 == 1 => format!("owner {owner:#x}"),
            Owners::Numbers => format!("owner {owner}"),
            Owners::WindowsThreads => format!("thread {owner:04x}"),
        }
    }
}

/// A thread that has a place, as it is called here if it can be seen, else in its own namespace.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Person {
    pub waiter: u32,
    pub pid: Option<u32>,
    pub thread: Option<u32>,
    pub name: Option<String>,
}

impl Person {
    /// Its numbers, and its name if that is known.
    pub fn text(&self) -> String {
        format!("{self}{}", self.name.as_deref().map_or(String::new(), |name| format!(" {}", printable(name))))
    }
}

impl fmt::Display for Person {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.pid, self.thread) {
            (Some(pid), Some(thread)) => write!(out, "{pid}/{thread}"),
            _ => write!(out, "place {}", self.waiter),
        }
    }
}

/// A process that created an object.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Creator {
    /// Its number here, if it can be seen from here; else in its own namespace.
    pub pid: u32,
    pub name: Option<String>,
    pub ended: bool,
}

impl Creator {
    /// Then nothing is said by that: it makes all objects of its prefix.
    pub fn is_wineserver(&self) -> bool {
        self.name.as_deref().is_some_and(|name| name.starts_with(WINESERVER))
    }
}

impl fmt::Display for Creator {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name.as_deref().map_or(String::new(), |name| format!(" {}", printable(name)));
        write!(out, "{}{name}{}", self.pid, if self.ended { ", which has ended" } else { "" })
    }
}

/// A thread that signaled an object, or acquired a mutex.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Doer {
    /// Both as they are here, if its process can be seen from here. None: unknown.
    pub pid: Option<u32>,
    pub thread: u32,
    pub name: Option<String>,
    pub ended: bool,
}

impl fmt::Display for Doer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pid {
            Some(pid) => write!(out, "{pid}/{}", self.thread)?,
            None => write!(out, "thread {}", self.thread)?,
        }
        let name = self.name.as_deref().map_or(String::new(), |name| format!(" {}", printable(name)));
        write!(out, "{name}{}", if self.ended { ", which has ended" } else { "" })
    }
}

impl Names {
    pub fn of(peers: &[PeerView], peer_processes: &mut PeerProcesses) -> Names {
        Names { processes: peer_processes.of(peers), ..Names::default() }
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

    /// Takes no thread for stopped that was not at an earlier look, or has run since.
    pub fn without_moments_since(mut self, earlier: &Names) -> Names {
        for (peer, process) in &mut self.processes {
            if let Some(before) = earlier.processes.get(peer) {
                process.forget_moments(before);
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
    /// Errors: `Os`, see [`View::snapshot`].
    pub fn new(view: &View, names: Names) -> Result<Scene> {
        let (snapshot, now) = (view.snapshot()?, clock::monotonic_ns());
        let mut scene = Scene {
            file: view.file(),
            snapshot,
            names: Names::default(),
            now,
            wakes: HashMap::new(),
            is_of_wine: false,
            shown: OnceCell::new(),
            handled: HashMap::new(),
        };
        scene.know(names);
        Ok(scene)
    }

    /// Takes the names over, and with them the clocks of the processes. To be called once, if [`Scene::new`] got no names.
    pub fn know(&mut self, names: Names) {
        self.names = names;
        let is_of_wine = self.processes().any(Process::is_wineserver);
        self.is_of_wine = is_of_wine;
        let Scene { snapshot, names, wakes, .. } = self;
        snapshot.on_clock_of_caller(|peer| names.process(peer).map_or(0, |process| process.clock_ahead_ns));
        wakes.clear();
        for wake in &snapshot.wakes {
            let Some(object) = wake.object else { continue };
            let last = wakes.entry(object).or_insert(*wake);
            *last = if last.at < wake.at { *wake } else { *last };
        }
    }

    /// It is a copy: its processes may be gone, their numbers belong to others, and its time is that of its last note.
    pub fn is_of_another_time(&mut self) {
        let times = self.snapshot.waiters.iter().filter_map(|waiter| waiter.asleep_since);
        self.now = times.chain(self.snapshot.wakes.iter().map(|wake| wake.at)).max().unwrap_or(0);
        self.snapshot.peers.iter_mut().for_each(|peer| peer.presence = Presence::Unknown);
    }

    /// The processes that take part and can be seen.
    pub fn processes(&self) -> impl Iterator<Item = &Process> {
        self.snapshot.peers.iter().filter_map(|peer| self.names.process(peer.index))
    }

    /// Returns true if the arena is that of a Wine, whose server takes part.
    pub fn is_of_wine(&self) -> bool {
        self.is_of_wine
    }

    /// What the server of a Wine shows of an object. None: nothing, or there is no such server.
    pub fn windows_object(&self, object: Object) -> Option<WindowsObject> {
        let server = || self.processes().find(|process| process.is_wineserver());
        let shown = self.shown.get_or_init(|| Shown::of(server()?.pid)).as_ref()?.object(object)?;
        let program = self.processes().find(|process| process.pid == shown.pid).map(|process| process.name.clone());
        Some(WindowsObject { program, ..shown })
    }

    /// Also reads what native programs have behind their handles, from their memory. Returns the processes that may not be traced.
    pub fn read_handles(&mut self) -> Vec<u32> {
        if self.is_of_wine {
            return Vec::new();
        }
        let mut pids: Vec<u32> = self.processes().map(|process| process.pid).collect();
        pids.sort_unstable();
        pids.dedup();
        let mut unread = Vec::new();
        for pid in pids {
            match Memory::of(pid) {
                Some(memory) => self.learn_handles(pid, handles::objects(&memory, pid)),
                None if proc::is_there(&format!("/proc/{pid}")) => unread.push(pid),
                None => {}
            }
        }
        unread
    }

    /// What the creator of an object says of it counts: a child has copies of what its parent knew.
    fn learn_handles(&mut self, pid: u32, objects: Vec<(Object, Win32Object)>) {
        for (object, told) in objects {
            let is_creator = self.creator(object).is_some_and(|creator| creator.pid == pid);
            if is_creator || !self.handled.contains_key(&object) {
                self.handled.insert(object, told);
            }
        }
    }

    /// What a native program has behind its handles of this object. None: unknown, or that was not asked for.
    pub fn win32_object(&self, object: Object) -> Option<Win32Object> {
        let told = self.handled.get(&object)?;
        let thread_text = told.thread.map(|thread| self.thread_here(told.pid, thread));
        Some(Win32Object { thread_text, ..told.clone() })
    }

    pub fn owners(&self) -> Owners {
        if self.is_of_wine { Owners::WindowsThreads } else { Owners::Numbers }
    }

    /// For how many seconds a thread has slept in its wait.
    pub fn asleep_s(&self, waiter: &WaiterView) -> Option<f64> {
        waiter.asleep_since.map(|since| self.ago_s(since))
    }

    /// How many seconds ago that was.
    pub fn ago_s(&self, ns: u64) -> f64 {
        Duration::from_nanos(self.now.saturating_sub(ns)).as_secs_f64()
    }

    /// In how many seconds a wait ends by itself. None: it does not, or it does not sleep.
    pub fn ends_in_s(&self, waiter: &WaiterView) -> Option<f64> {
        let left = match waiter.deadline? {
            Deadline::Never => return None,
            Deadline::Monotonic(ns) => ns.saturating_sub(self.now),
            Deadline::Realtime(ns) => ns.saturating_sub(clock::realtime_ns()),
        };
        Some(Duration::from_nanos(left).as_secs_f64())
    }

    /// The last wake that an object has sent to anybody.
    pub fn last_wake(&self, object: Object) -> Option<WakeView> {
        self.wakes.get(&object).copied()
    }

    /// The name of the thread that has done something, as far as that is known.
    pub fn name_of(&self, by: LastBy) -> Option<String> {
        self.doer_of(by).map(|doer| Doer { ended: false, ..doer }.to_string())
    }

    /// A thread of this machine, with its name if it takes part.
    pub fn thread_here(&self, pid: u32, thread: u32) -> String {
        let mut processes = self.names.processes.values();
        let known = processes.find(|process| process.pid == pid).and_then(|process| process.thread(thread));
        format!("{pid}/{thread}{}", known.map_or(String::new(), |thread| format!(" {}", printable(&thread.name))))
    }

    /// The process that created an object, as far as that is known.
    pub fn creator(&self, object: Object) -> Option<Creator> {
        let seen = self.snapshot.seen(object)?;
        let peer = self.snapshot.peer(seen.creator?)?;
        let name = self.names.process(peer.index).map(|process| process.name.clone());
        Some(Creator { pid: self.pid(peer.index)?, name, ended: peer.presence == Presence::Dead })
    }

    /// The thread that signaled an object last, or acquired a mutex last, as far as that is known.
    pub fn doer(&self, object: Object) -> Option<Doer> {
        let seen = self.snapshot.seen(object)?;
        self.doer_of(seen.last_by)
    }

    fn doer_of(&self, by: LastBy) -> Option<Doer> {
        let LastBy::Thread { peer, thread } = by else { return None };
        let known = peer.and_then(|peer| self.names.process(peer)?.thread(thread));
        let fate = peer.and_then(|peer| fate(&self.snapshot, &self.names, peer, thread));
        Some(Doer {
            pid: peer.and_then(|peer| self.pid(peer)),
            thread: known.map_or(thread, |known| known.number),
            name: known.map(|known| known.name.clone()),
            ended: fate == Some(Fate::Gone),
        })
    }

    /// Returns true if nobody has signaled, or acquired, an object since it was created.
    pub fn is_new(&self, object: Object) -> bool {
        let seen = self.snapshot.seen(object);
        seen.is_some_and(|seen| seen.last_by == LastBy::Nobody)
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

/// What /proc says of threads.
#[derive(Clone, Default)]
pub struct Fates {
    /// Fates of the threads that have places.
    places: HashMap<u32, Fate>,
    /// Fates of the threads that acquired mutexes for which somebody waits, by peer and number.
    takers: HashMap<(u32, u32), Fate>,
    /// The places whose threads are given what they wait for and not known to be woken, and do not sleep on their words.
    awake: HashSet<u32>,
}

impl Fates {
    pub fn of(snapshot: &Snapshot, names: &Names) -> Fates {
        let place = |waiter: &WaiterView| Some((waiter.index, fate(snapshot, names, waiter.peer, number(waiter)?)?));
        let places = snapshot.waiters.iter().filter_map(place).collect();
        let mut fates = Fates { places, ..Fates::default() };
        for object in &snapshot.objects {
            let LastBy::Thread { peer: Some(peer), thread } = object.last_by else { continue };
            let is_of_interest = matches!(object.value, Value::Mutex(_)) && object.waiting().next().is_some();
            if is_of_interest && !fates.takers.contains_key(&(peer, thread)) {
                fates.takers.extend(fate(snapshot, names, peer, thread).map(|fate| ((peer, thread), fate)));
            }
        }
        fates
    }

    /// Also asks which threads do not sleep of those that seem to: some files of /proc for each.
    pub fn with_awake(mut self, view: &View, snapshot: &Snapshot, names: &Names) -> Fates {
        let is_owed = |waiter: &&WaiterView| matches!(waiter.state, WaitState::Satisfied { owed: true, .. });
        let is_awake = |waiter: &&WaiterView| {
            let process = names.process(waiter.peer);
            let sleeps = process
                .zip(number(waiter))
                .and_then(|(process, own)| sleeps_on_its_word(process, own, view, waiter.index));
            sleeps == Some(false)
        };
        self.awake = snapshot.waiters.iter().filter(is_owed).filter(is_awake).map(|waiter| waiter.index).collect();
        self
    }

    pub fn case<'a>(&self, before: &'a Snapshot, after: &'a Snapshot) -> Case<'a> {
        Case::new(before, after, self.places.clone()).with_takers(self.takers.clone()).with_awake(self.awake.clone())
    }
}

fn fate(snapshot: &Snapshot, names: &Names, peer: u32, thread: u32) -> Option<Fate> {
    match snapshot.peer(peer)?.presence {
        Presence::Dead => Some(Fate::Gone),
        Presence::Alive | Presence::Unknown => names.process(peer)?.fate(thread),
    }
}

/// A time in six columns.
pub fn long(seconds: f64) -> String {
    rounded(seconds, f64::round)
}

/// A time in six columns, rounded down.
pub fn long_at_least(seconds: f64) -> String {
    rounded(seconds, f64::floor)
}

/// A time in six columns, rounded up.
pub fn long_at_most(seconds: f64) -> String {
    rounded(seconds, f64::ceil)
}

fn rounded(seconds: f64, round: impl Fn(f64) -> f64) -> String {
    match seconds {
        0.0..100.0 => format!("{:.1}s", round(seconds * 10.0) / 10.0),
        100.0..6_000.0 => format!("{}m", round(seconds / 60.0)),
        6_000.0..360_000.0 => format!("{}h", round(seconds / 3_600.0)),
        _ => format!("{}d", round(seconds / 86_400.0)),
    }
}

/// How often a mutex is owned.
pub fn times(count: u32) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}
