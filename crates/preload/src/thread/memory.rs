//! The program's memory, as a call may touch it: a bad address is reported (`EFAULT`), whatever the program has done to its signals.
//!
//! The guarded copy ([`crate::c_library::copy`]) needs its fault to arrive: if SIGSEGV is blocked, the kernel kills the process instead. What a thread
//! blocks is known to nobody but the kernel. Besides `sigprocmask` it changes with `siglongjmp`, `setcontext`, the return of a handler, within
//! `sigsuspend` or `ppoll`, and by bare system calls. So nothing is assumed:
//!
//! * An address in the thread's **known stack** is there. Nearly all arguments are: local variables of who makes the call.
//! * For any other, the kernel is asked, once for a call: the system call that answers unblocks the signals at the same time. What was
//!   blocked is blocked again at the end.
//!
//! # The known stack
//! A range of pages that begins at the stack pointer's, or below, where a word of each was written, at a time when it was part of the running
//! stack: above the stack pointer, where the frames are to which the thread returns. It counts for addresses above the stack pointer, while that is in the
//! range, too. So a page that has gone since is missed only by a program that takes away frames of the stack on which it runs.
//!
//! The range is found when the kernel had to be asked about an address a little above the stack pointer, where each page to it is there. It
//! ends at the thread's control block, which the C library puts on top of the stacks of threads, so it has nothing of what is mapped behind. A
//! stack that the program has made for itself has no end that is known: there, memory that follows it without a gap, within [`REACH`] of the
//! stack pointer, counts as part of it.
//!
//! A thread that runs on one stack comes to know it with its first calls. One that changes between stacks asks the kernel when it has
//! changed.

use crate::c_library::copy::{self, Fault, Plain, WaitArguments};
use crate::report::log;
use crate::thread::actions;
use crate::thread::record::{Record, stack_pointer, thread_pointer};
use crate::thread::signals::GUARDED;
use core::mem::{MaybeUninit, size_of_val};
use ntux_platform::atomic::Word64;
use ntux_platform::to_self::{Mask, SIG_BLOCK, SIG_UNBLOCK, bit, change};

/// What an argument has at most, besides lists: a wait's has 40.
const ARGUMENT_MAX: u64 = 64;
/// How far above the stack pointer an address is taken for one of the stack.
const REACH: u64 = 32 << 10;
/// The steps in which pages are looked at: no page is smaller.
const PAGE: u64 = 4096;

/// What a thread knows about memory. Only that thread touches it. All zeros at first: nothing.
#[repr(C)]
pub(crate) struct Known {
    /// The known stack: its first address, and the last one at which an argument can be. Set only if handlers are wrapped and nobody wants to be
    /// told of operations, both of which stay so: requests that are served at once ask for nothing more.
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

    /// Whether an argument at this address is in the known stack.
    #[inline(always)]
    pub(crate) fn covers(&self, address: usize) -> bool {
        let (stack_pointer, address) = (stack_pointer(), address as u64);
        self.low.load() <= stack_pointer && stack_pointer <= address && address <= self.last.load()
    }

    fn covers_all(&self, address: usize, length: usize) -> bool {
        self.covers(address) && (length as u64).saturating_sub(ARGUMENT_MAX) <= self.last.load() - address as u64
    }

    /// Whether this signal was unblocked for the copies of a call: not by the program.
    pub(crate) fn is_unblocked(&self, signal: i32) -> bool {
        self.faults.load() & bit(signal) & GUARDED != 0
    }

    /// The kernel is asked, and faults arrive from now on.
    #[cold]
    fn let_faults_arrive(&self) {
        self.faults.store(ARRIVE | change(SIG_UNBLOCK, GUARDED) & GUARDED);
    }

    #[cold]
    fn block_again(&self) {
        let blocked = self.faults.load() & GUARDED;
        self.faults.store(0);
        if blocked != 0 {
            change(SIG_BLOCK, blocked);
        }
    }

    /// Adds the stack up to the end of this range, if it is there. Faults arrive.
    #[cold]
    fn learn(&self, address: usize, length: usize) {
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

/// Whether an address is a little above the stack pointer.
pub(crate) fn is_of_stack(address: usize) -> bool {
    (address as u64).wrapping_sub(stack_pointer()) < REACH
}

/// Whether each of these pages can be written.
fn are_there(low: u64, high: u64) -> bool {
    (low..high).step_by(PAGE as usize).all(|page| copy::touch(page as usize).is_ok())
}

/// Whether a fault would arrive now: asks the kernel.
#[cold]
pub(crate) fn do_faults_arrive() -> bool {
    change(SIG_BLOCK, 0) & GUARDED == 0
}

/// The program's memory during one call. The calling thread is inside.
#[derive(Clone, Copy)]
pub(crate) struct Memory<'a>(&'a Known);

/// Runs `work`, which touches memory of the program.
#[inline(always)]
pub(crate) fn with<R>(record: &Record, work: impl FnOnce(Memory<'_>) -> R) -> R {
    let known = &record.memory;
    let result = work(Memory(known));
    if known.faults.load() != 0 {
        known.block_again();
    }
    result
}

impl Memory<'_> {
    /// The copy of this range is about to be made.
    #[inline(always)]
    fn prepare(self, address: usize, length: usize) {
        if !self.0.covers_all(address, length) {
            self.prepare_elsewhere(address, length);
        }
    }

    #[cold]
    fn prepare_elsewhere(self, address: usize, length: usize) {
        if self.0.faults.load() == 0 {
            self.0.let_faults_arrive();
        }
        if is_of_stack(address) && (length as u64) < REACH {
            self.0.learn(address, length);
        }
    }

    /// See [`copy::read_wait`].
    #[inline(always)]
    pub(crate) fn read_wait(self, from: usize) -> Result<WaitArguments, Fault> {
        self.prepare(from, copy::WAIT_SIZE);
        copy::read_wait(from)
    }

    /// See [`copy::read_word`].
    #[inline(always)]
    pub(crate) fn read_word(self, from: usize) -> Result<u32, Fault> {
        self.prepare(from, size_of::<u32>());
        copy::read_word(from)
    }

    /// See [`copy::read_two`].
    #[inline(always)]
    pub(crate) fn read_two(self, from: usize) -> Result<[u32; 2], Fault> {
        self.prepare(from, size_of::<[u32; 2]>());
        copy::read_two(from)
    }

    /// See [`copy::read_pair`].
    #[inline(always)]
    pub(crate) fn read_pair(self, from: usize) -> Result<[u64; 2], Fault> {
        self.prepare(from, size_of::<[u64; 2]>());
        copy::read_pair(from)
    }

    /// See [`copy::read_slice`].
    #[inline(always)]
    pub(crate) fn read_slice<T: Plain>(self, from: usize, room: &mut [MaybeUninit<T>]) -> Result<&[T], Fault> {
        self.prepare(from, size_of_val(room));
        copy::read_slice(from, room)
    }

    /// See [`copy::write_word`].
    #[inline(always)]
    pub(crate) fn write_word(self, to: usize, word: u32) -> Result<(), Fault> {
        self.prepare(to, size_of::<u32>());
        copy::write_word(to, word)
    }

    /// See [`copy::write_two`].
    #[inline(always)]
    pub(crate) fn write_two(self, to: usize, words: &[u32; 2]) -> Result<(), Fault> {
        self.prepare(to, size_of_val(words));
        copy::write_two(to, words)
    }
}
