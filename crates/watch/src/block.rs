//! What a ledger keeps of 64 pages, and the lock for them.
//!
//! The lock word is the holder's process number, so that a child of fork knows a lock of its parent, whose holder is not
//! there. Its bits change by single atomic operations, so that whoever only raises some needs no lock.

use ntux_platform::atomic::{Word32, Word64};
use ntux_platform::clock::Deadline;
use ntux_platform::futex;
use ntux_platform::liveness::process_id;

use crate::ledger::Gate;
use crate::zeroed::Zero;

/// Raised in a lock word when somebody sleeps on it.
const SLEEPERS: u32 = 1 << 31;
/// Looks at a lock before sleeping on it.
const LOOKS: usize = 40;

/// 64 pages, the lowest bit being the first.
#[repr(C)]
pub(crate) struct Block {
    lock: Word32,
    /// Written since the last reset, and open if writable.
    pub written: Word64,
    /// The program may write; only these are ever opened.
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
    /// Raises bits of written pages. Also by threads that do not hold the lock.
    pub fn mark(&self, bits: u64, gate: &impl Gate) {
        let before = self.written.fetch_or(bits);
        gate.account(runs(before), runs(before | bits));
    }

    /// Lowers bits of written pages.
    pub fn unmark(&self, bits: u64, gate: &impl Gate) {
        let before = self.written.fetch_and(!bits);
        gate.account(runs(before), runs(before & !bits));
    }

    /// Locks it. Whether the lock was a parent's, from before a fork.
    pub fn lock(&self) -> (Locked<'_>, bool) {
        let me = process_id();
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

/// How many runs of raised bits a word has.
pub(crate) fn runs(word: u64) -> u32 {
    (word & !(word << 1)).count_ones()
}
