// SPDX-License-Identifier: MIT OR Apache-2.0
//! Slots that never move and are never freed, numbered from 1; a stack of those that nobody uses.
//!
//! # Picture
//! ```text
//! free   63        32 31         0
//!       +------------+------------+    a slot that is free names the next one below it by its link
//!       |  exchanges |  uppermost |
//!       +------------+------------+    used: slots above were never taken
//! ```
//! # Transitions of `free`
//! | from | to | by |
//! | --- | --- | --- |
//! | uppermost s | the link of s | [`Pool::take`], which has s then |
//! | uppermost s | uppermost t | [`Pool::give`] of t, whose link is s |
//!
//! # Invariants
//! * I-pool: a slot has one user: who took it, or the stack. `exchanges` makes each value of `free` unique (until 2^32 others have
//!   happened during one step), so an exchange proves that the link which was read before still is that of the uppermost slot.
//!
//! # Death
//! Threads of one process die together. A forked child finds every word as some step has left it; a slot that another thread of its
//! parent was about to take or give is lost to the child.

use std::alloc::{Layout, alloc_zeroed};

use ntux_platform::atomic::{Word32, Word64};
use ntux_platform::once::Once;

use crate::planted::{Bug, planted};

/// A slot.
///
/// # Safety
/// Bytes of zeros are a valid value.
pub unsafe trait Slot: Sync + 'static {
    /// The word that belongs to the pool while the slot is free.
    fn link(&self) -> &Word32;
}

/// The slots are allocated when the first is taken; those that were never taken have no memory. The order of the first two is known to who
/// reads a pool from outside.
#[repr(C)]
pub struct Pool<S: Slot, const SLOTS: u32> {
    /// Where the slots are, for who reads them from outside; 0 before they are allocated.
    base: Word64,
    used: Word32,
    free: Word64,
    slots: Once<Option<&'static [S]>>,
}

impl<S: Slot, const SLOTS: u32> Pool<S, SLOTS> {
    pub const fn new() -> Pool<S, SLOTS> {
        Pool { base: Word64::new(0), used: Word32::new(0), free: Word64::new(0), slots: Once::new() }
    }

    /// The slot with this number, if it was ever taken.
    #[inline]
    pub fn get(&self, number: u32) -> Option<&'static S> {
        (*self.slots.get()?)?.get(number.checked_sub(1)? as usize)
    }

    /// The slots that were ever taken.
    pub fn used(&self) -> impl Iterator<Item = (u32, &'static S)> {
        (1..=self.used.load()).filter_map(|number| Some((number, self.get(number)?)))
    }

    /// Takes a free slot. None if all are taken or there is no memory.
    pub fn take(&self) -> Option<(u32, &'static S)> {
        let slots = (*self.slots.get_or_make(|| self.allocate()))?;
        loop {
            let head = self.free.load();
            let number = match head as u32 {
                0 => self.take_unused()?,
                top => {
                    let next = slots.get(top as usize - 1)?.link().load();
                    if self.free.compare_exchange(head, after(head, next)).is_err() {
                        continue;
                    }
                    top
                }
            };
            return Some((number, slots.get(number as usize - 1)?));
        }
    }

    /// Gives back a slot that [`Pool::take`] gave to the caller.
    pub fn give(&self, number: u32) {
        let Some(slot) = self.get(number) else { return };
        loop {
            let head = self.free.load();
            slot.link().store(head as u32);
            if self.free.compare_exchange(head, after(head, number)).is_ok() {
                return;
            }
        }
    }

    fn allocate(&self) -> Option<&'static [S]> {
        let slots = allocate::<S>(SLOTS)?;
        self.base.store(slots.as_ptr().expose_provenance() as u64);
        Some(slots)
    }

    fn take_unused(&self) -> Option<u32> {
        loop {
            let used = self.used.load();
            if used == SLOTS {
                return None;
            }
            if self.used.compare_exchange(used, used + 1).is_ok() {
                return Some(used + 1);
            }
        }
    }
}

fn after(head: u64, top: u32) -> u64 {
    if planted(Bug::CountsNoExchange) {
        return top.into();
    }
    ((head >> 32).wrapping_add(1) << 32) | u64::from(top)
}

fn allocate<S: Slot>(count: u32) -> Option<&'static [S]> {
    let layout = Layout::array::<S>(count as usize).ok()?;
    // SAFETY: the size is not 0, as slots have a link.
    let base = unsafe { alloc_zeroed(layout) }.cast::<S>();
    // SAFETY: fresh memory for that many slots, never freed; zeros are valid (`Slot`), and a slot is shared by its atomics alone.
    (!base.is_null()).then(|| unsafe { core::slice::from_raw_parts(base, count as usize) })
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Number {
        link: Word32,
        users: Word32,
    }

    // SAFETY: two words, for which zeros are valid.
    unsafe impl Slot for Number {
        fn link(&self) -> &Word32 {
            &self.link
        }
    }

    #[test]
    fn a_slot_has_one_user() {
        static POOL: Pool<Number, 3> = Pool::new();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..20_000 {
                        let Some((number, slot)) = POOL.take() else { continue };
                        assert_eq!(slot.users.fetch_add(1), 0);
                        slot.users.fetch_add(u32::MAX);
                        POOL.give(number);
                    }
                });
            }
        });
        let taken: Vec<u32> = (0..3).map(|_| POOL.take().unwrap().0).collect();
        assert!([1, 2, 3].iter().all(|number| taken.contains(number)), "{taken:?}");
        assert!(POOL.take().is_none());
        assert!(POOL.get(0).is_none() && POOL.get(4).is_none());
    }
}
