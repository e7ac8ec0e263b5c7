//! Adaptive spin: checks again for a short while before an expensive operation, as long as that pays off.

use std::cell::Cell;

/// Checks that are always affordable where spinning is allowed.
const LEAST: u32 = 16;
/// Failures after which the full number is tried once more.
const FAILURES_BETWEEN_TRIES: u32 = 64;

/// How often one thread checks. It starts with the most allowed, halves the number after each spin that failed, and
/// sets it to twice the number needed after one that succeeded. Now and then it tries the most again.
#[derive(Default)]
pub(crate) struct AdaptiveSpin {
    allowed: Cell<u32>,
    failures: Cell<u32>,
}

impl AdaptiveSpin {
    /// Checks at most `most` times. Returns true as soon as `look` ends the spin, false if it never does.
    pub(crate) fn spend(&self, most: u32, mut look: impl FnMut() -> Option<bool>) -> bool {
        if most == 0 {
            return false;
        }
        let tries_all = self.failures.get().is_multiple_of(FAILURES_BETWEEN_TRIES);
        let allowed = if tries_all { most } else { self.allowed.get().clamp(LEAST.min(most), most) };
        for spent in 0..allowed {
            if let Some(answer) = look() {
                self.allowed.set(spent.saturating_mul(2).saturating_add(LEAST));
                return answer;
            }
            core::hint::spin_loop();
        }
        self.allowed.set(allowed / 2);
        self.failures.set(self.failures.get().wrapping_add(1));
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(spin: &AdaptiveSpin, most: u32, worth_it_after: u32) -> u32 {
        let mut count = 0;
        spin.spend(most, || {
            count += 1;
            (count > worth_it_after).then_some(true)
        });
        count
    }

    #[test]
    fn what_is_not_worth_it_is_tried_less_but_not_never() {
        let spin = AdaptiveSpin::default();
        assert_eq!(looks(&spin, 1000, u32::MAX), 1000);
        assert_eq!(looks(&spin, 1000, u32::MAX), 500);
        let later: Vec<u32> = (0..62).map(|_| looks(&spin, 1000, u32::MAX)).collect();
        assert_eq!(later[61], LEAST);
        assert_eq!(looks(&spin, 1000, u32::MAX), 1000, "all again");
    }

    #[test]
    fn what_was_worth_it_is_allowed_twice_the_time() {
        let spin = AdaptiveSpin::default();
        assert_eq!(looks(&spin, 1000, u32::MAX), 1000);
        assert_eq!(looks(&spin, 1000, 100), 101);
        assert_eq!(looks(&spin, 1000, u32::MAX), 2 * 100 + LEAST);
        assert_eq!(looks(&spin, 0, 0), 0);
    }
}
