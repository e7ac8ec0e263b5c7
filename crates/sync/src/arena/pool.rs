//! Finding a free slot, among objects, waiters or chunks.
//!
//! Whether a slot is free is written in the slot itself and nowhere else; taking it is one compare-exchange there. A pool
//! only *hints* where to look: a stack of slots that were given back, a counter of slots that were never used, and a
//! rotor that goes round when both are spent. A hint may be stale, lost (its holder was killed) or rubbish: the worst
//! that follows is a longer search. So nothing needs repair after a kill.
//!
//! I-pool: the slots below the counter have memory. Whoever takes a new one gives memory to it first, and counts it after
//! that: so where the system has no more, he is refused, and nobody meets a page without memory (SIGBUS).

use crate::format::layout::PoolWords;
use crate::format::limits::RETRIES;
use ntux_platform::atomic::Word32;

/// Stale hints dropped in one search before going on without hints.
const HINTS_TRIED: u32 = 64;

/// A pool's words, and how to find the link of a slot.
pub struct Pool<'a, F, P> {
    pub words: &'a PoolWords,
    /// Slots are numbered below this.
    pub capacity: u32,
    /// The link in a slot that the stack of hints runs through.
    pub link: F,
    /// Gives memory to a slot, if those before it have some; false: there is none left.
    pub provide: P,
}

impl<'a, F: Fn(u32) -> Option<&'a Word32>, P: Fn(u32) -> bool> Pool<'a, F, P> {
    /// Remembers that a slot is free. The stack holds indices plus one; its upper half counts changes.
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

    /// Takes the first slot that `take` agrees to, among those that are probably free.
    pub fn find(&self, take: impl Fn(u32) -> bool) -> Option<u32> {
        for _ in 0..HINTS_TRIED {
            match self.pop() {
                Some(index) if take(index) => return Some(index),
                Some(_) => {}
                None => break,
            }
        }
        self.fresh().filter(|&index| take(index))
    }

    /// Takes the first slot that `take` agrees to, among all that were ever used; each is looked at, whoever else
    /// searches. The next search goes on behind it.
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
