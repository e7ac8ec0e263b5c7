// SPDX-License-Identifier: MIT OR Apache-2.0
//! SYNCHRONIZATION_BARRIER: threads wait until a given number of them has come.
//!
//! # Picture
//! ```text
//! word   63         32 31        0         inside: threads that have entered, have not left, and promise nothing about the end of the
//!       +-------------+-----------+                barrier: DeleteSynchronizationBarrier waits for them
//!       |    round    |  arrived  |
//!       +-------------+-----------+
//! ```
//! # Transitions of `word`
//! | from | to | by |
//! | --- | --- | --- |
//! | r, n | r, n + 1 | a thread that is not the last; it waits until the round is another |
//! | r, total - 1 | r + 1, 0, then a wake of all | the last, which returns TRUE |
//!
//! # Order
//! O-barrier: a thread stops to be inside when it no longer looks at the barrier, but for the address.

use ntux::Deadline;
use ntux_platform::atomic::{Word32, Word64};

use crate::boundary::{FALSE, TRUE, call_for_bool};
use crate::last_error::{self, INVALID_PARAMETER};
use crate::planted::{Bug, planted};
use crate::word::{self, ANY};

/// SYNCHRONIZATION_BARRIER of the header.
#[repr(C)]
pub struct Barrier {
    total: u32,
    inside: Word32,
    word: Word64,
    unused: [u64; 2],
}

const SPIN_ONLY: u32 = 1;
const BLOCK_ONLY: u32 = 2;
const NO_DELETE: u32 = 4;
const ROUND: u64 = 1 << 32;

/// # Safety
/// `barrier` is NULL or points to memory for one that nobody uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_InitializeSynchronizationBarrier(barrier: *mut Barrier, total: i32, spin: i32) -> i32 {
    call_for_bool(|| {
        if barrier.is_null() || total <= 0 || spin < -1 {
            return Err(INVALID_PARAMETER);
        }
        // SAFETY: the same contract.
        unsafe { barrier.write(Barrier::of(total as u32)) };
        Ok(())
    })
}

/// # Safety
/// `barrier` points to a barrier.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_EnterSynchronizationBarrier(barrier: *mut Barrier, flags: u32) -> i32 {
    if flags & !(SPIN_ONLY | BLOCK_ONLY | NO_DELETE) != 0 {
        last_error::set(INVALID_PARAMETER);
        return FALSE;
    }
    // SAFETY: the same contract.
    if unsafe { &*barrier }.enter(flags & NO_DELETE == 0) { TRUE } else { FALSE }
}

impl Barrier {
    pub fn of(total: u32) -> Barrier {
        Barrier { total, inside: Word32::new(0), word: Word64::new(0), unused: [0; 2] }
    }

    /// Waits for the others. `counts`: the deletion waits for this thread. Returns true for the last one.
    pub fn enter(&self, counts: bool) -> bool {
        if counts {
            self.inside.fetch_add(1);
        }
        let early = counts && planted(Bug::LeavesEarly);
        if early {
            self.inside.fetch_add(u32::MAX);
        }
        let is_last = self.pass();
        if counts && !early && self.inside.fetch_add(u32::MAX) == 1 {
            word::wake(&self.inside, u32::MAX, ANY);
        }
        is_last
    }

    /// Returns true for the last thread.
    fn pass(&self) -> bool {
        let mut seen = self.word.load();
        let round = loop {
            // Another round may have begun since the first look.
            let round = seen / ROUND;
            let is_last = (seen as u32).wrapping_add(1) >= self.total;
            let next = if is_last { round.wrapping_add(1).wrapping_mul(ROUND) } else { seen + 1 };
            match self.word.compare_exchange(seen, next) {
                Ok(()) if is_last => {
                    word::wake_all_long(&self.word);
                    return true;
                }
                Ok(()) => break round,
                Err(now) => seen = now,
            }
        };
        loop {
            let now = self.word.load();
            if now / ROUND != round {
                return false;
            }
            word::wait_long(&self.word, now, Deadline::Never);
        }
    }
}

/// # Safety
/// `barrier` points to a barrier that nobody enters any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_DeleteSynchronizationBarrier(barrier: *mut Barrier) -> i32 {
    // SAFETY: the same contract.
    let inside = unsafe { &(*barrier).inside };
    loop {
        match inside.load() {
            0 => return TRUE,
            threads => word::wait(inside, threads, ANY, Deadline::Never),
        };
    }
}
