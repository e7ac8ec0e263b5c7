// SPDX-License-Identifier: MIT OR Apache-2.0
//! SRWLOCK: a lock for one writer or many readers, in the program's memory.
//!
//! # Role
//! Unfair: whoever comes first takes it. But readers that come after a waiting writer wait for it, and the last of several readers leaves
//! the lock to the writer; a writer leaves it to whoever is first, reader or writer. Not recursive. Nobody spins for it: that has saved
//! nothing measurable (docs/win/suites.md).
//!
//! # Picture
//! ```text
//!  31            3       2                1              0
//! +---------------+----------------+----------------+-----------+    free: neither readers nor exclusive
//! |    readers    | readers wait   | writers wait   | exclusive |    readers and exclusive are not there together
//! +---------------+----------------+----------------+-----------+
//! ```
//! # Transitions
//! | from | to | by |
//! | --- | --- | --- |
//! | free | exclusive, other bits as they were; with *writers wait* if it has slept | a writer |
//! | not exclusive, no writers wait | one more reader | a reader |
//! | not free, or free for the writer that waits | the same and *writers wait* or *readers wait* | a thread that is about to sleep |
//! | exclusive | 0, then wakes: one writer and all readers, as the bits said | the writer |
//! | the last reader, writers wait | free, the bits stay; then one writer is woken | the reader |
//! | the last reader, no writers wait | 0, then all readers are woken, as the bit said | the reader |
//! | several readers | one fewer | a reader |
//!
//! # Invariants
//! * I-srw-1: a lock that is free and has *writers wait* will be taken by a writer that has announced itself since readers had it: it
//!   sleeps and is woken, or has not slept yet and finds the word changed.
//! * I-srw-2: while a writer sleeps, *writers wait* is there, or a writer that was woken has not taken the lock yet: it takes it with the bit.
//! * I-srw-3: while a reader sleeps, *readers wait* is there.
//!
//! # Order
//! O-srw: comparing the word and falling asleep is one step for every wake (the promise of `ntux_futex`).
//!
//! # Death
//! The threads of a process die together. A forked child has the word as it was, and no waiting threads.

use ntux::Deadline;
use ntux_platform::atomic::Word32;

use crate::boundary::call;
use crate::planted::{Bug, planted};
use crate::word::{self, aligned};

const EXCLUSIVE: u32 = 1;
const WRITERS_WAIT: u32 = 2;
const READERS_WAIT: u32 = 4;
const READER: u32 = 8;

/// Classes of waiting threads.
const WRITER_CLASS: u32 = 1;
const READER_CLASS: u32 = 2;

/// A lock at an address, which is all that there is of it.
#[derive(Clone, Copy)]
pub struct SrwLock<'a>(&'a Word32);

