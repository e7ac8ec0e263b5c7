// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which families have copies of an object's descriptor and how many, and how many messages with one are on their way.
//!
//! # Role
//! Without this word, every object that was ever sent, copied or inherited would need a lock for the rest of its life, and each close,
//! fork and exec walks the list of all locks (13 ns each). With it, an object needs a lock only while a message with it is on its
//! way, and where nobody knows how many copies a family has.
//!
//! # Picture
//! ```text
//! claims, low:   63  61    60      59     54 53  36 35   18 17    0
//!              +--------+---------+---------+------+-------+-------+
//!              |        | landing | flights | third| second| first |
//!              +--------+---------+---------+------+-------+-------+
//! high:         127           100 99   82 81    64
//!              +-----------------+-------+--------+
//!              |    sequence     | fifth | fourth |
//!              +-----------------+-------+--------+
//! a place: a family (bits 17 to 6), how many copies it has (bits 5 to 0; 0: the place is empty, 63: nobody knows)
//! ```
//! The sequence counts every change. The family that makes the object is the first one in a place. Once meta says `locked`, the
//! object's own byte stands for all copies, and this word means nothing.
//!
//! A family is one process ([`super::descriptor`]). It knows its copies: it made the object, a message brought one, it copied one,
//! or it was forked while its parent had some.
//!
//! # Transitions
//! | from | to | by |
//! | --- | --- | --- |
//! | flights n | n + 1, if not landing | a sender, of a claimant; it then takes the flight's byte, then sends |
//! | flights n, and the receiver's claim | n - 1 and one copy more; landing if n was 1 | the receiver |
//! | flights n | n - 1; landing if n was 1 | a sender whose message was refused |
//! | landing | not landing | who made it so, after it has released the flight's byte |
//! | a claim | one copy more | a process of the family, before it copies a descriptor that it has |
//! | a claim | one copy fewer; none, if it was the last | the same, after it has closed one, or if the copy was refused |
//! | a claim | nobody knows how many | a process that meets a copy that came unseen, in a family that has one |
//! | no claim of a child | a claim | its parent, for each copy that it has itself, before it forks |
//! | a claim of a dead family | another one's | whoever needs a place |
//! | a claim of a dead family | none | a new family that gets its number, before it has any object; a process that forked, before it closes |
//! | anything | one copy of the creator's family | the creator of the slot's next object, before that object is live |
//!
//! A message that finds no room in the count, or landing, takes the object's own byte instead, and sets `locked`. So does a process that
//! closes a descriptor that it has not counted, or while nobody knows how many there are, or of which an exec will keep a copy.
//!
//! If nobody claims, and nothing is on its way or landing, there is no copy. The process that made it so frees the
//! object. If it dies before, a sweep frees the object, because no byte is held then either.
//!
//! # Invariants
//! * I-claims-1: each copy of the descriptor is in a family that claims the object, or the object's open file description holds a
//!   byte, which is released only once that is so. (All copies are copies of that one description.)
//! * I-claims-2: the flight's byte is released only while landing, and is taken only while not. So nobody releases a byte on which a
//!   later message relies.
//! * I-claims-3: a family's count is never less than its copies: it grows before a copy is made, and shrinks after one is closed.
//! * I-claims-4: if a copy relies on the own byte, meta says `locked` before the copy is made, or the object has a claim that ends only
//!   after meta says so. So a process that frees an object by this word alone need not test the byte.
//!
//! # Ordering
//! * O-claims: a process that looks for references reads this word, tests the families, then the bytes, and reads the word again.
//!   The receiver claims before it releases the byte. So if both bytes were free because somebody released one, the word
//!   has changed by then, and the object stays.
//! * O-close: a process that closes a descriptor reads meta and this word after the close. A process that sends or copies the
//!   descriptor changes one of them before. So a message that was sent, and a copy that was made, are seen.
//! * O-heir: the parent claims for its child before it forks, so no copy of the child's is without a claim.
//!
//! # Death
//! * The sender dies after it has counted the message and before it holds the byte, or a message is lost: the count stays too high,
//!   and with it the byte, as long as the description lives.
//! * The receiver dies while landing: the same, and later messages take the object's own byte.
//! * A process that has closed its last descriptor dies before it gives up the claim: the claim ends with its family.
//! * It dies after that: a sweep frees the object.
//! * A parent dies, or cannot fork, after it has claimed for a child: the claim is a dead family's.
//!
//! In no case is an object freed early, and in none does it last longer than its description, which ends with the last copy.

