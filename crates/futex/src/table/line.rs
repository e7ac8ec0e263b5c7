// SPDX-License-Identifier: MIT OR Apache-2.0
//! The line of a bucket: its entries in order of arrival.
//!
//! # Picture
//! ```text
//! line       63              22 21    18 17          0
//!           +------------------+--------+-------------+     ring: where the next ticket leads (`ring.rs`)
//!           |     arrivals     |  ring  |   present   |     present: entries that arrived and have not left
//!           +------------------+--------+-------------+
//! head       63     42 41                             0
//!           +---------+-------------------------------+     no ticket before it is queued, or ever will be:
//!           |    0    |            ticket             |     where a walk begins (`walk.rs`)
//!           +---------+-------------------------------+
//! slot low   63              27 26           7 6      0
//!           +------------------+--------------+--------+    stamp: the ticket, without its high bits
//!           |      stamp       |   waiter+1   | entry  |    an empty slot has 0 for the waiter: then tickets before
//!           +------------------+--------------+--------+    the stamp are void here
//! slot high  the key of the futex; 0
//! ```
//! An entry arrives in two steps: it draws a ticket, the first of which counts it as present, and it goes into the slot
//! that the ticket leads to. If that slot is taken, or the ticket is void there, it draws another one. It leaves in two
//! steps: a thread empties the slot, and the same thread counts the entry out.
//!
//! # Transitions of a slot
//! | from | to | by | meaning |
//! | --- | --- | --- | --- |
//! | empty, at most t | used by t | the thread that drew t | the entry is queued |
//! | used by t | empty, t + 1 | a thread that ends or moves the wait, or finds it over | the entry is no longer queued |
//! | empty | empty, at least t + 1 | a walk that passes t | the thread that drew t must draw again |
//!
//! # Invariants
//! * I-line-1: `present` is at least the number of slots in use whose tickets were drawn before it was read.
//! * I-line-2: a ticket leads to one slot, and the stamp of a slot only grows.
//! * I-line-3: no ticket before `head` is queued, or ever will be. So `head` may be arbitrarily old: that costs only
//!   time.
//!
//! # Order
//! * O-void: a walk that finds no entry in a slot either does nothing, or makes the ticket void. In the first case the
//!   entry comes later, and its thread compares its words after that (O-arrive in `waiter.rs`). In the second case the
//!   entry comes with a later ticket, and the same holds.
//!
//! # Death
//! | killed | effect |
//! | --- | --- |
//! | between the ticket and the slot, or between emptying and counting out (some ten instructions each) | an entry stays counted as present: from then on wakes in this bucket examine the slots, and pass them. It does not make the line grow. After [`PRESENT_MAX`] such deaths in one bucket nobody can wait there |
//! | with entries in slots | whoever meets them, or inherits the seat, empties the slots: the places name all of them (I-waiter-3) |
//! | as a requeuer, before the move is recorded | the entry at the new place has no effect, and its slot is emptied by the first walk that meets it while its waiter does not wait |

use ntux_platform::atomic::{Pair, Word64, Word128};

use super::RETRIES;
use super::key::Key;
use super::memory::{Bucket, Memory};
use super::ring::{Ring, Slot};
use super::seat::Owner;
use super::waiter::{WaitState, Word};
use crate::planted::{Bug, planted};
use crate::{Error, Result};

const PRESENT_BITS: u32 = 18;
const RING_BITS: u32 = 4;
const TICKET_BITS: u32 = 64 - PRESENT_BITS - RING_BITS;
const ONE_RING: u64 = 1 << PRESENT_BITS;
const ONE_ARRIVAL: u64 = ONE_RING << RING_BITS;
/// Limit of the entries in one bucket, so far below the counter's range that threads in between cannot overflow it.
const PRESENT_MAX: usize = 1 << (PRESENT_BITS - 1);
/// The highest ring number that the line can hold.
pub const RING_MAX: u32 = (1 << RING_BITS) - 1;

const STAMP_SHIFT: u32 = 27;
const WAITER_SHIFT: u32 = 7;
const WAITER_MASK: u64 = (1 << (STAMP_SHIFT - WAITER_SHIFT)) - 1;

/// The arrival number of an entry in its bucket. Comparisons are right among fewer than 2^41 consecutive tickets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ticket(u64);

impl Ticket {
    pub fn from_number(number: u64) -> Ticket {
        Ticket(number & ((1 << TICKET_BITS) - 1))
    }

    pub fn number(self) -> u64 {
        self.0
    }

    pub fn plus(self, count: u64) -> Ticket {
        Ticket::from_number(self.0.wrapping_add(count))
    }

    /// The number of tickets from this one to a later one.
    pub fn until(self, later: Ticket) -> u64 {
        later.plus(self.0.wrapping_neg()).0
    }

    pub fn is_before(self, other: Ticket) -> bool {
        (1..1 << (TICKET_BITS - 1)).contains(&self.until(other))
    }

    pub fn stamp(self) -> Stamp {
        Stamp(self.0 << STAMP_SHIFT >> STAMP_SHIFT)
    }

