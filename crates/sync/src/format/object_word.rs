// SPDX-License-Identifier: MIT OR Apache-2.0
//! The word of an object: its complete state, in 128 bits that change in one step.
//!
//! # Picture
//! ```text
//!  127        96 95         64 63   59 58       42 41   37 36                0
//! +-------------+-------------+-------+-----------+-------+-------------------+
//! |     tag     |    value    | level |  claimant | flags |     sequence      |
//! +-------------+-------------+-------+-----------+-------+-------------------+
//!      32            32           5        17         5            37
//! ```
//! * sequence: every change increments it, so a compare-exchange with an old copy fails, however long its thread slept.
//! * flags: `W` a waiter registered since the flag was last cleared; `WA` the same for wait-all waiters; `PULSE`
//!   (events) the value on offer vanishes if nobody takes it; `BROADCAST` (manual-reset events) everybody is served;
//!   `ABANDONED` (mutexes) and `FIRED` (timers) share the bit of `PULSE`; `SPILLED` (mutexes) the recursion count continues beside the
//!   word.
//! * claimant: none, a waiter (the object is on its way to that waiter), or one of the reserved numbers.
//! * level: the low part of a mutex's recursion count, see [`crate::kind::mutex`].
//! * value: a semaphore's count, a mutex's owner, 1 or 0 for an event; of a timer see [`crate::kind::timer`]. In a claimed word it still includes the unit on
//!   offer.
//! * tag of a claim: the low 32 bits of the claimed waiter's ticket, or the number of a wait-all attempt. At rest: a
//!   [`Mark`], by which nothing in the core decides, so it may be any number.
//!
//! At rest means: no claimant. At rest and available implies that no registered waiter could take it.

use super::fields::{OBJECT_WORD, part};
use super::layout::ObjectSlot;
use super::limits::WAITERS_MAX;
use super::mark::Mark;
use crate::planted::{Bug, planted};
use ntux_platform::atomic::Pair;

pub(crate) const SEQUENCE_MASK: u64 = part(OBJECT_WORD, "sequence").mask();
const CLAIMANT_SHIFT: u32 = part(OBJECT_WORD, "claimant").shift();
const CLAIMANT_MASK: u64 = part(OBJECT_WORD, "claimant").mask();
const LEVEL_SHIFT: u32 = part(OBJECT_WORD, "level").shift();
const LEVEL_MASK: u64 = part(OBJECT_WORD, "level").mask();

/// A waiter registered since this was last cleared.
pub const W: u64 = part(OBJECT_WORD, "W").flag();
/// A wait-all waiter registered since this was last cleared.
pub const WA: u64 = part(OBJECT_WORD, "WA").flag();
/// Events: the value on offer vanishes if nobody takes it.
pub const PULSE: u64 = part(OBJECT_WORD, "PULSE").flag();
/// Mutexes: the owner was killed.
pub const ABANDONED: u64 = PULSE;
/// Timers: what is on offer is a firing, so whoever waits wakes by itself.
pub const FIRED: u64 = PULSE;
/// Manual-reset events: every waiter is served.
pub const BROADCAST: u64 = part(OBJECT_WORD, "BROADCAST").flag();
/// Mutexes: part of the recursion count is beside the word.
pub const SPILLED: u64 = part(OBJECT_WORD, "SPILLED").flag();

const ALL: u64 = CLAIMANT_MASK;
const ORIGIN: u64 = CLAIMANT_MASK - 1;
const ORIGIN_IDLE: u64 = CLAIMANT_MASK - 2;
const CARRY_UP: u64 = CLAIMANT_MASK - 3;
const CARRY_DOWN: u64 = CLAIMANT_MASK - 4;

