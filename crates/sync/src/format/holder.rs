// SPDX-License-Identifier: MIT OR Apache-2.0
//! The word that says which thread, or which detached wait, has a waiter's slot, as [`crate::protocol::waiter`] draws it.

use super::fields::{HOLDER, part};
use super::ticket::{TICKET_BITS, Ticket};

const THREAD_MASK: u64 = part(HOLDER, "thread").mask();
const DETACHED: u64 = part(HOLDER, "detached").flag();
const TAKEN: u64 = part(HOLDER, "taken").flag();
const PEER_SHIFT: u32 = part(HOLDER, "peer").shift();
const PEER_MASK: u64 = part(HOLDER, "peer").mask();
const _: () = assert!(TICKET_BITS <= part(HOLDER, "thread").width);

/// A copy of a holder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Holder(pub u64);

impl Holder {
    /// This thread of the process with this index.
    pub(crate) fn new(peer: u32, thread: u64) -> Holder {
        Holder(TAKEN | u64::from(peer) << PEER_SHIFT | thread & THREAD_MASK)
    }

    /// The wait with this ticket, of the process with this index: no thread of it in particular. No later wait in the slot has the same.
    pub(crate) fn detached(peer: u32, ticket: Ticket) -> Holder {
        Holder(Holder::new(peer, ticket.number()).0 | DETACHED)
    }

    /// The process of this one, and no thread of it in particular.
    pub(crate) fn of_process(self) -> Holder {
        Holder::new(self.peer(), 0)
    }

    pub(crate) fn is_free(self) -> bool {
        self.0 == 0
    }

    /// Returns true if a thread has the slot; rubbish can be neither free nor taken.
    pub(crate) fn is_taken(self) -> bool {
        self.0 & TAKEN != 0
    }

    pub(crate) fn is_detached(self) -> bool {
        self.0 & DETACHED != 0
    }

    /// Index of its process.
    pub(crate) fn peer(self) -> u32 {
        (self.0 >> PEER_SHIFT & PEER_MASK) as u32
    }

    /// Its number, in its own namespace. 0 of a detached wait: stands for the whole process.
    pub(crate) fn thread(self) -> u64 {
        if self.is_detached() { 0 } else { self.0 & THREAD_MASK }
    }
}
