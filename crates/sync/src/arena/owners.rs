// SPDX-License-Identifier: MIT OR Apache-2.0
//! Owners: ids that an arena gives out, each once, and who has one.
//!
//! # Picture
//! ```text
//!  id     31    30      15 14     0
//!        +----+-----------+--------+
//!        | 1  |   turn    | index  |      an id without the highest bit is what the program says it is
//!        +----+-----------+--------+
//!  place  127       80     79    64 63                0
//!        +-----+-----------+--------+-----------------+
//!        |  -  |  unswept  |  turn  | holder, 0: free |      holder: as in protocol::waiter; thread 0: its process
//!        +-----+-----------+--------+-----------------+
//! ```
//! # Transitions
//! | step | from | to | by |
//! | --- | --- | --- | --- |
//! | take | free, or a dead thread's | a holder's, the next turn; after the last turn the first, unswept | a thread |
//! | sweep | unswept | swept, after no object names an owner of this place any more | the thread that has taken it |
//! | free | a holder's | free | the process of the holder; who buries it |
//!
//! # Invariants
//! * I-owner-1: an owner lives as long as its place says its turn, and a holder that lives. Once it has *ended*, it has ended for good as
//!   long as an object names it: no id is given out again before a sweep.
//! * I-owner-2: an id is given out only when its place is swept.
//! * I-owner-3: a place under the index of a process is freed before another process has that index (I-peer-1).
//!
//! # Death
//! | after | what follows |
//! | --- | --- |
//! | take | the place is a dead thread's: the owner has ended, and the next one may take it |
//! | a sweep has begun | the same, and the place is unswept: the next one sweeps |

use super::Arena;
use super::peers::LivenessCache;
use super::pool::Pool;
use crate::format::holder::Holder;
use crate::format::limits::RETRIES;
use crate::format::owner::{OwnerId, OwnerWord};
use crate::{Error, Result};
use ntux_platform::atomic::Word32;

/// What is known of an owner.
pub(crate) enum Fate {
    Ended,
    /// It lives if its holder does.
    Unless(Holder),
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
        let word = self.owner_word(index).ok_or(Error::Corrupt)?;
        Ok((OwnerId::new(index, word.turn()), word.is_unswept()))
    }

    /// Says that no object names an earlier owner of this place. Returns false if its holder was taken for dead meanwhile.
    pub(crate) fn swept_owner(&self, id: OwnerId, by: Holder) -> bool {
        self.exchange_owner(id.index(), |word| is_of(word, id, by).then(|| word.swept()))
    }

    /// Frees the place of an owner of the process with this index. Returns false if it is none, or has ended.
    pub(crate) fn free_owner(&self, id: OwnerId, peer: u32) -> bool {
        let is_theirs = |word: OwnerWord| has_turn(word, id) && word.holder().peer() == peer;
        let freed = self.exchange_owner(id.index(), |word| is_theirs(word).then(|| word.freed()));
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
        let word = self.owner_word(id.index())?;
        Some(if has_turn(word, id) { Fate::Unless(word.holder()) } else { Fate::Ended })
    }

    fn owner_word(&self, index: u32) -> Option<OwnerWord> {
        self.owner_slot(index).map(|slot| OwnerWord(slot.word.load()))
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
