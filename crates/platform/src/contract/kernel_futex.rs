// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's futex calls: one function for each, which returns the error number on failure.
//!
//! [`crate::futex`] has the few that the synchronization core needs. Here are the others: private and shared words,
//! bitsets, counts, vectors, requeue. All words have 32 bits; only XNU has some of 64 ([`LongWords`]).

use core::sync::atomic::{AtomicU8, Ordering};

use super::clock::Deadline;
use crate::Here;
use crate::without::Feature;

pub mod numa;

/// Most entries of one [`wait_any`].
pub const VECTOR_MAX: usize = 128;

/// Matches every bitset.
pub const MATCH_ANY: u32 = u32::MAX;

/// The scope of a word. The kernel distinguishes the two, so sleeper and waker must use the same.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Scope {
    /// Threads of this process; the address identifies the word.
    Private,
    /// Every process that maps the memory; the position in the memory identifies the word.
    Shared,
}

/// One word of a vector.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its address.
    pub address: *const u32,
    /// Its expected value.
    pub expected: u32,
    /// Its scope.
    pub scope: Scope,
    /// True if a node follows it ([`numa`]).
    pub numa: bool,
}

impl Entry {
    /// An unused entry.
    pub const NOWHERE: Entry = Entry { address: core::ptr::null(), expected: 0, scope: Scope::Private, numa: false };
}

/// Sleeps on one word, and wakes its sleepers. Every system has this.
pub trait Futexes {
    /// What [`is_exact`] returns.
    const IS_EXACT: bool;
    /// Implements [`wait`].
    fn wait(address: *const u32, expected: u32, mask: u32, scope: Scope, deadline: Deadline) -> Result<(), i32>;
    /// Implements [`wake`].
    fn wake(address: *const u32, count: u32, mask: u32, scope: Scope) -> Result<u32, i32>;
    /// Implements [`can_read`].
    fn can_read(address: *const u32) -> bool;
}

/// Sleeps on words of 64 bits. A system may lack these.
pub trait LongWords {
    /// What [`has_long_words`] returns.
    const HAS_LONG_WORDS: bool;
    /// Implements [`wait_long`].
    fn wait_long(address: *const u64, expected: u64, scope: Scope, deadline: Deadline) -> Result<(), i32>;
    /// Implements [`wake_long`].
    fn wake_long(address: *const u64, count: u32, scope: Scope) -> Result<u32, i32>;
}

/// Waits for several words, and requeues. A system may lack these.
pub trait Vectors {
    /// What [`can_requeue`] returns.
    const CAN_REQUEUE: bool;
    /// Returns whether [`Vectors::wait_any`] may be called: no filter kills the program for it.
    fn wait_any_may_be_tried() -> bool;
    /// Implements [`wait_any`].
    fn wait_any(entries: &[Entry], deadline: Deadline) -> Result<usize, i32>;
    /// Implements [`requeue`].
    fn requeue(
        from: *const u32,
        to: *const u32,
        scope: Scope,
        wake: u32,
        moved: u32,
        expected: u32,
    ) -> Result<u32, i32>;
    /// Implements [`times_asleep`].
    fn times_asleep() -> u64;
}

/// Futexes with a memory node ([`numa`]). A system may lack them.
pub trait Nodes {
    /// Returns whether the other three may be called: no filter kills the program for one of them.
    fn nodes_may_be_tried() -> bool;
    /// Implements [`numa::wait`].
    fn wait_at_node(address: *const u32, expected: u32, mask: u32, scope: Scope, deadline: Deadline)
    -> Result<(), i32>;
    /// Implements [`numa::wake`].
    fn wake_at_node(address: *const u32, count: u32, mask: u32, scope: Scope) -> Result<u32, i32>;
    /// Implements [`numa::requeue`].
    fn requeue_at_node(
        from: *const u32,
        to: *const u32,
        scope: Scope,
        wake: u32,
        moved: u32,
        expected: u32,
    ) -> Result<u32, i32>;
}

/// Returns whether masks choose who is woken, and wakes count. If not (macOS), a wake with a mask wakes every sleeper on the word,
/// and the answer of a wake says less: 0 if nobody slept, otherwise at least 1 and at most what was asked for.
pub const fn is_exact() -> bool {
    <Here as Futexes>::IS_EXACT
}

/// Returns whether the kernel sleeps on words of 64 bits (macOS).
pub const fn has_long_words() -> bool {
    <Here as LongWords>::HAS_LONG_WORDS
}

/// Returns whether a word can be read now. One system call.
pub fn can_read(address: *const u32) -> bool {
    <Here as Futexes>::can_read(address)
}

/// Returns whether [`requeue`] exists.
pub const fn can_requeue() -> bool {
    <Here as Vectors>::CAN_REQUEUE
}

