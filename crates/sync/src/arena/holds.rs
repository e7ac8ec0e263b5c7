// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which processes hold an object that is not behind descriptors, and when it ends.
//!
//! # Role
//! An object lives as long as a process holds it, or a wait runs on it, or an owner owns it. Most objects are held by the process that
//! created them, once: that is said by the keeper in meta, and costs nothing; its release is one exchange of meta. The first other hold
//! makes the object *shared*: from then on its holds are counted here, in the word that is the claims of an object behind descriptors
//! ([`super::claims`]), and a hold or a release is one exchange of it. Neither asks the kernel, unless there are more holders than places.
//!
//! # Picture
//! ```text
//! holds, low:   63 62     61        60    59    54 53  36 35   18 17    0
//!              +-----+-----------+-------+---------+------+-------+-------+
//!              |     | permanent | ended | others  | third| second| first |
//!              +-----+-----------+-------+---------+------+-------+-------+
//! high:         127           100 99   82 81    64
//!              +-----------------+-------+--------+
//!              |    sequence     |classes| fourth |
//!              +-----------------+-------+--------+
//! a place: a process (bits 17 to 6), how often it holds (bits 5 to 0; 0: the place is empty, 63: nobody knows)
//!          62: it holds no more; it released its last hold while the object was in use
//! ```
//! others: how often those hold who found no place (63: nobody knows). classes: which they can be: the numbers of processes, modulo 18.
//! permanent: it lives although no process holds it.
//!
//! # Transitions
//! | from | to | by |
//! | --- | --- | --- |
//! | not shared | not shared, one hold of the keeper's | whoever is about to share it; the word means nothing yet |
//! | that | shared, by meta | the same |
//! | shared | one hold more: in the process's place, in an empty one, in that of a dead process, or among the others | a process that holds it, or one that holds it *for* another process |
//! | shared | one hold less | a process that releases it |
//! | shared, as a hold for another process has left it | one hold less, of the place in which that process was | who has added it, if the place is another process's by then |
//! | one hold, not permanent, not in use | ended | the process that releases it |
//! | shared | permanent | whoever makes it so |
//! | permanent | not permanent; ended, if nobody holds it and it is not in use | whoever makes it temporary |
//! | no hold of a living process, not permanent, not in use | ended | a creation that needs the slot; the burial of the last one |
//! | ended | Free, by meta | the same, and anybody that needs the slot |
//! | not shared, not in use | Free, by meta | its keeper, which releases it; whoever finds its keeper dead |
//! | holds of a dead process | none | the process that gets its number, before it owns anything |
//! | not shared, kept by a dead process, in use | shared, not held | the same |
//!
//! *In use*: a wait that is not over stands in its wait set; or a mutex is owned, and a process that released it in use, as the last, lives.
//! (Nobody can be told of an owner without a wait, and nobody knows who an owner is: so the dead keep nothing by it.) A release can also leave
//! nothing to an owner: then that process is not noted as the last.
//!
//! # Invariants
//! * I-hold-1: the sequence counts every change, and never goes back in a slot. The word is read before meta, and once more if meta says that the
//!   object is shared: if it is the same, it is the object's, and was not read before that was shared. So a thread that exchanges it has
//!   changed this object's holds, or, if another object has the slot by then, a word that means nothing.
//! * I-hold-2: who shares an object writes the keeper's hold only, and its own later. So two that share it at the same time write
//!   the same, and neither takes the other's hold away.
//! * I-hold-3: an object that is shared is freed only after its holds say that it has ended, in an exchange with a word in which no living
//!   process held it. So a hold comes before that, and prevents it, or is refused.
//! * I-hold-4: an object that is not shared is freed by an exchange of meta, which whoever shares or adopts it changes.
//! * I-hold-5: a hold for another process is taken back only by an exchange with the very word that it has left. So it is that hold: a
//!   burial that had removed it would have changed the word, and so would a hold of the process that has the place now.
//!
//! # Ordering
//! * O-use: who ends an object reads its holds, looks for its use after that, and exchanges the holds (or meta) last. It looks for an owner,
//!   for waits, and whether the word has not changed since. So at one instant nobody held it, or only who is releasing it, and nobody used
//!   it. A thread that begins to use it after that instant, and does not hold it, may lose it.
//! * O-for: who holds an object for another process reads the word of its place, adds the hold, and reads that word again. A process that
//!   gets the place marks it before it buries ([`super::peers`]). So if the word still is that of the first process, every burial of its
//!   place begins after the hold, and removes it; else the hold is taken back. (A supervisor that has buried the dead process meanwhile,
//!   and has put its word back, does not count: whoever gets the place later buries it once more.)
//!
//! # Death
//! * After a hold of the keeper's was written, before meta: the word means nothing.
//! * After the object has ended, before meta: whoever needs the slot frees it.
//! * With holds: they are those of a dead process. The object ends when its slot is needed, or its holders' last number is.
//! * Among the others: their class says who they can be. While a process of a class lives, the object stays, even if it does not hold it.
//! * With a hold for another process, before the second look: that process holds the object, and does not know of it. If it was dead by
//!   then, and its place is another one's, that one does. So it is, too, with a hold that cannot be taken back because the word has changed
//!   (I-hold-5). Such a hold ends with that process.

