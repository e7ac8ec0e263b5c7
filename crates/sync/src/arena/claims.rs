//! Which families have copies of an object's descriptor, beside its keeper, and whether a message with one is on its way.
//!
//! Without this word every object that was ever sent would need a lock for the rest of its life, and each close, fork and exec
//! walks the list of all locks (13 ns each). With it an object needs one only while its message is on its way, and again
//! from the first close on.
//!
//! # Picture
//! ```text
//! claims: 63       41 40    39 38     26 25     13 12      0
//!        +-----------+--------+---------+---------+---------+
//!        | sequence  | flight |  third  | second  |  first  |   each a family plus one; 0: none
//!        +-----------+--------+---------+---------+---------+
//! ```
//! The sequence counts every change. An object's keeper (in meta) is a family that needs no claim. Once meta says `locked`, the
//! object's own byte stands for all copies, and this word for nothing.
//!
//! # Transitions
//! | from | to | by |
//! | --- | --- | --- |
//! | flight None | Sent | who is about to send it, and belongs to the keeper or a claimant; takes the flight's byte, then sends |
//! | flight Sent | Arriving, and a claim of the receiver's family | who has received it; lets go of the flight's byte then |
//! | flight Arriving | None | the same, after that |
//! | a claim | none | a new family with the number of the claimant, before it has any object |
//! | anything | nothing | who makes the next object, before that is live |
//!
//! A second message while the flight is not None takes the object's own byte instead, and says `locked`: nobody counts messages.
//!
//! # Invariants
//! * I-claims-1: a copy of the descriptor is in a family that keeps or claims the object, or the object's open file description
//!   holds a byte that is let go of only when that is so. (All copies are copies of that one description.)
//! * I-claims-2: the flight's byte is let go of only between Arriving and None, by whom made it Arriving, and is taken only
//!   between None and Sent. So nobody lets go of a byte that a later message counts on.
//!
//! # Ordering
//! * O-claims: who looks for references reads this word, asks for the families, then for the bytes, and reads the word once
//!   more. The receiver claims before it lets go of the byte. So if both bytes were free because somebody let go of one, the
//!   word is another one by then, and the object stays.
//!
//! # Death
//! The sender dies after Sent and before it holds the byte, or the send fails: the flight stays Sent; later messages take the
//! object's own byte. The receiver dies after Arriving: the same, and the flight's byte is held as long as the description
//! lives. Nothing is freed early in either case, and nothing late: a description ends with its last copy.

use crate::format::fields::{CLAIMS, part};

const PLACES: [u32; 3] = [part(CLAIMS, "first").shift(), part(CLAIMS, "second").shift(), part(CLAIMS, "third").shift()];
const CLAIM_MASK: u64 = part(CLAIMS, "first").mask();
const FLIGHT_SHIFT: u32 = part(CLAIMS, "flight").shift();
const FLIGHT_MASK: u64 = part(CLAIMS, "flight").mask();
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

    /// The message has come to `family`, which claims the object unless it keeps it. None if there is no message, or no place
    /// for a claim.
    pub(super) fn arriving(self, family: u32, keeps: bool) -> Option<Claims> {
        let claimed = if keeps || self.has(family) { Some(self) } else { self.with(family) };
        claimed.filter(|_| self.flight() == SENT).map(|claims| claims.with_flight(ARRIVING))
    }

    /// The byte of the flight is free. None if nobody was to free it.
    pub(super) fn arrived(self) -> Option<Claims> {
        (self.flight() == ARRIVING).then(|| self.with_flight(NONE))
    }

    /// Without the claims of this family.
    pub(super) fn without(self, family: u32) -> Claims {
        let claim = u64::from(family) + 1;
        let rest = PLACES.iter().fold(self.0, |word, place| match word >> place & CLAIM_MASK {
            found if found == claim => word & !(CLAIM_MASK << place),
            _ => word,
        });
        Claims(rest).next()
    }

    /// Those of a new object in the same slot.
    pub(super) fn of_successor(self) -> Claims {
        Claims(self.0 >> SEQUENCE_SHIFT << SEQUENCE_SHIFT).next()
    }

    fn with(self, family: u32) -> Option<Claims> {
        let place = PLACES.iter().find(|place| self.0 >> **place & CLAIM_MASK == 0)?;
        Some(Claims(self.0 | (u64::from(family) + 1) << place))
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
