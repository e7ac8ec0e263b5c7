//! Futexes of 64 bits, as two words of 32 that are waited for together.
//!
//! A waiter sleeps on both halves with `futex_waitv`, the one at the lower address first; a waker wakes that one,
//! always. The other half is there to be compared only; nobody wakes it.
//!
//! * O-halves: no wake is lost. Let a waiter expect V, and a waker store V' and wake. If the first half differs, the
//!   kernel either sees it when it compares that half, or had queued the waiter there before, and the wake finds it. If
//!   only the second half differs, the kernel either sees it when it compares that half, or the store came later: then
//!   the waiter was queued at the first half since even longer, and the wake finds it. The first half must be the first
//!   entry.
//!
//! * O-pass: no wake is kept from who waits. A waiter is queued at the first half before the second one is compared. A
//!   wake that comes in between counts it, and the kernel reports a wake, even if the second half differs: the wait
//!   should have been refused, and the wake belongs to somebody else. The thread has not slept then. So one that was
//!   woken before it slept passes the wake on. That is one wake too many if the second half did not differ: safe, but
//!   not exact.
//!
//! What remains: a wait can be taken for one that found its value if, within this one call, the first half was right
//! when it was compared and wrong later, and the second half the other way round, with a wake before both. In the wait
//! table and in a domain all this is exact.
//!
//! Without `futex_waitv` (before Linux 5.16) the kernel has nothing to compare 64 bits with: `Refused`.

use ntux_platform::clock::Deadline;
use ntux_platform::kernel_futex::{self, Entry, MATCH_ANY};

use super::{Vector, address};
use crate::planted::{Bug, planted};
use crate::{Error, Expected, Result};

/// Both halves, the one to be woken first.
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
        // The word was there a moment ago. If not, nobody can wait for it.
        let _ = kernel_futex::wake(first_half.address, 1, MATCH_ANY, first_half.scope);
    }
}

/// Waits for a futex of 64 bits.
pub fn wait(expected: Expected, deadline: Deadline) -> Result<()> {
    let mut vector = Vector::default();
    vector.add(0, expected, MATCH_ANY)?;
    vector.wait(deadline).map(drop).map_err(Error::from_errno)
}