    /// The first ticket with this stamp that is not before this one.
    pub fn with_stamp(self, stamp: Stamp) -> Ticket {
        self.plus(self.stamp().until(stamp))
    }
}

/// The part of a ticket that fits into a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamp(u64);

impl Stamp {
    fn until(self, later: Stamp) -> u64 {
        later.0.wrapping_sub(self.0) << STAMP_SHIFT >> STAMP_SHIFT
    }

    fn is_before(self, other: Stamp) -> bool {
        (1..1 << (63 - STAMP_SHIFT)).contains(&self.until(other))
    }

    /// The stamp of the ticket after this one's; if so many came since that it would look like a future one, that of
    /// the line's next ticket.
    fn after(self, line: Line) -> Stamp {
        let (after, next) = (Stamp(self.0.wrapping_add(1) << STAMP_SHIFT >> STAMP_SHIFT), line.next().stamp());
        if next.is_before(after) { next } else { after }
    }
}

/// A value of a line.
#[derive(Clone, Copy)]
pub struct Line(u64);

impl Line {
    #[inline(always)]
    pub fn of(bucket: &Bucket) -> Line {
        Line(bucket.line.load())
    }

    /// Entries that were present.
    #[inline(always)]
    pub fn present(self) -> usize {
        (self.0 & (ONE_RING - 1)) as usize
    }

    /// The number of the ring that the next ticket leads to.
    pub fn ring(self) -> u32 {
        (self.0 >> PRESENT_BITS) as u32 & RING_MAX
    }

    /// The next ticket.
    pub fn next(self) -> Ticket {
        Ticket(self.0 >> (PRESENT_BITS + RING_BITS))
    }

    /// Draws a ticket. From here on the entry counts as present.
    fn arrive(bucket: &Bucket) -> Line {
        Line(bucket.line.fetch_add(ONE_ARRIVAL + 1))
    }

    /// Draws another ticket for an entry that is present.
    fn draw(bucket: &Bucket) -> Line {
        Line(bucket.line.fetch_add(ONE_ARRIVAL))
    }

    /// Makes later tickets lead to the next ring, if they still lead to the one that this line names.
    pub fn leads_on(self, bucket: &Bucket) -> Line {
        let mut seen = self;
        for _ in 0..RETRIES {
            if seen.ring() != self.ring() {
                break;
            }
            let next = Line(seen.0 + ONE_RING);
            if bucket.line.compare_exchange(seen.0, next.0).is_ok() {
                return next;
            }
            seen = Line::of(bucket);
        }
        seen
    }

    /// Counts one entry out.
    fn depart(line: &Word64) {
        line.fetch_add(u64::MAX);
    }
}

/// The entry in a used slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Queued {
    pub stamp: Stamp,
    pub waiter: u32,
    pub entry: usize,
    pub key: Key,
}

impl Queued {
    pub fn to_pair(self) -> Pair {
        Pair { low: self.stamp.0 << STAMP_SHIFT | occupant(self.waiter, self.entry), high: self.key.number() }
    }

    pub fn from_pair(pair: Pair) -> Option<Queued> {
        let waiter = waiter(pair.low)?;
        let (entry, key) = ((pair.low & 0x7f) as usize, Key::from_number(pair.high));
        Some(Queued { stamp: Stamp(pair.low >> STAMP_SHIFT), waiter, entry, key })
    }
}

/// The fields below the stamp in the low half of a slot.
fn occupant(waiter: u32, entry: usize) -> u64 {
    u64::from(waiter + 1) << WAITER_SHIFT | entry as u64
}

/// The entry in a slot with this low half.
fn waiter(low: u64) -> Option<u32> {
    (low >> WAITER_SHIFT & WAITER_MASK).checked_sub(1).map(|waiter| waiter as u32)
}

/// An empty slot in which tickets before this one are void.
fn empty_from(stamp: Stamp) -> Pair {
    Pair { low: stamp.0 << STAMP_SHIFT, high: 0 }
}

/// The stamp of a slot that is in use.
pub fn stamp_in_use(word: &Word128) -> Option<Stamp> {
    let low = word.load_low();
    waiter(low).map(|_| Stamp(low >> STAMP_SHIFT))
}

/// The entry in a slot.
pub fn waiter_in(word: &Word128) -> Option<u32> {
    waiter(word.load_low())
}

/// Ensures that no ticket before `front` is in a slot, or ever will be. Returns false if one is.
pub fn pass(word: &Word128, front: Ticket) -> bool {
    let low = word.load_low();
    if !Stamp(low >> STAMP_SHIFT).is_before(front.stamp()) {
        return true;
    }
    match waiter(low) {
        Some(_) => planted(Bug::PassQueued),
        None if planted(Bug::PassComing) => true,
        None => word.compare_exchange(Pair { low, high: 0 }, empty_from(front.stamp())).is_ok(),
    }
}

/// The result of putting an entry into a slot.
enum Placed {
    Yes,
    /// Its ticket was void there.
    Void,
    Occupied,
}