use ntux_platform::atomic::Pair;

use super::Arena;
use super::peers::LivenessCache;
use crate::budget::WorkBudget;
use crate::format::fields::{HOLDS, part};
use crate::format::layout::ObjectSlot;
use crate::format::limits::{HOLDERS_USED, PEERS_USED, RETRIES};
use crate::format::meta::{Meta, SlotState};
use crate::format::object_word::{W, WA};
use crate::kind::Kind;
use crate::planted::{Bug, planted};
use crate::{Error, Object, Result};

const FIRST: u32 = part(HOLDS, "first").first;
const PLACES: [u32; 4] = [FIRST, part(HOLDS, "second").first, part(HOLDS, "third").first, part(HOLDS, "fourth").first];
const PLACE_MASK: u128 = part(HOLDS, "first").mask() as u128;
const COUNT_BITS: u32 = 6;
const COUNT_MASK: u32 = (1 << COUNT_BITS) - 1;
/// Also counts: it holds no more, but was the last once; nobody knows how often.
const LAST: u32 = COUNT_MASK - 1;
const UNKNOWN: u32 = COUNT_MASK;
const OTHERS_SHIFT: u32 = part(HOLDS, "others").first;
const OTHERS_MASK: u128 = part(HOLDS, "others").mask() as u128;
const ENDED: u128 = 1 << part(HOLDS, "ended").first;
const PERMANENT: u128 = 1 << part(HOLDS, "permanent").first;
const CLASSES_SHIFT: u32 = part(HOLDS, "classes").first;
const CLASSES: u32 = part(HOLDS, "classes").width;
const CLASSES_MASK: u128 = part(HOLDS, "classes").mask() as u128;
const SEQUENCE_SHIFT: u32 = part(HOLDS, "sequence").first;

/// Processes that are looked at for holds among the others. Beyond that, one of them may live.
const LOOKS: u32 = 64;

/// A copy of an object's holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Holds(u128);

impl From<Pair> for Holds {
    fn from(word: Pair) -> Holds {
        Holds(word.into())
    }
}

impl From<Holds> for Pair {
    fn from(holds: Holds) -> Pair {
        holds.0.into()
    }
}

impl Holds {
    /// Those of an object that its keeper holds once, whatever this word was.
    fn of_keeper(self, keeper: u32) -> Holds {
        self.emptied().with(FIRST, keeper, 1).next()
    }

    fn is_ended(self) -> bool {
        self.0 & ENDED != 0
    }

    /// Nobody holds the object, and nobody will.
    fn ended(self) -> Holds {
        Holds(self.emptied().0 | ENDED).next()
    }

    /// The object lives although nobody holds it.
    fn is_permanent(self) -> bool {
        self.0 & PERMANENT != 0 && !planted(Bug::PermanentForgotten)
    }

    fn permanent(self) -> Holds {
        Holds(self.0 | PERMANENT).next()
    }

    fn temporary(self) -> Holds {
        Holds(self.0 & !PERMANENT).next()
    }

