// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two words of detached waits: to which queue one is delivered, and the bell of a queue. [`crate::protocol::detached`] draws both.

use super::fields::{BELL, Bits, DELIVERED_TO, part};

const USED: u64 = part(DELIVERED_TO, "used").flag();
const QUEUE: Bits = part(DELIVERED_TO, "queue");
const SERIAL: Bits = part(DELIVERED_TO, "serial");
const WAITER: Bits = part(DELIVERED_TO, "waiter");
const SILENT: u64 = part(BELL, "silent").flag();
const LOOKED_AT: Bits = part(BELL, "looked_at");
const RINGS: Bits = part(BELL, "rings");
const CLOSED: u64 = part(BELL, "closed").flag();

/// Owners of a queue are counted in this many bits.
pub(crate) const SERIAL_BITS: u32 = SERIAL.width;

/// The queue of a detached wait. 0 in a waiter slot that was never used for one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DeliveredTo(pub u64);

impl DeliveredTo {
    /// The queue with this index and serial, for the wait in this waiter slot.
    pub(crate) fn new(queue: u32, serial: u32, waiter: u32) -> DeliveredTo {
        let (queue, serial) = (u64::from(queue) & QUEUE.mask(), u64::from(serial) & SERIAL.mask());
        DeliveredTo(USED | queue << QUEUE.shift() | serial << SERIAL.shift() | u64::from(waiter) << WAITER.shift())
    }

    /// Index and serial of the queue, if there is one.
    pub(crate) fn queue(self) -> Option<(u32, u32)> {
        let part = |bits: Bits| (self.0 >> bits.shift() & bits.mask()) as u32;
        (self.0 & USED != 0).then(|| (part(QUEUE), part(SERIAL)))
    }

    pub(crate) fn waiter(self) -> u32 {
        (self.0 >> WAITER.shift() & WAITER.mask()) as u32
    }
}

/// The bell of a queue. Its low half is the futex word: 0 if it was rung since a thread that had looked at everything silenced it.
/// Otherwise it says which ring that was, and has a bit that no thread's number has: the kernel must not take it for that of a dying one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bell(pub u64);

impl Bell {
    pub(crate) fn is_silent(self) -> bool {
        self.0 & SILENT != 0
    }

    /// Its queue is being closed.
    pub(crate) fn is_closed(self) -> bool {
        self.0 & CLOSED != 0
    }

    /// Once more.
    pub(crate) fn rung(self) -> Bell {
        Bell(self.opened().0 | self.0 & CLOSED)
    }

    /// Once more, for a queue that is being closed.
    pub(crate) fn closed(self) -> Bell {
        Bell(self.opened().0 | CLOSED)
    }

    /// Once more, for a new queue.
    pub(crate) fn opened(self) -> Bell {
        let rings = (self.0 >> RINGS.shift()).wrapping_add(1) & RINGS.mask();
        Bell(rings << RINGS.shift())
    }

    /// Everything that was announced by this ring was looked at.
    pub(crate) fn silenced(self) -> Bell {
        let rings = self.0 >> RINGS.shift() & RINGS.mask();
        Bell(rings << RINGS.shift() | SILENT | rings & LOOKED_AT.mask())
    }

    /// The futex word.
    pub(crate) fn futex(self) -> u32 {
        self.0 as u32
    }
}
