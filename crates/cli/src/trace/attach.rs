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
use ntux_sync::inspect::{View, WaitState, WaiterView};
use ntux_sync::trace::{Event, Tracer};

use super::names::Objects;
use super::waits::Seen;
use crate::arenas::proc;
use crate::arenas::tables::{is_shared_memory, shared_memory};

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
}

impl Traced {
    /// Opens the arena behind a descriptor that can be read. None: it is no arena. Only an arena is opened to write: other memory is not
    /// ours to write to, and a program that is executed from it would be refused meanwhile.
    fn open(file: BorrowedFd<'_>, from_start: bool) -> Result<Option<Traced>, String> {
        let attach = if from_start { Tracer::attach_to_the_past } else { Tracer::attach };
        let view = match View::open(file) {
            Ok(view) => view,
            Err(Error::NotAnArena) => return Ok(None),
            Err(error) => return Err(error.to_string()),
        };
        let writable = memory::reopen(file, view.file(), Caller::AnyThread).map_err(|error| error.to_string())?;
        let tracer = attach(writable.as_fd()).map_err(|error| error.to_string())?;
        let inode = view.file().inode;
        Ok(Some(Traced { inode, tracer, view, objects: Objects::default(), named: None }))
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
        if self.objects.is_known(slot) || self.named.is_some_and(|before| before.elapsed() < NAME_EVERY) {
            return;
        }
        if let Ok(snapshot) = self.view.snapshot() {
            self.objects.learn(&snapshot);
        }
        self.named = Some(Instant::now());
    }
}

/// All arenas of a process and of its children.
pub struct Arenas {
    process: u32,
    from_start: bool,
    pub traced: Vec<Traced>,
    /// What was looked into, arena or not.
    inodes: BTreeSet<u64>,
    looked: Option<Instant>,
    /// Why an arena that was found cannot be traced.
    pub trouble: Option<String>,
}

impl Arenas {
    /// `from_start`: what was reported before this process attached counts, too.
    pub fn of(process: u32, from_start: bool) -> Arenas {
        Arenas { process, from_start, traced: Vec::new(), inodes: BTreeSet::new(), looked: None, trouble: None }
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
        match opened.and_then(|file| file.map_or(Ok(None), |file| Traced::open(file.as_fd(), self.from_start))) {
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
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Write;

    /// How an arena begins.
    const MAGIC: &[u8; 8] = b"ntuxsync";

    fn handed(file: impl Into<OwnedFd>) -> OwnedFd {
        file.into()
    }

    #[test]
    fn what_is_handed_over_is_taken_once_if_it_is_an_arena() {
        let mut arenas = Arenas::of(std::process::id(), true);
        let arena = ntux_sync::Arena::create_file(ntux_sync::Capacity { objects: 16, waiters: 16 }).unwrap();
        let to_read_only = File::open(format!("/proc/self/fd/{}", arena.as_raw_fd())).unwrap();
        for _ in 0..2 {
            arenas.take(&arena);
            arenas.take(&handed(arena.try_clone().unwrap()));
            arenas.take(&handed(to_read_only.try_clone().unwrap()));
        }
        assert_eq!(arenas.traced.len(), 1);
        // What was looked into too early is looked into again.
        let late = ntux_sync::Arena::create_file(ntux_sync::Capacity { objects: 16, waiters: 16 }).unwrap();
        arenas.inodes.insert(File::from(late.try_clone().unwrap()).metadata().unwrap().ino());
        arenas.take(&late);
        assert_eq!((arenas.traced.len(), arenas.trouble), (2, None));
    }

    /// As if neither the program nor the tracer had got a processor for longer than threads report by themselves.
    #[test]
    fn threads_that_fell_silent_before_the_tracer_came_are_noticed() {
        let start = clock::monotonic_ns();
        let mut arenas = Arenas::of(std::process::id(), true);
        for lease_ns in [1, 60_000_000_000] {
            let file = ntux_sync::Arena::create_file(ntux_sync::Capacity { objects: 16, waiters: 16 }).unwrap();
            ntux_sync::Arena::map_for_descriptors(file.as_fd()).unwrap().trace_from_now(lease_ns).unwrap();
            arenas.take(&file);
        }
        let silent = |after_ns| arenas.traced.iter().map(|traced| traced.is_silent(after_ns)).collect::<Vec<_>>();
        assert_eq!(silent(start), [true, false]);
        // What an earlier trace asked for says nothing about this one.
        assert_eq!(silent(clock::monotonic_ns()), [false, false]);
        arenas.traced.iter().for_each(Traced::renew);
        assert_eq!(silent(start), [false, false]);
    }

    #[test]
    fn rubbish_that_is_handed_over_is_dropped() {
        let mut arenas = Arenas::of(std::process::id(), true);
        let memory = ntux_platform::memory::create(c"rubbish", 4096).unwrap();
        File::from(memory.try_clone().unwrap()).write_all(MAGIC).unwrap();
        let (reader, _writer) = std::io::pipe().unwrap();
        let (socket, _) = std::os::unix::net::UnixDatagram::pair().unwrap();
        let mut named = tempfile::tempfile().unwrap();
        named.write_all(MAGIC).unwrap();
        let null = File::open("/dev/null").unwrap();
        let directory = File::open("/").unwrap();
        for rubbish in [memory, handed(reader), handed(socket), handed(named), handed(null), handed(directory)] {
            arenas.take(&rubbish);
        }
        assert!(arenas.traced.is_empty() && arenas.trouble.is_none(), "{:?}", arenas.trouble);
    }

    /// A lease tells: an open that writes would break it, or wait until it is broken.
    #[test]
    fn what_is_no_arena_is_not_opened_to_write() {
        let memory = ntux_platform::memory::create(c"leased", 4096).unwrap();
        File::from(memory.try_clone().unwrap()).write_all(MAGIC).unwrap();
        let leased = File::open(format!("/proc/self/fd/{}", memory.as_raw_fd())).unwrap();
        drop(memory);
        // SAFETY: calls with integers, on a descriptor of our own.
        let lease = |command, kind: libc::c_int| unsafe { libc::fcntl(leased.as_raw_fd(), command, kind) };
        assert_eq!(lease(libc::F_SETLEASE, libc::F_RDLCK), 0);
        let mut arenas = Arenas::of(std::process::id(), true);
        arenas.take(&leased.try_clone().unwrap().into());
        assert!(arenas.traced.is_empty() && arenas.inodes.contains(&leased.metadata().unwrap().ino()));
        assert_eq!(lease(libc::F_GETLEASE, 0), libc::F_RDLCK);
    }

    #[test]
    fn a_child_descends_from_a_process_which_does_not() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let found = descendants(std::process::id());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!found.contains(&std::process::id()) && found.contains(&child.id()), "{found:?}");
    }
}
