//! A thread's seat: which of the table's waiters is its own.

use ntux_platform::liveness;

use super::Table;
use super::memory::{Memory, Waiter};
use crate::{Error, Result};

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
}

impl Table {
    /// Finds a free waiter for the calling thread.
    ///
    /// Errors: `Exhausted` when all are taken.
    pub fn take_seat(&self) -> Result<Seat> {
        let memory = &self.memory;
        // A forked child finds the table empty; the number keeps its threads apart from those of before.
        let owner = u64::from(liveness::thread_id()).max(1);
        let take = |index: &u32| {
            let waiter = memory.waiter(*index);
            waiter.is_some_and(|waiter| waiter.owner.compare_exchange(0, owner).is_ok())
        };
        let free = std::iter::from_fn(|| memory.pop_free()).find(take);
        let free = free.or_else(|| memory.fresh_waiter().filter(take));
        // A seat that a killed thread held in its hand, between the list and its owner's name.
        let free = free.or_else(|| (0..memory.capacity().waiters).find(take));
        free.map(|index| Seat { index, owner }).ok_or(Error::Exhausted)
    }

    /// Whether the seat is still the one that was taken: not so in a forked child, where the table is empty again.
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
        if fresh.load() >= self.capacity().waiters {
            return None;
        }
        Some(fresh.fetch_add(1)).filter(|&index| index < self.capacity().waiters)
    }

    fn push_free(&self, index: u32) {
        let Some(waiter) = self.waiter(index) else { return };
        let head = &self.header().free;
        loop {
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
        loop {
            let seen = head.load();
            let index = (seen as u32).checked_sub(1)?;
            let below = self.waiter(index)?.next_free.load();
            let next = (seen >> 32).wrapping_add(1) << 32 | u64::from(below);
            if head.compare_exchange(seen, next).is_ok() {
                return Some(index);
            }
        }
    }
}
