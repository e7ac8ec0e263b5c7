// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thread's seats in the arenas that the process has mapped. A seat is a tag ([`crate::instances`]), which other threads may read, and the
//! thread's waiter in that arena. Here are the steps of one seat; their order, and why an arena that a seat names stays mapped, is in
//! [`crate::instances`].

use core::cell::UnsafeCell;
use ntux_platform::atomic::Word32;
use ntux_sync::{Arena, Waiter};

/// A thread's seats in arenas: those it uses now, and some it used lately.
pub(crate) struct Seats([Seat; 4]);

/// A thread's seat in one arena.
pub(crate) struct Seat {
    tag: Word32,
    /// As long as the seat holds the instance.
    taken: UnsafeCell<Option<Taken>>,
}

struct Taken {
    arena: &'static Arena,
    waiter: Waiter,
}

/// An instance that stays mapped while this exists, because this borrows the seat that names it.
#[derive(Clone, Copy)]
pub(crate) struct Seated<'a> {
    pub(crate) arena: &'a Arena,
    pub(crate) waiter: &'a Waiter,
}

impl Seats {
    /// The calling thread's seat in this instance, if it has one. The tag is not 0.
    #[inline(always)]
    pub(crate) fn taken(&self, tag: u32) -> Option<Seated<'_>> {
        self.find(tag)?.taken()
    }

    #[inline(always)]
    pub(crate) fn find(&self, tag: u32) -> Option<&Seat> {
        self.0.iter().find(|seat| seat.tag.load() == tag)
    }

    /// A seat that names no instance: a free one, or the one that this instance evicts.
    pub(crate) fn vacate_for(&self, tag: u32) -> &Seat {
        self.0.iter().find(|seat| seat.tag.load() == 0).unwrap_or_else(|| {
            let evicted = &self.0[tag as usize % self.0.len()];
            evicted.give_back();
            evicted
        })
    }

    /// Returns all seats.
    pub(crate) fn give_back(&self) {
        self.give_back_if(|_| true);
    }

    /// Returns the seats in instances of which this is true.
    pub(crate) fn give_back_if(&self, is_to_go: impl Fn(u32) -> bool) {
        for seat in &self.0 {
            let tag = seat.tag.load();
            if tag != 0 && is_to_go(tag) {
                seat.give_back();
            }
        }
    }

    /// Forgets the seats of a thread of the parent process, to which they still belong.
    pub(crate) fn forget(&self) {
        for seat in &self.0 {
            // SAFETY: only this thread uses the record. The waiter belongs to the parent: it is not retired here.
            unsafe { *seat.taken.get() = None };
            seat.tag.store(0);
        }
    }

    /// True if a seat names this instance. An exchange, so it has a place in the one order of all exchanges.
    pub(crate) fn hold(&self, tag: u32) -> bool {
        self.0.iter().any(|seat| seat.tag.compare_exchange(tag, tag).is_ok())
    }
}

impl Seat {
    #[inline(always)]
    pub(crate) fn taken(&self) -> Option<Seated<'_>> {
        // SAFETY: only this thread uses its seats. As long as one names an instance, the arena stays.
        let Taken { arena, waiter } = unsafe { (*self.taken.get()).as_ref() }?;
        Some(Seated { arena, waiter })
    }

    /// Names the instance, of a seat that names none, by an exchange.
    pub(crate) fn name(&self, tag: u32) {
        let _ = self.tag.compare_exchange(0, tag);
    }

    /// Takes the name back: the instance was not in use.
    pub(crate) fn withdraw(&self) {
        self.tag.store(0);
    }

    /// Sits down in the arena of the instance that the seat names.
    pub(crate) fn fill(&self, arena: &'static Arena) {
        // SAFETY: only this thread uses its seats, and no `Seated` is around.
        unsafe { *self.taken.get() = Some(Taken { arena, waiter: arena.waiter() }) };
    }

    fn give_back(&self) {
        // SAFETY: only this thread uses its seats, and no `Seated` is around. The seat still holds the instance.
        if let Some(Taken { arena, waiter }) = unsafe { (*self.taken.get()).take() } {
            arena.retire(&waiter);
        }
        self.tag.store(0);
    }
}
