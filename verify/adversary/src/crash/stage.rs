// SPDX-License-Identifier: MIT OR Apache-2.0
//! The arena under test, the survivors that use it, and a copy of its bytes from which each experiment begins.

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use ntux_platform::liveness;
use ntux_platform::memory;
use ntux_sync::fields::{self, Table};
use ntux_sync::inspect::View;
use ntux_sync::{Arena, Capacity, Gone, New, Page};

use super::board::{Board, LABELS};
use super::look::{self, Eyes};
use super::operation::{Operation, Performer};
use super::planted::Bug;
use super::scenario::{Founder, Place, Scenario};
use ntux_testkit::child::Child;
use ntux_testkit::task::Task;

/// Survivors: two that work, and six that wait. They live in two processes.
pub const WORKERS: [usize; 2] = [0, 1];
pub const SLEEPERS: std::ops::Range<usize> = 2..8;
const ACTORS: usize = 8;
/// The mailboxes of the victims.
pub const VICTIMS: [usize; 2] = [8, 9];
/// Survivors that sleep for results of waits without a thread: of the process of the first worker, which has the queue.
pub const TAKERS: [usize; 2] = [6, 4];
/// Threads beside a victim in its process: the first one has the queue, and the second one sleeps for results.
pub const SIBLINGS: [usize; 2] = [10, 11];
/// Threads that the sequential model knows.
pub const THREADS: usize = 12;

/// Small, so that searching it for leaks is quick.
const CAPACITY: Capacity = Capacity { objects: 32, waiters: 14 };

/// An arena with its survivors.
pub struct Stage {
    pub board: &'static Board,
    pub arena: Arena,
    /// How long anything may take before it is said to hang.
    pub patience: Duration,
    /// What an onlooker has of the arena, and how it looks.
    pub view: View,
    pub eyes: Eyes,
    /// What is planted in the core of victims.
    pub bug: Option<Bug>,
    bytes: Bytes,
    empty: Vec<u8>,
    /// The same arena, in a family that the harness founded.
    family: Arena,
    _survivors: Vec<Child>,
}

impl Stage {
    /// Call it while the process has one thread: it forks.
    pub fn new(patience: Duration, eyes: Eyes) -> io::Result<Stage> {
        let board = Board::map()?;
        board.harness.store(liveness::process_id());
        let arena = Arena::create(CAPACITY).map_err(io::Error::other)?;
        let fd = arena.fd().expect("an arena that was created keeps its descriptor");
        let bytes = Bytes::map(fd, changing(&arena))?;
        let survivors = (0..2).map(|process| survivor(board, fd, process)).collect::<io::Result<_>>()?;
        for actor in 0..ACTORS {
            board.mailbox(actor).order(Operation::Enroll);
            let enrolled = board.mailbox(actor).wait(patience).is_some_and(|outcome| outcome.is_ok());
            assert!(enrolled, "survivor {actor} could not begin");
        }
        // The harness is a process of the arena too, and stays one.
        arena.event_create(&arena.waiter(), false, false).map_err(io::Error::other)?;
        let family = Arena::map_for_descriptors(fd).map_err(io::Error::other)?;
        let empty = bytes.copy();
        let view = look::open(&arena)?;
        Ok(Stage { board, arena, patience, view, eyes, bug: None, bytes, empty, family, _survivors: survivors })
    }

    /// The same, whose victims have this bug in their core.
    pub fn with_bug(self, bug: Option<Bug>) -> Stage {
        Stage { bug, ..self }
    }

