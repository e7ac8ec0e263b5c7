// SPDX-License-Identifier: MIT OR Apache-2.0
//! Moves chunks: to the wait set that needs one the next chunk that was never used, or, when all were used, one that its wait
//! set does not need.
//!
//! # Picture
//! ```text
//! link:     31     18 17           0
//!          +---------+--------------+
//!          | version |    chunk     |      index plus one; 0: the end
//!          +---------+--------------+
//! transfer: 127        96   84      67 66   64 63            0
//!          +-------------+-----------+-------+---------------+
//!          |    tail     |   chunk   | phase |    number     |
//!          +-------------+-----------+-------+---------------+
//! ```
//! tail: the index of the object or chunk (bit 31) whose link is to be changed. One chunk moves at a time; who needs another
//! one finishes that transfer first. A chunk is taken from the end of a chain only, and only if nobody waits in it.
//!
//! # Transitions
//! Each counts the number up, so an exchange of the transfer fails if it was anything else in between.
//!
//! | from | to | by |
//! | --- | --- | --- |
//! | Idle | Giving an unused chunk to a tail | a thread that needs a chunk there |
//! | Idle | Sealing the last chunk of a chain | a thread that needs a chunk, if all were used |
//! | Sealing | Idle | anyone that finds an entry in the chunk that is not over, or that the chunk is not the last one at the tail |
//! | Sealing | Cutting | anyone that has seen a seal in each of the chunk's places |
//! | Cutting | Loose | anyone that sees that the tail does not name the chunk any more |
//! | Loose | Giving the same chunk to a tail | a thread that needs a chunk there |
//! | Giving | Idle | anyone that sees that the tail names the chunk, and has counted it if it was unused |
//! | Giving | Loose | anyone that sees that the tail names another chunk, which is rubbish |
//!
//! | link | to | by |
//! | --- | --- | --- |
//! | the end | a chunk | anyone, while the chunk is given to this tail |
//! | a chunk | the end, of another version | anyone, while the chunk is cut from this tail |
//!
//! # Invariants
//! * I-chunk-1: a link changes only in the phase that names its tail, and the phase ends only after that. (Giving begins only if
//!   nothing has moved since its tail was the end.) So a thread that slept for hours fails: it loads the link, and sees that the
//!   transfer is what it was before; after that its exchange of the link expects a value that was there in this phase, and that
//!   never comes back.
//! * I-chunk-2: a place with the seal of this transfer takes no entry before Cutting is over. So when all places have been seen
//!   sealed, nobody waits in the chunk, and nobody begins to before it is cut. (A seal of another transfer is an empty place.)
//! * I-chunk-3: a thread that walked to a place of a chunk may find the chunk elsewhere when it puts its entry there. So it
//!   looks afterwards whether the place is still in its wait set: if no transfer has gone on since before the walk, or if the
//!   chain leads there and none has gone on meanwhile. From then on its entry keeps the chunk where it is.
//! * I-chunk-4: a thread that stands in a chunk while it moves sees entries of another wait set. It leaves them alone unless
//!   their waits are over, because an entry counts only for the object that the waiter's list has at its position.
//!   What it was looking for lies before the chunk: the chunks of a waiting entry, and those before it, do not move.
//!
//! # Death
//! The transfer word says what is to be done next; the next thread that needs a chunk does it. So no chunk is lost, and
//! nobody waits for anybody. Seals that are left behind are empty places.

use super::Arena;
use crate::budget::WorkBudget;
use crate::format::chunk_word::{Link, Phase, Tail, Transfer};
use crate::format::layout::Chunk;
use crate::format::limits::CHUNK_USED;
use crate::planted::{Bug, planted};
use crate::{Error, Result};
use ntux_platform::atomic::Word32;

impl Arena {
    /// Adds a chunk to the end of a wait set's chain, or finds that the chain has changed.
    ///
    /// Errors: `Exhausted`.
    pub(super) fn grow(&self, budget: &WorkBudget, index: u32) -> Result<()> {
        let end = self.end_of(budget, index).ok_or(Error::Corrupt)?;
        while budget.round() {
            let seen = self.transfer();
            if self.named(self.link(end).ok_or(Error::Corrupt)?).is_some() {
                return Ok(());
            }
            let next = match seen.phase() {
                Phase::Idle => Some(self.find_chunk(budget, seen, end).ok_or(Error::Exhausted)?),
                // It was taken from this very chain.
                Phase::Loose if end == Tail::Chunk(seen.chunk()) => return Ok(()),
                Phase::Loose => Some(seen.giving(seen.chunk(), end)),
                Phase::Giving => self.give(seen),
                Phase::Sealing => self.seal(seen),
                Phase::Cutting => self.cut(seen),
            };
            if let Some(next) = next {
                let _ = self.header().chunk_pool.0.transfer.compare_exchange(seen.0, next.0);
            }
        }
        Err(Error::Corrupt)
    }

    /// The transfer of a chunk that is unused, or not needed.
    fn find_chunk(&self, budget: &WorkBudget, idle: Transfer, to: Tail) -> Option<Transfer> {
        let fresh = self.header().chunk_pool.0.fresh.load();
        if fresh < self.chunk_count() && self.provide_chunk(fresh) {
            return Some(idle.giving(fresh, to));
        }
        self.find_vacant(budget).map(|(chunk, from)| idle.sealing(chunk, from))
    }

