// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values change without a lock. One robust lock for the whole region protects the list of waiters; its next owner
//! learns that the last one died. A set that finds waiters takes the lock and wakes all of them.

use std::cell::UnsafeCell;
use std::io;
use std::mem::MaybeUninit;

use ntux_platform::atomic::Word32;
use ntux_platform::clock::Deadline;
use ntux_platform::futex;

use super::Design;
use ntux_testkit::child::shared;

pub const NAME: &str = "waiters under a robust lock";

#[repr(C)]
struct Region {
    lock: UnsafeCell<MaybeUninit<libc::pthread_mutex_t>>,
    words: [Word32; 3],
    waiters: Word32,
    turn: Word32,
}

// SAFETY: the lock is made for several threads; the rest is atomic.
unsafe impl Sync for Region {}

struct Locked(&'static Region);

pub fn open() -> io::Result<Box<dyn Design>> {
    // SAFETY: zeros are a value of integers, and of a lock that is not initialized yet.
    let region: &'static Region = unsafe { shared()? };
    // SAFETY: nobody else knows the region yet; the attributes live during the calls.
    unsafe {
        let mut attributes = MaybeUninit::uninit();
        libc::pthread_mutexattr_init(attributes.as_mut_ptr());
        libc::pthread_mutexattr_setpshared(attributes.as_mut_ptr(), libc::PTHREAD_PROCESS_SHARED);
        libc::pthread_mutexattr_setrobust(attributes.as_mut_ptr(), libc::PTHREAD_MUTEX_ROBUST);
        libc::pthread_mutex_init((*region.lock.get()).as_mut_ptr(), attributes.as_ptr());
    }
    region.words[1..].iter().for_each(|word| word.store(1));
    Ok(Box::new(Locked(region)))
}

impl Locked {
    fn lock(&self) {
        // SAFETY: initialized by `open`.
        unsafe {
            let lock = (*self.0.lock.get()).as_mut_ptr();
            if libc::pthread_mutex_lock(lock) == libc::EOWNERDEAD {
                libc::pthread_mutex_consistent(lock);
            }
        }
    }

    fn unlock(&self) {
        // SAFETY: initialized by `open`, and locked by this thread.
        unsafe { libc::pthread_mutex_unlock((*self.0.lock.get()).as_mut_ptr()) };
    }

    fn take_word(&self, which: usize) -> bool {
        self.0.words[which].compare_exchange(1, 0).is_ok()
    }

    fn put(&self, which: usize) {
        if self.0.words[which].compare_exchange(0, 1).is_err() || self.0.waiters.load() == 0 {
            return;
        }
        self.lock();
        self.0.waiters.store(0);
        self.0.turn.fetch_add(1);
        futex::wake(self.turn_address(), u32::MAX >> 1);
        self.unlock();
    }

    fn turn_address(&self) -> *const u32 {
        core::ptr::from_ref(&self.0.turn).cast()
    }
}

impl Design for Locked {
    fn set(&self) {
        self.put(0);
    }

    fn wait(&self) {
        while !self.take_word(0) {
            self.lock();
            self.0.waiters.fetch_add(1);
            let turn = self.0.turn.load();
            let available = self.0.words[0].load() == 1;
            self.unlock();
            if !available {
                futex::wait(self.turn_address(), turn, Deadline::Never);
            }
        }
    }

    fn is_signaled(&self) -> bool {
        self.lock();
        let signaled = self.0.words[0].load() == 1;
        self.unlock();
        signaled
    }

    fn take_both(&self) -> bool {
        if !self.take_word(1) {
            return false;
        }
        let both = self.take_word(2);
        if !both {
            self.put(1);
        }
        both
    }

    fn take(&self, which: usize) -> bool {
        self.take_word(1 + which)
    }
}
