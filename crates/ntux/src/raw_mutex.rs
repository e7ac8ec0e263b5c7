// SPDX-License-Identifier: MIT OR Apache-2.0
//! A lock that barges: the word of [`Mutex`](crate::Mutex), without data.
//!
//! # Role
//! NT's mutexes hand over in order of arrival: each unlock gives the lock to a thread that must first be woken, and nobody can use it
//! meanwhile. Under contention that is a context switch for each acquisition (a *convoy*). Here an unlock frees the lock, and whoever
//! comes first takes it, usually a thread that runs. So that nobody starves, a thread that has waited for [`PATIENCE_NS`] says so; while
//! one has, every unlock hands the lock to one of those, and nobody barges.
//!
//! # Picture
//! ```text
//! state  31                    3    2        1         0
//!       +-----------------------+--------+---------+--------+     locked:   somebody has it
//!       |       starving        | handed | waiting | locked |     waiting:  threads may sleep on `state`
//!       +-----------------------+--------+---------+--------+     handed:   it is for one of the starving
//! calls  how often the lock was handed over; the starving sleep on it     starving: how many threads are
//! ```
//!
//! # Transitions of `state`
//! | from | to | by |
//! | --- | --- | --- |
//! | 0 | locked | any thread; with `waiting` if it has slept |
//! | locked or handed | the same, `waiting` | a thread that is about to sleep, or gives up after it has slept |
//! | locked or handed | the same, one more starving | a thread that was woken in vain after its patience |
//! | handed | locked, one fewer starving | a starving thread |
//! | locked, some starving | the same, one fewer | a starving thread whose deadline has passed |
//! | locked, nobody starving | 0, then a wake of one on `state` if `waiting` was there | the holder |
//! | locked, some starving | handed, then one more call, and a wake of one on `calls` | the holder |
//!
//! # Invariants
//! * I-raw-1: `locked` and `handed` are not there together; with neither the word is 0.
//! * I-raw-2: `handed` means that somebody is starving. A starving thread leaves by taking the lock, or finds it locked.
//! * I-raw-3: if threads sleep on `state`, then `waiting` is there, or one that was woken has not yet looked: it takes the lock with
//!   `waiting`, sets it, or frees no one else's wake by giving up without it.
//!
//! # Order
//! * O-call: a starving thread reads `calls`, then `state`; who hands over changes `state`, then `calls`. So the thread sees `handed`, or
//!   does not fall asleep.
//! * O-sleep: comparing `state` and falling asleep is one step for every waker, so a thread sleeps only while `waiting` is there.
//!
//! # Death
//! The lock is for threads of one process, which die together. (A lock in memory that processes share is a
//! [`MutexObject`](crate::MutexObject).)
//!
//! # Bounded
//! A thread waits for its patience, then for one turn in vain, then for as many hand-overs as others are starving. Every step of a loop
//! here fails only because another thread's succeeded.

use ntux_platform::atomic::Word32;
use ntux_platform::clock::{Deadline, monotonic_ns};
use ntux_platform::futex::{self, Woken};
use ntux_platform::waiting::yield_policy;

use crate::planted::{Bug, planted};

const LOCKED: u32 = 1;
const WAITING: u32 = 2;
const HANDED: u32 = 4;
const ONE_STARVING: u32 = 8;

/// How long a thread waits before nobody may barge. A context switch for each hand-over is a percent of it.
const PATIENCE_NS: u64 = 5_000_000;
/// How often a thread looks before it sleeps, each time after twice as many pauses; a checker's threads run when it says so. A thread
/// that looks all the time takes the word's cache line from the holder.
const LOOKS: u32 = if cfg!(ntux_explore) { 0 } else { 4 };
/// How often it yields then: with more threads than processors, the holder is waiting for one.
const YIELDS: u32 = 3;

/// The lock of a [`Mutex`](crate::Mutex), for a program that keeps its data elsewhere. Unfair, with bounded starvation.
#[derive(Default)]
pub struct RawMutex {
    state: Word32,
    calls: Word32,
}

impl RawMutex {
    /// A lock that is free.
    pub const fn new() -> RawMutex {
        RawMutex { state: Word32::new(0), calls: Word32::new(0) }
    }

    /// Takes the lock; waits until then, at most until `deadline`. Returns whether it has it. A thread that has it already waits for
    /// itself.
    ///
    /// Any thread; not in a signal handler.
    #[inline]
    pub fn lock(&self, deadline: Deadline) -> bool {
        self.state.compare_exchange(0, LOCKED).is_ok() || self.lock_slowly(deadline)
    }

