// SPDX-License-Identifier: MIT OR Apache-2.0
//! Absolute deadlines on two clocks, and due times on three.

use super::System;
use crate::Here;
use crate::atomic::Word64;

/// A deadline, in nanoseconds since the clock's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deadline {
    /// No deadline.
    Never,
    /// On the monotonic clock, which nobody can set.
    Monotonic(u64),
    /// On the wall clock, which it follows when the clock is set.
    Realtime(u64),
}

impl Deadline {
    /// A deadline in the past: one attempt, no sleep.
    pub const NOW: Deadline = Deadline::Monotonic(0);

    /// Returns whether it has passed. Reads the clock if necessary.
    #[inline(always)]
    pub fn passed(self) -> bool {
        match self {
            Deadline::Never => false,
            Deadline::Monotonic(0) | Deadline::Realtime(0) => true,
            _ => self.passed_by_the_clock(),
        }
    }

    #[inline(never)]
    fn passed_by_the_clock(self) -> bool {
        explored_deadline_passed() || self.remaining_ns() == Some(0)
    }

    /// The deadline this many nanoseconds from now, on the monotonic clock.
    pub fn after_ns(ns: u64) -> Deadline {
        Deadline::Monotonic(monotonic_ns().saturating_add(ns))
    }

    /// The deadline that passes first. If they are on different clocks, it is up to so much earlier as this function took: however long the
    /// thread was stopped in it, the result has passed once one of the two has.
    pub fn earlier(self, other: Deadline) -> Deadline {
        match (self, other) {
            (Deadline::Never, only) | (only, Deadline::Never) => only,
            (Deadline::Monotonic(one), Deadline::Monotonic(other)) => Deadline::Monotonic(one.min(other)),
            (Deadline::Realtime(one), Deadline::Realtime(other)) => Deadline::Realtime(one.min(other)),
            (Deadline::Monotonic(monotonic_ns), Deadline::Realtime(realtime_ns))
            | (Deadline::Realtime(realtime_ns), Deadline::Monotonic(monotonic_ns)) => {
                earlier_of_two_clocks(monotonic_ns, realtime_ns, Clock::now_ns)
            }
        }
    }

    /// The nanoseconds left: 0 if it has passed, none if there is no deadline.
    pub fn remaining_ns(self) -> Option<u64> {
        match self {
            Deadline::Never => None,
            Deadline::Monotonic(ns) => Some(ns.saturating_sub(read(libc::CLOCK_MONOTONIC))),
            Deadline::Realtime(ns) => Some(ns.saturating_sub(read(libc::CLOCK_REALTIME))),
        }
    }
}

/// [`Deadline::earlier`]. What is left by each clock is known for different instants, none of them before `began`.
fn earlier_of_two_clocks(monotonic_ns: u64, realtime_ns: u64, now_ns: impl Fn(Clock) -> u64) -> Deadline {
    let began = now_ns(Clock::Boot);
    let left_monotonic = monotonic_ns.saturating_sub(now_ns(Clock::Monotonic));
    let left_realtime = realtime_ns.saturating_sub(now_ns(Clock::Wall));
    let taken = now_ns(Clock::Boot).saturating_sub(began);
    if left_monotonic <= left_realtime {
        Deadline::Monotonic(monotonic_ns.saturating_sub(taken))
    } else {
        Deadline::Realtime(realtime_ns.saturating_sub(taken))
    }
}

/// A clock by which something can be due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Clock {
    /// Nobody can set it, and it stands still while the machine sleeps.
    Monotonic,
    /// The time of day, which can be set.
    Wall,
    /// Nobody can set it, and it goes on while the machine sleeps.
    Boot,
}

impl Clock {
    /// Its time in nanoseconds.
    pub fn now_ns(self) -> u64 {
        #[cfg(ntux_explore)]
        if let Some(now) = crate::explore::now() {
            return now;
        }
        match self {
            Clock::Monotonic => read(libc::CLOCK_MONOTONIC),
            Clock::Wall => read(libc::CLOCK_REALTIME),
            Clock::Boot => read(<Here as System>::BOOT_CLOCK),
        }
    }
}

/// When something is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// By which clock.
    pub clock: Clock,
    /// In nanoseconds since its start.
    pub at_ns: u64,
}

