// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel sleeps on words of 32 bits only.

use crate::clock::Deadline;
use crate::kernel_futex::{LongWords, Scope};

/// Marks a system without [`LongWords`].
pub trait NoLongWords {}

impl<S: NoLongWords> LongWords for S {
    const HAS_LONG_WORDS: bool = false;

    fn wait_long(_: *const u64, _: u64, _: Scope, _: Deadline) -> Result<(), i32> {
        Err(libc::ENOSYS)
    }

    fn wake_long(_: *const u64, _: u32, _: Scope) -> Result<u32, i32> {
        Err(libc::ENOSYS)
    }
}
