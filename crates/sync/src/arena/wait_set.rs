// SPDX-License-Identifier: MIT OR Apache-2.0
//! The wait set of an object: the waiters that are interested in it. It is a hint that can be rebuilt, without links
//! that could break.
//!
//! # Picture
//! ```text
//!  63                24 23        8  7   6        0
//! +--------------------+-----------+---+-----------+
//! |       ticket       |  waiter   |all| position  |      0: empty
//! +--------------------+-----------+---+-----------+
//! ```
//! Three entries are in the object's own cache line, the others in a chain of chunks, which grows as needed. A chunk stays with
//! its object slot, also if the object is closed and the slot reused, until another wait set needs it and nobody waits in it
//! ([`super::chunks`]). Then its places are *sealed* on the way: a number without a ticket, which means no entry.
//!
//! # Transitions
//! empty -> entry: the waiter's thread, before it raises `W` or `WA` in the object's word. entry -> empty: the same
//! thread when it leaves, or any thread that sees that the entry's epoch is over. empty, or an entry that is over -> seal: anyone
//! that needs the chunk elsewhere. seal -> entry: the waiter's thread, unless the chunk is just being taken.
//!
//! # Invariants
//! * I-set-1: an entry counts only while its waiter is `Waiting` with that ticket *and* names this object at that
//!   position of its list. So an entry left behind by a killed or late thread, even in the wait set of a slot's next
//!   object, is harmless. (If the waiter is `Queueing`, a thread that meets the entry withdraws the wait:
//!   [`crate::protocol::queueing`].)
//! * I-set-2: entries are in no order; the ticket gives the order of arrival.
//! * I-set-3: an entry whose wait is not over is emptied by its own thread only, unless it names this object: it may be another
//!   wait set's (I-chunk-4 in [`super::chunks`]).
//!
//! # Death
//! A thread that dies leaves entries of an epoch that will be over when its waiter slot is reused; then they are
//! emptied.

use ntux_platform::atomic::Word64;

use super::Arena;
use crate::budget::WorkBudget;
use crate::format::chunk_word::Link;
use crate::format::entry::Entry;
use crate::format::layout::{Chunk, ObjectSlot};
use crate::format::limits::{CHUNK_USED, INLINE_USED};
use crate::planted::{Bug, planted};
use crate::{Error, Result};

/// A place in a wait set.
#[derive(Clone, Copy)]
pub struct Place<'a>(pub(crate) &'a Word64);

impl Place<'_> {
    /// Empties the place if it still holds `entry`.
    #[inline(always)]
    pub fn empty(self, entry: Entry) {
        let _ = self.0.compare_exchange(entry.0, 0);
    }

    /// Its entry.
    #[inline(always)]
    pub fn entry(self) -> Option<Entry> {
        let found = Entry(self.0.load());
        (!found.is_none()).then_some(found)
    }

    /// Puts an entry into the place if it is empty.
    #[inline(always)]
    fn take(self, entry: Entry) -> bool {
        self.0.load() == 0 && self.put(0, entry)
    }

    #[inline(always)]
    fn put(self, before: u64, entry: Entry) -> bool {
        self.0.compare_exchange(before, entry.0).is_ok()
    }
}

impl Arena {
    /// Every place of a wait set, at most as many as all chunks have, or as the work budget allows, which ends a chain
    /// that somebody made circular.
    pub(crate) fn places<'a>(&'a self, budget: &WorkBudget, slot: &'a ObjectSlot) -> impl Iterator<Item = Place<'a>> {
        let bound = self.chunk_count() as usize;
        let lasts = |_: &&Chunk| budget.chunk();
        let first = self.next_chunk(&slot.chunk);
        let chunks = std::iter::successors(first, |chunk| self.next_chunk(&chunk.next));
        let chained = chunks.take(bound).take_while(lasts).flat_map(|chunk| chunk.wait_set.iter().take(CHUNK_USED));
        slot.wait_set.iter().take(INLINE_USED).chain(chained).map(Place)
    }

    /// The entry of a wait set that has no chunks and only this one.
    #[inline(always)]
    pub(crate) fn only_entry(&self, slot: &ObjectSlot) -> Option<Entry> {
        if Link(slot.chunk.load()).chunk().is_some() && !planted(Bug::NotAlone) {
            return None;
        }
        let (mut entries, mut bits) = (0, 0);
        for place in slot.wait_set.iter().take(INLINE_USED).map(|word| word.load()) {
            entries += u32::from(place != 0);
            bits |= place;
        }
        (entries == 1).then_some(Entry(bits))
    }

    /// Puts an entry into the wait set of the object in this slot, which is number `index`.
    ///
    /// Errors: `Exhausted` if the wait set is full and no chunk is left, or no memory for one.
    #[inline(always)]
    pub(crate) fn put<'a>(
        &'a self,
        budget: &WorkBudget,
        index: u32,
        slot: &'a ObjectSlot,
        entry: Entry,
    ) -> Result<Place<'a>> {
        let mut own = slot.wait_set.iter().take(INLINE_USED).map(Place);
        match own.find(|place| place.take(entry)) {
            Some(place) => Ok(place),
            None => self.put_in_chunk(budget, index, slot, entry),
        }
    }

    #[cold]
    fn put_in_chunk<'a>(
        &'a self,
        budget: &WorkBudget,
        index: u32,
        slot: &'a ObjectSlot,
        entry: Entry,
    ) -> Result<Place<'a>> {
        while budget.round() {
            let transfers = self.transfers();
            let empty = self.places(budget, slot).find(|place| place.take(entry));
            // Full. Entries whose epoch is over can be replaced before the wait set grows.
            let over = || self.places(budget, slot).find(|place| self.replace_vacant(*place, entry));
            match empty.or_else(over) {
                Some(place) if self.is_kept(budget, slot, place, transfers) => return Ok(place),
                Some(place) => place.empty(entry),
                None => self.grow(budget, index)?,
            }
        }
        Err(Error::Corrupt)
    }

    /// Puts an entry where nobody waits, unless the place is sealed just now.
    fn replace_vacant(&self, place: Place<'_>, entry: Entry) -> bool {
        let old = place.0.load();
        // The seal after the place: one that comes later has another number (I-chunk-2).
        self.is_vacant(old) && self.transfer().seal() != Some(Entry(old)) && place.put(old, entry)
    }

    /// Returns true if a place into which an entry was put is in this wait set, and stays there (I-chunk-3). `transfers` was read before
    /// the place was found.
    fn is_kept(&self, budget: &WorkBudget, slot: &ObjectSlot, place: Place<'_>, mut transfers: u64) -> bool {
        while budget.round() {
            let now = self.transfers();
            if now == transfers || planted(Bug::PutBlind) {
                return true;
            }
            transfers = now;
            if !self.places(budget, slot).any(|other| core::ptr::eq(other.0, place.0)) {
                return false;
            }
        }
        false
    }

    /// Returns true if a place holds no entry whose wait may not be over.
    pub(super) fn is_vacant(&self, place: u64) -> bool {
        let entry = Entry(place);
        entry.is_none() || !self.is_current(entry)
    }

    /// Returns true if an entry's epoch is not over.
    fn is_current(&self, entry: Entry) -> bool {
        self.waiter_slot(entry.waiter()).is_some_and(|slot| slot.load().ticket() == entry.ticket())
    }
}