    /// This process holds it once more; places of processes that are gone are given away.
    fn held_by(self, peer: u32, is_gone: impl Fn(u32) -> bool) -> Holds {
        if let Some(place) = self.place_of(peer) {
            let count = match self.count_at(place) {
                LAST => 1,
                UNKNOWN => UNKNOWN,
                // The next number is no count.
                count if count + 1 == LAST => UNKNOWN,
                count => count + 1,
            };
            return self.with(place, peer, count).next();
        }
        let is_empty = |place: &u32| matches!(self.count_at(*place), 0 | LAST);
        let place = places().find(is_empty).or_else(|| places().find(|place| is_gone(self.peer_at(*place))));
        match place {
            Some(place) => self.with(place, peer, 1),
            None => self.with_others((self.others() + 1).min(OTHERS_MASK)).with_class(class_of(peer)),
        }
        .next()
    }

    /// This process holds it once less. None if it does not hold it.
    fn released_by(self, peer: u32) -> Option<Holds> {
        let place = self.place_of(peer).filter(|place| self.count_at(*place) != LAST);
        if let Some(place) = place {
            return Some(match self.count_at(place) {
                UNKNOWN => self,
                count => self.with(place, peer, count - 1).next(),
            });
        }
        if !self.is_among_others(peer) {
            return None;
        }
        Some(match self.others() {
            OTHERS_MASK => self,
            1 => self.without_others().next(),
            others => self.with_others(others - 1).next(),
        })
    }

    /// Notes that this process, which has a place no more, was the last, if there is room. In the same change.
    fn with_last(self, peer: u32) -> Holds {
        let place = |count| places().find(|place| self.count_at(*place) == count);
        match (self.place_of(peer), place(0).or_else(|| place(LAST))) {
            (None, Some(place)) => self.with(place, peer, LAST),
            _ => self,
        }
    }

    /// The processes that were the last once. (The object may be held.)
    fn last_holders(self) -> impl Iterator<Item = u32> {
        places().filter(move |place| self.count_at(*place) == LAST).map(move |place| self.peer_at(place))
    }

    /// Returns true if nobody holds it, not even the dead, and it is not permanent.
    fn are_nobodys(self) -> bool {
        !self.is_permanent() && self.others() == 0 && places().all(|place| matches!(self.count_at(place), 0 | LAST))
    }

    /// Without this process, which is dead. `is_class_gone`: so are all others of its class.
    fn buried(self, peer: u32, is_class_gone: bool) -> Holds {
        let rest = self.place_of(peer).map_or(self, |place| self.with(place, peer, 0));
        let rest = if is_class_gone { rest.without_class(class_of(peer)) } else { rest };
        if rest == self { self } else { rest.next() }
    }

    /// The processes in places that hold it.
    fn holders(self) -> impl Iterator<Item = u32> {
        places().filter(move |place| !matches!(self.count_at(*place), 0 | LAST)).map(move |place| self.peer_at(place))
    }

    fn has(self, peer: u32) -> bool {
        self.holders().any(|holder| holder == peer) || self.is_among_others(peer)
    }

    /// How often this process holds it, at most; `u32::MAX` if nobody knows.
    fn count_of(self, peer: u32) -> u32 {
        let in_place = match self.place_of(peer).map(|place| self.count_at(place)) {
            None | Some(LAST) => 0,
            Some(UNKNOWN) => u32::MAX,
            Some(count) => count,
        };
        let among_others = match self.others() {
            OTHERS_MASK => u32::MAX,
            others => others as u32,
        };
        if self.is_among_others(peer) { in_place.saturating_add(among_others) } else { in_place }
    }

    /// Returns true if this process may hold it among those without a place.
    fn is_among_others(self, peer: u32) -> bool {
        self.others() != 0 && self.0 >> (CLASSES_SHIFT + class_of(peer)) & 1 != 0
    }

    fn others(self) -> u128 {
        self.0 >> OTHERS_SHIFT & OTHERS_MASK
    }

    fn with_others(self, others: u128) -> Holds {
        Holds(self.0 & !(OTHERS_MASK << OTHERS_SHIFT) | others << OTHERS_SHIFT)
    }

    fn without_others(self) -> Holds {
        Holds(self.with_others(0).0 & !(CLASSES_MASK << CLASSES_SHIFT))
    }

