// SPDX-License-Identifier: MIT OR Apache-2.0
//! The slots of a bucket: rings, each larger than the one before.
//!
//! # Picture
//! ```text
//! bucket     | line | head | end | next |  slots of ring 0  |
//!                                  |
//!                                  +--> run: next, begin, end     slots of ring 1: one chunk
//!                                        |
//!                                        +--> run                 slots of ring 2: two chunks, and so on
//! ```
//! Ticket `t` leads to slot `t mod slots` of the ring that the line named when the ticket was drawn. When a ring is
//! half full and a slot is taken, a ring of twice its size follows. The old ring stays, and drains soon.
//!
//! # Invariants
//! * I-ring-1: a ring, once in the chain of its bucket, stays there, and every ticket of it is before those of the next.
//! * I-ring-2: `begin` is not after a ticket of the ring, and, once it is known, `end` is after all of them. In between
//!   there may be tickets of its neighbours.
//!
//! # Growing
//! 1. A run of chunks is reserved, and its `begin` says where the line was.
//! 2. The last ring names it. A thread that is not the first returns its run.
//! 3. The line names it: one exchange, by any thread that comes this far.
//! 4. Any thread that sees that the line has moved on records the `end` of the previous ring.
//!
//! A thread that dies between the first two steps leaks a run of chunks; others continue from there. A bucket grows at most
//! [`RING_MAX`] times in the life of a table, so this does not repeat for ever.

use ntux_platform::atomic::{Word32, Word64, Word128};

use super::RETRIES;
use super::line::{Line, RING_MAX, Ticket};
use super::memory::{Bucket, CHUNK_SLOTS, Memory};

/// Set in an `end` that is known.
const KNOWN: u64 = 1 << 63;

/// One ring of a bucket.
#[derive(Clone, Copy)]
pub struct Ring<'a> {
    number: u32,
    /// Number of its first slot.
    first: u32,
    slots: &'a [Word128],
    /// None if nobody has recorded it.
    begin: Option<Ticket>,
    end: &'a Word64,
    /// The first chunk of the next ring, plus one.
    next: &'a Word32,
}

/// A slot with its number.
#[derive(Clone, Copy)]
pub struct Slot<'a> {
    pub number: u32,
    pub word: &'a Word128,
}

impl<'a> Ring<'a> {
    /// How many slots it has: a power of two.
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// No ticket of this ring is before this one. None if nobody has recorded it.
    pub fn begin(&self) -> Option<Ticket> {
        self.begin
    }

    /// Returns whether the next ticket leads here.
    pub fn is_named_by(&self, line: Line) -> bool {
        self.number == line.ring()
    }

    /// Where a ticket leads.
    #[inline(always)]
    pub fn slot(&self, ticket: Ticket) -> Slot<'a> {
        let index = ticket.number() as usize & (self.slots.len() - 1);
        Slot { number: self.first + index as u32, word: &self.slots[index] }
    }

    pub fn each_slot(&self) -> impl Iterator<Item = Slot<'a>> + use<'a> {
        self.slots.iter().zip(self.first..).map(|(word, number)| Slot { number, word })
    }

    /// A range that contains all tickets of this ring that are not before `head` and had been drawn by `line`, and
    /// perhaps some of the neighbouring rings.
    pub fn span(&self, head: Ticket, line: Line) -> (Ticket, Ticket) {
        let begin = self.begin.filter(|&begin| head.is_before(begin)).unwrap_or(head);
        let end = if self.is_named_by(line) { line.next() } else { self.end(line) };
        (begin, end)
    }

    /// A ticket after all of this ring, if the line names a later ring.
    fn end(&self, line: Line) -> Ticket {
        let known = self.end.load();
        if known & KNOWN != 0 {
            return Ticket::from_number(known & !KNOWN);
        }
        let _ = self.end.compare_exchange(known, line.next().number() | KNOWN);
        line.next()
    }
}

impl Memory {
    /// The rings of a bucket up to that number, the oldest one first.
    pub fn rings(&self, hash: u32, last: u32) -> impl Iterator<Item = Ring<'_>> {
        let next = move |ring: &Ring<'_>| if ring.number < last { self.next_ring(ring) } else { None };
        std::iter::successors(Some(self.first_ring(hash)), next)
    }

    /// The ring of that number.
    #[inline]
    pub fn ring(&self, hash: u32, number: u32) -> Option<Ring<'_>> {
        let mut ring = self.first_ring(hash);
        while ring.number < number {
            ring = self.next_ring(&ring)?;
        }
        Some(ring)
    }

    fn first_ring(&self, hash: u32) -> Ring<'_> {
        let Bucket { end, next, slots, .. } = self.bucket(hash);
        Ring { number: 0, first: self.first_in_bucket(hash), slots, begin: None, end, next }
    }

    fn next_ring(&self, ring: &Ring<'_>) -> Option<Ring<'_>> {
        let chunk = ring.next.load().checked_sub(1)?;
        let (run, slots) = self.run(chunk, chunks_after(ring))?;
        let begin = Some(Ticket::from_number(run.begin.load()));
        Some(Ring {
            number: ring.number + 1,
            first: self.first_in_chunk(chunk),
            slots,
            begin,
            end: &run.end,
            next: &run.next,
        })
    }

    /// Makes the tickets of a bucket lead to the ring after this one. Returns false if there is no room for it.
    pub fn grow(&self, bucket: &Bucket, ring: &Ring<'_>, line: Line) -> bool {
        if ring.number == RING_MAX {
            return false;
        }
        if ring.next.load() == 0 {
            let count = chunks_after(ring);
            let Some(chunk) = self.reserve(count) else { return false };
            if let Some((run, _)) = self.run(chunk, count) {
                run.begin.store(line.next().number());
            }
            if ring.next.compare_exchange(0, chunk + 1).is_err() {
                self.unreserve(chunk, count);
            }
        }
        let line = line.leads_on(bucket);
        ring.end(line);
        true
    }

    fn reserve(&self, count: u32) -> Option<u32> {
        let fresh = &self.header().chunks;
        for _ in 0..RETRIES {
            let first = fresh.load();
            let end = first.checked_add(count).filter(|&end| end <= self.capacity().chunks)?;
            if !self.provide_chunks(first..end) {
                return None;
            }
            if fresh.compare_exchange(first, end).is_ok() {
                return Some(first);
            }
        }
        None
    }

    /// Returns chunks, if no others were reserved after them.
    fn unreserve(&self, first: u32, count: u32) {
        let _ = self.header().chunks.compare_exchange(first + count, first);
    }
}

/// Chunks of the ring that follows this one.
fn chunks_after(ring: &Ring<'_>) -> u32 {
    if ring.number == 0 { 1 } else { (2 * ring.slots.len() / CHUNK_SLOTS) as u32 }
}
