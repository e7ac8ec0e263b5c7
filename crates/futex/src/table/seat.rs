// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thread's seat: the one of the table's waiters that belongs to it.
//!
//! # Picture
//! ```text
//! owner   63              32 31  30  29                0
//!        +------------------+---+---+------------------+     thread: by its number the kernel knows it; 0: the seat is free
//!        |     inherited    | 0 | D |      thread      |     D: the thread is dead, and the number is 0
//!        +------------------+---+---+------------------+     inherited: how often the seat was taken from a dead thread
//! ```
//! In shared memory the thread's robust list names this word from before it takes the seat until after it has returned
//! it. So the kernel itself says that the thread died, at whatever instruction, and no number of a thread or process is
//! compared with another one.
//!
//! # Transitions
//! | from | to | by |
//! | --- | --- | --- |
//! | free | taken | a thread that waits |
//! | taken | free | its thread, whose wait is over |
//! | taken | dead | the kernel; in a process's own table, a thread that finds no seat, and its owner gone |
//! | dead | taken, inherited + 1 | a thread that finds no other seat, the *heir* |
//!
//! # Invariants
//! * I-seat-1: a dead thread's wait is over before its seat is inherited: the heir ends it in the word first. So who
//!   finds a wait in the word, and then exchanges it, has met a thread that has the seat, or the wait of a dead one that
//!   nobody has inherited yet.
//! * I-seat-2: what the last waits in a seat have queued is found by the seat's places, whenever their threads died
//!   (`waiter.rs`), so the heir takes all of it out of the lines.
//!
//! # Order
//! * O-dead: a wake that begins after a thread's death finds the seat dead, or the dead thread's wait over (I-seat-1),
//!   and passes over it. A thread that dies during a wake can still be given it, as if it had died afterwards.
//!
//! # Death
//! | killed | effect |
//! | --- | --- |
//! | between the free list and the owner, or the owner and the free list | the seat is free, and found when the list is empty |
//! | with the seat | dead, and inherited when it is needed |
//! | as an heir, before it owns the seat | none: the next heir does the same again |
//! | as an heir, while it takes entries out of their lines | as with the seat |
//! | while a signal handler, which interrupted the wait, uses the robust list | without a mark: the seat stays taken |

use ntux_platform::kernel_futex::Scope;
use ntux_platform::liveness;
use ntux_platform::robust::{Head, Owed};

use super::memory::{Memory, Waiter};
use super::waiter::Word;
use super::{RETRIES, Table};
use crate::planted::{Bug, planted};
use crate::{Error, Result, VECTOR_MAX};

/// A value of a seat's owner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Owner(u64);

impl Owner {
    /// The bits of a thread's number that the kernel compares with its own (`FUTEX_TID_MASK`).
    const THREAD: u64 = 0x3fff_ffff;
    /// The number has more bits (never on Linux).
    const CUT: u64 = 0x8000_0000;
    /// What the kernel sets for a dead thread, and clears the number (`FUTEX_OWNER_DIED`).
    const DEAD: u64 = 0x4000_0000;
    const INHERITED_SHIFT: u32 = 32;

    pub fn of(waiter: &Waiter) -> Owner {
        Owner(waiter.owner.load())
    }

    fn is_free(self) -> bool {
        self.0 as u32 == 0
    }

    pub fn is_dead(self) -> bool {
        self.0 & Owner::DEAD != 0 && self.0 & Owner::THREAD == 0
    }

    /// The number of the thread that has it, if it is known as a whole.
    fn thread(self) -> Option<u64> {
        let thread = self.0 & Owner::THREAD;
        (thread != 0 && self.0 & Owner::CUT == 0).then_some(thread)
    }

    fn taken(self, thread: u64) -> Owner {
        let inherited = ((self.0 >> Owner::INHERITED_SHIFT) as u32).wrapping_add(u32::from(self.is_dead()));
        let cut = if thread > Owner::THREAD { Owner::CUT } else { 0 };
        Owner(u64::from(inherited) << Owner::INHERITED_SHIFT | cut | (thread & Owner::THREAD).max(1))
    }

    fn with(self, low: u64) -> Owner {
        Owner(self.0 >> Owner::INHERITED_SHIFT << Owner::INHERITED_SHIFT | low)
    }
}

/// A waiter that belongs to one thread, until [`Table::give_back`].
#[derive(Debug)]
pub struct Seat {
    index: u32,
    owner: Owner,
    /// What the thread's robust list named before.
    named: Option<Owed>,
}

impl Seat {
    /// Number of the waiter.
    pub fn index(&self) -> u32 {
        self.index
    }
}

/// A thread that looks for a seat.
struct Guest<'a> {
    table: &'a Table,
    thread: u64,
    head: Head,
    /// What its robust list named before it looked.
    named: Option<Owed>,
}

impl Guest<'_> {
    /// Takes a waiter if it is free.
    fn take(&mut self, index: u32) -> Option<Seat> {
        let waiter = self.table.memory.waiter(index)?;
        let before = Owner::of(waiter);
        if before.is_free() { self.own(index, waiter, before) } else { None }
    }

    /// Takes over the waiter of a dead thread (I-seat-1).
    fn inherit(&mut self, index: u32) -> Option<Seat> {
        let waiter = self.table.memory.waiter(index)?;
        self.table.mark_if_gone(waiter);
        let before = Owner::of(waiter);
        let is_ended = || planted(Bug::EndLate) || self.table.end_dead(waiter, before);
        if !before.is_dead() || planted(Bug::KeepDeadSeat) || !is_ended() {
            return None;
        }
        let seat = self.own(index, waiter, before)?;
        self.table.leave(index, waiter, VECTOR_MAX);
        Some(seat)
    }

    fn own(&mut self, index: u32, waiter: &Waiter, before: Owner) -> Option<Seat> {
        // If this thread is killed from here on, the kernel marks the seat, if it is the thread's by then.
        let word = waiter.owner.futex_address();
        let named = self.head.owe(if planted(Bug::NoMark) { core::ptr::null() } else { word });
        self.named.get_or_insert(named);
        let owner = before.taken(self.thread);
        waiter.owner.compare_exchange(before.0, owner.0).ok()?;
        Some(Seat { index, owner, named: self.named.take() })
    }
}

