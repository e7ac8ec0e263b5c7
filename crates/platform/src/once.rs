// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values that are made once, also where threads fork.
//!
//! # Role
//! A fork copies a value that another thread is making half made. Nobody goes on with it in the child, where a thread that needs it would
//! wait for ever. So a fork waits until no value is being made, and none is begun during the fork.
//!
//! # Picture
//! ```text
//! making  31      30               0
//!        +-------+-----------------+
//!        | fork  |  threads        |    that are making a value
//!        +-------+-----------------+
//! ```
//! # Transitions
//! | from | to | by |
//! | --- | --- | --- |
//! | n threads, no fork | n + 1 | a thread that begins to make a value; one that is making another value goes on |
//! | n threads | n - 1 | a thread that has made it |
//! | 0, no fork | a fork | a thread that is about to fork, by [`hold_makers`] |
//! | a fork | 0 | the same, and its child, after the fork |
//!
//! # Invariants
//! * I-once: while a fork goes on, no other thread makes a value. (A thread that forks while it makes one itself is this library's, for a
//!   child that makes none.)
//!
//! # Death
//! A thread dies with its process. A child made by a bare `clone` gets no such care.

use std::cell::Cell;
use std::sync::OnceLock;

use crate::atomic::Word32;
use crate::fork;

const FORK: u32 = 1 << 31;

static MAKING: Word32 = Word32::new(0);

thread_local! {
    /// How many values the calling thread is making, one for the other.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// It is between the hooks of a fork.
    static FORKS: Cell<bool> = const { Cell::new(false) };
}

/// A value that the first thread makes which needs it.
pub struct Once<T>(OnceLock<T>);

impl<T> Default for Once<T> {
    fn default() -> Once<T> {
        Once::new()
    }
}

impl<T> Once<T> {
    /// One that nobody has needed yet.
    pub const fn new() -> Once<T> {
        Once(OnceLock::new())
    }

    /// The value, if it was made.
    #[inline]
    pub fn get(&self) -> Option<&T> {
        self.0.get()
    }

    /// The value. The first thread makes it; others wait for that thread. `make` must not need the same value. Not in a signal handler.
    #[inline]
    pub fn get_or_make(&self, make: impl FnOnce() -> T) -> &T {
        match self.0.get() {
            Some(value) => value,
            None => self.make(make),
        }
    }

    #[cold]
    fn make(&self, make: impl FnOnce() -> T) -> &T {
        let _making = Making::begin();
        self.0.get_or_init(make)
    }
}

/// The calling thread is making a value.
struct Making;

impl Making {
    fn begin() -> Making {
        install_hooks();
        let depth = DEPTH.get();
        DEPTH.set(depth + 1);
        loop {
            let seen = MAKING.load();
            if depth > 0 || seen & FORK == 0 && MAKING.compare_exchange(seen, seen + 1).is_ok() {
                return Making;
            }
            std::thread::yield_now();
        }
    }
}

impl Drop for Making {
    fn drop(&mut self) {
        let depth = DEPTH.get() - 1;
        DEPTH.set(depth);
        if depth == 0 {
            MAKING.fetch_add(1u32.wrapping_neg());
        }
    }
}

/// Installs the hooks, before the first value is made. (Two threads may both do so; the second pair finds nothing to do.)
pub fn install_hooks() {
    static ARE_THERE: Word32 = Word32::new(0);
    if ARE_THERE.load() == 0 {
        fork::at_fork(before_fork, after_fork);
        ARE_THERE.store(1);
    }
}

/// Returns once no other thread makes a value; none begins until the calling thread has forked. A hook before a fork that takes locks calls
/// it first: the thread that makes a value may need them. (Hooks run in the reverse order of their installation, so that of another crate
/// can come before this one's.) Such a crate installs both, this one's first.
pub fn hold_makers() {
    while DEPTH.get() == 0 && !FORKS.get() {
        if MAKING.compare_exchange(0, FORK).is_ok() {
            FORKS.set(true);
        } else {
            std::thread::yield_now();
        }
    }
}

extern "C" fn before_fork() {
    hold_makers();
}

extern "C" fn after_fork() {
    if FORKS.replace(false) {
        MAKING.store(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::Duration;

    /// A lock of another crate's hooks.
    static LOCK: Word32 = Word32::new(0);

    fn lock() {
        while LOCK.compare_exchange(0, 1).is_err() {
            std::thread::yield_now();
        }
    }

    extern "C" fn hold_makers_and_lock() {
        hold_makers();
        lock();
    }

    extern "C" fn unlock() {
        LOCK.store(0);
    }

    /// Forks while a thread makes the value, which is 7; the child needs it.
    fn fork_while_it_is_made(value: &'static Once<i32>, during: fn()) {
        let (begun, begins) = mpsc::channel();
        let maker = std::thread::spawn(move || {
            *value.get_or_make(|| {
                begun.send(()).unwrap();
                std::thread::sleep(Duration::from_millis(100));
                during();
                7
            })
        });
        begins.recv().unwrap();
        let mut status = 0;
        // SAFETY: the child reads the value, and ends, by a signal if it has to wait.
        unsafe {
            libc::alarm(60);
            let child = libc::fork();
            if child == 0 {
                libc::alarm(10);
                libc::_exit(*value.get_or_make(|| 8));
            }
            assert_eq!(libc::waitpid(child, &mut status, 0), child);
            libc::alarm(0);
        }
        assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 7, "{status:#x}");
        assert_eq!(maker.join().unwrap(), 7);
    }

    #[test]
    fn a_fork_waits_until_a_value_is_made_also_with_hooks_that_lock() {
        static PLAIN: Once<i32> = Once::new();
        fork_while_it_is_made(&PLAIN, || ());
        // These run before this crate's: with the lock taken first, neither thread would go on.
        fork::at_fork(hold_makers_and_lock, unlock);
        static LOCKED: Once<i32> = Once::new();
        fork_while_it_is_made(&LOCKED, || {
            lock();
            unlock();
        });
    }
}
