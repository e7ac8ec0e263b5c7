// SPDX-License-Identifier: MIT OR Apache-2.0
//! The cancellation of threads, where this library must not be ended. (What it does with the signal that cancels is in
//! [`crate::thread`].)

use core::ffi::c_int;

/// Ends the thread if it was cancelled.
pub(crate) fn end_if_cancelled() {
    unsafe extern "C-unwind" {
        fn pthread_testcancel();
    }
    // SAFETY: has no precondition; no frame above has anything to clean up.
    unsafe { pthread_testcancel() };
}

/// Runs `work` with cancellation disabled, so that a cancelled thread does not end inside a C library function.
pub(crate) fn without_cancellation<R>(work: impl FnOnce() -> R) -> R {
    const DISABLE: c_int = 1;
    unsafe extern "C" {
        fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
    }
    let mut old = 0;
    // SAFETY: valid states, and a place for the old one.
    unsafe { pthread_setcancelstate(DISABLE, &mut old) };
    let result = work();
    // SAFETY: the state from before.
    unsafe { pthread_setcancelstate(old, core::ptr::null_mut()) };
    result
}
