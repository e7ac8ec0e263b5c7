//! Signals of a thread itself: sent by it, and blocked in what a handler interrupted.

use core::ffi::c_void;

use libc::c_int;

use crate::Here;

/// What the system keeps of a signal, as a handler finds it (`siginfo_t`).
pub type Information = [u64; 16];

/// Signals, one bit each: `signal - 1`.
pub type Mask = u64;

/// What a system must give for it.
pub trait OwnSignals {
    /// Signals that the C library sends to all threads, each of which it waits for.
    const OF_THE_LIBRARY: Mask;

    /// See [`send`].
    fn send(signal: c_int, information: Option<&Information>);

    /// See [`block_in`].
    ///
    /// # Safety
    /// As there.
    unsafe fn block_in(context: *mut c_void, more: Mask) -> Mask;

    /// These, as the C library has them.
    fn set(mask: Mask) -> libc::sigset_t;
}

/// Signals that the C library sends to all threads, each of which it waits for.
pub const OF_THE_LIBRARY: Mask = Here::OF_THE_LIBRARY;

/// Queues a signal for the calling thread alone, with its information if that is given and the system can. The error number
/// stays as it was; async-signal-safe.
pub fn send(signal: c_int, information: Option<&Information>) {
    crate::keeping_errno(|| Here::send(signal, information));
}

/// Blocks signals in what a handler interrupted, once it returns; gives those that were not blocked there before.
///
/// # Safety
/// `context` is the third argument of the handler that calls this.
pub unsafe fn block_in(context: *mut c_void, more: Mask) -> Mask {
    // SAFETY: the caller's promise.
    unsafe { Here::block_in(context, more) }
}

/// These signals, as the C library has them.
pub fn set(mask: Mask) -> libc::sigset_t {
    Here::set(mask)
}
