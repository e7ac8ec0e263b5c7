// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel has no sleep on several words, and no requeue.

use crate::clock::Deadline;
use crate::kernel_futex::{Entry, Scope, Vectors};

/// Marks a system without [`Vectors`].
pub trait NoVectors {}

impl<S: NoVectors> Vectors for S {
    const CAN_REQUEUE: bool = false;

    fn wait_any_may_be_tried() -> bool {
        false
    }

    fn wait_any(_entries: &[Entry], _deadline: Deadline) -> Result<usize, i32> {
        Err(libc::ENOSYS)
    }

    fn requeue(
        _from: *const u32,
        _to: *const u32,
        _scope: Scope,
        _wake: u32,
        _moved: u32,
        _expected: u32,
    ) -> Result<u32, i32> {
        Err(libc::ENOSYS)
    }

    /// Never called without vectors.
    fn times_asleep() -> u64 {
        0
    }
}
