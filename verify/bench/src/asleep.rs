// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waiting threads, and how to know that they wait.

use std::io;
use std::thread::{Builder, Scope, ScopedJoinHandle};
use std::time::Duration;

use ntux_testkit::task::{self, Task};

/// Enough for what a waiting thread does; a thousand of them fit anywhere.
const STACK_BYTES: usize = 128 << 10;

/// Between two looks at threads: they fall asleep at once.
const BETWEEN_LOOKS: Duration = Duration::from_micros(50);

/// Returns when every one of `threads` sleeps.
///
/// # Errors
/// One of them has ended.
pub(crate) fn until_asleep(threads: &[Task]) -> io::Result<()> {
    match task::until_asleep(threads, BETWEEN_LOOKS) {
        true => Ok(()),
        false => Err(io::Error::other("a thread ended that was to sleep")),
    }
}

/// Starts a thread with a small stack.
pub(crate) fn start<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    program: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, program)
}

/// What the thread returned; a panic of its is passed on.
pub(crate) fn joined<T>(handle: ScopedJoinHandle<'_, T>) -> T {
    handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
