// SPDX-License-Identifier: MIT OR Apache-2.0
//! Owners: ids that an arena gives out, each once; who has one, and the word on which others sleep until it ends.
//!
//! # Picture
//! ```text
//!  id     31    30      15 14     0
//!        +----+-----------+--------+
//!        | 1  |   turn    | index  |      an id without the highest bit is what the program says it is
//!        +----+-----------+--------+
//!  place  127   81     80     79    64 63                0
//!        +-----+-----+---------+--------+-----------------+
//!        |  -  |  k  | unswept |  turn  | holder, 0: free |      holder: as in protocol::waiter; thread 0: its process
//!        +-----+-----+---------+--------+-----------------+      k: the kernel marks the life of this owner
//!  life   31    30     29                0
//!        +----+-------+------------------+
//!        | 1  | ended | turn; k: thread  |      k: in a page of its own (platform::life); else beside the place
//!        +----+-------+------------------+
//! ```
//! # Transitions
//! | step | from | to | by |
//! | --- | --- | --- | --- |
//! | take | free, or a dead thread's | a holder's, the next turn; after the last turn the first, unswept | a thread |
//! | sweep | unswept | swept, after no object names an owner of this place any more | the thread that has taken it |
//! | k | a holder's, whose thread has its number in the life that the kernel marks | the same with k | the holder |
//! | end | life: lives | life: ended | the holder of a thread's; the process of another holder; the kernel, when a thread with its number dies |
//! | free | a holder's | free | who has ended it; who buries it |
//!
//! # Invariants
//! * I-owner-1: an owner lives as long as its place says its turn, and a holder that lives. Once it has *ended*, it has ended for good as
//!   long as an object names it: no id is given out again before a sweep.
//! * I-owner-2: an id is given out only when its place is swept.
//! * I-owner-3: a place under the index of a process is freed before another process has that index (I-peer-1).
//! * I-owner-4: before an id is given out, its life says that it lives; only the taker of the next turn writes over what it says. So an owner
//!   has ended if its place has another turn, or if a look at its life after that says so.
//!
//! # Death
//! | after | what follows |
//! | --- | --- |
//! | take | the place is a dead thread's: the owner has ended, and the next one may take it |
//! | a sweep has begun | the same, and the place is unswept: the next one sweeps |
//! | its life was written | the same. (The kernel marks it if it names it already, and nobody has the id.) |
//! | end | the place is its holder's still, and its owner has ended |

use super::Arena;
use super::peers::LivenessCache;
use super::pool::Pool;
use crate::format::holder::Holder;
use crate::format::limits::RETRIES;
use crate::format::owner::{OwnerId, OwnerWord};
use crate::{Error, Result};
use ntux_platform::atomic::Word32;
use ntux_platform::futex::{self, Expected};
use ntux_platform::life::{self, Life};
use ntux_platform::robust::Head;

/// What is known of an owner.
pub(crate) enum Fate {
    Ended,
    /// It lives if its holder does. A thread that sleeps on this word is woken when it ends, as far as the system can.
    Unless(Holder, Expected),
}

impl Arena {
    /// Takes a place for a new owner with this holder. Returns its id, and whether the place must be swept before that is used.
    ///
    /// Errors: `Exhausted`.
    pub(crate) fn take_owner(&self, by: Holder) -> Result<(OwnerId, bool)> {
        let pool = self.owner_pool();
        let free = |index| self.exchange_owner(index, |word| word.holder().is_free().then(|| word.taken(by)));
        let cache = LivenessCache::new(self);
        let dead = |index| {
            let is_dead = |of: Holder| cache.is_thread_dead(of.peer(), of.thread());
            let heirs = |word: OwnerWord| (word.holder().is_free() || is_dead(word.holder())).then(|| word.taken(by));
            self.exchange_owner(index, heirs)
        };
        let index = pool.find(free, dead).or_else(|| pool.search(dead)).ok_or(Error::Exhausted)?;
        let slot = self.owner_slot(index).ok_or(Error::Corrupt)?;
        let word = OwnerWord(slot.word.load());
        let id = OwnerId::new(index, word.turn());
        // I-owner-4
        slot.life.store(id.life());
        Ok((id, word.is_unswept()))
    }

    /// From now on the kernel marks the life of an owner of the calling thread when that dies. None if it cannot.
    pub(crate) fn have_life_marked(&self, id: OwnerId, by: Holder, head: Head) -> Option<Life> {
        let page = self.life_page(id.index()).filter(|_| self.provide_life_page(id.index()))?;
        let life = Life::begin(head, &page.word)?;
        // I-owner-4
        let is_known = self.exchange_owner(id.index(), |word| is_of(word, id, by).then(|| word.marked_by_kernel()));
        is_known.then_some(life)
    }

