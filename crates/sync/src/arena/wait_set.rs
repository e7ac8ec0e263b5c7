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
//! Three entries are in the object's own cache line, the others in a chain of chunks that only grows: a chunk stays
//! with its object slot, even if the object is closed and the slot reused.
//!
//! Chunks are allocated in order, one at a time: the next chunk is first *promised* to the end of a chain, then linked
//! there, then counted. A thread that needs a chunk completes any existing promise before it makes its own. So a thread
//! that dies on the way leaks no chunk. Before a thread reads the next chunk it allocates its memory; the chunks before
//! it have theirs.
//!
//! ```text
//! promise: 31    30                  0
//!         +-----+---------------------+
//!         |chunk| index of the object |      0: not promised
//!         |     | or chunk, plus one  |
//!         +-----+---------------------+
//! ```
//!
//! # Transitions
//! empty -> entry: the waiter's thread, before it raises `W` or `WA` in the object's word. entry -> empty: the same
//! thread when it leaves, or any thread that sees that the entry's epoch is over.
//!
//! | step | on | from | to | by |
//! | --- | --- | --- | --- | --- |
//! | promise | the next chunk | 0 | the end of a chain | a thread that needs it |
//! | link | the end of the chain | no chunk | this chunk | anyone, which then counts it |
//! | count | the pool | this chunk is next | the one after it | anyone that sees it linked |
//! | withdraw | the next chunk | a chain | 0 | anyone that sees that this end has another chunk |
//!
//! # Invariants
//! * I-set-1: an entry counts only while its waiter is `Waiting` with that ticket *and* names this object at that
//!   position of its list. So an entry left behind by a killed or late thread, even in the wait set of a slot's next
//!   object, is harmless. (If the waiter is `Queueing`, a thread that meets the entry withdraws the wait:
//!   [`crate::protocol::queueing`].)
//! * I-set-2: entries are in no order; the ticket gives the order of arrival.
//! * I-set-3: a link that names a chunk never changes. So a promise is withdrawn only if it can never be kept, and a
//!   link by a thread that slept for hours is the promised one, or its exchange fails.
//!
//! # Death
//! A thread that dies leaves entries of an epoch that will be over when its waiter slot is reused; then they are
//! emptied. After a promise or a link, the next thread that needs a chunk continues.

use ntux_platform::atomic::{Word32, Word64};

use super::Arena;
use crate::budget::WorkBudget;
use crate::format::entry::{Entry, Tail};
use crate::format::layout::{Chunk, ObjectSlot};
use crate::format::limits::{CHUNK_USED, INLINE_USED};
use crate::planted::{Bug, planted};
use crate::{Error, Result};

/// A place in a wait set.
#[derive(Clone, Copy)]
pub struct Place<'a>(pub(crate) &'a Word64);

impl Place<'_> {
    /// Empties the place if it still holds `entry`.
    pub fn empty(self, entry: Entry) {
        let _ = self.0.compare_exchange(entry.0, 0);
    }

    /// Its entry.
    #[inline(always)]
    pub fn entry(self) -> Option<Entry> {
        match self.0.load() {
            0 => None,
            bits => Some(Entry(bits)),
        }
    }

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
        if slot.chunk.load() != 0 && !planted(Bug::NotAlone) {
            return None;
        }
        let (mut entries, mut bits) = (0, 0);
        for place in slot.wait_set.iter().take(INLINE_USED).map(|word| word.load()) {
            entries += u32::from(place != 0);
            bits |= place;
        }
        (entries == 1).then_some(Entry(bits))
    }

    fn next_chunk(&self, link: &Word32) -> Option<&Chunk> {
        self.chunk_at(link.load())
    }

    /// The chunk of a link, which is its index plus one.
    fn chunk_at(&self, link: u32) -> Option<&Chunk> {
        self.chunk(link.checked_sub(1)?)
    }

    /// Puts an entry into the wait set of the object in slot `index`.
    ///
    /// Errors: `Exhausted` if the wait set is full and no chunk is left, or no memory for one.
    pub(crate) fn put(&self, budget: &WorkBudget, index: u32, entry: Entry) -> Result<Place<'_>> {
        let slot = self.object_slot(index).ok_or(Error::Corrupt)?;
        while budget.round() {
            if let Some(place) = self.places(budget, slot).find(|place| place.entry().is_none() && place.put(0, entry))
            {
                return Ok(place);
            }
            // Full. Entries whose epoch is over can be replaced before the wait set grows.
            let mut places = self.places(budget, slot);
            let over =
                places.find(|place| place.entry().is_some_and(|old| !self.is_current(old) && place.put(old.0, entry)));
            if let Some(place) = over {
                return Ok(place);
            }
            self.grow(budget, index)?;
        }
        Err(Error::Corrupt)
    }

    /// Adds a chunk to the end of a wait set's chain, or finds that another thread did.
    fn grow(&self, budget: &WorkBudget, index: u32) -> Result<()> {
        let mut tail = Tail::Object(index);
        for _ in 0..=self.chunk_count() {
            let link = self.link(tail).ok_or(Error::Corrupt)?.load();
            if self.chunk_at(link).is_none() {
                return self.lengthen(budget, tail);
            }
            tail = Tail::Chunk(link - 1);
        }
        Err(Error::Corrupt)
    }

    /// Ensures that the chain no longer ends at `tail`.
    fn lengthen(&self, budget: &WorkBudget, tail: Tail) -> Result<()> {
        let link = self.link(tail).ok_or(Error::Corrupt)?;
        while budget.round() {
            let next = self.header().chunk_pool.0.fresh.load();
            let chunk = self.chunk(next).filter(|_| self.provide_chunk(next)).ok_or(Error::Exhausted)?;
            match chunk.promise.load() {
                0 => drop(chunk.promise.compare_exchange(0, tail.bits())),
                promise => self.keep(promise, next, chunk),
            }
            if self.chunk_at(link.load()).is_some() {
                return Ok(());
            }
        }
        Err(Error::Corrupt)
    }

    /// Keeps or withdraws the promise of the next chunk.
    fn keep(&self, promise: u32, next: u32, chunk: &Chunk) {
        let Some(link) = Tail::of(promise).and_then(|tail| self.link(tail)) else {
            // Rubbish.
            let _ = chunk.promise.compare_exchange(promise, 0);
            return;
        };
        let seen = link.load();
        if self.chunk_at(seen).is_some() && seen != next + 1 && !planted(Bug::GrowBlind) {
            let _ = chunk.promise.compare_exchange(promise, 0);
            return;
        }
        // The exchange expects the value that was no chunk.
        if seen == next + 1 || link.compare_exchange(seen, next + 1).is_ok() {
            let _ = self.header().chunk_pool.0.fresh.compare_exchange(next, next + 1);
        }
    }

    /// The end of a chain.
    fn link(&self, tail: Tail) -> Option<&Word32> {
        match tail {
            Tail::Object(index) => self.object_slot(index).map(|slot| &slot.chunk),
            Tail::Chunk(index) => self.chunk(index).map(|chunk| &chunk.next),
        }
    }

    /// Whether an entry's epoch is not over.
    fn is_current(&self, entry: Entry) -> bool {
        self.waiter_slot(entry.waiter()).is_some_and(|slot| slot.load().ticket() == entry.ticket())
    }
}
