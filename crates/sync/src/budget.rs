// SPDX-License-Identifier: MIT OR Apache-2.0
//! The work budget: how much work one operation may do before it concludes that the memory is rubbish.
//!
//! In a sound arena every loop over shared memory ends soon, unless other threads make progress in between. In rubbish,
//! a helped object may never come to rest, a wait set may be endless, and loops are nested. So all loops of one
//! operation draw on one work budget, and the operation fails with `Corrupt` when it is spent.
//!
//! Only simple loops over one word have a bound of their own, [`crate::format::limits::RETRIES`].

use std::cell::Cell;

/// The budget of an operation. The most that a sound arena requires is a release that serves 65,536 waiters one after
/// the other: 4,096 passes over 2,114 chunks, half of this budget, whoever else helps (`scan::Ahead`). It is a second
/// or two of work. A checker has few waiters, and no time.
pub(crate) const WORK_BUDGET: u32 = if cfg!(ntux_explore) { 1 << 18 } else { 1 << 24 };
/// The cost of one round of a loop: an exchange or two, perhaps a wake.
const ROUND: u32 = 4;
/// The cost of one chunk of a wait set.
const CHUNK: u32 = 1;

/// The remaining budget of a thread's current operation.
#[derive(Default)]
pub(crate) struct WorkBudget(Cell<u32>);

impl WorkBudget {
    /// Begins an operation, with the whole budget.
    #[inline(always)]
    pub(crate) fn renew(&self) {
        self.0.set(WORK_BUDGET);
    }

    /// Spends the cost of one round of a loop. Returns false if too little is left: then the loop must end.
    #[inline(always)]
    pub(crate) fn round(&self) -> bool {
        self.spend(ROUND)
    }

    /// Spends the cost of reading one chunk of a wait set.
    pub(crate) fn chunk(&self) -> bool {
        self.spend(CHUNK)
    }

    #[inline(always)]
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
