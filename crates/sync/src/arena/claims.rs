//! Which families have copies of an object's descriptor, and whether a message with one is on its way.
//!
//! Without this word every object that was ever sent, and every object of which a process closed a copy, would need a lock for
//! the rest of its life, and each close, fork and exec walks the list of all locks (13 ns each). With it an object needs one only
//! while its message is on its way, and where nobody knows how many copies a family has.
//!
//! # Picture
//! ```text
//! claims: 63       47     46      45      44      43 42    41     28 27     14 13      0
//!        +-----------+--------+---------+------+--------+---------+---------+---------+
//!        | sequence  | buried | several | left | flight |  third  | second  |  first  |
//!        +-----------+--------+---------+------+--------+---------+---------+---------+
//! a place: several (bit 13), a family plus one (bits 12 to 0; 0: none)
//! ```
//! The sequence counts every change. An object's keeper (in meta) is a family that needs no place, until it has *left*. Once
//! meta says `locked`, the object's own byte stands for all copies, and this word for nothing.
//!
//! A process knows of a descriptor that it is the *sole* one: its family has no other copy. It made it, or a message brought the
//! family's first one; and since then nobody copied it, and the process did not fork. *Several*, for the keeper or the family in
//! a place: another copy came to it. *Buried*: the claim of a dead family was removed.
//!
//! # Transitions
//! | from | to | by |
//! | --- | --- | --- |
//! | flight None | Sent | who is about to send it, and belongs to the keeper or a claimant; takes the flight's byte, then sends |
//! | flight Sent | Arriving, and a claim of the receiver's family (for the keeper: not left); *several* if it had one | who has received it; lets go of the flight's byte then |
//! | flight Arriving | None | the same, after that |
//! | a claim; or not left | none; or left | its family, which has closed its sole descriptor; not if several |
//! | a claim; or not left | several | who meets a copy that came unseen, in a family that has one |
//! | a claim; or not left | none; or left; and buried | a new family with the number of the claimant or keeper, before it has any object |
//! | anything | nothing | who makes the next object, before that is live |
//!
//! A second message while the flight is not None takes the object's own byte instead, and says `locked`: nobody counts messages.
//! So does who closes a descriptor that is not the sole one, or while this word says several.
//!
//! When the keeper has left, nobody claims, nothing is on its way and nobody was buried, there is no copy. Who made it so frees
//! the object. What it leaves half done a sweep finds, because then no byte is held either.
//!
//! # Invariants
//! * I-claims-1: a copy of the descriptor is in a family that keeps or claims the object, or the object's open file description
//!   holds a byte that is let go of only when that is so. (All copies are copies of that one description.)
//! * I-claims-2: the flight's byte is let go of only between Arriving and None, by whom made it Arriving, and is taken only
//!   between None and Sent. So nobody lets go of a byte that a later message counts on.
//! * I-claims-3: if a family gives up its claim by closing its sole descriptor, it has no copy. Every way to a second copy comes
//!   first to the process's note of the sole descriptor (copies, forks), or to this word (messages).
//! * I-claims-4: the own byte is held although meta does not say `locked` only where a family has a copy that an exec keeps. That
//!   family gives up its claim only by a burial, which this word says. So who frees an object by this word alone need not
//!   ask for the byte.
//!
//! # Ordering
//! * O-claims: who looks for references reads this word, asks for the families, then for the bytes, and reads the word once
//!   more. The receiver claims before it lets go of the byte. So if both bytes were free because somebody let go of one, the
//!   word is another one by then, and the object stays.
//! * O-close: who closes a sole descriptor reads meta and this word after the close. Whoever sends or copies the descriptor
//!   changes one of them, or the process's note, before. So a message that was sent, and a copy that was made, are seen.
//!
//! # Death
//! The sender dies after Sent and before it holds the byte, or the send fails: the flight stays Sent; later messages take the
//! object's own byte. The receiver dies after Arriving: the same, and the flight's byte is held as long as the description
//! lives. Who closes its sole descriptor dies before it has given up the claim: the claim ends with its family. It dies after
//! that: a sweep frees the object. Nothing is freed early in any case, and nothing late: a description ends with its last copy.

use crate::format::fields::{CLAIMS, part};

const PLACES: [u32; 3] = [part(CLAIMS, "first").shift(), part(CLAIMS, "second").shift(), part(CLAIMS, "third").shift()];
const PLACE_MASK: u64 = part(CLAIMS, "first").mask();
/// In a place.
const SEVERAL: u64 = 1 << 13;
const CLAIM_MASK: u64 = SEVERAL - 1;
const FLIGHT_SHIFT: u32 = part(CLAIMS, "flight").shift();
const FLIGHT_MASK: u64 = part(CLAIMS, "flight").mask();
const LEFT: u64 = part(CLAIMS, "left").flag();
const KEEPER_SEVERAL: u64 = part(CLAIMS, "several").flag();
const BURIED: u64 = part(CLAIMS, "buried").flag();
const SEQUENCE_SHIFT: u32 = part(CLAIMS, "sequence").shift();