    fn via(&self) -> BorrowedFd<'_> {
        self.arena.fd().expect("an arena that was created keeps its descriptor")
    }

    /// A new descriptor of object 0, as if the family's founder had it since it made the object.
    pub fn founders_descriptor(&self) -> io::Result<OwnedFd> {
        let held = memory::reopen(self.via(), self.arena.file(), memory::Caller::AnyThread)?;
        memory::seek(held.as_fd(), self.board.object(0).0)?;
        Ok(held)
    }

    /// The family of a child that is about to be forked, and gets a copy of `held`.
    pub fn found_for_child(&self, held: &OwnedFd, founder: Founder) -> io::Result<Page> {
        let child = self.family.found_for_child(self.via()).map_err(io::Error::other)?;
        if founder == Founder::Claims {
            self.family.inherit(held.as_fd(), self.board.object(0), child.family(), true, &Gone::default());
        }
        Ok(child)
    }

    /// The founder closes its only descriptor of object 0, as the drop-in device does. Returns whether the object ends.
    pub fn close_the_founders(&self, held: OwnedFd) -> bool {
        let object = self.board.object(0);
        if self.family.may_release(object) {
            self.family.bury_claims(held.as_fd(), object, &Gone::default());
            drop(held);
            self.family.released(object);
        } else {
            self.family.closing(held.as_fd(), object);
        }
        self.arena.kind(object).is_err()
    }

    /// Makes the objects of a scenario in an arena without any, and whatever the dead have left there; returns its
    /// bytes.
    pub fn prepare(&self, scenario: &Scenario) -> io::Result<Vec<u8>> {
        self.bytes.restore(&self.empty);
        self.board.forget_queue();
        let waiter = self.arena.waiter();
        if scenario.objects.iter().any(|new| matches!(new, New::End { .. })) {
            // The first one of the arena.
            let owner = self.arena.owner_create(&waiter).map_err(io::Error::other)?;
            self.arena.owner_end(&waiter, owner).map_err(io::Error::other)?;
        }
        for (number, &new) in scenario.objects.iter().enumerate() {
            let object = match scenario.founder {
                Some(_) if number == 0 => {
                    self.family.descriptor_create(&self.family.waiter(), self.via(), new).map(|(_, object)| object)
                }
                _ => self.arena.create_new(&waiter, new),
            };
            self.board.name(number, object.map_err(io::Error::other)?);
        }
        for &new in scenario.orphans {
            let number = scenario.objects.len();
            in_child(|| {
                let object = self.arena.create_new(&self.arena.waiter(), new).expect("there is room");
                self.board.name(number, object);
            })?;
        }
        for _ in 0..scenario.dead_processes {
            in_child(|| {
                let performer = Performer::new(&self.arena, self.board);
                let _ = performer.perform(Operation::Enroll);
                let _ = performer.perform(Operation::Create(New::Event { manual: false, signaled: false }));
            })?;
        }
        if let Some(operation) = scenario.left_by_the_dead {
            in_child(|| {
                self.board.dead.store(liveness::process_id());
                Performer::new(&self.arena, self.board).perform(operation).expect("the dead did their work");
            })?;
        }
        if scenario.delivery.is_some_and(|delivery| delivery.place == Place::Survivors) {
            let owner = self.board.mailbox(WORKERS[0]);
            owner.order(Operation::QueueCreate);
            owner.wait(self.patience).and_then(std::result::Result::ok).expect("there is room for a queue");
        }
        Ok(self.bytes.copy())
    }

    /// Forks a process in which the victim is one thread of several.
    pub fn siblings(&self, victim: impl FnOnce(&Arena) + Send) -> io::Result<Child> {
        let (board, arena) = (self.board, &self.arena);
        board.traced.store(0);
        SIBLINGS.iter().for_each(|&actor| board.mailbox(actor).open(0, 0));
        let siblings = Child::fork(|| {
            std::thread::scope(|scope| {
                for actor in SIBLINGS {
                    scope.spawn(move || serve_one(arena, board, actor));
                }
                scope.spawn(|| victim(arena));
            });
        })?;
        while SIBLINGS.iter().any(|&actor| board.mailbox(actor).thread() == 0) {
            assert!(siblings.status().is_none(), "a process of several threads died before it began");
            std::thread::sleep(Duration::from_micros(20));
        }
        Ok(siblings)
    }

    /// Puts the bytes back. Nobody may be using the arena.
    pub fn restore(&self, bytes: &[u8]) {
        self.bytes.restore(bytes);
        (0..LABELS as u8).for_each(|label| self.board.name_registration(label, None));
    }

    /// The bytes as they are.
    pub fn copy(&self) -> Vec<u8> {
        self.bytes.copy()
    }

    /// Returns whether the arena has changed since `before` was its copy; makes it one again.
    pub fn has_changed(&self, before: &mut Vec<u8>) -> bool {
        self.bytes.update(before)
    }

    /// Owner ids that a sweep finds when nobody has one.
    pub fn owners(&self) -> u32 {
        CAPACITY.waiters
    }

    /// Objects and places that a sweep finds when nothing has leaked and `open` objects are left.
    pub fn all_but(&self, open: u32) -> (u32, u32) {
        // One object is the harness's own.
        (CAPACITY.objects - 1 - open, CAPACITY.waiters - ACTORS as u32)
    }
}