impl Due {
    /// So many nanoseconds from now.
    pub fn after_ns(clock: Clock, ns: u64) -> Due {
        Due { clock, at_ns: clock.now_ns().saturating_add(ns) }
    }

    /// Until when the kernel can sleep for it. It has no sleep by boot time; the wall clock goes on while the machine sleeps, too, so what
    /// is left is counted on that one, and that clock is asked first: the result is not too late. A thread that wakes must ask again.
    pub fn deadline(self) -> Deadline {
        match self.clock {
            Clock::Monotonic => Deadline::Monotonic(self.at_ns),
            Clock::Wall => Deadline::Realtime(self.at_ns),
            Clock::Boot => {
                let began = Clock::Wall.now_ns();
                Deadline::Realtime(began.saturating_add(self.at_ns.saturating_sub(self.clock.now_ns())))
            }
        }
    }
}

/// Returns whether the model checker says that the deadline of the current call has passed.
#[inline(always)]
fn explored_deadline_passed() -> bool {
    #[cfg(ntux_explore)]
    return crate::explore::current().is_some_and(|scheduler| scheduler.deadline_passed());
    #[cfg(not(ntux_explore))]
    false
}

/// Nanoseconds on the monotonic clock.
#[inline]
pub fn monotonic_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// Stores the seconds and nanoseconds of the monotonic clock here; of the last tick of the kernel's own clock where that costs less:
/// up to 10 ms before. The reader adds them up, so the caller pays nothing for it.
#[inline]
pub fn leave_last_tick(place: &[Word64; 2]) {
    // SAFETY: two words that may change at any time have the size and the alignment of the answer; this clock exists on every
    // supported system.
    unsafe { libc::clock_gettime(<Here as System>::COARSE_CLOCK, place.as_ptr().cast_mut().cast()) };
}

/// What [`leave_last_tick`] has stored is as good as any time there.
const _: () = assert!(size_of::<libc::timespec>() == size_of::<[Word64; 2]>());
const _: () = assert!(align_of::<libc::timespec>() <= align_of::<Word64>());

/// Nanoseconds on the wall clock.
pub fn realtime_ns() -> u64 {
    read(libc::CLOCK_REALTIME)
}

/// Nanoseconds of processor time that this process has used, all threads together.
pub fn process_ns() -> u64 {
    read(libc::CLOCK_PROCESS_CPUTIME_ID)
}

#[inline]
fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the answer; these clocks exist on every supported system.
    unsafe { libc::clock_gettime(clock, &mut time) };
    // No clock of a kernel goes beyond 63 bits of nanoseconds.
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;

    use super::*;

    #[test]
    fn of_one_clock_the_smaller_is_earlier() {
        let [one, other] = [Deadline::Monotonic(1), Deadline::Monotonic(2)];
        assert_eq!([one.earlier(other), other.earlier(one)], [one; 2]);
        assert_eq!([one.earlier(Deadline::Never), Deadline::Never.earlier(one)], [one; 2]);
        assert_eq!(Deadline::Realtime(7).earlier(Deadline::Realtime(3)), Deadline::Realtime(3));
    }

    /// The clocks start together; the thread is stopped for this long before each question but the first.
    fn earlier_if_stopped(monotonic_ns: u64, realtime_ns: u64, stop_ns: u64) -> Deadline {
        let now = Cell::new(0);
        earlier_of_two_clocks(monotonic_ns, realtime_ns, |_| now.replace(now.get() + stop_ns))
    }

    #[test]
    fn of_two_clocks_none_is_missed_by_a_thread_that_was_stopped_while_it_asked() {
        assert_eq!(earlier_if_stopped(2000, 4000, 0), Deadline::Monotonic(2000));
        assert_eq!(earlier_if_stopped(4000, 2000, 0), Deadline::Realtime(2000));
        for stop in [1, 10, 700, 1900, 2500] {
            for (monotonic, realtime) in [(2000, 4000), (4000, 2000), (2000, 2001), (2000, 2000)] {
                let (Deadline::Monotonic(at) | Deadline::Realtime(at)) = earlier_if_stopped(monotonic, realtime, stop)
                else {
                    panic!("both are deadlines")
                };
                assert!(at <= monotonic.min(realtime), "{at} is after {monotonic} or {realtime}, stopped for {stop}");
            }
        }
    }
}
