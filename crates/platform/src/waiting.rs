// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a thread does before it sleeps: the one policy for waiting.
//!
//! Going to sleep and being woken costs microseconds, and the waker as much again. Two things can save that; each costs
//! more than it saves where it does not fit:
//! * the *adaptive spin*: the thread polls a word until what it waits for has come ([`spin_policy`]). The core does
//!   this.
//! * the *yield*: the thread yields the processor once and checks again ([`yield_policy`]). The futex table does this.
//!
//! Both decide from the outcomes of recent waits. [`machine`] is what they ask the machine. The thread that decides a
//! wait leaves the time beside the waiter's word ([`Stamp`]), so the waiter knows how long the wake took.

pub mod machine;
pub mod spin_policy;
pub mod yield_policy;

pub use spin_policy::{History, Looked, Outcome, Outlook, Pace, Traffic, WakePrice};

/// When and on which processor a wait was decided: a hint that the deciding thread leaves for the waiter.
///
/// ```text
///  31            10 9            0
/// +----------------+--------------+
/// | time, in 16 ns | processor +1 |      processor 0: unknown; time 0: not said
/// +----------------+--------------+
/// ```
/// The time wraps after 67 ms: it is useful only to a thread that has itself read the clock before and after. The number is
/// cut to its bits, so it is to be compared with another one that is ([`stamped`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stamp(pub u32);

/// The number of a processor as a stamp has it. (The last one of 1,024 is unknown there.)
pub fn stamped(processor: u32) -> u32 {
    processor & ((1 << PROCESSOR_BITS) - 1)
}

const PROCESSOR_BITS: u32 = 10;
const TICK_NS_SHIFT: u32 = 4;
const TICKS: u64 = 1 << (32 - PROCESSOR_BITS);

impl Stamp {
    /// The stamp of a thread on this processor, at this time.
    pub fn new(processor: Option<u32>, now_ns: Option<u64>) -> Stamp {
        let processor = processor.map_or(0, |number| number.wrapping_add(1) & ((1 << PROCESSOR_BITS) - 1));
        // A time that would read as "not said" is stored as the next tick.
        let ticks = now_ns.map_or(0, |now_ns| ((now_ns >> TICK_NS_SHIFT) % TICKS).max(1)) as u32;
        Stamp(ticks << PROCESSOR_BITS | processor)
    }

    /// Returns the processor, or None if it is unknown.
    pub fn processor(self) -> Option<u32> {
        (self.0 & ((1 << PROCESSOR_BITS) - 1)).checked_sub(1)
    }

    /// Returns how long before `now_ns` it was, or None if the time was not said or is longer ago than `most_ns`.
    pub fn age_ns(self, now_ns: u64, most_ns: u64) -> Option<u64> {
        let ticks = u64::from(self.0 >> PROCESSOR_BITS);
        let now = (now_ns >> TICK_NS_SHIFT) % TICKS;
        let age_ns = (now.wrapping_sub(ticks) % TICKS) << TICK_NS_SHIFT;
        (ticks != 0 && age_ns <= most_ns).then_some(age_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_says_where_and_how_long_ago() {
        let stamp = Stamp::new(Some(0), Some(1_000_000_000_000));
        assert_eq!(stamp.processor(), Some(0));
        assert_eq!(stamp.age_ns(1_000_000_004_800, 1_000_000), Some(4_800));
        assert_eq!(stamp.age_ns(1_000_000_004_800, 4_000), None, "longer ago than the wait itself");
        assert_eq!(Stamp::new(Some(1021), None).processor(), Some(1021));
        for number in [0, 1022, 1024, 5000, u32::MAX - 1] {
            assert_eq!(Stamp::new(Some(number), None).processor(), Some(stamped(number)), "{number}");
        }
        assert_eq!([1023, 2047].map(|number| Stamp::new(Some(number), None).processor()), [None, None]);
        assert_eq!(Stamp::new(None, Some(77)).processor(), None);
        assert_eq!(Stamp::new(Some(3), None).age_ns(5, u64::MAX), None);
        assert_eq!((Stamp::default().processor(), Stamp::default().age_ns(5, u64::MAX)), (None, None));
    }

    #[test]
    fn time_goes_round() {
        let round_ns = TICKS << TICK_NS_SHIFT;
        let stamp = Stamp::new(Some(1), Some(round_ns - 160));
        assert_eq!(stamp.age_ns(round_ns + 320, u64::MAX), Some(480));
    }
}
