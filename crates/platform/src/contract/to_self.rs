// SPDX-License-Identifier: MIT OR Apache-2.0
//! Signals that a thread sends to itself, or blocks: in its own mask, or in the context that a handler interrupted.

use core::ffi::c_void;

use libc::c_int;

use crate::Here;

/// The part of a signal's information (`siginfo_t`) that kernels keep: what lies behind is zero.
pub type Information = [u64; 6];

/// Signals, one bit each: [`bit`].
pub type Mask = u64;

/// The bit of a signal.
pub const fn bit(signal: c_int) -> Mask {
    1 << (signal - 1)
}

/// How [`change`] changes the mask.
pub use libc::{SIG_BLOCK, SIG_SETMASK, SIG_UNBLOCK};

/// What a system must provide.
pub trait OwnSignals {
    /// Signals that the C library sends to all threads, and for whose handlers it waits.
    const OF_THE_LIBRARY: Mask;

    /// See [`is_queued`].
    const QUEUED_FROM: c_int;

    /// See [`send`].
    fn send(signal: c_int, information: &Information);

    /// See [`send_stand_in`].
    fn send_stand_in(signal: c_int);

    /// See [`is_stand_in`].
    fn is_stand_in(information: &Information, expected: bool) -> bool;

    /// See [`block_in`].
    ///
    /// # Safety
    /// The contract is that function's.
    unsafe fn block_in(context: *mut c_void, more: Mask) -> Mask;

    /// See [`change`].
    fn change(how: c_int, mask: Mask) -> Mask;
}

/// Signals that an instruction can cause. If one is blocked, such a fault kills the process.
pub const FAULTS: Mask = bit(libc::SIGSEGV)
    | bit(libc::SIGBUS)
    | bit(libc::SIGILL)
    | bit(libc::SIGFPE)
    | bit(libc::SIGTRAP)
    | bit(libc::SIGSYS);

/// Signals that can be kept waiting: all but faults, those of the C library, and those that nobody can block.
pub const ASYNCHRONOUS: Mask = !(FAULTS | Here::OF_THE_LIBRARY | bit(libc::SIGKILL) | bit(libc::SIGSTOP));

/// Returns whether the system keeps more than one signal with this number pending for a thread, each with its
/// information.
pub fn is_queued(signal: c_int) -> bool {
    signal >= Here::QUEUED_FROM
}

/// Queues a signal for the calling thread alone, with its information where the system supports it. Preserves the error number;
/// async-signal-safe.
pub fn send(signal: c_int, information: &Information) {
    crate::keeping_errno(|| Here::send(signal, information));
}

/// Queues a signal for the calling thread alone that [`is_stand_in`] recognizes. It is never refused. As [`send`] otherwise.
pub fn send_stand_in(signal: c_int) {
    crate::keeping_errno(|| Here::send_stand_in(signal));
}

/// Returns whether a handler that got this information got a signal of [`send_stand_in`]. Where the system does not tell:
/// whether one is expected.
#[inline]
pub fn is_stand_in(information: &Information, expected: bool) -> bool {
    Here::is_stand_in(information, expected)
}

/// Blocks signals in the context that a handler interrupted, once the handler returns. Returns those that were not
/// blocked there before.
///
/// # Safety
/// `context` is the third argument of the handler that calls this.
pub unsafe fn block_in(context: *mut c_void, more: Mask) -> Mask {
    // SAFETY: the caller's promise.
    unsafe { Here::block_in(context, more) }
}

/// Changes the calling thread's mask (`SIG_BLOCK`, `SIG_UNBLOCK`, `SIG_SETMASK`) and returns the one before. Handlers that this lets
/// run may leave for good: nothing here has a destructor. Preserves the error number; async-signal-safe.
#[inline(always)]
pub fn change(how: c_int, mask: Mask) -> Mask {
    Here::change(how, mask)
}
