// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mutexes: an owner id and a recursion count. Signaled for everybody while unowned, for its owner until the count is
//! full.
//!
//! # Picture
//! ```text
//! owned, not SPILLED:  count = level                     1 to 31
//! owned, SPILLED:      count = spill * 16 + level        level 0 to 31, spill 1 and more
//! beside the word:     63      version      28 27   spill   0
//! ```
//! The count of a mutex has 32 bits, but the word has room for five. The other bits are beside the word, and a *carry*
//! moves them: a claim on the object for no waiter, which does not change the count.
//!
//! # Transitions
//! | step | on | from | to | by |
//! | --- | --- | --- | --- | --- |
//! | claim | object | at rest, level 31 (up) or 0 (down) | claimed `CarryUp`, `CarryDown` | a thread that needs it |
//! | move | beside | another version | spill one more or less, version of the claimed word | anyone |
//! | settle | object | claimed | level 15 or 16, at rest | anyone |
//!
//! # Invariants
//! * I-mutex-1: while the word claims a carry with sequence n, the version beside is n exactly if the move is done. A
//!   helper reads the word, then beside, then the word again: if the word still claims n, the data that it read beside
//!   is from before or after the move, and the version tells which. A later helper's move fails, because the version
//!   has changed.
//! * I-mutex-2: without `SPILLED` the part beside the word counts as 0.
//!
//! # Death
//! After the claim, and after the move, the next thread that touches the object continues.

use ntux_platform::atomic::Word64;

use super::{Access, Kind, Start, Step};
use crate::format::fields::{EXTRA, part};
use crate::format::layout::ObjectSlot;
use crate::format::limits::SPILL_UNIT;
use crate::format::object_word::{ABANDONED, Claimant, ObjectWord, SPILLED};
use crate::planted::{Bug, planted};
use crate::{Error, Result, spec};

const LEVEL_MAX: u32 = 31;
const SPILL_BITS: u32 = part(EXTRA, "spill").width;
const SPILL_MASK: u64 = (1 << SPILL_BITS) - 1;
const VERSION_MASK: u64 = u64::MAX >> SPILL_BITS;

/// A new mutex. Owner and count must both be 0 or both be nonzero.
pub(super) fn start(owner: u32, count: u32) -> Result<Start> {
    if (owner == 0) != (count == 0) {
        return Err(Error::Invalid);
    }
    let (spill, level) = match count {
        0..=LEVEL_MAX => (0, count),
        _ => (count / SPILL_UNIT - 1, count % SPILL_UNIT + SPILL_UNIT),
    };
    let flags = if spill > 0 { SPILLED } else { 0 };
    Ok(Start { kind: Kind::Mutex, value: owner, level, flags, extra: u64::from(spill) })
}

/// The part of the count beside the word.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Spill {
    units: u32,
    version: u64,
}

impl Spill {
    fn load(extra: &Word64) -> Spill {
        Spill::of(extra.load())
    }

    fn of(bits: u64) -> Spill {
        Spill { units: (bits & SPILL_MASK) as u32, version: bits >> SPILL_BITS }
    }

    fn bits(self) -> u64 {
        u64::from(self.units) & SPILL_MASK | self.version << SPILL_BITS
    }
}

/// The data beside a new mutex's word: a version that no carry of it can have soon.
pub(super) fn extra_at_start(units: u64, word: ObjectWord) -> u64 {
    Spill { units: units as u32, version: word.version() & VERSION_MASK }.bits()
}

/// The recursion count. Right if the word is still current afterwards.
#[inline(always)]
pub(crate) fn count(word: ObjectWord, extra: &Word64) -> u32 {
    if word.has(SPILLED) { spilled_count(word, extra) } else { word.level() }
}

#[cold]
fn spilled_count(word: ObjectWord, extra: &Word64) -> u32 {
    Spill::load(extra).units.wrapping_mul(SPILL_UNIT).wrapping_add(word.level())
}

/// Returns what a wait with this owner id can do with it.
#[inline(always)]
pub(super) fn access(word: ObjectWord, extra: &Word64, owner: u32) -> Access {
    if word.value() == 0 {
        return Access::Open(acquired(word, owner));
    }
    if word.value() != owner || count(word, extra) == u32::MAX {
        return Access::Closed;
    }
    if must_carry_up(word) { Access::Carry(Claimant::CarryUp) } else { Access::Open(acquired(word, owner)) }
}

/// Returns true if one more acquisition does not fit the word.
pub(super) fn must_carry_up(word: ObjectWord) -> bool {
    word.value() != 0 && word.level() == LEVEL_MAX
}

/// Returns true if the thread that acquires an object with this word must be told that the owner was killed.
#[inline(always)]
pub(crate) fn was_abandoned(word: ObjectWord) -> bool {
    word.has(ABANDONED)
}

/// Returns true if a part of the recursion count is beside the word.
pub(crate) fn is_spilled(word: ObjectWord) -> bool {
    word.has(SPILLED)
}

/// Acquired once more, or for the first time.
#[inline(always)]
pub(super) fn acquired(word: ObjectWord, owner: u32) -> ObjectWord {
    word.with_value(owner).with_level(word.level() + 1).without(ABANDONED)
}