/// The claimant of an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Claimant {
    /// At rest.
    Nobody,
    /// On its way to this waiter, in the epoch that the tag names.
    Waiter(u32),
    /// Held by the wait-all attempt that the tag numbers.
    All,
    /// Being signaled through the admission word.
    Origin,
    /// As `Origin`, but the operation had nothing to offer.
    OriginIdle,
    /// The recursion count moves a part of itself out of the word.
    CarryUp,
    /// The recursion count takes a part back.
    CarryDown,
    /// Not a valid claimant: somebody wrote rubbish.
    Rubbish,
}

/// A copy of an object's word.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ObjectWord(pub Pair);

impl ObjectWord {
    /// The word of a new object, without flags, that follows `before`.
    pub fn fresh(before: ObjectWord, value: u32, level: u32) -> ObjectWord {
        let sequence = if planted(Bug::FreshSequence) { 0 } else { before.0.low & SEQUENCE_MASK };
        ObjectWord(Pair { low: sequence, high: u64::from(value) }).with_level(level).marked(Mark::NOBODY)
    }

    /// Returns true if a flag is set.
    #[inline(always)]
    pub fn has(self, flag: u64) -> bool {
        self.0.low & flag != 0
    }

    /// With flags set.
    #[inline(always)]
    pub fn with(self, flags: u64) -> ObjectWord {
        ObjectWord(Pair { low: self.0.low | flags, ..self.0 })
    }

    /// With flags cleared.
    #[inline(always)]
    pub fn without(self, flags: u64) -> ObjectWord {
        ObjectWord(Pair { low: self.0.low & !flags, ..self.0 })
    }

    /// Count, owner or signaled.
    #[inline(always)]
    pub fn value(self) -> u32 {
        self.0.high as u32
    }

    /// With another value.
    #[inline(always)]
    pub fn with_value(self, value: u32) -> ObjectWord {
        ObjectWord(Pair { high: self.0.high & !0xffff_ffff | u64::from(value), ..self.0 })
    }

    /// Low part of the recursion count.
    #[inline(always)]
    pub fn level(self) -> u32 {
        (self.0.low >> LEVEL_SHIFT) as u32
    }

    /// With another low part of the recursion count.
    #[inline(always)]
    pub fn with_level(self, level: u32) -> ObjectWord {
        let level = (u64::from(level) & LEVEL_MASK) << LEVEL_SHIFT;
        ObjectWord(Pair { low: self.0.low & !(LEVEL_MASK << LEVEL_SHIFT) | level, ..self.0 })
    }

    /// The low half, which no two versions of the word share.
    #[inline(always)]
    pub fn low(self) -> u64 {
        self.0.low
    }

    /// The sequence, which names this version of the word.
    pub fn version(self) -> u64 {
        self.0.low & SEQUENCE_MASK
    }

    /// The number of changes from this version to a later one.
    pub fn changes_until(self, later: ObjectWord) -> u64 {
        later.version().wrapping_sub(self.version()) & SEQUENCE_MASK
    }

    /// Tag of the claim; at rest, the mark.
    #[inline(always)]
    pub fn tag(self) -> u32 {
        (self.0.high >> 32) as u32
    }

    /// Returns true if it is claimed.
    #[inline(always)]
    pub fn is_claimed(self) -> bool {
        self.0.low & (CLAIMANT_MASK << CLAIMANT_SHIFT) != 0
    }

    /// The claimant.
    pub fn claimant(self) -> Claimant {
        match self.0.low >> CLAIMANT_SHIFT & CLAIMANT_MASK {
            0 => Claimant::Nobody,
            ALL => Claimant::All,
            ORIGIN => Claimant::Origin,
            ORIGIN_IDLE => Claimant::OriginIdle,
            CARRY_UP => Claimant::CarryUp,
            CARRY_DOWN => Claimant::CarryDown,
            number if number <= u64::from(WAITERS_MAX) => Claimant::Waiter(number as u32 - 1),
            _ => Claimant::Rubbish,
        }
    }

