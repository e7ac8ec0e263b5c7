// SPDX-License-Identifier: MIT OR Apache-2.0
//! The *known stack*: where a thread's arguments can be without a question to the kernel.
//!
//! It is a range of pages that begins at the stack pointer's, or below, where a word of each was written, at a time when it was part of the
//! running stack: above the stack pointer, where the frames are to which the thread returns. It counts for addresses above the stack
//! pointer, while that is in the range, too. So a page that has gone since is missed only by a program that takes away frames of the stack on
//! which it runs.
//!
//! The range is found when the kernel had to be asked about an address a little above the stack pointer, where each page to it is there. It
//! ends at the thread's control block, which the C library puts on top of the stacks of threads, so it has nothing of what is mapped behind. A
//! stack that the program has made for itself has no end that is known: there, memory that follows it without a gap, within [`REACH`] of the
//! stack pointer, counts as part of it.
//!
//! A thread that runs on one stack comes to know it with its first calls. One that changes between stacks asks the kernel when it has changed.

use super::registers::{stack_pointer, thread_pointer};
use super::{actions, mask};
use crate::c_library::copy;
use crate::report::log;
use mask::GUARDED;
use ntux_platform::atomic::Word64;
use ntux_platform::to_self::{Mask, SIG_BLOCK, SIG_UNBLOCK, bit, change};

/// What an argument has at most, besides lists: a wait's has 40.
const ARGUMENT_MAX: u64 = 64;

/// How far above the stack pointer an address is taken for one of the stack.
pub(super) const REACH: u64 = 32 << 10;

/// The steps in which pages are looked at: no page is smaller.
const PAGE: u64 = 4096;

/// What a thread knows about memory. Only that thread touches it. All zeros at first: nothing.
#[repr(C)]
pub(crate) struct Known {
    /// The known stack: its first address, and the last one at which an argument can be. Set only if handlers are wrapped and operations are
    /// not logged, both of which stay so: requests that are served at once ask for nothing more.
    low: Word64,
    last: Word64,
    /// [`ARRIVE`] once the kernel was asked in this call, and the signals to be blocked again at its end.
    faults: Word64,
}

/// No signal has this bit: it is SIGKILL's.
const ARRIVE: Mask = bit(libc::SIGKILL);

impl Known {
    pub(crate) fn forget(&self) {
        self.low.store(0);
        self.last.store(0);
        self.faults.store(0);
    }

    /// True if an argument at this address is in the known stack.
    #[inline(always)]
    pub(crate) fn covers(&self, address: usize) -> bool {
        let (stack_pointer, address) = (stack_pointer(), address as u64);
        self.low.load() <= stack_pointer && stack_pointer <= address && address <= self.last.load()
    }

    pub(super) fn covers_all(&self, address: usize, length: usize) -> bool {
        self.covers(address) && (length as u64).saturating_sub(ARGUMENT_MAX) <= self.last.load() - address as u64
    }

    /// True if this signal was unblocked for the copies of a call, and not by the program.
    pub(crate) fn is_unblocked(&self, signal: i32) -> bool {
        self.faults.load() & bit(signal) & GUARDED != 0
    }

    /// True once the kernel was asked in this call.
    #[inline(always)]
    pub(super) fn asked_kernel(&self) -> bool {
        self.faults.load() != 0
    }

    /// The kernel is asked, and faults arrive from now on.
    #[cold]
    pub(super) fn let_faults_arrive(&self) {
        self.faults.store(ARRIVE | change(SIG_UNBLOCK, GUARDED) & GUARDED);
    }

    #[cold]
    pub(super) fn block_again(&self) {
        let blocked = self.faults.load() & GUARDED;
        self.faults.store(0);
        if blocked != 0 {
            change(SIG_BLOCK, blocked);
        }
    }

    /// Adds the stack up to the end of this range, if it is there. Faults arrive.
    #[cold]
    pub(super) fn learn(&self, address: usize, length: usize) {
        let (low, high) = (stack_pointer() / PAGE * PAGE, (address as u64 + length as u64).next_multiple_of(PAGE));
        let is_behind = low < thread_pointer() && thread_pointer().next_multiple_of(PAGE) < high;
        if is_behind || !(actions::active() && log::is_quiet()) || !are_there(low, high) {
            return;
        }
        let (known_low, known_high) = (self.low.load(), self.last.load() + ARGUMENT_MAX);
        let is_near = known_low < high.saturating_add(REACH) && low < known_high.saturating_add(REACH);
        // The pages between may have been skipped, and may have gone since.
        let (low, high) = match is_near && (known_high <= high || are_there(high, known_high)) {
            true => (low.min(known_low), high.max(known_high)),
            false => (low, high),
        };
        self.low.store(low);
        self.last.store(high - ARGUMENT_MAX);
    }
}

/// True of an address a little above the stack pointer.
pub(crate) fn is_of_stack(address: usize) -> bool {
    (address as u64).wrapping_sub(stack_pointer()) < REACH
}

/// Returns whether each of these pages can be written.
fn are_there(low: u64, high: u64) -> bool {
    (low..high).step_by(PAGE as usize).all(|page| copy::touch(page as usize).is_ok())
}

/// Asks the kernel whether a fault would arrive now.
#[cold]
pub(crate) fn do_faults_arrive() -> bool {
    change(SIG_BLOCK, 0) & GUARDED == 0
}
