// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel gives to a handler of a signal.

use core::ffi::c_void;

use crate::contract::to_self::Mask;

/// The signal of a forbidden access. SIGSEGV is for unmapped memory.
pub(super) const FORBIDDEN_ACCESS: libc::c_int = libc::SIGBUS;

/// Signals that the C library sends to all threads, and for whose handlers it waits.
pub(super) const OF_THE_LIBRARY: Mask = 0;

/// Returns whether the access that raised the signal was a store, by the processor's words in the thread's exception
/// state.
///
/// # Safety
/// The context is one that the kernel gave to a handler of that signal, which has not returned.
#[cfg(target_arch = "x86_64")]
pub(super) unsafe fn is_store(context: *const c_void) -> Option<bool> {
    const STORE: u32 = 2;
    // SAFETY: the caller's promise.
    let error = unsafe { (*(*context.cast::<libc::ucontext_t>()).uc_mcontext).__es.__err };
    Some(error & STORE != 0)
}

/// As on x86-64.
///
/// # Safety
/// The contract is that function's.
#[cfg(target_arch = "aarch64")]
pub(super) unsafe fn is_store(context: *const c_void) -> Option<bool> {
    const DATA_ABORT_OF_USER_MODE: u32 = 0x24;
    const WRITE: u32 = 1 << 6;
    // SAFETY: the caller's promise.
    let syndrome = unsafe { (*(*context.cast::<libc::ucontext_t>()).uc_mcontext).__es.__esr };
    Some(syndrome >> 26 == DATA_ABORT_OF_USER_MODE && syndrome & WRITE != 0)
}

/// Blocks signals in the context. Returns those that were not blocked there before.
///
/// # Safety
/// The context is one that the kernel gave to a handler, which has not returned.
pub(super) unsafe fn block(context: *mut c_void, more: Mask) -> Mask {
    // SAFETY: the kernel's frame; nobody else uses it while the handler runs.
    let mask = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_sigmask };
    let before = *mask;
    *mask |= more as libc::sigset_t;
    more & !Mask::from(before)
}

/// These signals, as the C library has them.
pub(super) fn set(mask: Mask) -> libc::sigset_t {
    mask as libc::sigset_t
}

/// The set's signals.
pub(super) fn mask(set: &libc::sigset_t) -> Mask {
    Mask::from(*set)
}
