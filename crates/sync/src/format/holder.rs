// SPDX-License-Identifier: MIT OR Apache-2.0
//! The word that says which thread has a waiter's slot, as [`crate::protocol::waiter`] draws it.

use super::fields::{HOLDER, part};

const THREAD_MASK: u64 = part(HOLDER, "thread").mask();
const TAKEN: u64 = part(HOLDER, "taken").flag();
const PEER_SHIFT: u32 = part(HOLDER, "peer").shift();
const PEER_MASK: u64 = part(HOLDER, "peer").mask();

/// A copy of a holder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Holder(pub u64);

impl Holder {
    /// This thread of the process with this index.
    pub(crate) fn new(peer: u32, thread: u64) -> Holder {
        Holder(TAKEN | u64::from(peer) << PEER_SHIFT | thread & THREAD_MASK)
    }

    pub(crate) fn is_free(self) -> bool {
        self.0 == 0
    }

    /// Returns true if a thread has the slot; rubbish can be neither free nor taken.
    pub(crate) fn is_taken(self) -> bool {
        self.0 & TAKEN != 0
    }

    /// Index of its process.
    pub(crate) fn peer(self) -> u32 {
        (self.0 >> PEER_SHIFT & PEER_MASK) as u32
    }

    /// Its number, in its own namespace.
    pub(crate) fn thread(self) -> u64 {
        self.0 & THREAD_MASK
    }
}
