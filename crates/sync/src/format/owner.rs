// SPDX-License-Identifier: MIT OR Apache-2.0
//! Owner ids that an arena gives out, and the word that says who has one, as [`crate::arena::owners`] draws them.

use ntux_platform::atomic::Pair;

use super::fields::{Bits, LIFE, OWNER, OWNER_ID, part};
use super::holder::Holder;
use super::limits::OWNER_TURNS;

const INDEX: Bits = part(OWNER_ID, "index");
const TURN: Bits = part(OWNER_ID, "turn");
const ARENAS: u64 = part(OWNER_ID, "arenas").flag();
const WORD_TURN: Bits = part(OWNER, "turn");
const UNSWEPT: u64 = part(OWNER, "unswept").flag();
const KERNEL_MARKS: u64 = part(OWNER, "kernel_marks").flag();
const LIFE_TURN: Bits = part(LIFE, "turn");
const LIFE_SLEEPERS: u64 = part(LIFE, "sleepers").flag();
const _: () = assert!(TURN.width == WORD_TURN.width && OWNER_TURNS as u64 <= TURN.mask());

/// An owner id that an arena has given out. Other ids are what the program says they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct OwnerId(u32);

impl OwnerId {
    /// None if the program has chosen this id. Never 0.
    #[inline(always)]
    pub(crate) fn of(owner: u32) -> Option<OwnerId> {
        OwnerId::is_arenas(owner).then_some(OwnerId(owner))
    }

    /// Returns true if an arena gives out such ids.
    #[inline(always)]
    pub(crate) fn is_arenas(owner: u32) -> bool {
        u64::from(owner) & ARENAS != 0
    }

    /// The owner that has this place in this turn.
    pub(crate) fn new(index: u32, turn: u32) -> OwnerId {
        let place = (u64::from(index) & INDEX.mask()) << INDEX.shift();
        OwnerId((ARENAS | place | (u64::from(turn) & TURN.mask()) << TURN.shift()) as u32)
    }

    pub(crate) fn number(self) -> u32 {
        self.0
    }

    pub(crate) fn index(self) -> u32 {
        (u64::from(self.0) >> INDEX.shift() & INDEX.mask()) as u32
    }

    pub(crate) fn turn(self) -> u32 {
        (u64::from(self.0) >> TURN.shift() & TURN.mask()) as u32
    }

    /// What the word of its life holds while it lives, unless the kernel marks it. Not what it holds in other turns.
    pub(crate) fn life(self) -> u32 {
        (LIFE_SLEEPERS | u64::from(self.turn()) << LIFE_TURN.shift()) as u32
    }
}

/// A copy of the word of an owner's place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct OwnerWord(pub Pair);

impl OwnerWord {
    /// The thread or process that has the place.
    pub(crate) fn holder(self) -> Holder {
        Holder(self.0.low)
    }

    /// How often somebody had it, counted from 1 to [`OWNER_TURNS`], and again.
    pub(crate) fn turn(self) -> u32 {
        (self.0.high >> WORD_TURN.shift() & WORD_TURN.mask()) as u32
    }

    /// Objects may name owners of this place from the round of turns before.
    pub(crate) fn is_unswept(self) -> bool {
        self.0.high & UNSWEPT != 0
    }

    /// The word of its life is the one that the kernel marks.
    pub(crate) fn is_marked_by_kernel(self) -> bool {
        self.0.high & KERNEL_MARKS != 0
    }

    /// From now on the kernel marks the word of its life.
    pub(crate) fn marked_by_kernel(self) -> OwnerWord {
        OwnerWord(Pair { high: self.0.high | KERNEL_MARKS, ..self.0 })
    }

    /// Taken by this holder. After the last turn comes the first, once the objects were asked.
    pub(crate) fn taken(self, by: Holder) -> OwnerWord {
        let next = match self.turn() {
            OWNER_TURNS.. => 1 << WORD_TURN.shift() | UNSWEPT,
            turn => u64::from(turn + 1) << WORD_TURN.shift() | self.0.high & UNSWEPT,
        };
        OwnerWord(Pair { low: by.0, high: next })
    }

    /// No object names an owner of an earlier round.
    pub(crate) fn swept(self) -> OwnerWord {
        OwnerWord(Pair { high: self.0.high & !UNSWEPT, ..self.0 })
    }

    /// Nobody's.
    pub(crate) fn freed(self) -> OwnerWord {
        OwnerWord(Pair { low: 0, ..self.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_says_its_place_and_its_turn() {
        for (index, turn) in [(0, 1), (1, 2), (INDEX.mask() as u32, TURN.mask() as u32)] {
            let id = OwnerId::new(index, turn);
            assert_eq!((OwnerId::of(id.number()), id.index(), id.turn()), (Some(id), index, turn));
        }
        assert_eq!(OwnerId::of(i32::MAX as u32), None);
    }

    #[test]
    fn a_place_counts_its_turns_and_says_when_they_begin_again() {
        let (one, other) = (Holder::new(3, 7), Holder::new(4, 0));
        let mut word = OwnerWord(Pair::default());
        for turn in 1..=OWNER_TURNS {
            word = word.taken(one);
            assert_eq!((word.holder(), word.turn(), word.is_unswept()), (one, turn, false));
            word = word.freed();
            assert!(word.holder().is_free());
        }
        word = word.taken(other);
        assert_eq!((word.turn(), word.is_unswept(), word.swept().is_unswept()), (1, true, false));
        assert!(word.freed().taken(one).is_unswept());
        let marked = word.marked_by_kernel();
        assert!(marked.is_marked_by_kernel() && !marked.freed().taken(one).is_marked_by_kernel());
        assert_eq!((marked.holder(), marked.turn()), (word.holder(), word.turn()));
    }
}
