// SPDX-License-Identifier: MIT OR Apache-2.0
//! The yield policy: whether a thread yields once before it queues to wait.
//!
//! The thread that will end the wait may be waiting for the processor, and queueing, sleeping and being woken costs
//! both threads ten times as much as a yield. But a yield gives up the thread's time slice. If another thread of this
//! process gets it, the yield is useful, however long it takes. If a busy program gets it, the thread runs again only
//! milliseconds later, whereas a sleeper that is woken runs at once.
//!
//! A long yield itself does not tell which of the two it was, but the processor time does: if this process used all
//! processors since the last long yield, except for half of one, its own threads got the time slice. If not, no thread
//! of it yields for [`REST`] times the measured interval.
//!
//! # What it costs
//! If nobody else can run, a yield costs 0.1 us, and two reads of the clock. If others have the processors, it costs
//! one read of the clock, and at most one part in 65 of each thread's time, while long yields follow each other within
//! [`WATCHED_MOST_NS`]. Rarer ones are not judged; each costs a time slice.
//!
//! A thread of a realtime class yields only to threads of its own priority. One of the deadline class gives up the rest
//! of its period: its yields are long, and the rule is the same.
//!
//! The words are hints: threads that have long yields at the same time can misjudge one.

use crate::Here;
use crate::atomic::Word64;
use crate::clock::{monotonic_ns, process_ns};
use crate::contract::System;

/// A scheduler gives a busy thread at least about this much; threads that wait for each other run for less.
const LONG_NS: u64 = 1_000_000;
/// A process's processor time is known as of the last tick of each processor: at most ten milliseconds ago.
const WATCHED_LEAST_NS: u64 = 20_000_000;
const WATCHED_MOST_NS: u64 = 100_000_000;
/// How many times the measured interval there are no yields.
const REST: u64 = 64;

/// What this process knows about its yields.
static LEARNED: YieldPolicy = YieldPolicy::new();

struct YieldPolicy {
    not_before_ns: Word64,
    /// Since when it has been watched, and the processor time that it had used by then.
    since_ns: Word64,
    used_ns: Word64,
}

/// Yields, unless other programs have the processors anyway, and then returns the result of the check. Returns false
/// without a yield.
///
/// Async-signal-safe if the check is.
pub fn let_others_run(look: impl FnOnce() -> bool) -> bool {
    // A checker's threads run when it says so.
    if cfg!(ntux_explore) {
        return false;
    }
    let before = monotonic_ns();
    if before < LEARNED.not_before_ns.load() {
        return false;
    }
    std::thread::yield_now();
    let now = monotonic_ns();
    if now.saturating_sub(before) > LONG_NS {
        LEARNED.learn(now, process_ns(), Here::processors());
    }
    look()
}

impl YieldPolicy {
    /// Nothing is known.
    const fn new() -> YieldPolicy {
        YieldPolicy { not_before_ns: Word64::new(0), since_ns: Word64::new(0), used_ns: Word64::new(0) }
    }

    /// There was a long yield.
    fn learn(&self, now_ns: u64, used_ns: u64, processors: u64) {
        let watched = now_ns.saturating_sub(self.since_ns.load());
        if watched < WATCHED_LEAST_NS {
            return;
        }
        let used = used_ns.saturating_sub(self.used_ns.load());
        if watched <= WATCHED_MOST_NS && used + watched / 2 < watched * processors {
            self.not_before_ns.store(now_ns + watched * REST);
        }
        self.since_ns.store(now_ns);
        self.used_ns.store(used_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// The result of long yields at these times, each with the processor time used by then, on two processors.
    fn not_before(long_yields: &[(u64, u64)]) -> u64 {
        let policy = YieldPolicy::new();
        long_yields.iter().for_each(|&(now, used)| policy.learn(now * MS, used * MS, 2));
        policy.not_before_ns.load() / MS
    }

    #[test]
    fn long_yields_among_our_own_threads_go_on() {
        assert_eq!(not_before(&[(1000, 500), (1020, 535), (1100, 680), (1200, 860)]), 0);
    }

    #[test]
    fn where_others_have_the_processors_there_are_none_for_64_times_as_long() {
        assert_eq!(not_before(&[(1000, 500), (1030, 530)]), 1030 + 30 * 64);
        assert_eq!(not_before(&[(1000, 500), (1010, 500), (1019, 500)]), 0, "what was used is not known exactly");
        assert_eq!(not_before(&[(1000, 500), (1010, 500), (1100, 600)]), 1100 + 100 * 64);
    }

    #[test]
    fn rare_ones_are_not_judged() {
        assert_eq!(not_before(&[(1000, 500), (1101, 500), (1300, 500)]), 0);
    }

    #[test]
    fn this_thread_may_run_somewhere() {
        assert!((1..8192).contains(&Here::processors()));
        assert!(process_ns() > 0);
    }
}