/// Returns why this owner id may not release it. 0 is not a valid id.
fn stranger(owner: u32) -> Error {
    if owner == 0 { Error::Invalid } else { Error::NotOwner }
}

/// Without an owner, and without the mark of the last owner: the next one may be another thread.
#[inline(always)]
fn free(word: ObjectWord) -> ObjectWord {
    word.with_value(0).with_level(0).unclaimed()
}

/// Released once.
#[inline(always)]
pub(super) fn unlock(word: ObjectWord, extra: &Word64, owner: u32) -> Step {
    if word.value() != owner || owner == 0 {
        return Step::Refused(stranger(owner));
    }
    match (word.level(), word.has(SPILLED)) {
        (0, true) => Step::Carry(Claimant::CarryDown),
        (0, false) => Step::Refused(Error::Corrupt),
        (1, false) => Step::Changed { next: free(word), previous: 1, offers: true },
        (level, _) => {
            let previous = count(word, extra);
            // A full count excluded even the owner.
            Step::Changed { next: word.with_level(level - 1), previous, offers: previous == u32::MAX }
        }
    }
}

/// Released completely, because its owner is dead; the next acquisition reports it.
pub(super) fn kill(word: ObjectWord, extra: &Word64, owner: u32) -> Step {
    if word.value() != owner || owner == 0 {
        return Step::Refused(stranger(owner));
    }
    let next = free(word).without(SPILLED).with(ABANDONED);
    Step::Changed { next, previous: count(word, extra), offers: true }
}

/// The result of an unlock that an admitted operation has performed, or refused.
pub(super) fn unlocked(word: ObjectWord, extra: &Word64, owner: u32, offered: bool) -> Result<u32> {
    match word.value() {
        0 if offered => Ok(1),
        now if now == owner => Ok(count(word, extra).wrapping_add(1)),
        _ => Err(Error::NotOwner),
    }
}

/// The same for a kill.
pub(super) fn killed(offered: bool) -> Result<u32> {
    if offered { Ok(0) } else { Err(Error::NotOwner) }
}

/// The mutex, even during a carry (I-mutex-1).
pub(super) fn value(word: ObjectWord, extra: u64) -> Option<spec::Mutex> {
    let beside = Spill::of(extra);
    let has_moved = beside.version == word.version() & VERSION_MASK;
    let (units, level) = match word.claimant() {
        Claimant::CarryUp if has_moved => (beside.units, word.level().wrapping_sub(SPILL_UNIT)),
        Claimant::CarryDown if has_moved => (beside.units, word.level() + SPILL_UNIT),
        _ if word.has(SPILLED) => (beside.units, word.level()),
        _ => (0, word.level()),
    };
    let count = units.wrapping_mul(SPILL_UNIT).wrapping_add(level);
    let (owner, abandoned) = (word.value(), word.has(ABANDONED));
    let makes_sense = (owner != 0) == (count != 0) && !(owner != 0 && abandoned);
    makes_sense.then_some(spec::Mutex { owner, count, abandoned })
}

/// The result of helping a carry.
#[must_use]
pub(crate) enum Carried {
    /// The part is moved. The word that settles the carry.
    Moved(ObjectWord),
    /// Another thread has changed something: retry.
    LookAgain,
}

/// Moves a part of the count.
pub(super) fn carried(slot: &ObjectSlot, seen: ObjectWord) -> Carried {
    let up = seen.claimant() == Claimant::CarryUp;
    let version = seen.version() & VERSION_MASK;
    let beside = Spill::load(&slot.extra);
    if slot.load() != seen && !planted(Bug::CarryNoCheck) {
        return Carried::LookAgain;
    }
    let units = if beside.version == version {
        beside.units
    } else {
        let before = if seen.has(SPILLED) { beside.units } else { 0 };
        let units = if up { before.wrapping_add(1) } else { before.wrapping_sub(1) };
        let moved = Spill { units, version };
        // A failure means that another helper has moved it, or that the word has changed: retry.
        if slot.extra.compare_exchange(beside.bits(), moved.bits()).is_err() {
            return Carried::LookAgain;
        }
        units
    };
    let level = if up { seen.level().saturating_sub(SPILL_UNIT) } else { seen.level() + SPILL_UNIT };
    let next = seen.unclaimed().with_level(level).without(SPILLED);
    Carried::Moved(if units > 0 { next.with(SPILLED) } else { next })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_count_is_stored_and_read_back() {
        let counts = (1..100).chain([u32::MAX / 2, u32::MAX - 17, u32::MAX - 16, u32::MAX - 1, u32::MAX]);
        for wanted in counts {
            let start = start(7, wanted).unwrap();
            let word = ObjectWord::fresh(ObjectWord::default(), start.value, start.level).with(start.flags);
            let extra = Word64::new(extra_at_start(start.extra, word));
            assert_eq!(count(word, &extra), wanted);
        }
    }

    #[test]
    fn owner_and_count_are_zero_together() {
        assert!(matches!(start(0, 1), Err(Error::Invalid)));
        assert!(matches!(start(1, 0), Err(Error::Invalid)));
        assert!(start(0, 0).is_ok());
    }
}