    /// Frees the lock, or hands it to a starving thread. The caller has it: otherwise other threads lose what protects them.
    ///
    /// Any thread, also another one than took it; not in a signal handler.
    #[inline]
    pub fn unlock(&self) {
        if self.state.compare_exchange(LOCKED, 0).is_err() {
            self.unlock_slowly();
        }
    }

    #[cold]
    fn lock_slowly(&self, deadline: Deadline) -> bool {
        let mut began = None;
        let mut timed_out = false;
        loop {
            let seen = self.look();
            if seen == 0 {
                if self.take(began.is_some()) {
                    return true;
                }
                continue;
            }
            if timed_out || deadline.passed() {
                return began.is_some() && self.give_up();
            }
            if began.is_some_and(is_starving) {
                return self.starve(deadline);
            }
            let waiting = seen | WAITING;
            if seen != waiting && self.state.compare_exchange(seen, waiting).is_err() {
                continue;
            }
            if began.is_none() {
                began = Some(now_ns());
            }
            timed_out = futex::wait(address(&self.state), waiting, deadline) == Woken::TimedOut;
        }
    }

    /// Takes a free lock. A thread that has slept does not know whether others still do.
    fn take(&self, has_slept: bool) -> bool {
        let keeps = has_slept && !planted(Bug::ForgetsOthers);
        self.state.compare_exchange(0, if keeps { LOCKED | WAITING } else { LOCKED }).is_ok()
    }

    /// Looks for a while, unless others sleep.
    fn look(&self) -> u32 {
        let mut seen = self.state.load();
        for look in 0..LOOKS {
            if seen != LOCKED {
                return seen;
            }
            (0..2 << look).for_each(|_| core::hint::spin_loop());
            seen = self.state.load();
        }
        for _ in 0..YIELDS {
            if seen != LOCKED || !yield_policy::let_others_run(|| true) {
                break;
            }
            seen = self.state.load();
        }
        seen
    }

    /// The deadline has passed, and a wake may have been for this thread (I-raw-3): it looks once more. Returns whether it has the
    /// lock.
    fn give_up(&self) -> bool {
        loop {
            let seen = self.state.load();
            if seen == 0 {
                if self.take(true) {
                    return true;
                }
            } else if planted(Bug::GivesUpSilently)
                || seen & WAITING != 0
                || self.state.compare_exchange(seen, seen | WAITING).is_ok()
            {
                return false;
            }
        }
    }

    /// Waits until the lock is handed over.
    fn starve(&self, deadline: Deadline) -> bool {
        loop {
            let seen = self.state.load();
            if seen == 0 {
                if self.take(true) {
                    return true;
                }
            } else if self.state.compare_exchange(seen, (seen | WAITING) + ONE_STARVING).is_ok() {
                break;
            }
        }
        let mut timed_out = false;
        loop {
            let calls = self.calls.load();
            let seen = self.state.load();
            if seen & HANDED != 0 {
                if self.state.compare_exchange(seen, (seen - HANDED - ONE_STARVING) | LOCKED).is_ok() {
                    return true;
                }
            } else if timed_out || deadline.passed() {
                if self.state.compare_exchange(seen, seen - ONE_STARVING).is_ok() {
                    return false;
                }
            } else {
                timed_out = futex::wait(address(&self.calls), calls, deadline) == Woken::TimedOut;
            }
        }
    }

    #[cold]
    fn unlock_slowly(&self) {
        loop {
            let seen = self.state.load();
            let starves = seen >= ONE_STARVING;
            let next = if starves { seen & !LOCKED | HANDED } else { 0 };
            if self.state.compare_exchange(seen, next).is_err() {
                continue;
            }
            if starves {
                if !planted(Bug::HandsOverSilently) {
                    self.calls.fetch_add(1);
                }
                futex::wake(address(&self.calls), 1);
            } else if seen & WAITING != 0 {
                futex::wake(address(&self.state), 1);
            }
            return;
        }
    }
}

fn address(word: &Word32) -> *const u32 {
    core::ptr::from_ref(word).cast()
}

fn now_ns() -> u64 {
    if cfg!(ntux_explore) { 0 } else { monotonic_ns() }
}

/// A checker's threads lose patience the first time.
fn is_starving(began_ns: u64) -> bool {
    cfg!(ntux_explore) || monotonic_ns().saturating_sub(began_ns) > PATIENCE_NS
}