    /// The word, claimed for a claimant.
    #[inline(always)]
    pub fn claimed_for(self, claimant: Claimant, tag: u32) -> ObjectWord {
        let number = match claimant {
            Claimant::Nobody | Claimant::Rubbish => 0,
            Claimant::Waiter(index) => u64::from(index) + 1,
            Claimant::All => ALL,
            Claimant::Origin => ORIGIN,
            Claimant::OriginIdle => ORIGIN_IDLE,
            Claimant::CarryUp => CARRY_UP,
            Claimant::CarryDown => CARRY_DOWN,
        };
        let low = self.0.low & !(CLAIMANT_MASK << CLAIMANT_SHIFT) | number << CLAIMANT_SHIFT;
        ObjectWord(Pair { low, high: self.0.high & 0xffff_ffff | u64::from(tag) << 32 })
    }

    /// The word at rest, with this mark.
    #[inline(always)]
    pub(crate) fn marked(self, mark: Mark) -> ObjectWord {
        ObjectWord(Pair { high: self.0.high & 0xffff_ffff | u64::from(mark.0) << 32, ..self.0 })
    }

    /// The mark of a word at rest.
    #[inline(always)]
    pub(crate) fn mark(self) -> Mark {
        Mark(self.tag())
    }

    /// The word without a claim, and without a mark.
    #[inline(always)]
    pub fn unclaimed(self) -> ObjectWord {
        let low = self.0.low & !(CLAIMANT_MASK << CLAIMANT_SHIFT);
        ObjectWord(Pair { low, high: self.0.high & 0xffff_ffff })
    }

    /// The same contents, one version later.
    #[inline(always)]
    pub fn advanced(self) -> ObjectWord {
        let sequence = self.0.low.wrapping_add(1) & SEQUENCE_MASK;
        ObjectWord(Pair { low: self.0.low & !SEQUENCE_MASK | sequence, ..self.0 })
    }
}

impl ObjectSlot {
    /// The object's word.
    #[inline(always)]
    pub(crate) fn load(&self) -> ObjectWord {
        ObjectWord(self.word.load())
    }

    /// Its halves, perhaps not of one moment: only an exchange may rely on them, which confirms both.
    #[inline(always)]
    pub(crate) fn glance(&self) -> ObjectWord {
        ObjectWord(self.word.glance())
    }

    /// Replaces `seen` by `next`, one version later.
    #[inline(always)]
    pub(crate) fn exchange(&self, seen: ObjectWord, next: ObjectWord) -> bool {
        self.word.compare_exchange(seen.0, next.advanced().0).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_do_not_touch_each_other() {
        let all = [W, WA, PULSE, BROADCAST, SPILLED].into_iter().fold(0, |sum, flag| sum | flag);
        let word = ObjectWord::default().with(all).with_level(31).with_value(u32::MAX);
        let word = word.claimed_for(Claimant::Waiter(WAITERS_MAX - 1), 7);
        assert_eq!((word.level(), word.value(), word.tag(), word.version()), (31, u32::MAX, 7, 0));
        assert_eq!(word.claimant(), Claimant::Waiter(WAITERS_MAX - 1));
        let rest = word.unclaimed().without(all).with_level(0).with_value(0);
        assert_eq!(rest, ObjectWord::default());
    }

    #[test]
    fn the_sequence_wraps_without_touching_its_neighbours() {
        let last = ObjectWord(Pair { low: SEQUENCE_MASK, high: 5 });
        assert_eq!(last.advanced(), ObjectWord(Pair { low: 0, high: 5 }));
        assert_eq!(last.changes_until(last.advanced().advanced()), 2);
    }

    #[test]
    fn reserved_claimants_are_no_waiters() {
        use Claimant::*;
        for claimant in [Nobody, Waiter(0), All, Origin, OriginIdle, CarryUp, CarryDown] {
            assert_eq!(ObjectWord::default().claimed_for(claimant, 9).claimant(), claimant);
        }
        let low = (u64::from(WAITERS_MAX) + 1) << CLAIMANT_SHIFT;
        assert_eq!(ObjectWord(Pair { low, high: 0 }).claimant(), Rubbish);
    }
}
