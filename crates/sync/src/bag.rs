//! The bag of an object: which waiters are interested in it. A hint that can be rebuilt, without links to break.
//!
//! # Picture
//! ```text
//!  63                24 23        8  7   6        0
//! +--------------------+-----------+---+-----------+
//! |       ticket       |  waiter   |all| position  |      0: empty
//! +--------------------+-----------+---+-----------+
//! ```
//! Three entries lie in the object's own cache line, the others in a chain of chunks that only ever grows: a chunk stays
//! with its object slot, also when the object is closed and the slot used again.
//!
//! # Transitions
//! empty -> entry: the waiter's thread, before it raises `W` or `WA` in the object's word. entry -> empty: the same
//! thread when it leaves, or anyone who sees that the entry's epoch is over.
//!
//! # Invariants
//! * I-bag-1: an entry counts only while its waiter is `Waiting` with that ticket *and* names this object at that position of
//!   its list. So an entry that a killed or late thread left behind, even in the bag of a slot's next object, is harmless.
//! * I-bag-2: entries are in no order; the ticket tells who came first.
//!
//! # Death
//! A thread that dies leaves entries of an epoch that will be over when its waiter slot is reused; they are emptied then.

use ntux_platform::atomic::{Word32, Word64};

use crate::arena::Arena;
use crate::arena::format::{BAG_CHUNK, BAG_INLINE, Chunk, ObjectSlot, WaiterSlot};
use crate::planted::{Bug, planted};
use crate::ticket::{State, Ticket, WaiterWord};
use crate::waiter::Waiter;
use crate::{Error, Object, Result};

const POSITION_MASK: u64 = 0x7f;
const ALL: u64 = 1 << 7;
const WAITER_SHIFT: u32 = 8;
const TICKET_SHIFT: u32 = 24;

/// A checker's bags are small, so that its few threads make them grow.
const INLINE_USED: usize = if cfg!(feature = "explore") { 1 } else { BAG_INLINE };
const CHUNK_USED: usize = if cfg!(feature = "explore") { 1 } else { BAG_CHUNK };

/// One waiter's interest in one object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry(u64);

impl Entry {
    /// `position`: where the object stands in the waiter's list.
    pub fn new(waiter: u32, ticket: Ticket, position: usize, all: bool) -> Entry {
        let all = if all { ALL } else { 0 };
        Entry(ticket.number() << TICKET_SHIFT | u64::from(waiter) << WAITER_SHIFT | all | position as u64)
    }

    /// The waiter's index.
    pub fn waiter(self) -> u32 {
        (self.0 >> WAITER_SHIFT) as u16 as u32
    }

    /// Its epoch.
    #[inline(always)]
    pub fn ticket(self) -> Ticket {
        Ticket::new(self.0 >> TICKET_SHIFT)
    }

    /// Whether it waits for all its objects.
    #[inline(always)]
    pub fn is_all(self) -> bool {
        self.0 & ALL != 0
    }

    fn position(self) -> usize {
        (self.0 & POSITION_MASK) as usize
    }
}

/// A place in a bag.
#[derive(Clone, Copy)]
pub struct Place<'a>(&'a Word64);