    fn with_class(self, class: u32) -> Holds {
        Holds(self.0 | 1 << (CLASSES_SHIFT + class))
    }

    fn without_class(self, class: u32) -> Holds {
        let rest = Holds(self.0 & !(1 << (CLASSES_SHIFT + class)));
        if rest.0 >> CLASSES_SHIFT & CLASSES_MASK == 0 { rest.without_others() } else { rest }
    }

    fn emptied(self) -> Holds {
        Holds(self.0 >> SEQUENCE_SHIFT << SEQUENCE_SHIFT)
    }

    fn with(self, place: u32, peer: u32, count: u32) -> Holds {
        let bits = if count == 0 { 0 } else { peer << COUNT_BITS | count };
        Holds(self.0 & !(PLACE_MASK << place) | (u128::from(bits) & PLACE_MASK) << place)
    }

    fn place_of(self, peer: u32) -> Option<u32> {
        places().find(|place| self.count_at(*place) != 0 && self.peer_at(*place) == peer)
    }

    fn count_at(self, place: u32) -> u32 {
        self.at(place) & COUNT_MASK
    }

    fn peer_at(self, place: u32) -> u32 {
        self.at(place) >> COUNT_BITS
    }

    fn at(self, place: u32) -> u32 {
        (self.0 >> place & PLACE_MASK) as u32
    }

    fn next(self) -> Holds {
        Holds(self.0.wrapping_add(1 << SEQUENCE_SHIFT))
    }
}

fn class_of(peer: u32) -> u32 {
    peer % CLASSES
}

fn places() -> impl Iterator<Item = u32> {
    PLACES.iter().copied().take(HOLDERS_USED)
}

impl Arena {
    /// The process with this index holds the object once more. Returns the holds with it.
    ///
    /// Errors: `NoSuchObject`, `Invalid` (behind descriptors).
    pub(super) fn add_hold(&self, object: Object, peer: u32) -> Result<Holds> {
        let slot = self.object_slot(object.index()).ok_or(Error::NoSuchObject)?;
        for _ in 0..RETRIES {
            let (seen, meta) = self.shared_holds(slot, object)?;
            let Some(seen) = seen else {
                self.share(slot, object, meta);
                continue;
            };
            // I-hold-3
            if seen.is_ended() && !planted(Bug::HoldsEnded) {
                return Err(self.end(object, meta));
            }
            let next = seen.held_by(peer, |holder| LivenessCache::new(self).is_owner_dead(holder));
            if self.exchange_holds(object.index(), seen, next) {
                return Ok(next);
            }
        }
        Err(Error::Corrupt)
    }

    /// The calling process, which has this index, holds the object once more.
    ///
    /// Errors: those of [`Arena::add_hold`].
    pub(crate) fn hold_by(&self, object: Object, peer: u32) -> Result<()> {
        self.add_hold(object, peer).map(drop)
    }

    /// Another process holds the object once more: the one that has this number in the namespace of the caller, which has the index
    /// `mine`.
    ///
    /// Errors: those of [`Arena::add_hold`]; `NoSuchProcess`.
    #[cold]
    pub(crate) fn hold_for_process(&self, object: Object, pid: u32, mine: u32) -> Result<()> {
        self.kind_of(object)?;
        let (peer, process) = self.living_peer(pid).ok_or(Error::NoSuchProcess)?;
        let added = self.add_hold(object, peer)?;
        // O-for
        if self.has_place(peer, process) || planted(Bug::HoldsForStranger) {
            return Ok(());
        }
        self.take_back(object, added, peer, mine);
        Err(Error::NoSuchProcess)
    }

    /// Takes back the hold that the caller has added for the place with this index, if the holds are still those that it has left.
    fn take_back(&self, object: Object, added: Holds, peer: u32, mine: u32) {
        let Some(slot) = self.object_slot(object.index()) else { return };
        let Ok((Some(seen), meta)) = self.shared_holds(slot, object) else { return };
        // O-use
        let is_in_use = self.is_in_use(slot, object, meta, true);
        // I-hold-5
        if (seen == added || planted(Bug::TakesBackAny))
            && let Some(rest) = seen.released_by(peer)
        {
            self.leave(object, meta, seen, rest, is_in_use, Some(mine));
        }
    }

