//! A thread's seat: the one of the table's waiters that belongs to it.

use ntux_platform::kernel_futex::Scope;
use ntux_platform::liveness;

use super::memory::{Memory, Waiter};
use super::waiter::Word;
use super::{RETRIES, Table};
use crate::{Error, Result, VECTOR_MAX};

/// A waiter that belongs to one thread, until [`Table::give_back`].
#[derive(Debug)]
pub struct Seat {
    index: u32,
    owner: u64,
}

impl Seat {
    /// Number of the waiter.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Number of the thread that took it.
    pub(super) fn thread(&self) -> u32 {
        self.owner as u32
    }
}

impl Table {
    /// Calls `act` with a seat for the calling thread. In the process's own table the thread keeps the seat.
    pub fn seated<T>(&self, work: impl FnOnce(&Seat) -> Result<T>) -> Result<T> {
        if self.scope == Scope::Private {
            return crate::private::seated(self, work);
        }
        let seat = self.take_seat()?;
        let result = work(&seat);
        self.give_back(seat);
        result
    }

    /// Finds a free waiter for the calling thread.
    ///
    /// Errors: `Exhausted` if all are taken, or the system has no memory for another one.
    pub fn take_seat(&self) -> Result<Seat> {
        let memory = &self.memory;
        // In a process's own table this distinguishes the threads of a forked child, which finds the table empty, from
        // those before.
        let owner = liveness::thread_id().max(1);
        let take = |index: &u32| {
            let waiter = memory.waiter(*index);
            waiter.is_some_and(|waiter| waiter.owner.compare_exchange(0, owner).is_ok())
        };
        // The bound also ends a free list that somebody made circular.
        let seats = memory.capacity().waiters as usize;
        let free = std::iter::from_fn(|| memory.pop_free()).take(seats).find(take);
        let free = free.or_else(|| std::iter::from_fn(|| memory.fresh_waiter()).take(seats).find(take));
        // A killed thread leaves its seat behind.
        let free = free.or_else(|| (0..memory.waiters_used()).find(|index| take(index) || self.inherit(*index, owner)));
        free.map(|index| Seat { index, owner }).ok_or(Error::Exhausted)
    }

    /// Takes over the seat of a thread that died in a wait.
    fn inherit(&self, index: u32, owner: u64) -> bool {
        let Some(waiter) = self.memory.waiter(index) else { return false };
        let before = waiter.owner.load();
        if !Word::of(waiter).is_dead() || waiter.owner.compare_exchange(before, owner).is_err() {
            return false;
        }
        self.leave(index, waiter, VECTOR_MAX);
        true
    }

    /// Whether the seat is still the one that was taken. It is not in a forked child, where the table is empty again.
    pub fn is_seated(&self, seat: &Seat) -> bool {
        self.waiter(seat).owner.load() == seat.owner
    }

    /// Returns the seat. The thread must not wait in it.
    pub fn give_back(&self, seat: Seat) {
        if self.waiter(&seat).owner.compare_exchange(seat.owner, 0).is_ok() {
            self.memory.push_free(seat.index);
        }
    }

    pub(super) fn waiter(&self, seat: &Seat) -> &Waiter {
        self.memory.waiter(seat.index).expect("a seat has one of the table's waiters")
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