impl Place<'_> {
    /// Empties the place if it still holds `entry`.
    pub fn empty(self, entry: Entry) {
        let _ = self.0.compare_exchange(entry.0, 0);
    }

    /// What it holds.
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
    /// Every place of a bag, at most as many as all chunks have, or as the fuel lasts for: a chain that somebody bent into a
    /// ring ends there.
    pub(crate) fn bag<'a>(&'a self, waiter: &Waiter, slot: &'a ObjectSlot) -> impl Iterator<Item = Place<'a>> {
        let bound = if planted(Bug::EndlessBag) { usize::MAX } else { self.chunk_count() as usize };
        let lasts = |_: &&Chunk| waiter.fuel.chunk() || planted(Bug::EndlessBag);
        let first = self.next_chunk(&slot.chunk);
        let chunks = std::iter::successors(first, |chunk| self.next_chunk(&chunk.next));
        let chained = chunks.take(bound).take_while(lasts).flat_map(|chunk| chunk.bag.iter().take(CHUNK_USED));
        slot.bag.iter().take(INLINE_USED).chain(chained).map(Place)
    }

    fn next_chunk(&self, link: &Word32) -> Option<&Chunk> {
        self.chunk_at(link.load())
    }

    /// The chunk that a link means: its index plus one.
    fn chunk_at(&self, link: u32) -> Option<&Chunk> {
        self.chunk(link.checked_sub(1)?)
    }

    /// Puts an entry into the bag of an object.
    ///
    /// Errors: `Exhausted` when the bag is full and no chunk is left.
    pub(crate) fn put<'a>(&'a self, waiter: &Waiter, slot: &'a ObjectSlot, entry: Entry) -> Result<Place<'a>> {
        while waiter.fuel.round() {
            if let Some(place) = self.bag(waiter, slot).find(|place| place.entry().is_none() && place.put(0, entry)) {
                return Ok(place);
            }
            // Full. Entries whose epoch is over can give way, before the bag grows.
            let mut places = self.bag(waiter, slot);
            let over =
                places.find(|place| place.entry().is_some_and(|old| !self.is_current(old) && place.put(old.0, entry)));
            if let Some(place) = over {
                return Ok(place);
            }
            self.grow(slot)?;
        }
        Err(Error::Corrupt)
    }

    /// Adds a chunk at the end of a bag's chain, or finds that somebody else did.
    fn grow(&self, slot: &ObjectSlot) -> Result<()> {
        let mut link = &slot.chunk;
        for _ in 0..self.chunk_count() {
            let seen = link.load();
            match self.chunk_at(seen) {
                Some(chunk) => link = &chunk.next,
                None => {
                    let index = self.fresh_chunk().ok_or(Error::Exhausted)?;
                    // The exchange expects the value that was no chunk. The loser of a race leaves its chunk unused; that
                    // happens once for each place of a chain.
                    let expected = if planted(Bug::GrowBlind) { link.load() } else { seen };
                    let _ = link.compare_exchange(expected, index + 1);
                    return Ok(());
                }
            }
        }
        Err(Error::Corrupt)
    }

    fn fresh_chunk(&self) -> Option<u32> {
        let words = &self.header().chunk_pool.0;
        if words.fresh.load() >= self.chunk_count() {
            return None;
        }
        Some(words.fresh.fetch_add(1)).filter(|&index| index < self.chunk_count())
    }

    /// Whether an entry's epoch is not over.
    fn is_current(&self, entry: Entry) -> bool {
        self.waiter_slot(entry.waiter()).is_some_and(|slot| slot.load().ticket() == entry.ticket())
    }
}

impl WaiterSlot {
    /// The waiter's word.
    #[inline(always)]
    pub(crate) fn load(&self) -> WaiterWord {
        WaiterWord(self.word.load())
    }

    #[inline(always)]
    pub(crate) fn exchange(&self, seen: WaiterWord, next: WaiterWord) -> bool {
        self.word.compare_exchange(seen.0, next.0).is_ok()
    }

    /// Whether an entry in the bag of `object` stands for a wait on it (I-bag-1), given the waiter's word.
    pub(crate) fn backs(&self, seen: WaiterWord, entry: Entry, object: Object) -> bool {
        seen.state() == State::Waiting
            && seen.ticket() == entry.ticket()
            && self.list.get(entry.position()).is_some_and(|word| word.load() == object.0)
    }

    /// Owner id of the wait.
    pub(crate) fn owner(&self) -> u32 {
        (self.wait.load() >> 32) as u32
    }

    /// Number of objects of the wait, without the alert.
    pub(crate) fn count(&self) -> usize {
        self.wait.load() as u32 as usize
    }
}