    /// The last chunk of some object's chain, in which nobody waits; and the end of the chain without it.
    #[cold]
    fn find_vacant(&self, budget: &WorkBudget) -> Option<(u32, Tail)> {
        let (used, rotor) = (self.objects_used(), &self.header().chunk_pool.0.rotor);
        let start = rotor.load();
        let turns = (0..used).map(|step| (start % used + step) % used);
        let vacant = |index| {
            let (chunk, from) = self.last_chunk(budget, index)?;
            let words = &self.chunk(chunk)?.wait_set[..CHUNK_USED];
            words.iter().all(|word| self.is_vacant(word.load())).then_some((index, chunk, from))
        };
        let (index, chunk, from) = turns.into_iter().find_map(vacant)?;
        rotor.store(index);
        Some((chunk, from))
    }

    /// The end of a chain.
    fn end_of(&self, budget: &WorkBudget, index: u32) -> Option<Tail> {
        let last = self.last_chunk(budget, index);
        self.object_slot(index).map(|_| last.map_or(Tail::Object(index), |(chunk, _)| Tail::Chunk(chunk)))
    }

    fn last_chunk(&self, budget: &WorkBudget, index: u32) -> Option<(u32, Tail)> {
        self.chain(budget, Tail::Object(index)).last()
    }

    /// The chunks behind a tail, each with the tail that names it; at most as many as there are, or as the work budget allows.
    fn chain<'a>(&'a self, budget: &'a WorkBudget, from: Tail) -> impl Iterator<Item = (u32, Tail)> + 'a {
        let behind = move |tail| Some((self.named(self.link(tail)?)?, tail));
        let chunks = std::iter::successors(behind(from), move |&(chunk, _)| behind(Tail::Chunk(chunk)));
        chunks.take(self.chunk_count() as usize).take_while(|_| budget.chunk())
    }

    /// Links the chunk to the tail. Returns what the transfer is then; none if it has changed.
    fn give(&self, seen: Transfer) -> Option<Transfer> {
        let (chunk, Some(word)) = (seen.chunk(), self.link_word(seen.tail())) else { return Some(seen.loose()) };
        let link = Link(word.load());
        // I-chunk-1
        if self.transfer() != seen {
            return None;
        }
        match self.named(link) {
            None => word.compare_exchange(link.0, link.to(chunk).0).ok()?,
            Some(named) if named == chunk => {}
            // Rubbish.
            Some(_) => return Some(seen.loose()),
        }
        let _ = self.header().chunk_pool.0.fresh.compare_exchange(chunk, chunk + 1);
        Some(seen.idle())
    }

    /// Seals the chunk's places. Returns what the transfer is then; none if it must be looked at again.
    fn seal(&self, seen: Transfer) -> Option<Transfer> {
        let (Some(chunk), Some(seal)) = (self.chunk(seen.chunk()), seen.seal()) else { return Some(seen.idle()) };
        let is_last = self.link(seen.tail()).and_then(|link| self.named(link)) == Some(seen.chunk())
            && self.named(Link(chunk.next.load())).is_none();
        if !is_last {
            return Some(seen.idle());
        }
        for word in chunk.wait_set.iter().take(CHUNK_USED) {
            let place = word.load();
            if place == seal.0 {
                continue;
            }
            if !self.is_vacant(place) {
                return Some(seen.idle());
            }
            word.compare_exchange(place, seal.0).ok()?;
        }
        Some(seen.cutting())
    }

    /// Makes the tail the end of its chain. Returns what the transfer is then; none if it has changed.
    fn cut(&self, seen: Transfer) -> Option<Transfer> {
        let Some(word) = self.link_word(seen.tail()) else { return Some(seen.loose()) };
        let link = Link(word.load());
        // I-chunk-1
        if self.transfer() != seen && !planted(Bug::CutBlind) {
            return None;
        }
        let end = if planted(Bug::CutUncounted) { Link(0) } else { link.cut() };
        if self.named(link) == Some(seen.chunk()) && word.compare_exchange(link.0, end.0).is_err() {
            return None;
        }
        Some(seen.loose())
    }

    pub(super) fn transfer(&self) -> Transfer {
        Transfer(self.header().chunk_pool.0.transfer.load())
    }

    /// The number of the transfer, which every step of one changes.
    pub(super) fn transfers(&self) -> u64 {
        self.header().chunk_pool.0.transfer.load_low()
    }

    /// The chunk that a link names. None: its wait set ends there.
    fn named(&self, link: Link) -> Option<u32> {
        link.chunk().filter(|&chunk| chunk < self.chunk_count())
    }

    /// The chunk behind a link.
    pub(super) fn next_chunk(&self, link: &Word32) -> Option<&Chunk> {
        self.chunk(Link(link.load()).chunk()?)
    }

    fn link(&self, tail: Tail) -> Option<Link> {
        self.link_word(tail).map(|word| Link(word.load()))
    }

    fn link_word(&self, tail: Tail) -> Option<&Word32> {
        match tail {
            Tail::Object(index) => self.object_slot(index).map(|slot| &slot.chunk),
            Tail::Chunk(index) => self.chunk(index).map(|chunk| &chunk.next),
        }
    }
}
