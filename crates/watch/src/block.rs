// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ledger's bits for 64 pages, and their lock.
//!
//! The lock word is the generation of the process whose thread has the lock ([`ntux_platform::liveness`]). So a child of fork
//! recognizes a lock of its parent, whose thread does not exist there. The bits change by single atomic operations, so setting bits needs no
//! lock.

use ntux_platform::atomic::{Word32, Word64};
use ntux_platform::clock::Deadline;
use ntux_platform::futex;
use ntux_platform::liveness::generation;

use crate::ledger::Gate;
use crate::zeroed::Zero;

/// Set in a lock word while a thread sleeps on it.
const SLEEPERS: u32 = 1 << 31;
/// How often a thread checks a lock before it sleeps on it.
const LOOKS: usize = 40;

/// 64 pages; the lowest bit is the first page.
#[repr(C)]
pub(crate) struct Block {
    lock: Word32,
    /// Written since the last reset, and open if writable.
    pub written: Word64,
    /// The program may write; only these pages are ever opened.
    pub writable: Word64,
    /// The program may execute.
    pub executable: Word64,
}

// SAFETY: integers.
unsafe impl Zero for Block {}

/// The lock of a block.
pub(crate) struct Locked<'a> {
    pub block: &'a Block,
}

impl Block {
    /// Sets bits of written pages. The caller need not have the lock.
    pub fn mark(&self, bits: u64, gate: &impl Gate) {
        let before = self.written.fetch_or(bits);
        gate.account(runs(before), runs(before | bits));
    }

    /// Clears bits of written pages.
    pub fn unmark(&self, bits: u64, gate: &impl Gate) {
        let before = self.written.fetch_and(!bits);
        gate.account(runs(before), runs(before & !bits));
    }

    /// Locks the block. Also returns whether the lock was the parent's, from before a fork.
    pub fn lock(&self) -> (Locked<'_>, bool) {
        let me = generation();
        let mut mine = me;
        for look in 0.. {
            let Err(holder) = self.lock.compare_exchange(0, mine) else { return (Locked { block: self }, false) };
            if holder & !SLEEPERS != me {
                if self.lock.compare_exchange(holder, mine).is_ok() {
                    return (Locked { block: self }, true);
                }
            } else if look < LOOKS {
                core::hint::spin_loop();
            } else if holder & SLEEPERS != 0 || self.lock.compare_exchange(holder, holder | SLEEPERS).is_ok() {
                futex::wait(self.lock_address(), holder | SLEEPERS, Deadline::Never);
                // Others may sleep too.
                mine = me | SLEEPERS;
            }
        }
        unreachable!("the loop above has no end")
    }

    fn lock_address(&self) -> *const u32 {
        core::ptr::from_ref(&self.lock).cast()
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        if self.block.lock.fetch_and(0) & SLEEPERS != 0 {
            futex::wake(self.block.lock_address(), 1);
        }
    }
}

/// Counts the runs of set bits in a word.
pub(crate) fn runs(word: u64) -> u32 {
    (word & !(word << 1)).count_ones()
}
