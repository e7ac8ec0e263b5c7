//! Finding a free slot, among objects, waiters or chunks.
//!
//! Whether a slot is free is written in the slot itself and nowhere else; taking it is one compare-exchange there. A pool
//! only *hints* where to look: a stack of slots that were given back, a counter of slots that were never used, and a
//! rotor that goes round when both are spent. A hint may be stale, lost (its holder was killed) or rubbish: the worst
//! that follows is a longer search. So nothing needs repair after a kill.

use super::format::PoolWords;
use ntux_platform::atomic::Word32;

/// Stale hints dropped in one search before going on without hints.
const HINTS_TRIED: u32 = 64;

/// A pool's words, and how to find the link of a slot.
pub struct Pool<'a, F> {
    pub words: &'a PoolWords,
    /// Slots are numbered below this.
    pub capacity: u32,
    /// The link in a slot that the stack of hints runs through.
    pub link: F,
}

impl<'a, F: Fn(u32) -> Option<&'a Word32>> Pool<'a, F> {
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

    /// Takes the first slot that `take` agrees to, among all that were ever used.
    pub fn search(&self, take: impl Fn(u32) -> bool) -> Option<u32> {
        // In order from one turn on: the rotor itself may wrap on the way, and would leave some out.
        let (used, start) = (self.used(), self.turn());
        let place = |step: u32| (start + step) % used;
        let found = (0..used).find(|&step| take(place(step)));
        self.words.rotor.fetch_add(found.unwrap_or(used));
        found.map(place)
    }

    /// The next slot of the rotor.
    pub fn turn(&self) -> u32 {
        self.words.rotor.fetch_add(1) % self.used()
    }

    /// How many slots were ever used.
    pub fn used(&self) -> u32 {
        self.words.fresh.load().clamp(1, self.capacity)
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
        // Looked at first, so that the counter stays near the capacity instead of wrapping after many refusals.
        if self.words.fresh.load() >= self.capacity {
            return None;
        }
        Some(self.words.fresh.fetch_add(1)).filter(|&index| index < self.capacity)
    }
}