    /// How often the process with this index holds the object, at most: those without a place are counted together.
    ///
    /// Errors: `NoSuchObject`, `Invalid` (behind descriptors).
    #[cold]
    pub(crate) fn holds_of(&self, object: Object, peer: u32) -> Result<u32> {
        let slot = self.object_slot(object.index()).ok_or(Error::NoSuchObject)?;
        match self.shared_holds(slot, object)? {
            (None, meta) => Ok(u32::from(meta.keeper() == peer)),
            (Some(seen), meta) if seen.is_ended() => Err(self.end(object, meta)),
            (Some(seen), _) => Ok(seen.count_of(peer)),
        }
    }

    /// The process with this index releases an object that only it holds, once, and that is not in use: one exchange. Returns false
    /// if nothing has happened, whatever the reason.
    #[inline(always)]
    pub(crate) fn end_at_once(&self, object: Object, peer: u32) -> bool {
        let Some(slot) = self.object_slot(object.index()) else { return false };
        let word = slot.load();
        let meta = Meta(slot.meta.load());
        let is_in_use = word.has(W | WA) || word.is_claimed() || Kind::of(meta).is_owned(word);
        let ends = meta.is_live(object)
            && meta.is_kept_only_by(peer)
            && !is_in_use
            && slot.meta.compare_exchange(meta.0, meta.freed().0).is_ok();
        if ends {
            self.object_pool().hint(object.index());
        }
        ends
    }

    /// The process with this index holds the object once less. `owner_keeps`: the last release leaves it to an owner.
    ///
    /// Errors: `NoSuchObject`, `NotHeld`, `Invalid` (behind descriptors).
    #[cold]
    pub(crate) fn drop_hold(&self, object: Object, peer: u32, owner_keeps: bool) -> Result<()> {
        let slot = self.object_slot(object.index()).ok_or(Error::NoSuchObject)?;
        for _ in 0..RETRIES {
            let (seen, meta) = self.shared_holds(slot, object)?;
            // O-use
            let is_in_use = self.is_in_use(slot, object, meta, owner_keeps && !planted(Bug::OwnerForgotten));
            let Some(seen) = seen else {
                match meta.keeper() == peer {
                    false => return Err(Error::NotHeld),
                    true if is_in_use => self.share(slot, object, meta),
                    true if self.end_unshared(slot, object, meta) => return Ok(()),
                    true => {}
                }
                continue;
            };
            if seen.is_ended() {
                return Err(self.end(object, meta));
            }
            let rest = seen.released_by(peer).ok_or(Error::NotHeld)?;
            if self.leave(object, meta, seen, rest, is_in_use, owner_keeps.then_some(peer)) {
                return Ok(());
            }
        }
        Err(Error::Corrupt)
    }

    /// From these holds to fewer. The object ends if these are nobody's, and it is not in use. `last`: the process that may have been the
    /// last, for which an owner then keeps it. Returns false if nothing has happened.
    fn leave(&self, object: Object, meta: Meta, seen: Holds, rest: Holds, is_in_use: bool, last: Option<u32>) -> bool {
        let (is_last, index) = (rest.are_nobodys(), object.index());
        let next = match (is_last, is_in_use) {
            (true, false) if planted(Bug::EndsUnsaid) => rest,
            (true, false) => rest.ended(),
            (false, false) => rest,
            (_, true) => last.map_or(rest, |peer| rest.with_last(peer)),
        };
        let left = self.exchange_holds(index, seen, next);
        if left && is_last && !is_in_use {
            self.free_object(index, meta);
        }
        left
    }

    /// The object lives although nobody holds it, until it is made temporary or closed.
    ///
    /// Errors: `NoSuchObject`, `Invalid` (behind descriptors).
    #[cold]
    pub(crate) fn keep(&self, object: Object) -> Result<()> {
        let slot = self.object_slot(object.index()).ok_or(Error::NoSuchObject)?;
        for _ in 0..RETRIES {
            let (seen, meta) = self.shared_holds(slot, object)?;
            match seen {
                None => self.share(slot, object, meta),
                Some(seen) if seen.is_ended() => return Err(self.end(object, meta)),
                Some(seen) if seen.is_permanent() => return Ok(()),
                Some(seen) if self.exchange_holds(object.index(), seen, seen.permanent()) => return Ok(()),
                Some(_) => {}
            }
        }
        Err(Error::Corrupt)
    }