fn place(word: &Word128, queued: Queued) -> Placed {
    let low = word.load_low();
    if waiter(low).is_some() {
        return Placed::Occupied;
    }
    let void = queued.stamp.is_before(Stamp(low >> STAMP_SHIFT));
    if !void && word.compare_exchange(Pair { low, high: 0 }, queued.to_pair()).is_ok() {
        return Placed::Yes;
    }
    Placed::Void
}

impl Memory {
    /// Draws a ticket for an entry and puts the entry into its slot. Returns the slot's number. `name` is called with
    /// each number before the entry goes there (I-waiter-3).
    ///
    /// Errors: `Exhausted` if the bucket is full and no room is left; then nothing was changed.
    #[inline(always)]
    pub fn put(&self, waiter: u32, entry: usize, key: Key, name: impl Fn(u32)) -> Result<(u32, Queued)> {
        let hash = key.hash();
        let bucket = self.bucket(hash);
        let mut line = Line::arrive(bucket);
        let mut refused = 0;
        for _ in 0..RETRIES {
            let Some(ring) = self.ring(hash, line.ring()).filter(|_| line.present() < PRESENT_MAX) else { break };
            let ticket = line.next();
            let queued = Queued { stamp: ticket.stamp(), waiter, entry, key };
            let slot = ring.slot(ticket);
            name(slot.number);
            match place(slot.word, queued) {
                Placed::Yes => return Ok((slot.number, queued)),
                Placed::Void => {}
                Placed::Occupied if line.present() <= ring.slots() / 2 => {}
                // The dead are counted as present. They must not make a line grow.
                Placed::Occupied if self.is_shared() && !self.is_half_used(&ring) => {}
                Placed::Occupied if self.grow(bucket, &ring, line) => {}
                // Without room for another ring, tries each slot of this one.
                Placed::Occupied if refused < ring.slots() => refused += 1,
                Placed::Occupied => break,
            }
            line = Line::draw(bucket);
        }
        Line::depart(&bucket.line);
        Err(Error::Exhausted)
    }

    /// Returns whether more than half of a ring's slots have entries of waits that are not over; empties the others.
    fn is_half_used(&self, ring: &Ring<'_>) -> bool {
        let is_live = |slot: &Slot<'_>| {
            let Some(queued) = Queued::from_pair(slot.word.load()) else { return false };
            let waits = self.waiter(queued.waiter).is_some_and(|waiter| {
                let is_dead = Owner::of(waiter).is_dead();
                !is_dead && Word::of(waiter).state() != WaitState::Idle
            });
            waits || !self.empty(slot.number, queued)
        };
        ring.each_slot().filter(is_live).count() > ring.slots() / 2
    }

    /// Empties a slot, if it still holds this entry.
    pub fn empty(&self, number: u32, queued: Queued) -> bool {
        self.slot(number).is_some_and(|word| self.empty_of(word, queued.to_pair()))
    }

    /// Takes the entry of a waiter out of a slot, if it is there.
    #[inline]
    pub fn withdraw(&self, number: u32, waiter: u32, entry: usize) {
        let Some(word) = self.slot(number) else { return };
        // If the slot holds this entry, nothing else changes the slot until it is emptied.
        let pair = word.glance();
        if pair.low & ((1 << STAMP_SHIFT) - 1) == occupant(waiter, entry) {
            self.empty_of(word, pair);
        }
    }

    /// Empties a slot, if it still holds this value.
    #[inline(always)]
    fn empty_of(&self, word: &Word128, used: Pair) -> bool {
        let bucket = self.bucket(Key::from_number(used.high).hash());
        let void = Stamp(used.low >> STAMP_SHIFT).after(Line::of(bucket));
        let emptied = word.compare_exchange(used, empty_from(void)).is_ok();
        if emptied {
            Line::depart(&bucket.line);
        }
        emptied
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tickets_and_stamps_are_compared_beyond_their_ends() {
        let last = Ticket::from_number(u64::MAX);
        assert!(last.is_before(last.plus(1)) && !last.plus(1).is_before(last) && !last.is_before(last));
        assert_eq!((last.until(last.plus(7)), last.plus(1).number()), (7, 0));
        assert!(last.stamp().is_before(last.plus(1).stamp()));
        assert_eq!(last.with_stamp(last.plus(9).stamp()), last.plus(9));
        let old = last.plus(1 << 37 | 3);
        assert_eq!(old.with_stamp(old.stamp()), old);
    }

    #[test]
    fn a_slot_that_was_used_for_long_can_be_used_at_once() {
        let line = |ticket: Ticket| Line(ticket.number() << (PRESENT_BITS + RING_BITS));
        let came = Ticket::from_number(5);
        for age in [1, 100, 1 << 36, (1 << 36) + 1, (1 << 37) - 1, 1 << 37, (1 << 37) + 5, 1 << 40] {
            let next = came.plus(age);
            let from = came.stamp().after(line(next));
            assert!(!next.stamp().is_before(from), "{age}: the next ticket is void");
        }
    }
}
