//! Sleeping on a 32-bit word, and waking who sleeps there.
//!
//! The word lies in memory that several processes map, so the calls are the *shared* ones: they meet by file and offset,
//! at whatever address each process sees the word.

use super::clock::Deadline;
use crate::Here;

/// Why [`wait`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// Woken, interrupted by a signal, or the word differed: look at the word again.
    LookAgain,
    /// The deadline passed.
    TimedOut,
}

/// What a system gives for it.
pub trait Sleep {
    /// As [`wait`].
    fn wait(address: *const u32, expected: u32, deadline: Deadline) -> Woken;
    /// As [`wake`].
    fn wake(address: *const u32, count: u32);
}

/// Sleeps while the word at `address` holds `expected`, at most until `deadline`.
///
/// The comparison and the falling asleep are one step for every waker. Async-signal-safe.
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

/// Wakes at most `count` sleepers on the word at `address`. Async-signal-safe.
pub fn wake(address: *const u32, count: u32) {
    #[cfg(ntux_explore)]
    if let Some(scheduler) = crate::explore::current() {
        scheduler.wake(address as usize, count);
        return;
    }
    <Here as Sleep>::wake(address, count);
}
