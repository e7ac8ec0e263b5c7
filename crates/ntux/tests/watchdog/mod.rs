// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ends a test process that hangs, loudly.

/// Kills this process with `SIGALRM` unless the test ends within a minute. The last call counts.
pub fn start() {
    after(60);
}

/// Kills this process with `SIGALRM` unless the test ends within so many seconds. The last call counts.
pub fn after(seconds: u32) {
    // SAFETY: sets a timer and nothing else.
    unsafe { libc::alarm(seconds) };
}
