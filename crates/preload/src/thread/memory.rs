// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program's memory, as a call may touch it: a bad address is reported (`EFAULT`), whatever the program has done to its signals.
//!
//! The guarded copy ([`crate::c_library::copy`]) needs its fault to arrive: if SIGSEGV is blocked, the kernel kills the process instead. Only the
//! kernel knows what a thread blocks. Besides `sigprocmask` it changes with `siglongjmp`, `setcontext`, the return of a handler, within
//! `sigsuspend` or `ppoll`, and by bare system calls. So nothing is assumed:
//!
//! * An address in the thread's *known stack* ([`super::stack`]) is there. Nearly all arguments are: local variables of the caller.
//! * For any other, the kernel is asked, once for a call: the system call that answers unblocks the signals at the same time. What was
//!   blocked is blocked again at the end.

use super::record::Record;
use super::stack::{Known, REACH, is_of_stack};
use crate::c_library::copy::{self, Fault, Plain, WaitArguments};
use core::mem::{MaybeUninit, size_of_val};

/// The program's memory during one call. The calling thread is inside.
#[derive(Clone, Copy)]
pub(crate) struct Memory<'a>(&'a Known);

/// Runs `work`, which touches memory of the program.
#[inline(always)]
pub(crate) fn with<R>(record: &Record, work: impl FnOnce(Memory<'_>) -> R) -> R {
    let known = &record.memory;
    let result = work(Memory(known));
    if known.asked_kernel() {
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
        if !self.0.asked_kernel() {
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