use ntux_platform::atomic::Pair;

use crate::format::fields::{CLAIMS, part};

const FIRST: u32 = part(CLAIMS, "first").first;
const SECOND: u32 = part(CLAIMS, "second").first;
/// The search of the tests has few, so that its three families do not all find one.
#[cfg(test)]
const PLACES: [u32; 2] = [FIRST, SECOND];
#[cfg(not(test))]
const PLACES: [u32; 5] =
    [FIRST, SECOND, part(CLAIMS, "third").first, part(CLAIMS, "fourth").first, part(CLAIMS, "fifth").first];
const PLACE_MASK: u128 = part(CLAIMS, "first").mask() as u128;
const COUNT_BITS: u32 = 6;
/// Also a count: nobody knows how many.
const UNKNOWN: u128 = (1 << COUNT_BITS) - 1;
const FLIGHTS_SHIFT: u32 = part(CLAIMS, "flights").first;
const FLIGHTS_MASK: u128 = part(CLAIMS, "flights").mask() as u128;
const LANDING: u128 = 1 << part(CLAIMS, "landing").first;
const SEQUENCE_SHIFT: u32 = part(CLAIMS, "sequence").first;

/// A copy of an object's claims.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Claims(u128);

impl From<Pair> for Claims {
    fn from(word: Pair) -> Claims {
        Claims(word.into())
    }
}

impl From<Claims> for Pair {
    fn from(claims: Claims) -> Pair {
        claims.0.into()
    }
}

impl Claims {
    /// The families that claim the object.
    pub(super) fn families(self) -> impl Iterator<Item = u32> {
        places().filter(move |place| self.count_at(*place) != 0).map(move |place| self.family_at(place))
    }

    /// Returns true if this family stands for its copies.
    pub(super) fn has(self, family: u32) -> bool {
        self.place_of(family).is_some()
    }

    /// Returns true if it is known how many copies this family has, and there are some.
    pub(super) fn are_counted(self, family: u32) -> bool {
        self.place_of(family).is_some_and(|place| self.count_at(place) != UNKNOWN)
    }

    /// A message is about to be sent. `None` if that cannot be counted.
    pub(super) fn sent(self) -> Option<Claims> {
        let room = self.0 & LANDING == 0 && self.flights() < FLIGHTS_MASK;
        room.then(|| Claims(self.0 + (1 << FLIGHTS_SHIFT)).next())
    }

    /// A message has arrived at `family`, which stands for its copy from now on. `None` if there is no message, or no place
    /// for a claim; places of families that are gone are given away.
    pub(super) fn arriving(self, family: u32, is_gone: impl Fn(u32) -> bool) -> Option<Claims> {
        self.refused()?;
        self.with_one_more(family, is_gone)?.refused()
    }

    /// A message was not sent. `None` if none is on its way.
    pub(super) fn refused(self) -> Option<Claims> {
        let flies = self.0 & LANDING == 0 && self.flights() != 0;
        let landing = if self.flights() == 1 { LANDING } else { 0 };
        flies.then(|| Claims((self.0 - (1 << FLIGHTS_SHIFT)) | landing).next())
    }

    /// Returns true if the flight's byte is about to be released.
    pub(super) fn are_landing(self) -> bool {
        self.0 & LANDING != 0
    }

    /// The flight's byte was released.
    pub(super) fn landed(self) -> Option<Claims> {
        self.are_landing().then(|| Claims(self.0 & !LANDING).next())
    }

