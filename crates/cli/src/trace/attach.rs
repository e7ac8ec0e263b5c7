// SPDX-License-Identifier: MIT OR Apache-2.0
//! The arenas of a program and of the processes that it starts, and what their threads report.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ntux_platform::clock;
use ntux_platform::command::others::open_regular;
use ntux_platform::memory::{self, Caller};
use ntux_sync::Error;
use ntux_sync::inspect::{Snapshot, View, WaitState, WaiterView};
use ntux_sync::trace::{Event, Tracer};

use super::names::Objects;
use super::waits::{NO_OBJECT, Seen};
use crate::arenas::handles;
use crate::arenas::memory::Memory;
use crate::arenas::proc;
use crate::arenas::processes::PeerProcesses;
use crate::arenas::tables::{is_shared_memory, mapped_arenas, shared_memory};

/// How long threads continue to report after the tracer was killed. They fall silent, too, if it gets no processor for as long; a program
/// that hands its arena over asks for as long.
pub const LEASE: Duration = Duration::from_secs(10);
/// How often to search for arenas.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How often the kinds of unknown objects are looked up at most.
const NAME_EVERY: Duration = Duration::from_millis(100);
/// The time since when a thread waits is noted too early by this at most.
const TOO_EARLY_NS: u64 = 10_000_000;

/// An arena that is traced.
pub struct Traced {
    inode: u64,
    tracer: Tracer,
    view: View,
    pub objects: Objects,
    named: Option<Instant>,
    /// Whose memory is read for what they have behind their handles, if that was asked for.
    programs: Option<PeerProcesses>,
}

impl Traced {
    /// Opens the arena behind a descriptor that can be read. None: it is no arena. Only an arena is opened to write: other memory is not
    /// ours to write to, and a program that is executed from it would be refused meanwhile.
    fn open(file: BorrowedFd<'_>, asked: Asked) -> Result<Option<Traced>, String> {
        let attach = if asked.from_start { Tracer::attach_to_the_past } else { Tracer::attach };
        let view = match View::open(file) {
            Ok(view) => view,
            Err(Error::NotAnArena) => return Ok(None),
            Err(error) => return Err(error.to_string()),
        };
        let writable = memory::reopen(file, view.file(), Caller::AnyThread).map_err(|error| error.to_string())?;
        let tracer = attach(writable.as_fd()).map_err(|error| error.to_string())?;
        let inode = view.file().inode;
        let programs = asked.memory.then(PeerProcesses::default);
        Ok(Some(Traced { inode, tracer, view, objects: Objects::default(), named: None, programs }))
    }

    /// Makes threads continue to report.
    pub fn renew(&self) {
        self.tracer.keep_on(LEASE.as_nanos() as u64);
    }

    /// Returns true if threads have stopped reporting since this time, because this process was late: also before it had come, to a program
    /// that had asked its threads to report until then.
    pub fn is_silent(&self, after_ns: u64) -> bool {
        self.tracer.silent_since().is_some_and(|since| since >= after_ns)
    }

    /// Makes threads stop reporting.
    pub fn stop(&self) {
        self.tracer.stop();
    }

    /// Appends what was reported since the last time.
    pub fn read(&mut self, events: &mut Vec<Event>) {
        self.tracer.read(events);
    }

    /// Returns whether an event is still due; it comes within a second or not at all.
    pub fn is_behind(&self) -> bool {
        self.tracer.is_behind()
    }

    pub fn lost(&self) -> u64 {
        self.tracer.lost()
    }

    /// The threads that wait now, dead or alive.
    pub fn who_waits(&self) -> Seen {
        let at_ns = clock::monotonic_ns();
        let waits = |state| matches!(state, WaitState::Queueing | WaitState::Waiting | WaitState::Died);
        let who = |waiter: &WaiterView| waiter.thread.filter(|_| waits(waiter.state)).map(|thread| thread as u32);
        let waiting = self.view.snapshot().map(|snapshot| snapshot.waiters.iter().filter_map(who).collect());
        Seen { at_ns, waiting: waiting.unwrap_or_default() }
    }

    /// How many threads have waited since before that time.
    pub fn wait_since_before(&self, ns: u64) -> usize {
        let is_earlier = |waiter: &&WaiterView| waiter.asleep_since.is_some_and(|since| since + TOO_EARLY_NS < ns);
        self.view.snapshot().map_or(0, |snapshot| snapshot.waiting().filter(is_earlier).count())
    }

