//! Threads that wait, and how to know that they do.

use std::io;
use std::thread::{Builder, Scope, ScopedJoinHandle};
use std::time::Duration;

/// Enough for what a waiting thread does; a thousand of them fit anywhere.
const STACK_BYTES: usize = 128 << 10;

/// A thread of this process, by the kernel's number.
#[derive(Clone, Copy)]
pub(crate) struct ThreadId(libc::pid_t);

impl ThreadId {
    pub(crate) fn current() -> Self {
        // SAFETY: asks for a number.
        Self(unsafe { libc::syscall(libc::SYS_gettid) } as libc::pid_t)
    }

    /// Whether the thread sleeps in the kernel now.
    fn asleep(self) -> io::Result<bool> {
        let line = std::fs::read_to_string(format!("/proc/self/task/{}/stat", self.0))?;
        // The name in parentheses may hold anything; the state follows the last of them.
        let state = line.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next());
        Ok(state == Some('S'))
    }
}

/// Returns when every one of `threads` sleeps.
pub(crate) fn until_asleep(threads: &[ThreadId]) -> io::Result<()> {
    for thread in threads {
        while !thread.asleep()? {
            std::thread::sleep(Duration::from_micros(50));
        }
    }
    Ok(())
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
