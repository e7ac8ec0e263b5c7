// SPDX-License-Identifier: MIT OR Apache-2.0
//! The meta word of an object slot, as [`crate::arena::objects`] draws it; and the number of an object.

use super::fields::{META, part};
use crate::Object;

const STATE_SHIFT: u32 = part(META, "state").shift();
const STATE_MASK: u64 = part(META, "state").mask();
const KIND_SHIFT: u32 = part(META, "kind").shift();
const KIND_MASK: u64 = part(META, "kind").mask();
/// The highest bit of the kind.
const TIMED: u64 = 1 << (KIND_SHIFT + part(META, "kind").width - 1);
const HELD: u64 = part(META, "held").flag();
const LOCKED: u64 = part(META, "locked").flag();
const KEEPER_SHIFT: u32 = part(META, "keeper").shift();
const KEEPER_MASK: u64 = part(META, "keeper").mask();
const CREATOR_SHIFT: u32 = part(META, "creator").shift();
const CREATOR_MASK: u64 = part(META, "creator").mask();
/// Generations keep an object's number positive as a file offset, in which a descriptor stores it.
const GENERATION_MASK: u32 = 0x7fff_ffff;

/// What lives in the slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SlotState {
    Free,
    Building,
    Live,
    Rubbish,
}

/// A copy of an object's meta word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Meta(pub u64);

impl Meta {
    pub(crate) fn new(state: SlotState, kind: u64, generation: u32, keeper: u32) -> Meta {
        let state: u64 = match state {
            SlotState::Free | SlotState::Rubbish => 0,
            SlotState::Building => 1,
            SlotState::Live => 2,
        };
        let (kind, keeper) = (kind << KIND_SHIFT, u64::from(keeper) << KEEPER_SHIFT);
        Meta(u64::from(generation) | kind | state << STATE_SHIFT | keeper)
    }

    pub(crate) fn state(self) -> SlotState {
        match self.0 >> STATE_SHIFT & STATE_MASK {
            0 => SlotState::Free,
            1 => SlotState::Building,
            2 => SlotState::Live,
            _ => SlotState::Rubbish,
        }
    }

    /// The number of its kind: [`crate::kind::Kind::of`].
    #[inline(always)]
    pub fn kind(self) -> u64 {
        self.0 >> KIND_SHIFT & KIND_MASK
    }

    /// Returns true if the object is a timer or an end ([`crate::Kind`]). No other kind's number has this bit.
    #[inline(always)]
    pub(crate) fn is_timed(self) -> bool {
        self.0 & TIMED != 0
    }

    /// [`Meta::is_live`] of an object that is neither a timer nor an end: one comparison, too.
    #[inline(always)]
    pub(crate) fn is_live_untimed(self, object: Object) -> bool {
        const LIVE: u64 = 2 << STATE_SHIFT;
        self.0 as u32 == object.generation() && self.0 & (STATE_MASK << STATE_SHIFT | TIMED) == LIVE
    }

    pub fn generation(self) -> u32 {
        self.0 as u32 & GENERATION_MASK
    }

    /// The generation that ended when the slot became free.
    pub(crate) fn generation_before(self) -> u32 {
        match self.generation() {
            0 | 1 => GENERATION_MASK,
            generation => generation - 1,
        }
    }

    #[inline(always)]
    pub(crate) fn is_live(self, object: Object) -> bool {
        self.0 as u32 == object.generation() && self.0 >> STATE_SHIFT & STATE_MASK == 2
    }

    /// The process that the object belongs to; for a held object, the family that made it.
    pub(crate) fn keeper(self) -> u32 {
        (self.0 >> KEEPER_SHIFT & KEEPER_MASK) as u32
    }

    /// The same object, which belongs to this process from now on.
    pub(crate) fn kept_by(self, peer: u32) -> Meta {
        Meta(self.0 & !(KEEPER_MASK << KEEPER_SHIFT) | u64::from(peer) << KEEPER_SHIFT)
    }

    /// The process that created the object, for onlookers. None: unknown, because the process ended and its slot was given
    /// away, or because the slot is the last one, whose number plus one does not fit.
    pub(crate) fn creator(self) -> Option<u32> {
        ((self.0 >> CREATOR_SHIFT) as u32).checked_sub(1)
    }

    pub(crate) fn created_by(self, peer: u32) -> Meta {
        self.with_creator((u64::from(peer) + 1) & CREATOR_MASK)
    }

    pub(crate) fn without_creator(self) -> Meta {
        self.with_creator(0)
    }

    fn with_creator(self, number: u64) -> Meta {
        Meta(self.0 & !(CREATOR_MASK << CREATOR_SHIFT) | number << CREATOR_SHIFT)
    }

    pub(crate) fn is_held(self) -> bool {
        self.0 & HELD != 0
    }

    /// Returns true if the holds of an object that is not behind descriptors are in its claims ([`crate::arena::holds`]).
    #[inline(always)]
    pub(crate) fn is_shared(self) -> bool {
        self.0 & (HELD | LOCKED) == LOCKED
    }

    /// The same object, whose holds are in its claims.
    pub(crate) fn shared(self) -> Meta {
        Meta(self.0 | LOCKED)
    }

    /// Returns true if only this process holds the object, once: it is its keeper.
    #[inline(always)]
    pub(crate) fn is_kept_only_by(self, peer: u32) -> bool {
        self.0 & (KEEPER_MASK << KEEPER_SHIFT | HELD | LOCKED) == u64::from(peer) << KEEPER_SHIFT
    }

    /// Returns true if its keeper can be exchanged: neither descriptors nor several processes have it.
    #[inline(always)]
    pub(crate) fn is_kept(self) -> bool {
        self.0 & (HELD | LOCKED) == 0
    }

    /// Returns true if families answer for the object, and not yet its own byte.
    pub(crate) fn is_uncounted(self) -> bool {
        self.state() == SlotState::Live && self.is_held() && !self.is_locked()
    }

    pub(crate) fn is_locked(self) -> bool {
        self.0 & LOCKED != 0
    }

    pub(crate) fn locked(self) -> Meta {
        Meta(self.0 | LOCKED)
    }

    pub(crate) fn held(self) -> Meta {
        Meta(self.0 | HELD)
    }

    pub(crate) fn freed(self) -> Meta {
        let generation = match self.generation().wrapping_add(1) & GENERATION_MASK {
            0 => 1,
            next => next,
        };
        Meta::new(SlotState::Free, self.kind(), generation, 0)
    }
}

impl Object {
    pub(crate) fn new(index: u32, generation: u32) -> Object {
        Object(u64::from(generation) << 32 | u64::from(index))
    }

    /// The slot in which the object lies, or lay: another object can have it later.
    #[inline(always)]
    pub fn index(self) -> u32 {
        self.0 as u32
    }

    #[inline(always)]
    pub(crate) fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }
}
