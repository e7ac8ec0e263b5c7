//! Letting others run, once, before a thread queues to wait.
//!
//! Whoever will end the wait may be waiting for the processor; to queue, sleep and be woken costs both of them ten times as
//! much as a yield. But a yield gives the thread's turn away. Beside programs that compute, it takes milliseconds to come
//! again, where a thread that sleeps and is woken gets it at once. So every yield is timed, and the process keeps accounts:
//!
//! * A yield after which the thread need not queue has saved [`SAVED_NS`]. Savings are kept, up to [`SAVINGS_NS`].
//! * One that took longer than [`LONG_NS`] has lost what it took: a turn of another program, or of many threads of this one.
//!   If savings cover it, they are spent.
//! * If they do not, nobody in this process yields for [`REST`] times as long as it took, at most [`REST_MOST_NS`].
//!
//! # What it costs
//! A yield if nobody else can run: 0.1 us, and two looks at the clock. Where yields are dear: one look at the clock, and, beyond
//! what was saved, at most one part in 64 of each thread's time: after such a yield the thread makes none for 64 times as
//! long. (After one of more than 150 ms, as a process sees that was stopped, for ten seconds.) A yield below the bound is not
//! accounted for.
//!
//! A thread of a realtime class yields to threads of its own priority only. One of the deadline class gives up what is left
//! of its period: its yields are long, and the rule is the same.
//!
//! The two words are hints: when several threads store to one of them at a time, what all but one learned is lost.

use crate::atomic::Word64;
use crate::clock::monotonic_ns;

/// A scheduler gives a thread that computes about this at least; threads that wait for each other run for less.
const LONG_NS: u64 = 1_000_000;
/// What it costs two threads that one of them queues for several objects, sleeps and is woken, at most.
const SAVED_NS: u64 = 20_000;
/// Enough for a few long yields.
const SAVINGS_NS: u64 = 16_000_000;
/// For how many times the length of a yield there is none.
const REST: u64 = 64;
const REST_MOST_NS: u64 = 10_000_000_000;

/// What this process knows about its yields.
static LEARNED: Courtesy = Courtesy { savings_ns: Word64::new(0), not_before_ns: Word64::new(0) };

struct Courtesy {
    savings_ns: Word64,
    /// On the monotonic clock.
    not_before_ns: Word64,
}

/// Lets others run, unless that was dear lately, and then looks; what the look says, which is whether the thread need not
/// queue. False if nobody was let run.
///
/// Async-signal-safe if the look is.
pub fn let_others_run(look: impl FnOnce() -> bool) -> bool {
    // A checker's threads run when it says so.
    if cfg!(feature = "explore") {
        return false;
    }
    let before = monotonic_ns();
    if before < LEARNED.not_before_ns.load() {
        return false;
    }
    std::thread::yield_now();
    let after = monotonic_ns();
    let need_not_queue = look();
    LEARNED.learn(before, after, need_not_queue);
    need_not_queue
}

impl Courtesy {
    fn learn(&self, before_ns: u64, after_ns: u64, need_not_queue: bool) {
        let (took, savings) = (after_ns.saturating_sub(before_ns), self.savings_ns.load());
        if took > LONG_NS {
            self.savings_ns.store(savings.saturating_sub(took));
            let until = after_ns.saturating_add(took.saturating_mul(REST).min(REST_MOST_NS));
            // Another thread may have met a longer one.
            if savings < took && until > self.not_before_ns.load() {
                self.not_before_ns.store(until);
            }
        } else if need_not_queue && savings < SAVINGS_NS {
            self.savings_ns.store(savings + SAVED_NS);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn nothing_learned() -> Courtesy {
        Courtesy { savings_ns: Word64::new(0), not_before_ns: Word64::new(0) }
    }

    #[test]
    fn after_a_long_yield_there_is_none_for_64_times_as_long() {
        let courtesy = nothing_learned();
        courtesy.learn(100 * MS, 101 * MS, false);
        assert_eq!(courtesy.not_before_ns.load(), 0, "short");
        courtesy.learn(100 * MS, 103 * MS, true);
        courtesy.learn(102 * MS, 104 * MS, true);
        assert_eq!(courtesy.not_before_ns.load(), (103 + 3 * 64) * MS, "the longer one of two threads");
        courtesy.learn(1000 * MS, 900_000 * MS, true);
        assert_eq!(courtesy.not_before_ns.load(), 910_000 * MS, "a process that was stopped");
    }

    #[test]
    fn savings_cover_long_yields() {
        let courtesy = nothing_learned();
        (0..10_000).for_each(|_| courtesy.learn(0, 10, true));
        for _ in 0..SAVINGS_NS / (4 * MS) {
            courtesy.learn(100 * MS, 104 * MS, false);
            assert_eq!(courtesy.not_before_ns.load(), 0);
        }
        courtesy.learn(100 * MS, 104 * MS, false);
        assert_eq!(courtesy.not_before_ns.load(), (104 + 4 * 64) * MS, "spent");
    }

    #[test]
    fn what_was_in_vain_saves_nothing() {
        let courtesy = nothing_learned();
        (0..10_000).for_each(|_| courtesy.learn(0, 10, false));
        courtesy.learn(100 * MS, 102 * MS, true);
        assert_eq!(courtesy.not_before_ns.load(), (102 + 2 * 64) * MS);
    }
}
