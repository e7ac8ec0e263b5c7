// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tickets: each wait draws one from the arena's counter. The ticket names the wait (its *epoch*) and orders waits by
//! arrival.
//!
//! The counter wraps after 2^40 tickets; `docs/internals/numbers-that-wrap.md` says why that does no harm.

use super::fields::{WAITER_WORD, part};

/// Tickets count in this many bits.
pub const TICKET_BITS: u32 = part(WAITER_WORD, "ticket").width;
const TICKET_MASK: u64 = (1 << TICKET_BITS) - 1;

/// Arrival order and epoch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ticket(u64);

impl Ticket {
    /// The ticket with this number; numbers count modulo 2^40.
    #[inline(always)]
    pub fn new(number: u64) -> Ticket {
        Ticket(number & TICKET_MASK)
    }

    /// Its number.
    #[inline(always)]
    pub fn number(self) -> u64 {
        self.0
    }

    /// The part of it in a claim's tag.
    #[inline(always)]
    pub fn tag(self) -> u32 {
        self.0 as u32
    }

    /// Returns true if this one was drawn earlier. Right if the two are less than 2^39 tickets apart.
    #[inline(always)]
    pub fn is_before(self, other: Ticket) -> bool {
        self.0.wrapping_sub(other.0) & TICKET_MASK > TICKET_MASK / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tickets_stay_in_order_when_their_counter_wraps() {
        let last = Ticket::new(u64::MAX);
        let first = Ticket::new(last.number() + 1);
        assert!(last.is_before(first) && !first.is_before(last) && !first.is_before(first));
    }
}