const NONE: u64 = 0;
const SENT: u64 = 1;
const ARRIVING: u64 = 2;

/// A copy of an object's claims.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Claims(pub u64);

impl Claims {
    /// The families that claim the object.
    pub(super) fn families(self) -> impl Iterator<Item = u32> {
        PLACES
            .into_iter()
            .filter_map(move |place| (self.0 >> place & CLAIM_MASK).checked_sub(1))
            .map(|family| family as u32)
    }

    pub(super) fn has(self, family: u32) -> bool {
        self.families().any(|claimant| claimant == family)
    }

    /// A message is about to go. None if one is on its way, or that is not known.
    pub(super) fn sent(self) -> Option<Claims> {
        (self.flight() == NONE).then(|| self.with_flight(SENT))
    }

    /// The keeper has no copy any more.
    pub(super) fn is_left(self) -> bool {
        self.0 & LEFT != 0
    }

    /// Whether this family stands for its copies. `keeps`: it is the one in meta.
    pub(super) fn answer(self, family: u32, keeps: bool) -> bool {
        keeps && !self.is_left() || self.has(family)
    }

    /// The message has come to `family`, which stands for its copy from now on. None if there is no message, or no place for a
    /// claim.
    pub(super) fn arriving(self, family: u32, keeps: bool) -> Option<Claims> {
        let claimed = match keeps {
            _ if self.answer(family, keeps) => Some(self.with_several(family, keeps)),
            true => Some(Claims(self.0 & !LEFT)),
            false => self.with(family),
        };
        claimed.filter(|_| self.flight() == SENT).map(|claims| claims.with_flight(ARRIVING))
    }

    /// The byte of the flight is free. None if nobody was to free it.
    pub(super) fn arrived(self) -> Option<Claims> {
        (self.flight() == ARRIVING).then(|| self.with_flight(NONE))
    }

    /// This family may have several copies.
    pub(super) fn are_several(self, family: u32, keeps: bool) -> bool {
        self == self.with_several(family, keeps)
    }

    /// This family has closed its sole descriptor. None if there may be another one.
    pub(super) fn released(self, family: u32, keeps: bool) -> Option<Claims> {
        (!self.are_several(family, keeps)).then(|| self.without(family, keeps).next())
    }

    /// This family is gone; what it executed may have copies that the own byte stands for.
    pub(super) fn buried(self, family: u32, keeps: bool) -> Claims {
        Claims(self.without(family, keeps).0 | BURIED).next()
    }

    /// A copy came unseen to this family, which has one.
    pub(super) fn doubted(self, family: u32, keeps: bool) -> Claims {
        self.with_several(family, keeps).next()
    }

    /// Nobody has a copy.
    pub(super) fn are_nobodys(self) -> bool {
        self.is_left() && self.0 & BURIED == 0 && self.flight() == NONE && self.families().next().is_none()
    }

    /// Those of a new object in the same slot.
    pub(super) fn of_successor(self) -> Claims {
        Claims(self.0 >> SEQUENCE_SHIFT << SEQUENCE_SHIFT).next()
    }

    fn without(self, family: u32, keeps: bool) -> Claims {
        let rest = match self.place_of(family) {
            Some(place) => self.0 & !(PLACE_MASK << place),
            None => self.0,
        };
        Claims(if keeps { rest & !KEEPER_SEVERAL | LEFT } else { rest })
    }

    fn with(self, family: u32) -> Option<Claims> {
        let place = PLACES.iter().find(|place| self.0 >> **place & PLACE_MASK == 0)?;
        Some(Claims(self.0 | (u64::from(family) + 1) << place))
    }

    fn with_several(self, family: u32, keeps: bool) -> Claims {
        let of_claim = self.place_of(family).map_or(0, |place| SEVERAL << place);
        Claims(self.0 | of_claim | if keeps { KEEPER_SEVERAL } else { 0 })
    }

    fn place_of(self, family: u32) -> Option<u32> {
        PLACES.into_iter().find(|place| self.0 >> place & CLAIM_MASK == u64::from(family) + 1)
    }

    fn flight(self) -> u64 {
        self.0 >> FLIGHT_SHIFT & FLIGHT_MASK
    }

    fn with_flight(self, flight: u64) -> Claims {
        Claims(self.0 & !(FLIGHT_MASK << FLIGHT_SHIFT) | flight << FLIGHT_SHIFT).next()
    }

    fn next(self) -> Claims {
        Claims(self.0.wrapping_add(1 << SEQUENCE_SHIFT))
    }
}

#[cfg(test)]
mod tests;
