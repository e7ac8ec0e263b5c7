// SPDX-License-Identifier: MIT OR Apache-2.0
//! A cell of a queue's ring of packets, as [`crate::arena::packets`] draws it. Its low half never returns to an earlier value (L1 of
//! `ntux_platform::atomic`): a round is full once.

use ntux_platform::atomic::Pair;

use super::fields::{Bits, PACKET, part};

const FULL: u64 = part(PACKET, "full").flag();
const SERIAL: Bits = part(PACKET, "serial");
const ROUND: Bits = part(PACKET, "round");

/// A copy of a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PacketWord(pub Pair);

impl PacketWord {
    /// A cell without a packet, in this round.
    pub(crate) fn empty_in(round: u64) -> PacketWord {
        PacketWord(Pair { low: (round & ROUND.mask()) << ROUND.shift(), high: 0 })
    }

    /// What the packet means to who takes it.
    pub(crate) fn key(self) -> u64 {
        self.0.high
    }

    pub(crate) fn is_full(self) -> bool {
        self.0.low & FULL != 0
    }

    /// For which owner of the queue it was posted.
    pub(crate) fn serial(self) -> u32 {
        (self.0.low >> SERIAL.shift() & SERIAL.mask()) as u32
    }

    /// How often the cell was emptied before.
    pub(crate) fn round(self) -> u64 {
        self.0.low >> ROUND.shift() & ROUND.mask()
    }

    /// With a packet.
    pub(crate) fn filled(self, serial: u32, key: u64) -> PacketWord {
        let serial = u64::from(serial) & SERIAL.mask();
        PacketWord(Pair { low: FULL | (serial << SERIAL.shift()) | (self.round() << ROUND.shift()), high: key })
    }

    /// Without one, in the next round.
    pub(crate) fn emptied(self) -> PacketWord {
        PacketWord::empty_in(PacketWord::round_after(self.round()))
    }

    /// The round of a cell with this place.
    pub(crate) fn round_of(place: u64, cells: u32) -> u64 {
        (place / u64::from(cells)) & ROUND.mask()
    }

    pub(crate) fn round_after(round: u64) -> u64 {
        round.wrapping_add(1) & ROUND.mask()
    }

    pub(crate) fn round_before(round: u64) -> u64 {
        round.wrapping_sub(1) & ROUND.mask()
    }
}