impl SrwLock<'_> {
    /// # Safety
    /// The contract is that of [`aligned`].
    pub unsafe fn at<'a>(lock: *mut usize) -> SrwLock<'a> {
        // SAFETY: the caller's promise.
        SrwLock(unsafe { aligned(lock) })
    }

    pub fn acquire_exclusive(self) {
        let mut bits = EXCLUSIVE;
        loop {
            let seen = self.0.load();
            if is_free(seen) {
                if self.0.compare_exchange(seen, seen | bits).is_ok() {
                    return;
                }
            } else if self.announce(seen, WRITERS_WAIT) {
                word::wait(self.0, seen | WRITERS_WAIT, WRITER_CLASS, Deadline::Never);
                bits = if planted(Bug::WriterForgetsOthers) { EXCLUSIVE } else { EXCLUSIVE | WRITERS_WAIT };
            }
        }
    }

    pub fn try_acquire_exclusive(self) -> bool {
        let mut seen = 0;
        while is_free(seen) {
            match self.0.compare_exchange(seen, seen | EXCLUSIVE) {
                Ok(()) => return true,
                Err(now) => seen = now,
            }
        }
        false
    }

    pub fn acquire_shared(self) {
        while !self.try_acquire_shared() {
            let seen = self.0.load();
            if !is_open_to_readers(seen) && self.announce(seen, READERS_WAIT) {
                word::wait(self.0, seen | READERS_WAIT, READER_CLASS, Deadline::Never);
            }
        }
    }

    pub fn try_acquire_shared(self) -> bool {
        let mut seen = self.0.load();
        while is_open_to_readers(seen) {
            match self.0.compare_exchange(seen, seen + READER) {
                Ok(()) => return true,
                Err(now) => seen = now,
            }
        }
        false
    }

    pub fn release_exclusive(self) {
        let mut seen = EXCLUSIVE;
        while let Err(now) = self.0.compare_exchange(seen, 0) {
            seen = now;
        }
        self.wake(seen);
    }

    pub fn release_shared(self) {
        loop {
            let seen = self.0.load();
            let is_last = seen < 2 * READER;
            let to_writer = is_last && seen & WRITERS_WAIT != 0;
            let next = match is_last && !to_writer {
                true => 0,
                false if is_last && planted(Bug::ReaderForgetsReaders) => WRITERS_WAIT,
                false => seen - READER,
            };
            if self.0.compare_exchange(seen, next).is_ok() {
                return match (is_last, to_writer) {
                    (true, true) => self.wake(WRITERS_WAIT),
                    (true, false) => self.wake(seen),
                    (false, _) => {}
                };
            }
        }
    }

    /// Wakes those of whom these bits say that they wait.
    fn wake(self, bits: u32) {
        if bits & WRITERS_WAIT != 0 {
            word::wake(self.0, 1, WRITER_CLASS);
        }
        if bits & READERS_WAIT != 0 {
            word::wake(self.0, u32::MAX, READER_CLASS);
        }
    }

    /// Says that a thread is about to sleep. False if the word has changed.
    fn announce(self, seen: u32, bit: u32) -> bool {
        seen & bit != 0 || self.0.compare_exchange(seen, seen | bit).is_ok()
    }
}

fn is_free(seen: u32) -> bool {
    seen & !(WRITERS_WAIT | READERS_WAIT) == 0
}

fn is_open_to_readers(seen: u32) -> bool {
    seen & (EXCLUSIVE | WRITERS_WAIT) == 0
}

/// # Safety
/// `lock` points to memory for a lock that nobody uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_InitializeSRWLock(lock: *mut usize) {
    // SAFETY: the same contract.
    unsafe { lock.write_unaligned(0) }
}

/// # Safety
/// `lock` points to an SRWLOCK.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_AcquireSRWLockExclusive(lock: *mut usize) {
    // SAFETY: the same contract.
    let lock = unsafe { SrwLock::at(lock) };
    if !lock.try_acquire_exclusive() {
        call((), || {
            lock.acquire_exclusive();
            Ok(())
        });
    }
}

/// # Safety
/// `lock` points to an SRWLOCK.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_AcquireSRWLockShared(lock: *mut usize) {
    // SAFETY: the same contract.
    let lock = unsafe { SrwLock::at(lock) };
    if !lock.try_acquire_shared() {
        call((), || {
            lock.acquire_shared();
            Ok(())
        });
    }
}

/// # Safety
/// `lock` points to an SRWLOCK.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_TryAcquireSRWLockExclusive(lock: *mut usize) -> u8 {
    // SAFETY: the same contract.
    unsafe { SrwLock::at(lock) }.try_acquire_exclusive().into()
}

/// # Safety
/// `lock` points to an SRWLOCK.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_TryAcquireSRWLockShared(lock: *mut usize) -> u8 {
    // SAFETY: the same contract.
    unsafe { SrwLock::at(lock) }.try_acquire_shared().into()
}

/// # Safety
/// `lock` points to an SRWLOCK that the calling thread has exclusively.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_ReleaseSRWLockExclusive(lock: *mut usize) {
    // SAFETY: the same contract.
    unsafe { SrwLock::at(lock) }.release_exclusive();
}

/// # Safety
/// `lock` points to an SRWLOCK that the calling thread shares.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_ReleaseSRWLockShared(lock: *mut usize) {
    // SAFETY: the same contract.
    unsafe { SrwLock::at(lock) }.release_shared();
}