/// Where in the arena's file are bytes that can change: not in the packets of most queues, which are most of the file.
fn changing(arena: &Arena) -> [Range<usize>; 2] {
    const PACKETS_OF_QUEUES: u64 = 1 << 16;
    let tables = fields::tables(arena.capacity()).expect("it has this capacity");
    let end = |table: &Table| table.start + table.stride * u64::from(table.count);
    let packets = tables.iter().find(|table| table.name == "packets").expect("there is such a table");
    let last = tables.iter().map(end).max().expect("there are tables");
    let unused = packets.start + PACKETS_OF_QUEUES..end(packets);
    [0..unused.start as usize, unused.end as usize..last as usize]
}

/// The arena's file, mapped once more, as bytes: those in `ranges`.
struct Bytes {
    start: *mut u8,
    mapped: usize,
    ranges: [Range<usize>; 2],
}

impl Bytes {
    fn map(fd: BorrowedFd<'_>, ranges: [Range<usize>; 2]) -> io::Result<Bytes> {
        let mapped = ntux_platform::memory::size(fd)? as usize;
        assert!(ranges.iter().all(|range| range.start <= range.end && range.end <= mapped));
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a fresh mapping of the whole file at an address of the kernel's choice; the file cannot shrink.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), mapped, access, libc::MAP_SHARED, fd.as_raw_fd(), 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Bytes { start: start.cast(), mapped, ranges })
    }

    /// Each range in the mapping, and where it is in a copy.
    fn parts(&self) -> impl Iterator<Item = (*mut u8, Range<usize>)> {
        let mut copied = 0;
        self.ranges.iter().map(move |range| {
            let place = copied..copied + range.len();
            copied = place.end;
            // SAFETY: inside the mapping.
            (unsafe { self.start.add(range.start) }, place)
        })
    }

    fn length(&self) -> usize {
        self.ranges.iter().map(Range::len).sum()
    }

    fn copy(&self) -> Vec<u8> {
        let mut copy = vec![0; self.length()];
        for (part, place) in self.parts() {
            let copy = &mut copy[place];
            // SAFETY: both are valid for the length. The callers ensure that all others that use the arena are stopped.
            unsafe { std::ptr::copy_nonoverlapping(part, copy.as_mut_ptr(), copy.len()) };
        }
        copy
    }

    fn restore(&self, bytes: &[u8]) {
        assert_eq!(bytes.len(), self.length());
        for (part, place) in self.parts() {
            let bytes = &bytes[place];
            // SAFETY: as in `copy`.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), part, bytes.len()) };
        }
    }

    fn update(&self, before: &mut Vec<u8>) -> bool {
        assert_eq!(before.len(), self.length());
        let same = self.parts().all(|(part, place)| {
            let before = &before[place];
            // SAFETY: both are valid for the length; a survivor that goes on meanwhile changes only what is compared.
            unsafe { libc::memcmp(part.cast(), before.as_ptr().cast(), before.len()) == 0 }
        });
        if !same {
            *before = self.copy();
        }
        !same
    }
}

impl Drop for Bytes {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and this is the last use of it.
        unsafe { libc::munmap(self.start.cast(), self.mapped) };
    }
}

/// Forks a process with half of the actors. It attaches the arena by its descriptor.
fn survivor(board: &'static Board, fd: BorrowedFd<'_>, process: usize) -> io::Result<Child> {
    let survivor = Child::fork(|| serve(board, fd.as_fd(), process))?;
    for actor in (process..ACTORS).step_by(2) {
        while board.mailbox(actor).thread() == 0 {
            assert!(survivor.status().is_none(), "a survivor died before it began");
            std::thread::sleep(Duration::from_micros(100));
        }
    }
    Ok(survivor)
}

fn serve(board: &'static Board, fd: BorrowedFd<'_>, process: usize) -> ! {
    let arena = Arena::attach(fd).expect("the harness made it");
    std::thread::scope(|scope| {
        for actor in (process..ACTORS).step_by(2) {
            let arena = &arena;
            scope.spawn(move || serve_one(arena, board, actor));
        }
    });
    unreachable!("the threads serve until the process is killed")
}

fn serve_one(arena: &Arena, board: &'static Board, actor: usize) -> ! {
    let performer = Performer::new(arena, board);
    let mailbox = board.mailbox(actor);
    mailbox.open(Task::current().number(), liveness::thread_id());
    loop {
        mailbox.answer(performer.perform(mailbox.receive()));
    }
}

/// Runs `body` in a process that ends without any clean-up; returns when it is gone.
fn in_child(body: impl FnOnce()) -> io::Result<()> {
    match Child::fork(body)?.wait()? {
        0 => Ok(()),
        _ => Err(io::Error::other("a process that was to die early failed")),
    }
}
