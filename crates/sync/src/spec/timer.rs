// SPDX-License-Identifier: MIT OR Apache-2.0
//! The model of a timer.
//!
//! There is one clock here. It goes on when a program says so ([`super::Operation::Pass`]), at any step of others. A timer that is due
//! may fire at any step after that; at the latest, it fires before the next step of an operation that names it. An operation that names it
//! may begin a firing, which takes effect at a later step: due times that pass in between are another firing.

/// Signaled or not, and when that changes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Timer {
    /// Stays signaled when a wait acquires it.
    pub manual: bool,
    /// True if a wait could acquire it.
    pub signaled: bool,
    /// When it fires; none if it is not armed.
    pub due: Option<u64>,
    /// From one due time to the next; 0 if it fires once.
    pub period: u64,
    /// When a firing began that has not taken effect.
    pub begun: Option<u64>,
}

impl Timer {
    /// A timer that is not armed.
    pub fn unarmed(manual: bool, signaled: bool) -> Self {
        Self { manual, signaled, due: None, period: 0, begun: None }
    }

    /// Arms it: it is not signaled any more, whatever it was.
    pub fn set(&mut self, due: u64, period: u64) {
        *self = Self { due: Some(due), period, ..Self::unarmed(self.manual, false) };
    }

    /// It does not fire any more. Whether it is signaled stays as it is.
    pub fn cancel(&mut self) {
        *self = Self::unarmed(self.manual, self.signaled);
    }

    /// Returns true if it must have fired at this time.
    pub fn is_due(&self, now: u64) -> bool {
        self.due.is_some_and(|due| due <= now)
    }

    /// Begins to fire it, which is due now, if that makes a difference and nobody has begun.
    pub(super) fn begin_to_fire(&mut self, now: u64) -> bool {
        let begins = self.is_due(now) && self.period > 0 && self.begun.is_none();
        if begins {
            self.begun = Some(now);
        }
        begins
    }

    /// Fires it, which is due: once, however many due times have passed when that began. The next one is the next multiple of the period
    /// after that.
    pub fn fire(&mut self, now: u64) {
        let began = self.begun.take().unwrap_or(now);
        self.signaled = true;
        self.due = self.due.and_then(|due| next_due(due, self.period, began));
        if self.due.is_none() {
            self.period = 0;
        }
    }

    /// A wait acquires it: this clears a synchronization timer.
    pub fn acquire(&mut self) {
        self.signaled = self.manual;
    }
}

/// The first due time after now of a timer that was due at `due`; none if it fires once.
fn next_due(due: u64, period: u64, now: u64) -> Option<u64> {
    let missed = now.saturating_sub(due).checked_div(period)?;
    due.checked_add(period.checked_mul(missed + 1)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_synchronization_timer_is_cleared_by_a_wait() {
        for manual in [false, true] {
            let mut timer = Timer::unarmed(manual, true);
            timer.acquire();
            assert_eq!(timer.signaled, manual);
        }
    }

    #[test]
    fn arming_clears_and_a_cancellation_does_not() {
        let mut timer = Timer::unarmed(false, true);
        timer.set(7, 2);
        assert_eq!(timer, Timer { due: Some(7), period: 2, ..Timer::unarmed(false, false) });
        timer.fire(7);
        timer.cancel();
        assert_eq!(timer, Timer::unarmed(false, true));
    }

    #[test]
    fn a_timer_without_a_period_fires_once() {
        let mut timer = Timer::unarmed(true, false);
        timer.set(7, 0);
        assert!(!timer.is_due(6) && timer.is_due(7));
        timer.fire(9);
        assert_eq!(timer, Timer::unarmed(true, true));
    }

    #[test]
    fn due_times_that_were_missed_are_one_firing_and_the_rhythm_stays() {
        for (now, next) in [(10, 15), (14, 15), (15, 20), (31, 35)] {
            let mut timer = Timer::unarmed(true, false);
            timer.set(10, 5);
            timer.fire(now);
            assert_eq!(timer.due, Some(next), "at {now}");
        }
        assert_eq!(next_due(10, u64::MAX, 10), None, "the clock does not reach the next one");
    }

    #[test]
    fn due_times_that_pass_after_a_firing_began_are_another_one() {
        let mut timer = Timer::unarmed(false, false);
        timer.set(10, 5);
        assert!(!timer.begin_to_fire(9) && timer.begin_to_fire(12) && !timer.begin_to_fire(16));
        timer.fire(16);
        assert!(timer.signaled && timer.is_due(16) && timer.begun.is_none());
        timer.fire(16);
        assert_eq!(timer.due, Some(20));
    }
}
