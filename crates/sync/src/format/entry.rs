//! The two words of a wait set, as [`crate::arena::wait_set`] draws them: an entry, and the promise of a chunk.

use super::fields::{ENTRY, PROMISE, part};
use super::ticket::Ticket;

const POSITION_MASK: u64 = part(ENTRY, "position").mask();
const ALL: u64 = part(ENTRY, "all").flag();
const WAITER_SHIFT: u32 = part(ENTRY, "waiter").shift();
const TICKET_SHIFT: u32 = part(ENTRY, "ticket").shift();

/// One waiter's interest in one object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry(pub u64);

impl Entry {
    /// `position`: the object's index in the waiter's list.
    pub fn new(waiter: u32, ticket: Ticket, position: usize, all: bool) -> Entry {
        let all = if all { ALL } else { 0 };
        Entry(ticket.number() << TICKET_SHIFT | u64::from(waiter) << WAITER_SHIFT | all | position as u64)
    }

    /// The waiter's index.
    pub fn waiter(self) -> u32 {
        (self.0 >> WAITER_SHIFT) as u16 as u32
    }

    /// Its epoch.
    #[inline(always)]
    pub fn ticket(self) -> Ticket {
        Ticket::new(self.0 >> TICKET_SHIFT)
    }

    /// Whether it waits for all its objects.
    #[inline(always)]
    pub fn is_all(self) -> bool {
        self.0 & ALL != 0
    }

    pub(crate) fn position(self) -> usize {
        (self.0 & POSITION_MASK) as usize
    }
}

/// The last part of a chain: the object itself, or a chunk.
#[derive(Clone, Copy)]
pub(crate) enum Tail {
    Object(u32),
    Chunk(u32),
}

impl Tail {
    const CHUNK: u32 = part(PROMISE, "chunk").flag() as u32;

    pub(crate) fn of(promise: u32) -> Option<Tail> {
        let index = (promise & !Tail::CHUNK).checked_sub(1)?;
        Some(if promise & Tail::CHUNK == 0 { Tail::Object(index) } else { Tail::Chunk(index) })
    }

    pub(crate) fn bits(self) -> u32 {
        match self {
            Tail::Object(index) => index + 1,
            Tail::Chunk(index) => (index + 1) | Tail::CHUNK,
        }
    }
}