    /// Says that no object names an earlier owner of this place. Returns false if its holder was taken for dead meanwhile.
    pub(crate) fn swept_owner(&self, id: OwnerId, by: Holder) -> bool {
        self.exchange_owner(id.index(), |word| is_of(word, id, by).then(|| word.swept()))
    }

    /// Ends an owner of this thread, or of its process: who sleeps until its end is woken. Returns false if it is none, or has ended.
    pub(crate) fn end_owner(&self, id: OwnerId, thread: Holder) -> bool {
        let Some(slot) = self.owner_slot(id.index()) else { return false };
        let word = OwnerWord(slot.word.load());
        let is_theirs = word.holder() == thread || word.holder() == thread.of_process();
        if !has_turn(word, id) || !is_theirs {
            return false;
        }
        if !word.is_marked_by_kernel() {
            let _ = slot.life.compare_exchange(id.life(), life::ended(id.life()));
            futex::wake(slot.life.futex_address(), u32::MAX);
        }
        let freed = self.exchange_owner(id.index(), |word| has_turn(word, id).then(|| word.freed()));
        if freed {
            self.owner_pool().hint(id.index());
        }
        freed
    }

    /// Frees the places of a dead process, as long as `is_dead` says that it has its index still.
    pub(crate) fn bury_owners(&self, peer: u32, is_dead: impl Fn() -> bool) {
        let pool = self.owner_pool();
        for index in 0..pool.used() {
            let is_theirs = |word: OwnerWord| word.holder().is_taken() && word.holder().peer() == peer;
            if self.exchange_owner(index, |word| (is_theirs(word) && is_dead()).then(|| word.freed())) {
                pool.hint(index);
            }
        }
    }

    /// Returns true if the arena has given out an id.
    pub(crate) fn has_owners(&self) -> bool {
        self.owner_pool().used() > 0
    }

    /// None if the arena has given out no such id.
    pub(crate) fn fate_of(&self, owner: u32) -> Option<Fate> {
        let id = OwnerId::of(owner).filter(|id| id.index() < self.owner_pool().used())?;
        let (word, life) = self.owner_and_life(id)?;
        let (value, address) = (life.load(), life.futex_address());
        // I-owner-4
        let lives =
            has_turn(word, id) && if word.is_marked_by_kernel() { !life::has_ended(value) } else { value == id.life() };
        Some(if lives { Fate::Unless(word.holder(), Expected { address, value }) } else { Fate::Ended })
    }

    /// Wakes all who sleep until the end of an owner, which has come. The kernel wakes one.
    pub(crate) fn tell_end(&self, owner: u32) {
        if let Some((_, life)) = OwnerId::of(owner).and_then(|id| self.owner_and_life(id)) {
            futex::wake(life.futex_address(), u32::MAX);
        }
    }

    /// The place of an owner, and the life of who has it. The second is in memory that has been provided.
    fn owner_and_life(&self, id: OwnerId) -> Option<(OwnerWord, &Word32)> {
        let slot = self.owner_slot(id.index())?;
        let word = OwnerWord(slot.word.load());
        let life = if word.is_marked_by_kernel() { &self.life_page(id.index())?.word } else { &slot.life };
        Some((word, life))
    }

    /// Exchanges the word of a place. Returns false if `next` does not want to.
    fn exchange_owner(&self, index: u32, next: impl Fn(OwnerWord) -> Option<OwnerWord>) -> bool {
        let Some(slot) = self.owner_slot(index) else { return false };
        for _ in 0..RETRIES {
            let seen = slot.word.load();
            let Some(next) = next(OwnerWord(seen)) else { return false };
            if slot.word.compare_exchange(seen, next.0).is_ok() {
                return true;
            }
        }
        false
    }

    fn owner_pool<'a>(&'a self) -> Pool<'a, impl Fn(u32) -> Option<&'a Word32>, impl Fn(u32) -> bool> {
        Pool {
            words: &self.header().owner_pool.0,
            capacity: self.owner_count(),
            link: |index| self.owner_slot(index).map(|slot| &slot.next_hint),
            provide: |index| self.provide_owner(index),
        }
    }
}

fn has_turn(word: OwnerWord, id: OwnerId) -> bool {
    word.holder().is_taken() && word.turn() == id.turn()
}

fn is_of(word: OwnerWord, id: OwnerId, by: Holder) -> bool {
    has_turn(word, id) && word.holder() == by
}
