// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tells the threads of a scope to end, also if the test fails: the scope waits for them.

use ntux_platform::atomic::Word32;

/// Stores 1 when it is dropped.
pub struct Stop<'a>(pub &'a Word32);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(1);
    }
}
