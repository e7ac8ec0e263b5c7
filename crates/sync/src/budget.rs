//! The work budget: how much one operation may do before it concludes that it looks at rubbish.
//!
//! Every loop over shared memory ends sooner, unless other threads get on with their work in between. Where the memory
//! is rubbish that is not so: what is helped never comes to rest, a wait set has no end, and each loop is inside another
//! one. So all loops of one operation spend the same work budget, and the operation ends with `Corrupt` when it
//! is used up.
//!
//! Only the loops that stand alone, over one word, have a bound of their own, [`crate::format::limits::RETRIES`].

use std::cell::Cell;

/// What an operation begins with. The most that a sound memory asks for is a release that serves 65,536 waiters one
/// after the other: 4,096 passes over 2,114 chunks, half of this, whoever else helps (`claim::Ahead`). A second or two of
/// work. A checker has few waiters, and no time.
pub(crate) const WORK_BUDGET: u32 = if cfg!(ntux_explore) { 1 << 18 } else { 1 << 24 };
/// One round of a loop: an exchange or two, perhaps a wake.
const ROUND: u32 = 4;
/// One chunk of a wait set.
const CHUNK: u32 = 1;

/// What is left of the budget of the operation that a thread is in.
#[derive(Default)]
pub(crate) struct WorkBudget(Cell<u32>);

impl WorkBudget {
    /// An operation begins, with the whole budget.
    pub(crate) fn renew(&self) {
        self.0.set(WORK_BUDGET);
    }

    /// Spends what one round of a loop costs. Returns false if there is not enough left: the loop must end.
    pub(crate) fn round(&self) -> bool {
        self.spend(ROUND)
    }

    /// Spends what a look at one chunk of a wait set costs.
    pub(crate) fn chunk(&self) -> bool {
        self.spend(CHUNK)
    }

    fn spend(&self, amount: u32) -> bool {
        let left = self.0.get().checked_sub(amount);
        self.0.set(left.unwrap_or(0));
        left.is_some()
    }
}

#[cfg(all(test, not(ntux_explore)))]
mod tests {
    use super::*;

    #[test]
    fn a_budget_lasts_for_the_largest_release_and_not_for_ever() {
        let budget = WorkBudget::default();
        assert!(!budget.round(), "nothing before the first operation");
        budget.renew();
        let (waiters, passes, chunks) = (1 << 16, 1 << 12, 2_114);
        assert!((0..passes * chunks).all(|_| budget.chunk()) && (0..3 * waiters).all(|_| budget.round()));
        assert!(!(0..WORK_BUDGET).all(|_| budget.chunk()));
        assert!(!budget.chunk() && !budget.round());
    }
}