/// Sleeps while the word holds `expected`, until a wake whose mask meets this one, or the deadline.
///
/// Errors: `EAGAIN` the word differs, even if the deadline has passed; `ETIMEDOUT`; `EINTR`; `EFAULT` no such memory;
/// `EINVAL` not aligned, or an empty mask; `EDOM` somebody sleeps at this address on a word of another size (macOS).
pub fn wait(address: *const u32, expected: u32, mask: u32, scope: Scope, deadline: Deadline) -> Result<(), i32> {
    #[cfg(ntux_explore)]
    if let Some(kernel) = kernel() {
        let entry = Entry { address, expected, scope, numa: false };
        return kernel.wait_any(&[(entry, mask)], deadline != Deadline::Never).map(drop);
    }
    <Here as Futexes>::wait(address, expected, mask, scope, deadline)
}

/// Wakes at most `count` sleepers on the word whose masks meet this one. Returns their number (see [`is_exact`]).
///
/// Errors: `EFAULT` no such memory (shared only; macOS need not notice); `EINVAL` not aligned, or an empty mask.
pub fn wake(address: *const u32, count: u32, mask: u32, scope: Scope) -> Result<u32, i32> {
    #[cfg(ntux_explore)]
    if let Some(kernel) = kernel() {
        return Ok(kernel.wake(address as usize, count, mask));
    }
    <Here as Futexes>::wake(address, count, mask, scope)
}

/// Does what [`wait`] does, on a word of 64 bits, without a mask. `ENOSYS` if the kernel has no such words.
pub fn wait_long(address: *const u64, expected: u64, scope: Scope, deadline: Deadline) -> Result<(), i32> {
    Here::wait_long(address, expected, scope, deadline)
}

/// Does what [`wake`] does, on a word of 64 bits, without a mask. `ENOSYS` if the kernel has no such words.
pub fn wake_long(address: *const u64, count: u32, scope: Scope) -> Result<u32, i32> {
    Here::wake_long(address, count, scope)
}

/// Sleeps while every word holds its expected value. Returns the index of one that was woken: the highest, if several
/// were before the thread ran.
///
/// Errors: those of [`wait`]; `ENOSYS` or `EPERM` if the kernel lacks the call (before Linux 5.16; macOS); `EINVAL`
/// also for no entries or more than [`VECTOR_MAX`].
pub fn wait_any(entries: &[Entry], deadline: Deadline) -> Result<usize, i32> {
    #[cfg(ntux_explore)]
    if let Some(kernel) = kernel() {
        const ENTRY: (Entry, u32) = (Entry::NOWHERE, MATCH_ANY);
        let mut vector = [ENTRY; VECTOR_MAX];
        vector.iter_mut().zip(entries).for_each(|(place, &entry)| place.0 = entry);
        return kernel.wait_any(&vector[..entries.len()], deadline != Deadline::Never);
    }
    Here::wait_any(entries, deadline)
}

/// How often this thread has ever fallen asleep. If a wait did not change the number, the thread did not sleep in it.
pub fn times_asleep() -> u64 {
    #[cfg(ntux_explore)]
    if let Some(kernel) = kernel() {
        return kernel.times_asleep();
    }
    Here::times_asleep()
}

/// The futexes that a model checker simulates for the calling thread.
#[cfg(ntux_explore)]
fn kernel() -> Option<&'static dyn crate::explore::Kernel> {
    crate::explore::current().and_then(|scheduler| scheduler.kernel())
}

/// If the word `from` holds `expected`, wakes at most `wake` of its sleepers and moves at most `moved` others to the
/// word `to`. Returns the number of both together. Ignores bitsets; a moved sleeper keeps its own.
///
/// Errors: `EAGAIN` the word differs; `EFAULT`, `EINVAL` as in [`wake`]; `ENOSYS` if there is no such call (macOS).
pub fn requeue(
    from: *const u32,
    to: *const u32,
    scope: Scope,
    wake: u32,
    moved: u32,
    expected: u32,
) -> Result<u32, i32> {
    #[cfg(ntux_explore)]
    if let Some(kernel) = kernel() {
        assert_eq!(wake, 0, "the kernel that is played wakes nobody in a requeue");
        return kernel.requeue(from as usize, to as usize, moved, expected);
    }
    Here::requeue(from, to, scope, wake, moved, expected)
}

/// Returns whether [`wait_any`] exists. Probes the kernel once.
pub fn has_wait_any() -> bool {
    static ANSWER: Answer = Answer::new();
    ANSWER.get_or_ask(try_wait_any)
}

/// A cached probe. A thread that arrives during another's probe makes its own: nobody waits, so a forked child never
/// waits for a thread that it does not have.
struct Answer(AtomicU8);

impl Answer {
    const UNKNOWN: u8 = 2;

    const fn new() -> Answer {
        Answer(AtomicU8::new(Answer::UNKNOWN))
    }

    fn get_or_ask(&self, ask: impl FnOnce() -> bool) -> bool {
        match self.0.load(Ordering::Relaxed) {
            Answer::UNKNOWN => {
                let answer = ask();
                self.0.store(u8::from(answer), Ordering::Relaxed);
                answer
            }
            known => known == u8::from(true),
        }
    }
}

/// Does what [`has_wait_any`] does, but probes each time. Async-signal-safe.
pub fn try_wait_any() -> bool {
    // Without entries an existing call fails as invalid.
    !Feature::FutexWaitv.is_left_out()
        && Here::wait_any_may_be_tried()
        && Here::wait_any(&[], Deadline::NOW) == Err(libc::EINVAL)
}