    /// Learns what an object is, unless that was tried just now.
    pub fn learn(&mut self, slot: u32) {
        if slot == NO_OBJECT
            || self.objects.is_looked_up(slot)
            || self.named.is_some_and(|before| before.elapsed() < NAME_EVERY)
        {
            return;
        }
        if let Ok(snapshot) = self.view.snapshot() {
            self.objects.learn(&snapshot);
            self.learn_handles(&snapshot);
            self.objects.give_up(slot);
        }
        self.named = Some(Instant::now());
    }

    fn learn_handles(&mut self, snapshot: &Snapshot) {
        let Some(programs) = &mut self.programs else { return };
        let mut pids: Vec<u32> = programs.of(&snapshot.peers).values().map(|process| process.pid).collect();
        pids.sort_unstable();
        pids.dedup();
        for pid in pids {
            let told = Memory::of(pid).map(|memory| handles::objects(&memory, pid)).unwrap_or_default();
            told.iter().for_each(|(object, told)| self.objects.learn_handle(object.index(), told));
        }
    }
}

/// What is wanted of arenas.
#[derive(Clone, Copy)]
pub struct Asked {
    /// What was reported before this process attached counts, too.
    pub from_start: bool,
    /// The memory of native programs is read for what they have behind their handles.
    pub memory: bool,
}

/// All arenas of a process and of its children.
pub struct Arenas {
    process: u32,
    asked: Asked,
    pub traced: Vec<Traced>,
    /// What was looked into, arena or not.
    inodes: BTreeSet<u64>,
    looked: Option<Instant>,
    /// Why an arena that was found cannot be traced.
    pub trouble: Option<String>,
}

impl Arenas {
    pub fn of(process: u32, asked: Asked) -> Arenas {
        Arenas { process, asked, traced: Vec::new(), inodes: BTreeSet::new(), looked: None, trouble: None }
    }

    /// Looks for new arenas, if it is time to. Before there is one, in the program itself always, and first: it may soon have ended.
    pub fn look(&mut self) {
        let is_due = self.looked.is_none_or(|before| before.elapsed() >= LOOK_EVERY);
        if is_due || self.traced.is_empty() {
            self.look_at(self.process);
        }
        if is_due {
            descendants(self.process).into_iter().for_each(|process| self.look_at(process));
            self.looked = Some(Instant::now());
        }
    }

    fn look_at(&mut self, process: u32) {
        shared_memory(process).unwrap_or_default().iter().for_each(|path| self.meet(path));
        for mapping in mapped_arenas(process) {
            if !self.inodes.contains(&mapping.inode) {
                self.meet(&mapping.path);
            }
        }
    }

    /// Takes an arena that a process has handed over, unless it is one already, or none.
    pub fn take(&mut self, handed: &OwnedFd) {
        let path = PathBuf::from(format!("/proc/thread-self/fd/{}", handed.as_raw_fd()));
        let Ok(metadata) = fs::metadata(&path) else { return };
        if !is_shared_memory(&path) || self.traced.iter().any(|traced| traced.inode == metadata.ino()) {
            return;
        }
        // It may have been looked into before it was an arena.
        self.inodes.remove(&metadata.ino());
        self.meet(&path);
    }

    fn meet(&mut self, path: &Path) {
        let Ok(metadata) = fs::metadata(path) else { return };
        if !self.inodes.insert(metadata.ino()) {
            return;
        }
        let opened = open_regular(path).map_err(|error| error.to_string());
        match opened.and_then(|file| file.map_or(Ok(None), |file| Traced::open(file.as_fd(), self.asked))) {
            Ok(traced) => self.traced.extend(traced),
            Err(error) => self.trouble = Some(error),
        }
    }
}

/// All processes that descend from one.
fn descendants(process: u32) -> Vec<u32> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for pid in proc::processes() {
        if let Some(parent) = proc::parent(pid) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let (mut found, mut next) = (children.remove(&process).unwrap_or_default(), 0);
    while let Some(&pid) = found.get(next) {
        found.extend(children.remove(&pid).unwrap_or_default());
        next += 1;
    }
    found
}

#[cfg(test)]
#[path = "../../tests/unit/trace/attach.rs"]
mod tests;
