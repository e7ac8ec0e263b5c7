// SPDX-License-Identifier: MIT OR Apache-2.0
//! The schedule of a timer, as `docs/internals/timers.md` draws it: when it is due next, and the turn that was announced last.

use ntux_platform::atomic::Pair;
use ntux_platform::clock::{Clock, Due};

use super::fields::{Bits, SCHEDULE, part};
use crate::planted::{Bug, planted};

const NUMBER: Bits = part(SCHEDULE, "number");
const TURN: Bits = part(SCHEDULE, "turn");
const PERIOD: Bits = part(SCHEDULE, "period");
const DUE: Bits = part(SCHEDULE, "due");
const CLOCK: Bits = part(SCHEDULE, "clock");

/// Turns are counted in this many bits, also in the object's word.
pub(crate) const NUMBER_BITS: u32 = NUMBER.width;
/// The latest due time, in nanoseconds of any clock.
pub(crate) const DUE_MAX: u64 = DUE.mask();
/// The longest period, in microseconds.
pub(crate) const PERIOD_MAX_US: u64 = PERIOD.mask();
pub(crate) const NS_PER_US: u64 = 1000;

/// What a turn does to the object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Turn {
    /// Nothing but its number.
    Cancel,
    /// Signals it.
    Fire,
    /// Makes it unsignaled, after all who wait for it were told.
    Arm,
    /// Makes it unsignaled.
    Postpone,
}

/// A copy of a schedule.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Schedule(pub Pair);

impl Schedule {
    /// The number of the turn that was announced last.
    pub(crate) fn number(self) -> u32 {
        (self.0.low >> NUMBER.shift() & NUMBER.mask()) as u32
    }

    /// The number of the turn after the one with this number.
    pub(crate) fn number_after(number: u32) -> u32 {
        number.wrapping_add(1) & NUMBER.mask() as u32
    }

    /// What that turn does.
    pub(crate) fn turn(self) -> Turn {
        match self.0.low >> TURN.shift() & TURN.mask() {
            0 => Turn::Cancel,
            1 => Turn::Fire,
            2 => Turn::Arm,
            _ => Turn::Postpone,
        }
    }

    /// When the timer is due; none if it is not armed.
    pub(crate) fn due(self) -> Option<Due> {
        let at_ns = self.0.high >> DUE.shift() & DUE.mask();
        let clock = match self.0.high >> CLOCK.shift() & CLOCK.mask() {
            0 => Clock::Monotonic,
            1 => Clock::Wall,
            _ => Clock::Boot,
        };
        (at_ns != 0).then_some(Due { clock, at_ns })
    }

    /// From one due time to the next, in microseconds; 0 if it fires once.
    pub(crate) fn period_us(self) -> u64 {
        self.0.low >> PERIOD.shift() & PERIOD.mask()
    }

    /// The next turn: it fires, at this time of its clock.
    pub(crate) fn fired(self, now_ns: u64) -> Schedule {
        let next = |due: Due| {
            let period_ns = self.period_us() * NS_PER_US;
            // Due times that have passed since are none of their own.
            let passed = now_ns.saturating_sub(due.at_ns).checked_div(period_ns)?;
            let at_ns = due.at_ns.checked_add(period_ns.checked_mul(passed + 1)?)?;
            (at_ns <= DUE_MAX).then_some(Due { at_ns, ..due })
        };
        let due = self.due().and_then(next);
        self.next(Turn::Fire, due, if due.is_some() { self.period_us() } else { 0 })
    }

    /// The next turn: it is armed, for a time after 0.
    pub(crate) fn armed(self, due: Due, period_us: u64) -> Schedule {
        let is_later = |before: Due| before.clock == due.clock && before.at_ns <= due.at_ns;
        let is_told = planted(Bug::SoonerUntold) && self.due().is_some();
        let turn = if is_told || self.due().is_some_and(is_later) { Turn::Postpone } else { Turn::Arm };
        self.next(turn, Some(due), period_us)
    }

    /// The next turn: it is cancelled.
    pub(crate) fn cancelled(self) -> Schedule {
        self.next(Turn::Cancel, None, 0)
    }

    fn next(self, turn: Turn, due: Option<Due>, period_us: u64) -> Schedule {
        let turn: u64 = match turn {
            Turn::Cancel => 0,
            Turn::Fire => 1,
            Turn::Arm => 2,
            Turn::Postpone => 3,
        };
        let number = u64::from(Schedule::number_after(self.number()));
        let low = number << NUMBER.shift() | turn << TURN.shift() | (period_us & PERIOD.mask()) << PERIOD.shift();
        let high = due.map_or(0, |due| {
            let clock: u64 = match due.clock {
                Clock::Monotonic => 0,
                Clock::Wall => 1,
                Clock::Boot => 2,
            };
            due.at_ns.clamp(1, DUE_MAX) << DUE.shift() | clock << CLOCK.shift()
        });
        Schedule(Pair { low, high })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_armed_comes_back() {
        for clock in [Clock::Monotonic, Clock::Wall, Clock::Boot] {
            let due = Due { clock, at_ns: DUE_MAX };
            let armed = Schedule::default().armed(due, PERIOD_MAX_US);
            assert_eq!((armed.number(), armed.turn(), armed.due()), (1, Turn::Arm, Some(due)));
            assert_eq!(armed.period_us(), PERIOD_MAX_US);
            let cancelled = armed.cancelled();
            assert_eq!((cancelled.number(), cancelled.turn()), (2, Turn::Cancel));
            assert_eq!((cancelled.due(), cancelled.period_us()), (None, 0));
        }
    }

    #[test]
    fn only_a_time_that_is_not_earlier_on_the_same_clock_is_postponed() {
        let due = |clock, at_ns| Due { clock, at_ns };
        let armed = Schedule::default().armed(due(Clock::Wall, 10), 0);
        assert_eq!(armed.armed(due(Clock::Wall, 10), 0).turn(), Turn::Postpone);
        assert_eq!(armed.armed(due(Clock::Wall, 9), 0).turn(), Turn::Arm);
        assert_eq!(armed.armed(due(Clock::Boot, 11), 0).turn(), Turn::Arm);
        assert_eq!(armed.cancelled().armed(due(Clock::Wall, 11), 0).turn(), Turn::Arm);
    }

    #[test]
    fn a_firing_moves_the_due_time_by_whole_periods() {
        let due = Due { clock: Clock::Boot, at_ns: 5_000 };
        let fired = Schedule::default().armed(due, 2).fired(9_500);
        assert_eq!((fired.turn(), fired.due()), (Turn::Fire, Some(Due { at_ns: 11_000, ..due })));
        assert_eq!(Schedule::default().armed(due, 0).fired(5_000).due(), None);
        let last = Due { at_ns: DUE_MAX - 1, ..due };
        let over = Schedule::default().armed(last, 2).fired(DUE_MAX);
        assert_eq!((over.due(), over.period_us()), (None, 0), "no clock reaches the next one");
    }

    #[test]
    fn numbers_wrap_without_touching_the_turn() {
        let last = Schedule(Pair { low: NUMBER.mask(), high: 0 });
        assert_eq!((last.cancelled().number(), last.cancelled().turn()), (0, Turn::Cancel));
    }
}
