// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packets: what threads of a process put into a queue, and take out of it, first come first served.
//!
//! # Role
//! A ring of cells beside each queue. The place of a packet is counted for ever: place *p* is cell *p mod n* in *round p / n*. A cell
//! says in which round it is, so an exchange that comes too late fails. No thread owns the ring while it changes it: the two counters are
//! moved on by anyone who finds that the cell there has gone on. [`crate::protocol::detached`] wakes who waits for a packet.
//!
//! # Picture
//! ```text
//!            head             tail
//!             v                v
//!  | empty | full | full | full | empty | empty |       bits of a cell: 127 key 64 | 63 round 17 | 16 serial 1 | full
//!    r + 1     r      r      r      r       r
//! ```
//! # Transitions
//! | step | on | from | to | by |
//! | --- | --- | --- | --- | --- |
//! | post | cell of the tail | empty(round) | full(round, serial, key) | a thread that posts; the packet is there from now on |
//! | go on | tail | p | p + 1 | anyone that finds the cell of p full, and has woken somebody for it; or emptied |
//! | take | cell of the head | full(round) | empty(round + 1) | a thread of the process, once: it has the packet |
//! | go on | head | p | p + 1 | anyone that finds the cell of p emptied |
//!
//! # Invariants
//! * I-packet-1: a counter passes a place only after its cell was filled, or emptied. So the counters and the rounds of the cells fit.
//! * I-packet-2: a packet with another serial was posted by a thread that was stopped until the queue had a new owner; or the thread that
//!   finds it was. The holder of the queue, read after the cell, says which (I-detach-9): the first is dropped, the second left alone.
//! * I-packet-3: the tail passes a full cell only after somebody was woken for its packet. So whoever posts the next one, or finds that there
//!   is no room, has woken somebody for all before.
//!
//! # Death, stop
//! After each step the packet is there, or it is not. A counter that stands still is moved on by the next thread.

use ntux_platform::atomic::Word128;

use super::Arena;
use crate::format::layout::QueueSlot;
use crate::format::limits::{PACKETS_MAX, RETRIES};
use crate::format::packet_word::PacketWord;
use crate::planted::{Bug, planted};
use crate::{Error, Result};

/// The packets of a queue.
#[derive(Clone, Copy)]
pub(crate) struct Packets<'a> {
    slot: &'a QueueSlot,
    cells: &'a [Word128],
}

impl<'a> Packets<'a> {
    pub(super) fn new(slot: &'a QueueSlot, cells: &'a [Word128]) -> Packets<'a> {
        Packets { slot, cells }
    }

    fn cell(&self, place: u64) -> Result<&'a Word128> {
        self.cells.get((place % u64::from(PACKETS_MAX)) as usize).ok_or(Error::Corrupt)
    }

    /// Adds a packet for the owner with this serial. `tell` wakes somebody for the first one that nobody was woken for.
    ///
    /// Errors: `Exhausted` if all cells are full.
    pub(crate) fn post(&self, serial: u32, key: u64, tell: impl Fn()) -> Result<()> {
        for _ in 0..RETRIES {
            let place = self.slot.tail.0.load();
            let cell = self.cell(place)?;
            let (seen, round) = (PacketWord(cell.load()), PacketWord::round_of(place, PACKETS_MAX));
            if seen.round() == round && !seen.is_full() {
                if cell.compare_exchange(seen.0, seen.filled(serial, key).0).is_ok() {
                    tell();
                    self.tail_passes(place);
                    return Ok(());
                }
            } else if seen.is_full() && seen.round() == PacketWord::round_before(round) {
                // It is full as long as this one waits, unless the tail has gone on meanwhile.
                if self.slot.tail.0.load() == place {
                    return Err(Error::Exhausted);
                }
            } else {
                if seen.is_full() && !planted(Bug::UntoldPacket) {
                    // I-packet-3
                    tell();
                }
                self.tail_passes(place);
            }
        }
        Err(Error::Corrupt)
    }

    /// Takes the first packet of the owner with this serial. None if there is none. `is_ours`: that owner has the queue still.
    ///
    /// Errors: `Invalid` if it has not.
    pub(crate) fn take(&self, serial: u32, is_ours: impl Fn() -> bool) -> Result<Option<u64>> {
        for _ in 0..RETRIES {
            let place = self.slot.head.0.load();
            let cell = self.cell(place)?;
            let (seen, round) = (PacketWord(cell.load()), PacketWord::round_of(place, PACKETS_MAX));
            if seen.round() == round {
                if !seen.is_full() {
                    return Ok(None);
                }
                // I-packet-2
                if seen.serial() != serial && !is_ours() {
                    return Err(Error::Invalid);
                }
                if cell.compare_exchange(seen.0, seen.emptied().0).is_ok() {
                    self.head_passes(place);
                    if seen.serial() == serial {
                        return Ok(Some(seen.key()));
                    }
                }
            } else {
                self.head_passes(place);
            }
        }
        Err(Error::Corrupt)
    }

    /// Returns true if there is a packet, of whomever.
    pub(crate) fn has_some(&self) -> Result<bool> {
        for _ in 0..RETRIES {
            let place = self.slot.head.0.load();
            let seen = PacketWord(self.cell(place)?.load());
            if seen.round() == PacketWord::round_of(place, PACKETS_MAX) {
                return Ok(seen.is_full());
            }
            self.head_passes(place);
        }
        Err(Error::Corrupt)
    }

    /// I-packet-1
    fn tail_passes(&self, place: u64) {
        let _ = self.slot.tail.0.compare_exchange(place, place.wrapping_add(1));
    }

    fn head_passes(&self, place: u64) {
        let _ = self.slot.head.0.compare_exchange(place, place.wrapping_add(1));
    }
}

impl Arena {
    /// The packets of the queue in this slot.
    pub(crate) fn packets(&self, index: u32) -> Option<Packets<'_>> {
        Some(Packets::new(self.queue_slot(index)?, self.packet_words(index)?))
    }

    /// Allocates the memory of the packets of the queue in this slot.
    pub(super) fn provide_packets(&self, index: u32) -> bool {
        let bytes = PACKETS_MAX as usize * size_of::<Word128>();
        self.mapping.provide(self.layout.packets as usize + index as usize * bytes, bytes).is_ok()
    }
}