    /// The object lives no longer than processes hold it, of which the one with this index need not be one.
    ///
    /// Errors: `NoSuchObject`, `Invalid` (behind descriptors).
    #[cold]
    pub(crate) fn keep_no_more(&self, object: Object, peer: u32) -> Result<()> {
        let slot = self.object_slot(object.index()).ok_or(Error::NoSuchObject)?;
        for _ in 0..RETRIES {
            let (seen, meta) = self.shared_holds(slot, object)?;
            // O-use
            let is_in_use = self.is_in_use(slot, object, meta, true);
            match seen {
                Some(seen) if seen.is_ended() => return Err(self.end(object, meta)),
                Some(seen) if seen.is_permanent() => {
                    if self.leave(object, meta, seen, seen.temporary(), is_in_use, Some(peer)) {
                        return Ok(());
                    }
                }
                _ => return Ok(()),
            }
        }
        Err(Error::Corrupt)
    }

    /// For an adoption: of an object behind descriptors, nothing changes; one that several can hold, the process with this index holds, if it
    /// does not yet.
    ///
    /// Errors: those of [`Arena::add_hold`].
    #[cold]
    #[inline(never)]
    pub(super) fn hold_if_not_held(&self, object: Object, peer: u32) -> Result<()> {
        let slot = self.object_slot(object.index()).ok_or(Error::NoSuchObject)?;
        match self.shared_holds(slot, object) {
            Err(Error::Invalid) => Ok(()),
            Ok((Some(seen), _)) if !seen.is_ended() && seen.has(peer) => Ok(()),
            _ => self.hold_by(object, peer),
        }
    }

    /// Ends a shared object that no living process holds, unless it is in use. Returns true if its slot is free now. `lives`: a process
    /// that may live.
    #[cold]
    #[inline(never)]
    pub(super) fn end_if_unheld(&self, index: u32, slot: &ObjectSlot, lives: &dyn Fn(u32) -> bool) -> bool {
        for _ in 0..RETRIES {
            let (seen, meta) = self.holds_and_meta(slot, index);
            if meta.state() != SlotState::Live || !meta.is_shared() {
                return meta.state() == SlotState::Free;
            }
            if !seen.is_ended() {
                let object = Object::new(index, meta.generation());
                // O-use
                let owner_counts = seen.last_holders().any(lives);
                if self.is_held(seen, lives) || self.is_in_use(slot, object, meta, owner_counts) {
                    return false;
                }
                if !planted(Bug::HeirEndsUnsaid) && !self.exchange_holds(index, seen, seen.ended()) {
                    continue;
                }
            }
            if slot.meta.compare_exchange(meta.0, meta.freed().0).is_ok() {
                return true;
            }
        }
        false
    }

    /// Removes the holds of a dead process, whose number the calling process has now. Frees the object if that was the last holder.
    pub(super) fn bury_hold(&self, index: u32, slot: &ObjectSlot, peer: u32) {
        for _ in 0..RETRIES {
            let (seen, meta) = self.holds_and_meta(slot, index);
            if meta.state() != SlotState::Live || !meta.is_shared() || planted(Bug::HoldUnburied) {
                return;
            }
            if seen.is_ended() {
                break;
            }
            let is_class_gone = || self.peers().all(|other| class_of(other) != class_of(peer) || other == peer);
            let rest = seen.buried(peer, seen.is_among_others(peer) && is_class_gone());
            if rest == seen {
                return;
            }
            if self.exchange_holds(index, seen, rest) {
                if !rest.are_nobodys() {
                    return;
                }
                break;
            }
        }
        if self.end_if_unheld(index, slot, &|other| other != peer) {
            self.object_pool().hint(index);
        }
    }

    /// From an object that its keeper holds to a shared one. (I-hold-2. A caller that fails looks again.)
    pub(super) fn share(&self, slot: &ObjectSlot, object: Object, meta: Meta) {
        let index = object.index();
        let seen = self.holds_word(index);
        // Not shared since the word was read, or somebody has changed the word by then.
        let is_unshared = Meta(slot.meta.load()) == meta;
        let seen = if planted(Bug::SharesBlind) { self.holds_word(index) } else { seen };
        if is_unshared && self.exchange_holds(index, seen, seen.of_keeper(meta.keeper())) {
            let _ = slot.meta.compare_exchange(meta.0, meta.shared().0);
        }
    }

