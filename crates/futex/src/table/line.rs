//! The line of a bucket: who is queued, and in which order they came.
//!
//! # Picture
//! ```text
//! line       63              24 23           0
//!           +------------------+--------------+
//!           |     arrivals     |   present    |      present: entries that arrived and have not left
//!           +------------------+--------------+
//! slot low   63              27 26        7 6      0
//!           +------------------+-----------+--------+
//!           |      ticket      | waiter+1  | entry  |      0: empty
//!           +------------------+-----------+--------+
//! slot high  the key of the futex
//! ```
//! An entry arrives in two steps: it draws a ticket, which counts it as present, and it takes an empty slot. It leaves
//! in two: the slot is emptied, and it is counted out by whoever emptied it.
//!
//! # Invariants
//! * I-line-1: `present` is at least the number of slots in use whose tickets were drawn before it was read.
//! * I-line-2: slots are in no order; the ticket tells who came first. A ticket with its waiter, entry and key is
//!   unique.
//! * I-line-3: a chunk, once in the chain of a bucket, stays there.

use ntux_platform::atomic::{Pair, Word64, Word128};

use super::key::Key;
use super::memory::{Bucket, CHUNK_SLOTS, Memory};
use crate::{Error, Result};

const PRESENT_BITS: u32 = 24;
const ONE_ARRIVAL: u64 = 1 << PRESENT_BITS;
const TICKET_SHIFT: u32 = 27;
const WAITER_SHIFT: u32 = 7;
const WAITER_MASK: u64 = (1 << (TICKET_SHIFT - WAITER_SHIFT)) - 1;

/// Slots that a checker's bucket has in its line and in each chunk: so few that small programs use all parts.
const BUCKET_USED: usize = if cfg!(feature = "explore") { 1 } else { super::memory::BUCKET_SLOTS };
const CHUNK_USED: usize = if cfg!(feature = "explore") { 2 } else { CHUNK_SLOTS };

/// When an entry came, among those of its bucket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ticket(u64);

impl Ticket {
    /// Whether this one came first. Right as long as fewer than 2^36 entries came in between.
    pub fn is_before(self, other: Ticket) -> bool {
        let ahead = other.0.wrapping_sub(self.0) << TICKET_SHIFT;
        ahead != 0 && ahead >> 63 == 0
    }
}

/// What a line held.
#[derive(Clone, Copy)]
pub struct Line(u64);

impl Line {
    pub fn of(bucket: &Bucket) -> Line {
        Line(bucket.line.load())
    }

    /// Entries that were there.
    pub fn present(self) -> usize {
        (self.0 & (ONE_ARRIVAL - 1)) as usize
    }

    /// The ticket of who comes next.
    pub fn next(self) -> Ticket {
        Ticket((self.0 >> PRESENT_BITS) << TICKET_SHIFT >> TICKET_SHIFT)
    }

    /// Draws a ticket. The entry is present from here on.
    pub fn arrive(bucket: &Bucket) -> Line {
        Line(bucket.line.fetch_add(ONE_ARRIVAL + 1))
    }

    /// Counts one entry out.
    pub fn depart(line: &Word64) {
        line.fetch_add(u64::MAX);
    }
}

/// What a used slot says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Queued {
    pub ticket: Ticket,
    pub waiter: u32,
    pub entry: usize,
    pub key: Key,
}

impl Queued {
    pub fn to_pair(self) -> Pair {
        let waiter = u64::from(self.waiter + 1) << WAITER_SHIFT;
        Pair { low: self.ticket.0 << TICKET_SHIFT | waiter | self.entry as u64, high: self.key.number() }
    }

    pub fn from_pair(pair: Pair) -> Option<Queued> {
        let waiter = (pair.low >> WAITER_SHIFT & WAITER_MASK).checked_sub(1)?;
        let key = Key::from_number(pair.high);
        Some(Queued {
            ticket: Ticket(pair.low >> TICKET_SHIFT),
            waiter: waiter as u32,
            entry: (pair.low & 0x7f) as usize,
            key,
        })
    }
}