    /// This family is about to copy a descriptor. `None` if nobody knows how many it has.
    pub(super) fn copied(self, family: u32) -> Option<Claims> {
        let place = self.place_of(family)?;
        (self.count_at(place) != UNKNOWN).then(|| Claims(self.0 + (1 << place)).next())
    }

    /// This family has closed a descriptor. `None` if nobody knows how many are left.
    pub(super) fn released(self, family: u32) -> Option<Claims> {
        let place = self.place_of(family)?;
        match self.count_at(place) {
            UNKNOWN => None,
            1 => Some(Claims(self.0 & !(PLACE_MASK << place)).next()),
            _ => Some(Claims(self.0 - (1 << place)).next()),
        }
    }

    /// `child` is about to get a copy of each descriptor of its parent's; this is one of them, and the parent knows it if
    /// `counted`. `None` if there is no place for a claim.
    pub(super) fn inherited(self, child: u32, counted: bool, is_gone: impl Fn(u32) -> bool) -> Option<Claims> {
        let claims = self.with_one_more(child, is_gone)?.next();
        Some(if counted { claims } else { claims.doubted(child) })
    }

    /// The claim of a family that has ended is removed.
    pub(super) fn buried(self, family: u32) -> Claims {
        match self.place_of(family) {
            Some(place) => Claims(self.0 & !(PLACE_MASK << place)).next(),
            None => self,
        }
    }

    /// A copy came unseen to this family, which has one.
    pub(super) fn doubted(self, family: u32) -> Claims {
        match self.place_of(family) {
            Some(place) => Claims(self.0 | UNKNOWN << place).next(),
            None => self,
        }
    }

    /// Nobody has a copy.
    pub(super) fn are_nobodys(self) -> bool {
        self.0 & LANDING == 0 && self.flights() == 0 && self.families().next().is_none()
    }

    /// Those of a new object in the same slot, of which this family has the only descriptor.
    pub(super) fn of_successor(self, family: Option<u32>) -> Claims {
        let place = family.map_or(0, |family| u128::from(family) << COUNT_BITS | 1);
        Claims(self.0 >> SEQUENCE_SHIFT << SEQUENCE_SHIFT | place << FIRST).next()
    }

    /// Without a change of the sequence.
    fn with_one_more(self, family: u32, is_gone: impl Fn(u32) -> bool) -> Option<Claims> {
        if let Some(place) = self.place_of(family) {
            let known = self.count_at(place) != UNKNOWN;
            return Some(Claims(self.0 + (u128::from(known) << place)));
        }
        let claim = u128::from(family) << COUNT_BITS | 1;
        if let Some(place) = places().find(|place| self.count_at(*place) == 0) {
            return Some(Claims(self.0 | claim << place));
        }
        let place = places().find(|place| is_gone(self.family_at(*place)))?;
        Some(Claims(self.0 & !(PLACE_MASK << place) | claim << place))
    }

    #[inline(always)]
    fn place_of(self, family: u32) -> Option<u32> {
        places().find(|place| self.count_at(*place) != 0 && self.family_at(*place) == family)
    }

    #[inline(always)]
    fn count_at(self, place: u32) -> u128 {
        self.at(place) & UNKNOWN
    }

    #[inline(always)]
    fn family_at(self, place: u32) -> u32 {
        self.at(place) as u32 >> COUNT_BITS
    }

    /// From the half in which the place is: a fork reads all places of every object.
    #[inline(always)]
    fn at(self, place: u32) -> u128 {
        let half = if place < u64::BITS { self.0 as u64 } else { (self.0 >> u64::BITS) as u64 };
        u128::from(half >> (place % u64::BITS)) & PLACE_MASK
    }

    fn flights(self) -> u128 {
        self.0 >> FLIGHTS_SHIFT & FLIGHTS_MASK
    }

    fn next(self) -> Claims {
        Claims(self.0.wrapping_add(1 << SEQUENCE_SHIFT))
    }
}

#[inline(always)]
fn places() -> impl Iterator<Item = u32> {
    const { &PLACES }.iter().copied()
}

#[cfg(test)]
mod tests;
