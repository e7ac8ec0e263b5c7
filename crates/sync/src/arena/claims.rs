//! Which families have copies of an object's descriptor, and whether a message with one is on its way.
//!
//! # Role
//! Without this word, every object that was ever sent, and every object of which a process closed a copy, would need a lock for
//! the rest of its life, and each close, fork and exec walks the list of all locks (13 ns each). With it, an object needs a lock
//! only while its message is on its way, and where nobody knows how many copies a family has.
//!
//! # Picture
//! ```text
//! claims: 63       47     46      45      44      43 42    41     28 27     14 13      0
//!        +-----------+--------+---------+------+--------+---------+---------+---------+
//!        | sequence  | buried | several | left | flight |  third  | second  |  first  |
//!        +-----------+--------+---------+------+--------+---------+---------+---------+
//! a place: several (bit 13), a family plus one (bits 12 to 0; 0: none)
//! ```
//! The sequence counts every change. An object's keeper (in meta) is a family that needs no place until it has *left*. Once
//! meta says `locked`, the object's own byte stands for all copies, and this word means nothing.
//!
//! A process knows that a descriptor is the *sole* one if its family has no other copy: the process made the object, or a
//! message brought the family's first copy, and since then nobody copied the descriptor and the process did not fork. *Several*,
//! of the keeper or of a family in a place, means that another copy came to that family. *Buried* means that the claim of a dead
//! family was removed.
//!
//! # Transitions
//! | from | to | by |
//! | --- | --- | --- |
//! | flight None | Sent | a sender, of the keeper or a claimant; it then takes the flight's byte, then sends |
//! | flight Sent | Arriving, and a claim of the receiver's family (for the keeper: not left); *several* if it had one | the receiver; it then releases the flight's byte |
//! | flight Arriving | None | the receiver, after that |
//! | a claim; or not left | none; or left | a process of the family, after it closed the sole descriptor; not if several |
//! | a claim; or not left | several | a process that meets a copy that came unseen, in a family that has one |
//! | a claim; or not left | none; or left; and buried | a new family that gets the number of the claimant or keeper, before it has any object |
//! | anything | nothing | the creator of the slot's next object, before that object is live |
//!
//! A second message while the flight is not None takes the object's own byte instead, and sets `locked`, because nobody counts
//! messages. So does a process that closes a descriptor that is not the sole one, or while this word says several.
//!
//! If the keeper has left, nobody claims, nothing is on its way and nobody was buried, there is no copy. The process that made
//! it so frees the object. If it dies before, a sweep frees the object, because no byte is held then either.
//!
//! # Invariants
//! * I-claims-1: each copy of the descriptor is in a family that keeps or claims the object, or the object's open file
//!   description holds a byte, which is released only once that is so. (All copies are copies of that one description.)
//! * I-claims-2: the flight's byte is released only between Arriving and None, by the receiver that set Arriving, and is taken
//!   only between None and Sent. So nobody releases a byte on which a later message relies.
//! * I-claims-3: a family that gives up its claim by closing its sole descriptor has no copy. Each way to a second copy is
//!   recorded first: copies and forks in the process's note of the sole descriptor, messages in this word.
//! * I-claims-4: the own byte is held while meta does not say `locked` only if a family has a copy that an exec keeps. That
//!   family gives up its claim only by a burial, which this word records. So a process that frees an object by this word alone
//!   need not test the byte.
//!
//! # Ordering
//! * O-claims: a process that looks for references reads this word, tests the families, then the bytes, and reads the word again.
//!   The receiver claims before it releases the byte. So if both bytes were free because somebody released one, the word
//!   has changed by then, and the object stays.
//! * O-close: a process that closes a sole descriptor reads meta and this word after the close. A process that sends or copies the
//!   descriptor changes one of them, or its note, before. So a message that was sent, and a copy that was made, are seen.
//!
//! # Death
//! * The sender dies after Sent and before it holds the byte, or the send fails: the flight stays Sent, and later messages take
//!   the object's own byte.
//! * The receiver dies after Arriving: the same, and the flight's byte is held as long as the description lives.
//! * A process that closed its sole descriptor dies before it gives up the claim: the claim ends with its family.
//! * It dies after that: a sweep frees the object.
//!
//! In no case is an object freed early, and in none does it last longer than its description, which ends with the last copy.

use crate::format::fields::{CLAIMS, part};

const PLACES: [u32; 3] = [part(CLAIMS, "first").shift(), part(CLAIMS, "second").shift(), part(CLAIMS, "third").shift()];
const PLACE_MASK: u64 = part(CLAIMS, "first").mask();
/// The highest bit of a place.
const SEVERAL: u64 = PLACE_MASK - (PLACE_MASK >> 1);
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

    /// A message is about to be sent. `None` if one is on its way, or may be.
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

    /// The message has arrived at `family`, which stands for its copy from now on. `None` if there is no message, or no place
    /// for a claim.
    pub(super) fn arriving(self, family: u32, keeps: bool) -> Option<Claims> {
        let claimed = match keeps {
            _ if self.answer(family, keeps) => Some(self.with_several(family, keeps)),
            true => Some(Claims(self.0 & !LEFT)),
            false => self.with(family),
        };
        claimed.filter(|_| self.flight() == SENT).map(|claims| claims.with_flight(ARRIVING))
    }

    /// The flight's byte was released. `None` if no receiver was about to release it.
    pub(super) fn arrived(self) -> Option<Claims> {
        (self.flight() == ARRIVING).then(|| self.with_flight(NONE))
    }

    /// This family may have several copies.
    pub(super) fn are_several(self, family: u32, keeps: bool) -> bool {
        self == self.with_several(family, keeps)
    }

    /// This family has closed its sole descriptor. `None` if there may be another copy.
    pub(super) fn released(self, family: u32, keeps: bool) -> Option<Claims> {
        (!self.are_several(family, keeps)).then(|| self.without(family, keeps).next())
    }

    /// This family has ended; a program that it executed may have copies, for which the own byte stands.
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
