// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sleeps on a 32-bit word, and wakes its sleepers.
//!
//! The word is in memory that several processes map, so these are the *shared* calls: they identify the word by file
//! and offset, whatever its address in each process.

use super::clock::Deadline;
use crate::Here;

/// Why [`wait`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// Woken, interrupted by a signal, or the word differed: check the word again.
    LookAgain,
    /// The deadline passed.
    TimedOut,
}

/// What a system must provide.
pub trait Sleep {
    /// Implements [`wait`].
    fn wait(address: *const u32, expected: u32, deadline: Deadline) -> Woken;
    /// Implements [`wake`].
    fn wake(address: *const u32, count: u32);
}

/// Sleeps while the word at `address` holds `expected`, at most until `deadline`.
///
/// Comparing and falling asleep are one step for every waker. Async-signal-safe.
pub fn wait(address: *const u32, expected: u32, deadline: Deadline) -> Woken {
    #[cfg(ntux_explore)]
    if let Some(scheduler) = crate::explore::current() {
        let has_deadline = deadline != Deadline::Never;
        return match scheduler.sleep(address as usize, expected, has_deadline) {
            true => Woken::LookAgain,
            false => Woken::TimedOut,
        };
    }
    <Here as Sleep>::wait(address, expected, deadline)
}

/// [`wait`] that also ends when something is `due`; the result is `TimedOut` then, too.
pub fn wait_until_due(address: *const u32, expected: u32, deadline: Deadline, due: Deadline) -> Woken {
    #[cfg(ntux_explore)]
    if let (Some(scheduler), Deadline::Monotonic(due_ns) | Deadline::Realtime(due_ns)) =
        (crate::explore::current(), due)
    {
        let has_deadline = deadline != Deadline::Never;
        return match scheduler.sleep_until(address as usize, expected, has_deadline, due_ns) {
            true => Woken::LookAgain,
            false => Woken::TimedOut,
        };
    }
    wait(address, expected, deadline.earlier(due))
}

/// Wakes at most `count` sleepers on the word at `address`. Async-signal-safe.
pub fn wake(address: *const u32, count: u32) {
    #[cfg(ntux_explore)]
    if let Some(scheduler) = crate::explore::current() {
        scheduler.wake(address as usize, count);
        return;
    }
    <Here as Sleep>::wake(address, count);
}
