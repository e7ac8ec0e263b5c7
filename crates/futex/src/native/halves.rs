// SPDX-License-Identifier: MIT OR Apache-2.0
//! Futexes of 64 bits, as two words of 32 that are waited for together.
//!
//! A waiter sleeps on both halves with `futex_waitv`, the one at the lower address first. A waker always wakes that
//! one. The other half is only compared; nobody wakes it.
//!
//! * O-halves: no wake is lost. Let a waiter expect V, and a waker store V' and wake. If the first half differs, the
//!   kernel either sees it when it compares that half, or had queued the waiter there before, and the wake finds it. If
//!   only the second half differs, the kernel either sees it when it compares that half, or the store came later: then
//!   the waiter was queued at the first half since even longer, and the wake finds it. The first half must be the first
//!   entry.
//!
//! * O-pass: no wake is withheld from a waiter. The kernel queues a waiter at the first half before it compares the
//!   second one. A wake that arrives in between counts it, and the kernel reports a wake even if the second half
//!   differs. The wait should then have been refused, and the wake belongs to another waiter. The thread has not slept
//!   in this case. So a thread that was woken before it slept passes the wake on. If the second half did not differ,
//!   this is one wake too many: safe, but not exact.
//!
//! One case remains: a wait can appear to have found its value although it never did, if, within this one call, the
//! first half was right when it was compared and wrong later, and the second half the other way round, with a wake
//! before both. The wait table and domains are exact.
//!
//! Without `futex_waitv` (before Linux 5.16) the kernel cannot compare 64 bits: `Refused`.

use ntux_platform::clock::Deadline;
use ntux_platform::kernel_futex::{self, Entry, MATCH_ANY};

use super::{Vector, address};
use crate::planted::{Bug, planted};
use crate::{Error, Expected, Result};

/// Both halves; the first is the one that wakes use.
pub fn entries(expected: Expected) -> [Entry; 2] {
    let futex = expected.futex();
    let bytes = expected.value().to_ne_bytes();
    let half = |index: usize| {
        let value = [bytes[4 * index], bytes[4 * index + 1], bytes[4 * index + 2], bytes[4 * index + 3]];
        let expected = u32::from_ne_bytes(value);
        Entry { address: address(futex).wrapping_add(index), expected, scope: futex.scope(), numa: false }
    };
    if planted(Bug::OtherHalfFirst) { [half(1), half(0)] } else { [half(0), half(1)] }
}

/// Wakes another waiter instead of the calling thread (O-pass).
pub fn pass_on(first_half: &Entry) {
    if !planted(Bug::KeepWake) {
        // The word was mapped a moment ago. If it is not any more, nobody can wait for it.
        let _ = kernel_futex::wake(first_half.address, 1, MATCH_ANY, first_half.scope);
    }
}

/// Waits for a futex of 64 bits.
pub fn wait(expected: Expected, deadline: Deadline) -> Result<()> {
    let mut vector = Vector::default();
    vector.add(0, expected, MATCH_ANY)?;
    vector.wait(deadline).map(drop).map_err(Error::from_errno)
}