impl Table {
    /// Calls `work` with a seat for the calling thread. In the process's own table the thread keeps the seat.
    pub fn seated<T>(&self, work: impl FnOnce(&Seat) -> Result<T>) -> Result<T> {
        if self.scope == Scope::Private {
            return crate::private::seated(self, work);
        }
        let seat = self.take_seat()?;
        let result = work(&seat);
        self.give_back(seat);
        result
    }

    /// Finds a free waiter for the calling thread, or that of a dead one.
    ///
    /// Errors: `Exhausted` if living threads have all, or the system has no memory for another one.
    pub fn take_seat(&self) -> Result<Seat> {
        let memory = &self.memory;
        // In a process's own table the number distinguishes the threads of a forked child, which finds the table empty,
        // from those before.
        let mut guest = Guest { table: self, thread: liveness::thread_id(), head: self.head(), named: None };
        // The bound also ends a free list that somebody made circular.
        let seats = memory.capacity().waiters as usize;
        let mut free = std::iter::from_fn(|| memory.pop_free()).take(seats);
        let mut found = free.find_map(|index| guest.take(index));
        found = found.or_else(|| {
            let mut fresh = std::iter::from_fn(|| memory.fresh_waiter()).take(seats);
            fresh.find_map(|index| guest.take(index))
        });
        // A thread that was killed before its seat was on the list leaves it free; one that was killed in it, dead.
        found = found.or_else(|| (0..memory.waiters_used()).find_map(|index| guest.take(index)));
        found = found.or_else(|| (0..memory.waiters_used()).find_map(|index| guest.inherit(index)));
        guest.named.into_iter().for_each(|named| guest.head.forget(named));
        found.ok_or(Error::Exhausted)
    }

    /// Returns whether the seat is still the one that was taken. It is not in a forked child, where the table is empty
    /// again.
    pub fn is_seated(&self, seat: &Seat) -> bool {
        Owner::of(self.waiter(seat)) == seat.owner
    }

    /// Returns the seat. The thread must not wait in it.
    pub fn give_back(&self, seat: Seat) {
        if self.waiter(&seat).owner.compare_exchange(seat.owner.0, seat.owner.with(0).0).is_ok() {
            self.memory.push_free(seat.index);
        }
        seat.named.into_iter().for_each(|named| self.head().forget(named));
    }

    pub(super) fn waiter(&self, seat: &Seat) -> &Waiter {
        self.memory.waiter(seat.index).expect("a seat has one of the table's waiters")
    }

    /// Marks the seat of a thread of this process that ended without returning it (its thread-local storage was not
    /// dropped, or it ended in a signal handler). The kernel does that in a shared table.
    fn mark_if_gone(&self, waiter: &Waiter) {
        let owner = Owner::of(waiter);
        if self.scope == Scope::Private && owner.thread().is_some_and(liveness::is_own_thread_gone) {
            let _ = waiter.owner.compare_exchange(owner.0, owner.with(Owner::DEAD).0);
        }
    }

    /// Ends the wait of a dead thread. Returns false if the seat has a new owner.
    fn end_dead(&self, waiter: &Waiter, dead: Owner) -> bool {
        for _ in 0..RETRIES {
            let seen = Word::of(waiter);
            // The word was read before, so it is the dead one's (I-seat-1).
            if Owner::of(waiter) != dead {
                return false;
            }
            if seen.is_over() || waiter.exchange(seen, seen.idle()) {
                return true;
            }
        }
        false
    }
}

impl Memory {
    fn fresh_waiter(&self) -> Option<u32> {
        let fresh = &self.header().waiters;
        for _ in 0..RETRIES {
            let next = fresh.load();
            if next >= self.capacity().waiters || !self.provide_waiter(next) {
                return None;
            }
            if fresh.compare_exchange(next, next + 1).is_ok() {
                return Some(next);
            }
        }
        None
    }

    /// How many were ever used.
    fn waiters_used(&self) -> u32 {
        self.header().waiters.load().min(self.capacity().waiters)
    }

    fn push_free(&self, index: u32) {
        let Some(waiter) = self.waiter(index) else { return };
        let head = &self.header().free;
        // A seat that is not on the list is found when the list is empty.
        for _ in 0..RETRIES {
            let seen = head.load();
            waiter.next_free.store(seen as u32);
            let next = (seen >> 32).wrapping_add(1) << 32 | u64::from(index + 1);
            if head.compare_exchange(seen, next).is_ok() {
                return;
            }
        }
    }

    fn pop_free(&self) -> Option<u32> {
        let head = &self.header().free;
        for _ in 0..RETRIES {
            let seen = head.load();
            let index = (seen as u32).checked_sub(1)?;
            let below = self.waiter(index)?.next_free.load();
            let next = (seen >> 32).wrapping_add(1) << 32 | u64::from(below);
            if head.compare_exchange(seen, next).is_ok() {
                return Some(index);
            }
        }
        None
    }
}
