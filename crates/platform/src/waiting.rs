//! What a thread does before it sleeps: the one policy for waiting.
//!
//! To sleep and to be woken costs microseconds, and the waker as much again. Two things can save that, and each costs more than
//! it saves where it does not fit:
//! * the *adaptive spin*: the thread looks at a word until what it waits for has come ([`spin_policy`]). The core does this.
//! * the *yield*: the thread lets others run once, and looks again ([`yield_policy`]). The futex table does this.
//!
//! Both decide from what waits have come to lately. What they ask the machine is [`machine`]; how long a decision was on its
//! way to the thread it woke is written beside the thread's word ([`Stamp`]).

pub mod machine;
pub mod spin_policy;
pub mod yield_policy;

pub use spin_policy::{History, Looked, Outcome, WakePrice};

/// From which processor, and when, a wait was decided: a hint that whoever decides leaves for the thread that waits.
///
/// ```text
///  31            10 9            0
/// +----------------+--------------+
/// | time, in 16 ns | processor +1 |      processor 0: unknown; time 0: not said
/// +----------------+--------------+
/// ```
/// The time goes round in 67 ms: it is good only for a thread that has looked at the clock itself, before and after.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stamp(pub u32);

const PROCESSOR_BITS: u32 = 10;
const TICK_NS_SHIFT: u32 = 4;
const TICKS: u64 = 1 << (32 - PROCESSOR_BITS);

impl Stamp {
    /// What is to be left by a thread on this processor, at this time.
    pub fn new(processor: Option<u32>, now_ns: Option<u64>) -> Stamp {
        let processor = processor.map_or(0, |number| (number + 1) & ((1 << PROCESSOR_BITS) - 1));
        // The time that would read as "not said" is said as the next tick.
        let ticks = now_ns.map_or(0, |now_ns| ((now_ns >> TICK_NS_SHIFT) % TICKS).max(1)) as u32;
        Stamp(ticks << PROCESSOR_BITS | processor)
    }

    /// On which processor.
    pub fn processor(self) -> Option<u32> {
        (self.0 & ((1 << PROCESSOR_BITS) - 1)).checked_sub(1)
    }

    /// How long before `now_ns`. None if it was not said, or cannot be: longer ago than `most_ns`.
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
