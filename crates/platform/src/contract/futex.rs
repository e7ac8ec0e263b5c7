// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sleeps on a 32-bit word, and wakes its sleepers.
//!
//! The word is in memory that several processes map, so these are the *shared* calls: they identify the word by file
//! and offset, whatever its address in each process.

use super::clock::Deadline;
use super::kernel_futex::{self, Entry, Scope, VECTOR_MAX};
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

/// A word and what it is expected to hold.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    /// Its address.
    pub address: *const u32,
    /// The value.
    pub value: u32,
}

/// Most words beside the first one of [`wait_beside`].
pub const BESIDE_MAX: usize = VECTOR_MAX - 1;

/// [`wait_until_due`] that also ends when one of the words `beside` is woken, or does not hold what is expected; as far as the system can:
/// otherwise these do not count.
pub fn wait_beside(word: Expected, beside: &[Expected], deadline: Deadline, due: Deadline) -> Woken {
    let beside = &beside[..beside.len().min(BESIDE_MAX)];
    #[cfg(ntux_explore)]
    if let (Some(scheduler), Deadline::Monotonic(due_ns)) = (crate::explore::current(), due) {
        let words: Vec<(usize, u32)> =
            core::iter::once(&word).chain(beside).map(|word| (word.address as usize, word.value)).collect();
        return match scheduler.sleep_beside(&words, deadline != Deadline::Never, due_ns) {
            true => Woken::LookAgain,
            false => Woken::TimedOut,
        };
    }
    if beside.is_empty() || !kernel_futex::has_wait_any() {
        return wait_until_due(word.address, word.value, deadline, due);
    }
    let mut entries = [Entry::NOWHERE; VECTOR_MAX];
    for (entry, word) in entries.iter_mut().zip(core::iter::once(&word).chain(beside)) {
        *entry = Entry { address: word.address, expected: word.value, scope: Scope::Shared, numa: false };
    }
    match kernel_futex::wait_any(&entries[..=beside.len()], deadline.earlier(due)) {
        Err(libc::ETIMEDOUT) => Woken::TimedOut,
        _ => Woken::LookAgain,
    }
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
