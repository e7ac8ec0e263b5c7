//! Signals that a thread sends to itself, or blocks in the context that a handler interrupted.

use core::ffi::c_void;

use libc::c_int;

use crate::Here;

/// The information of a signal, as a handler gets it (`siginfo_t`).
pub type Information = [u64; 16];

/// Signals, one bit each: `signal - 1`.
pub type Mask = u64;

/// What a system must provide.
pub trait OwnSignals {
    /// Signals that the C library sends to all threads, and for whose handlers it waits.
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

/// Signals that the C library sends to all threads, and for whose handlers it waits.
pub const OF_THE_LIBRARY: Mask = Here::OF_THE_LIBRARY;

/// Queues a signal for the calling thread alone, with its information if that is given and the system supports it.
/// Preserves the error number; async-signal-safe.
pub fn send(signal: c_int, information: Option<&Information>) {
    crate::keeping_errno(|| Here::send(signal, information));
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

/// These signals, as the C library has them.
pub fn set(mask: Mask) -> libc::sigset_t {
    Here::set(mask)
}