    /// Frees an object whose holds say that it has ended, so that nobody finds it who was told so.
    #[cold]
    fn end(&self, object: Object, meta: Meta) -> Error {
        self.free_object(object.index(), meta);
        Error::NoSuchObject
    }

    /// Frees an object that is not shared, unless meta has changed.
    fn end_unshared(&self, slot: &ObjectSlot, object: Object, meta: Meta) -> bool {
        let ended = slot.meta.compare_exchange(meta.0, meta.freed().0).is_ok();
        if ended {
            self.object_pool().hint(object.index());
        }
        ended
    }

    /// Meta, and the holds if the object is shared.
    ///
    /// Errors: `NoSuchObject`, `Invalid` (behind descriptors).
    fn shared_holds(&self, slot: &ObjectSlot, object: Object) -> Result<(Option<Holds>, Meta)> {
        let (seen, meta) = self.holds_and_meta(slot, object.index());
        match meta.is_live(object) {
            false => Err(Error::NoSuchObject),
            true if meta.is_held() => Err(Error::Invalid),
            true => Ok((meta.is_shared().then_some(seen), meta)),
        }
    }

    /// Returns true if a process that may live holds it.
    fn is_held(&self, seen: Holds, lives: &dyn Fn(u32) -> bool) -> bool {
        seen.is_permanent()
            || seen.holders().any(lives)
            || self
                .peers()
                .filter(|peer| seen.is_among_others(*peer))
                .zip(0..)
                .any(|(peer, looks)| looks == LOOKS || lives(peer))
    }

    /// Returns true if a wait runs on it, or, if that counts, somebody owns it; or both may have changed in turns.
    fn is_in_use(&self, slot: &ObjectSlot, object: Object, meta: Meta, owner_counts: bool) -> bool {
        let word = slot.load();
        let is_owned = || Kind::of(meta).is_owned(word) || slot.load() != word && !planted(Bug::UsedInTurns);
        self.is_waited_for(slot, object) || owner_counts && is_owned()
    }

    /// Returns true if a wait that is not over stands in the wait set.
    #[cold]
    #[inline(never)]
    pub(super) fn is_waited_for(&self, slot: &ObjectSlot, object: Object) -> bool {
        let word = slot.load();
        if planted(Bug::WaitForgotten) || !word.has(W | WA) && !word.is_claimed() {
            return false;
        }
        let budget = WorkBudget::default();
        budget.renew();
        self.places(&budget, slot).filter_map(|place| place.entry()).any(|entry| {
            self.waiter_slot(entry.waiter()).is_some_and(|waiter| {
                let seen = waiter.load();
                seen.is_open() && seen.ticket() == entry.ticket() && waiter.lists(entry, object)
            })
        })
    }

    /// The processes that ever took part.
    fn peers(&self) -> impl Iterator<Item = u32> {
        (0..PEERS_USED).take_while(|index| self.process(*index).is_some())
    }

    /// Meta, and the holds, which are those of the object if meta says that it is shared (I-hold-1).
    fn holds_and_meta(&self, slot: &ObjectSlot, index: u32) -> (Holds, Meta) {
        let mut seen = self.holds_word(index);
        for _ in 0..RETRIES {
            let meta = Meta(slot.meta.load());
            let now = if meta.is_shared() && !planted(Bug::HoldsUnconfirmed) { self.holds_word(index) } else { seen };
            if now == seen {
                return (seen, meta);
            }
            seen = now;
        }
        (seen, Meta(0))
    }

    fn holds_word(&self, index: u32) -> Holds {
        self.claims_word(index).map(|word| word.load()).unwrap_or_default().into()
    }

    fn exchange_holds(&self, index: u32, seen: Holds, next: Holds) -> bool {
        self.claims_word(index).is_some_and(|word| word.compare_exchange(seen.into(), next.into()).is_ok())
    }
}

#[cfg(test)]
mod tests;
