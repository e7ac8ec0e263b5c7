// SPDX-License-Identifier: MIT OR Apache-2.0
//! A lock among the threads of one process, for rare operations: attaching an arena, changing a handler.
//!
//! The owner of the lock is inside this library ([`super::enter`]), so no handler of the program runs
//! meanwhile, and nothing delays the owner. The word names the owner's process: in a child forked while another thread
//! had the lock, it counts as free.
//!
//! A thread that must wait sleeps in the kernel. Otherwise a thread of higher real-time priority would keep the
//! processor that the owner needs.
//!
//! # Transitions
//! Free (0), locked (the process), locked with sleepers (the process and [`SLEEPERS`]). A thread sets the flag before
//! it sleeps, and takes the lock with the flag set after it has slept, because others may still sleep. A thread that
//! unlocks with the flag set wakes one thread: at worst one too many.

use super::lineage::lineage;
use core::ptr::from_ref;
use ntux_platform::atomic::Word64;
use ntux_platform::clock::Deadline;
use ntux_platform::{futex, keeping_errno};

/// A thread may be asleep until the lock is free. No lineage has this bit.
const SLEEPERS: u64 = 1 << 63;

pub(crate) struct Lock(Word64);

impl Lock {
    pub(crate) const fn new() -> Self {
        Self(Word64::new(0))
    }

    /// Runs `work` under the lock. The caller is inside, or has blocked its signals.
    pub(crate) fn with<R>(&self, work: impl FnOnce() -> R) -> R {
        self.take();
        let result = work();
        self.give_back();
        result
    }

    fn take(&self) {
        let lineage = lineage();
        let mut mine = lineage;
        loop {
            let seen = self.0.load();
            if seen & !SLEEPERS != lineage {
                if self.0.compare_exchange(seen, mine).is_ok() {
                    return;
                }
            } else if seen & SLEEPERS != 0 || self.0.compare_exchange(seen, seen | SLEEPERS).is_ok() {
                mine = lineage | SLEEPERS;
                self.sleep_while(mine);
            }
        }
    }

    fn give_back(&self) {
        if self.0.fetch_and(0) & SLEEPERS != 0 {
            keeping_errno(|| futex::wake(self.upper_half(), 1));
        }
    }

    #[cold]
    fn sleep_while(&self, held: u64) {
        keeping_errno(|| futex::wait(self.upper_half(), (held >> 32) as u32, Deadline::Never));
    }

    /// The half with the flag: the kernel compares 32 bits.
    fn upper_half(&self) -> *const u32 {
        const _: () = assert!(cfg!(target_endian = "little"));
        from_ref(&self.0).cast::<u32>().wrapping_add(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ntux_platform::atomic::Word32;

    #[test]
    fn one_at_a_time_and_nobody_sleeps_for_ever() {
        static LOCK: Lock = Lock::new();
        static INSIDE: Word32 = Word32::new(0);
        let work = || {
            for _ in 0..20_000 {
                LOCK.with(|| {
                    assert_eq!(INSIDE.fetch_add(1), 0);
                    INSIDE.store(0);
                });
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(work);
            }
        });
        assert_eq!(LOCK.0.load(), 0);
    }

    #[test]
    fn what_a_parents_thread_held_is_free() {
        for held in [7u64 << 32 | 7, SLEEPERS | 7 << 32 | 7] {
            assert_ne!(held & !SLEEPERS, lineage());
            assert_eq!(Lock(Word64::new(held)).with(|| 5), 5);
        }
    }
}