/// A slot with its number.
#[derive(Clone, Copy)]
pub struct Slot<'a> {
    pub number: u32,
    pub word: &'a Word128,
}

impl Memory {
    /// All slots of a bucket.
    pub fn slots(&self, hash: u32) -> impl Iterator<Item = Slot<'_>> {
        let bucket = self.bucket(hash);
        let own = numbered(self.first_in_bucket(hash), &bucket.slots[..BUCKET_USED]);
        let links = std::iter::successors(self.link(bucket.chunk.load()), |&(_, chunk)| self.link(chunk.next.load()));
        // A chain that somebody bent into a ring ends, too.
        let links = links.take(self.capacity().chunks as usize);
        own.chain(links.flat_map(|(link, chunk)| numbered(self.first_in_chunk(link), &chunk.slots[..CHUNK_USED])))
    }

    fn link(&self, link: u32) -> Option<(u32, &super::memory::Chunk)> {
        self.chunk(link).map(|chunk| (link, chunk))
    }

    /// Draws a ticket for an entry and puts it into a slot; the number of the slot.
    ///
    /// Errors: `Exhausted` when the bucket is full and no chunk is left; nothing was changed.
    pub fn put(&self, waiter: u32, entry: usize, key: Key) -> Result<(u32, Queued)> {
        let (hash, bucket) = (key.hash(), self.bucket(key.hash()));
        let line = Line::arrive(bucket);
        let queued = Queued { ticket: line.next(), waiter, entry, key };
        for _ in 0..=self.capacity().chunks {
            // Whoever is here already sits in the first slots, more or less.
            let ahead = line.present();
            let mut free = self.slots(hash).skip(ahead).chain(self.slots(hash).take(ahead));
            if let Some(slot) = free.find(|slot| slot.word.load_low() == 0 && take(slot.word, queued)) {
                return Ok((slot.number, queued));
            }
            if self.grow(bucket).is_err() {
                break;
            }
        }
        Line::depart(&bucket.line);
        Err(Error::Exhausted)
    }

    /// Empties a slot, if it still holds this entry.
    pub fn empty(&self, number: u32, queued: Queued) -> bool {
        let Some(word) = self.slot(number) else { return false };
        let emptied = word.compare_exchange(queued.to_pair(), Pair::default()).is_ok();
        if emptied {
            Line::depart(&self.bucket(queued.key.hash()).line);
        }
        emptied
    }

    /// Adds a chunk at the end of a bucket's chain, or finds that somebody else did.
    fn grow(&self, bucket: &Bucket) -> Result<()> {
        let mut link = &bucket.chunk;
        for _ in 0..=self.capacity().chunks {
            let next = link.load();
            if let Some(chunk) = self.chunk(next) {
                link = &chunk.next;
                continue;
            }
            // No chunk, and no end: nothing can be added.
            if next != 0 {
                return Err(Error::Exhausted);
            }
            let fresh = &self.header().chunks;
            // Looked at first, so that the counter does not wrap after many refusals.
            if fresh.load() >= self.capacity().chunks {
                return Err(Error::Exhausted);
            }
            let number = fresh.fetch_add(1) + 1;
            if number > self.capacity().chunks {
                return Err(Error::Exhausted);
            }
            // The loser of a race leaves its chunk unused; that happens once for each place of a chain.
            let _ = link.compare_exchange(0, number);
            return Ok(());
        }
        Err(Error::Exhausted)
    }
}

fn take(word: &Word128, queued: Queued) -> bool {
    word.compare_exchange(Pair::default(), queued.to_pair()).is_ok()
}

fn numbered(first: u32, slots: &[Word128]) -> impl Iterator<Item = Slot<'_>> {
    slots.iter().zip(first..).map(|(word, number)| Slot { number, word })
}
