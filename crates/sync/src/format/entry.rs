// SPDX-License-Identifier: MIT OR Apache-2.0
//! A place of a wait set, as [`crate::arena::wait_set`] draws it.

use super::fields::{ENTRY, part};
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

    /// What keeps a place empty, by the number of the transfer that does: without a ticket, and never 0.
    pub(crate) fn seal(number: u64) -> Entry {
        Entry(number % ((1 << TICKET_SHIFT) - 1) + 1)
    }

    /// Returns true if the place has no entry: nothing, or a seal. (No ticket is 0.)
    #[inline(always)]
    pub(crate) fn is_none(self) -> bool {
        self.0 < 1 << TICKET_SHIFT
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

    /// Returns true if it waits for all its objects.
    #[inline(always)]
    pub fn is_all(self) -> bool {
        self.0 & ALL != 0
    }

    pub(crate) fn position(self) -> usize {
        (self.0 & POSITION_MASK) as usize
    }
}
