// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arenas by name: the meeting place (`ntux_sync::Place`), as it is shipped, among processes whose descriptors are played.
//!
//! What the model says of an object with a name is true of an arena with one: who creates it by its name gets the one that somebody
//! holds, or a new one; it ends when nobody holds it any more, however they ended. So to create is to meet, and to release is to close
//! the descriptor. An arena's content is one bit, which [`Operation::EventSet`] sets: two arenas show as two events.

use std::cell::Cell;

use ntux_platform::atomic::Word64;
use ntux_platform::liveness::{self, Process};
use ntux_sync::spec::{Answer, Operation, Outcome, ThreadId};
use ntux_sync::{Descriptors, Error, Opened, Place, Result};

use super::Subject;
use crate::program::{Call, Program};
use crate::stage::PROCESS_BASE;

/// Threads that a program may have, with the observer.
const THREADS_MAX: usize = 8;
/// Arenas that an execution may make.
const ARENAS_MAX: usize = 32;
/// Descriptors that a process may have.
const DESCRIPTORS_MAX: u32 = 4;
/// The table of the checker's own process.
const OWN: usize = THREADS_MAX;

/// A word that shares its chunk of memory with no other.
#[derive(Default)]
#[repr(align(16))]
struct Alone(Word64);

/// A meeting place, processes with their descriptors, and the arenas that they make.
pub struct Meetings {
    place: Box<Place>,
    /// What each process has open: the inodes, 16 bits each, 0 where a number is free. That of a process that is dead means nothing.
    tables: [Alone; THREADS_MAX + 1],
    /// Arenas that were made.
    made: Alone,
    /// The content of each.
    contents: [Alone; ARENAS_MAX],
    /// What each thread has met last.
    met: [Cell<Opened>; THREADS_MAX],
    /// Threads whose process has the number of a dead one, and has not begun yet.
    unborn: [Cell<bool>; THREADS_MAX],
    /// Which threads are so at the start.
    ghosts: Vec<ThreadId>,
}

impl Meetings {
    /// A meeting place at which nobody ever was.
    pub fn subject(program: &Program) -> Box<dyn Subject> {
        let is_ghost = |thread: &ThreadId| program.fates[*thread].number_of.is_some();
        Box::new(Self {
            place: Box::default(),
            tables: Default::default(),
            made: Alone::default(),
            contents: Default::default(),
            met: Default::default(),
            unborn: Default::default(),
            ghosts: (0..program.threads.len()).filter(is_ghost).collect(),
        })
    }

    fn table(&self, pid: u32) -> &Word64 {
        let thread = pid.checked_sub(PROCESS_BASE).map_or(OWN, |thread| thread as usize);
        &self.tables[thread.min(OWN)].0
    }

    /// A process that begins has no descriptors, whoever had its number.
    fn begin_process(&self, thread: ThreadId) {
        if self.unborn[thread].replace(false) {
            self.table(liveness::process_id()).store(0);
        }
    }

    /// Opens an arena behind the lowest free number of this process.
    fn install(&self, inode: u64) -> Opened {
        let table = self.table(liveness::process_id());
        loop {
            let seen = table.load();
            let is_free = |descriptor: &u32| entry(seen, *descriptor) == 0;
            let descriptor = (0..DESCRIPTORS_MAX).find(is_free).expect("few descriptors are enough");
            if table.compare_exchange(seen, seen | inode << shift(descriptor)).is_ok() {
                return Opened { inode, descriptor };
            }
        }
    }

    fn close(&self, opened: Opened) {
        let table = self.table(liveness::process_id());
        loop {
            let seen = table.load();
            if table.compare_exchange(seen, seen & !(0xffff << shift(opened.descriptor))).is_ok() {
                return;
            }
        }
    }

    /// What the thread has met last.
    fn met(&self, thread: ThreadId) -> Result<Opened> {
        Some(self.met[thread].get()).filter(|met| met.inode != 0).ok_or(Error::NoSuchObject)
    }

    fn content(&self, thread: ThreadId) -> Result<&Word64> {
        Ok(&self.contents[self.met(thread)?.inode as usize].0)
    }

    /// Meets; makes nothing if `makes` is false. Returns whether the arena was there.
    fn meet(&self, thread: ThreadId, makes: bool) -> Result<bool> {
        let system = System { all: self, makes, made: Cell::new(0) };
        let arena = self.place.meet(&system)?;
        self.met[thread].set(arena.opened);
        // It stays open.
        std::mem::forget(arena);
        Ok(self.met[thread].get().inode != system.made.get())
    }
}

fn shift(descriptor: u32) -> u32 {
    descriptor * 16
}

fn entry(table: u64, descriptor: u32) -> u64 {
    table >> shift(descriptor) & 0xffff
}

/// The descriptors of all processes, as one call sees them.
struct System<'a> {
    all: &'a Meetings,
    makes: bool,
    /// What it made last.
    made: Cell<u64>,
}

/// What one call has open.
struct OpenArena<'a> {
    all: &'a Meetings,
    opened: Opened,
}

impl Drop for OpenArena<'_> {
    fn drop(&mut self) {
        self.all.close(self.opened);
    }
}

impl<'a> System<'a> {
    fn opened(&self, inode: u64) -> OpenArena<'a> {
        OpenArena { all: self.all, opened: self.all.install(inode) }
    }
}

impl<'a> Descriptors for System<'a> {
    type Arena = OpenArena<'a>;

    fn make(&self) -> Result<OpenArena<'a>> {
        if !self.makes {
            return Err(Error::NoSuchName);
        }
        let inode = self.all.made.0.fetch_add(1) + 1;
        self.made.set(inode);
        Ok(self.opened(inode))
    }

    fn open(&self, pid: u32, there: Opened) -> Result<Option<OpenArena<'a>>> {
        Ok(self.has(pid, there)?.then(|| self.opened(there.inode)))
    }

    fn has(&self, pid: u32, there: Opened) -> Result<bool> {
        let is_there = entry(self.all.table(pid).load(), there.descriptor) == there.inode;
        // Nothing happens in between: its descriptors are closed when it dies.
        let me = liveness::this_process();
        Ok(is_there && !liveness::is_process_dead(Process { pid, ..me }, me))
    }

    fn opened(&self, arena: &OpenArena<'a>) -> Opened {
        arena.opened
    }
}

impl Subject for Meetings {
    fn begin(&self) {
        self.met.iter().for_each(|met| met.set(Opened::default()));
        self.unborn.iter().enumerate().for_each(|(thread, unborn)| unborn.set(self.ghosts.contains(&thread)));
    }

    fn enter(&self, _thread: ThreadId) {}

    fn call(&self, thread: ThreadId, call: &Call) -> Outcome {
        self.begin_process(thread);
        match call.operation {
            Operation::CreateNamed { .. } => self.meet(thread, true).map(|existed| Answer::Named { existed }),
            Operation::OpenNamed { .. } => self.meet(thread, false).map(|_| Answer::Done),
            Operation::Release { .. } => {
                self.close(self.met(thread)?);
                Ok(Answer::Done)
            }
            Operation::EventSet { .. } => Ok(Answer::Signaled(self.content(thread)?.fetch_or(1) != 0)),
            Operation::EventRead { .. } => Ok(Answer::Event(false, self.content(thread)?.load() != 0)),
            ref other => panic!("an arena has no {other:?}"),
        }
    }

    fn interrupt(&self, _thread: ThreadId) {
        unimplemented!("no program of meetings interrupts");
    }

    fn resume(&self, _thread: ThreadId) {}
}
