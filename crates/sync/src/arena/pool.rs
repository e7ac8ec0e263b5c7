// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds free slots, among objects, waiters or chunks.
//!
//! Only the slot itself says whether it is free; taking it is one compare-exchange there. A pool only *hints* where to
//! search: a stack of returned slots, a counter of slots that were never used, and a rotor for when both are exhausted.
//! A thread that would take a slot that was never used looks at a few used ones first, by the same rotor: so what the dead
//! have left does not pile up, and a pool grows to about twice of what the living have.
//! A hint may be stale, lost (its thread was killed) or rubbish, which at worst makes a search longer. So nothing needs
//! repair after a kill.
//!
//! I-pool: the slots below the counter have memory. A thread that takes a new one allocates its memory first, and
//! counts it after that. So if the system has none left, the thread gets an error, and nobody touches a page without
//! memory (SIGBUS).

use crate::format::layout::PoolWords;
use crate::format::limits::RETRIES;
use ntux_platform::atomic::Word32;

/// A pool of which fewer were ever used grows without a look: the looks cost more than the memory.
pub(super) const WORTH_LOOKING: u32 = 64;
/// Used slots looked at before a pool grows.
const LOOKS: u32 = 2;
/// Stale hints dropped in one search before it continues without hints.
const HINTS_TRIED: u32 = 64;

/// A pool's words, and how to find the link of a slot.
pub struct Pool<'a, F, P> {
    pub words: &'a PoolWords,
    /// Slots are numbered below this.
    pub capacity: u32,
    /// The link of a slot in the stack of hints.
    pub link: F,
    /// Allocates the memory of a slot, if those before it have theirs. Returns false if none is left.
    pub provide: P,
}

impl<'a, F: Fn(u32) -> Option<&'a Word32>, P: Fn(u32) -> bool> Pool<'a, F, P> {
    /// Pushes a free slot. The stack holds indices plus one; its upper half counts changes.
    pub fn hint(&self, index: u32) {
        let Some(link) = (self.link)(index) else {
            return;
        };
        for _ in 0..HINTS_TRIED {
            let head = self.words.hints.load();
            link.store(head as u32);
            let next = (head >> 32).wrapping_add(1) << 32 | u64::from(index + 1);
            if self.words.hints.compare_exchange(head, next).is_ok() {
                return;
            }
        }
    }

    /// Takes the first slot that `take` accepts, among those that are probably free; or one that `take_from_dead` accepts, among
    /// a few others.
    pub fn find(&self, take: impl Fn(u32) -> bool, take_from_dead: impl Fn(u32) -> bool) -> Option<u32> {
        for _ in 0..HINTS_TRIED {
            match self.pop() {
                Some(index) if take(index) => return Some(index),
                Some(_) => {}
                None => break,
            }
        }
        self.look(take_from_dead).or_else(|| self.fresh().filter(|&index| take(index)))
    }

    fn look(&self, take: impl Fn(u32) -> bool) -> Option<u32> {
        let worth_it = self.capacity > WORTH_LOOKING && self.used() >= WORTH_LOOKING;
        let looks = if worth_it { LOOKS } else { 0 };
        (0..looks).map(|_| self.turn()).find(|&index| take(index))
    }

    /// Takes the first slot that `take` accepts, among all that were ever used. It tries each slot, whoever else
    /// searches. The next search continues after it.
    pub fn search(&self, take: impl Fn(u32) -> bool) -> Option<u32> {
        let used = self.used();
        if used == 0 {
            return None;
        }
        let start = self.turn();
        let found = (0..used).map(|step| (start + step) % used).find(|&index| take(index))?;
        self.words.rotor.store(found + 1);
        Some(found)
    }

    /// The next slot of the rotor.
    pub fn turn(&self) -> u32 {
        self.words.rotor.fetch_add(1) % self.used().max(1)
    }

    /// How many slots were ever used.
    pub fn used(&self) -> u32 {
        self.words.fresh.load().min(self.capacity)
    }

    fn pop(&self) -> Option<u32> {
        for _ in 0..HINTS_TRIED {
            let head = self.words.hints.load();
            let index = (head as u32).checked_sub(1)?;
            let link = (self.link)(index)?;
            let next = (head >> 32).wrapping_add(1) << 32 | u64::from(link.load());
            if self.words.hints.compare_exchange(head, next).is_ok() {
                return Some(index);
            }
        }
        None
    }

    fn fresh(&self) -> Option<u32> {
        for _ in 0..RETRIES {
            let next = self.words.fresh.load();
            // I-pool
            if next >= self.capacity || !(self.provide)(next) {
                return None;
            }
            if self.words.fresh.compare_exchange(next, next + 1).is_ok() {
                return Some(next);
            }
        }
        None
    }
}
