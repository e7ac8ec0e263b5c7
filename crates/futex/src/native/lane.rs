// SPDX-License-Identifier: MIT OR Apache-2.0
//! Futexes of 8 and 16 bits, as lanes of the 32-bit word around them.
//!
//! A waiter sleeps on the whole word, with a bitset that has one bit for its lane; a waker wakes with that bit. So
//! counts and order are the kernel's, and neighbours are never woken.
//!
//! No wake is lost, because the waker's store comes before its call. If the kernel queued a waiter before the store,
//! the wake finds its bit. If it queues the waiter after the store, the word differs.
//!
//! The kernel compares the whole word, so it refuses if a neighbour has changed; then the lane is compared again. A
//! waiter whose neighbours change constantly would not fall asleep: after [`RETRIES`] refusals it pauses before the
//! next attempt. It is not queued during the pause, which for a wake is the same as if it arrived a moment later.

use std::time::Duration;

use ntux_platform::clock::Deadline;
use ntux_platform::error::EAGAIN;
use ntux_platform::kernel_futex::{self, MATCH_ANY};

use crate::planted::{Bug, planted};
use crate::{Error, Expected, Futex, Result};

/// Refusals in a row before a waiter pauses.
const RETRIES: u32 = 64;
/// The length of the pause: about the time of that many refusals.
const REST: Duration = Duration::from_micros(50);

/// The position of a small futex in the word around it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lane {
    word: usize,
    shift: u32,
    ones: u32,
    bit: u32,
}

impl Lane {
    /// The lane of a futex of 8 or 16 bits.
    pub fn of(futex: Futex) -> Lane {
        let (bytes, bits) = (futex.size().bytes(), futex.size().bits());
        let offset = futex.address() % 4;
        let place = if cfg!(target_endian = "little") { offset } else { 4 - bytes - offset };
        // Bits 0 to 3 for bytes, 4 and 5 for halfwords.
        let bit = if bytes == 1 { offset } else { 4 + offset / 2 };
        Lane { word: futex.address() - offset, shift: place as u32 * 8, ones: (1 << bits) - 1, bit: 1 << bit }
    }

    /// The word around it.
    pub fn word(self) -> *const u32 {
        core::ptr::with_exposed_provenance(self.word)
    }

    /// Its bit in a bitset.
    pub fn bit(self) -> u32 {
        self.bit
    }

    /// The lane's value if the word holds `whole`.
    fn of_whole(self, whole: u32) -> u32 {
        whole >> self.shift & self.ones
    }
}

/// Waits for a futex of 8 or 16 bits.
pub fn wait(expected: Expected, deadline: Deadline) -> Result<()> {
    let lane = Lane::of(expected.futex());
    for attempt in 1u32.. {
        // SAFETY: the aligned word around a readable one lies in the same page, so it is readable, too. Its other lanes
        // are other words of the program, which writes futex words atomically.
        let whole = unsafe { ntux_platform::atomic::load_foreign(lane.word, 4) } as u32;
        if u64::from(lane.of_whole(whole)) != expected.value() {
            return Err(Error::Differs);
        }
        let bits = if planted(Bug::AllLanes) { MATCH_ANY } else { lane.bit };
        match kernel_futex::wait(lane.word(), whole, bits, expected.futex().scope(), deadline) {
            Ok(()) => return Ok(()),
            // The kernel checks the word before the clock.
            Err(EAGAIN) if deadline.passed() => {
                return Err(if expected.holds() { Error::TimedOut } else { Error::Differs });
            }
            Err(EAGAIN) if attempt.is_multiple_of(RETRIES) => std::thread::sleep(REST),
            Err(EAGAIN) => {}
            Err(error) => return Err(Error::from_errno(error)),
        }
    }
    Err(Error::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Size;
    use ntux_platform::kernel_futex::Scope;

    #[test]
    fn every_lane_has_a_bit_of_its_own_and_finds_its_value() {
        let bytes = [0x11u8, 0x22, 0x33, 0x44];
        let whole = u32::from_ne_bytes(bytes);
        let mut bits = 0;
        for (size, offset) in [(1, 0), (1, 1), (1, 2), (1, 3), (2, 0), (2, 2)] {
            let bits_of = if size == 1 { Size::Bits8 } else { Size::Bits16 };
            // SAFETY: nobody reads the word.
            let futex = unsafe { Futex::at(0x1000 + offset, bits_of, Scope::Shared) }.expect("aligned");
            let lane = Lane::of(futex);
            assert_eq!(lane.word, 0x1000);
            assert_eq!(bits & lane.bit, 0);
            bits |= lane.bit;
            let value = match size {
                1 => u32::from(bytes[offset]),
                _ => u32::from(u16::from_ne_bytes([bytes[offset], bytes[offset + 1]])),
            };
            assert_eq!(lane.of_whole(whole), value, "{size} bytes at {offset}");
        }
        assert_eq!(bits.count_ones(), 6);
    }
}
