// SPDX-License-Identifier: MIT OR Apache-2.0
//! A fresh arena whose counters are about to wrap, for checkers.
//!
//! What wraps, and after how much: `docs/internals/numbers-that-wrap.md`.

use ntux_platform::atomic::Pair;

use super::Arena;
use crate::format::delivery::SERIAL_BITS;
use crate::format::fields::{Bits, HOLDS, part};
use crate::format::limits::PACKETS_MAX;
use crate::format::object_word::SEQUENCE_MASK;
use crate::format::packet_word::PacketWord;
use crate::format::ticket::TICKET_BITS;

/// The remaining steps: enough to create a small program's objects and slots, but not for the program.
const TICKETS_LEFT: u64 = 16;
const CHANGES_LEFT: u64 = 3;
const ATTEMPTS_LEFT: u32 = 2;
const HOLDS_LEFT: u64 = 2;
/// Queues whose numbers are about to wrap.
const QUEUES_AGED: u32 = 2;
/// The last serial: the next owner has number 0.
const SERIAL_LEFT_OUT: u32 = (1 << SERIAL_BITS) - 1;
/// The last generation: the next object in the slot has generation 1.
const GENERATION: u64 = 0x7fff_ffff;

impl Arena {
    /// Ages the arena, which must be fresh.
    pub fn age(&self) {
        let header = self.header();
        header.ticket.0.store((1 << TICKET_BITS) - TICKETS_LEFT);
        let attempt = Pair { low: u64::from(u32::MAX - ATTEMPTS_LEFT), high: 0 };
        let fresh = header.admission.0.compare_exchange(Pair::default(), attempt).is_ok();
        assert!(fresh, "a fresh arena");
        for pool in [&header.object_pool.0, &header.waiter_pool.0] {
            pool.hints.store(u64::from(u32::MAX - 1) << 32);
            pool.rotor.store(u32::MAX - 1);
        }
        for slot in (0..self.capacity.objects).filter_map(|index| self.object_slot(index)) {
            let word = Pair { low: SEQUENCE_MASK - CHANGES_LEFT, high: 0 };
            let fresh = slot.word.compare_exchange(Pair::default(), word).is_ok();
            assert!(fresh, "a fresh arena");
            slot.meta.store(GENERATION);
        }
        self.age_queues();
        const SEQUENCE: Bits = part(HOLDS, "sequence");
        for word in (0..self.capacity.objects).filter_map(|index| self.claims_word(index)) {
            let last = (SEQUENCE.mask() - HOLDS_LEFT) << SEQUENCE.shift();
            let fresh = word.compare_exchange(Pair::default(), Pair { low: 0, high: last }).is_ok();
            assert!(fresh, "a fresh arena");
        }
    }

    /// The first queues: those that are made next.
    fn age_queues(&self) {
        let pool = &self.header().queue_pool.0;
        pool.hints.store(u64::from(u32::MAX - 1) << 32);
        pool.rotor.store(u32::MAX - 1);
        for index in 0..QUEUES_AGED {
            assert!(self.provide_queue(index) && self.provide_packets(index), "there is room");
            let Some(slot) = self.queue_slot(index) else { continue };
            slot.serial.store(SERIAL_LEFT_OUT);
            slot.bell.0.store(u64::from(u32::MAX) << 32);
            for counts in [&slot.posted.0, &slot.seen.0] {
                counts.iter().for_each(|count| count.store(u32::MAX));
            }
            slot.head.0.store(u64::MAX);
            slot.tail.0.store(u64::MAX);
            let round = PacketWord::round_of(u64::MAX, PACKETS_MAX);
            let cells = self.packet_words(index).unwrap_or_default();
            for (place, cell) in cells.iter().enumerate() {
                // The last one is in the last round, and the others are in the next one.
                let is_last = place + 1 == cells.len();
                let round = if is_last { round } else { PacketWord::round_after(round) };
                let fresh = cell.compare_exchange(Pair::default(), PacketWord::empty_in(round).0).is_ok();
                assert!(fresh, "a fresh arena");
            }
        }
    }
}
