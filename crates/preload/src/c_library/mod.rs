// SPDX-License-Identifier: MIT OR Apache-2.0
//! The C library, as this library uses it: its functions behind those of [`crate::entry`] ([`next`]), and copies from and to
//! the program's memory that a bad address does not end ([`copy`]).

pub(crate) mod cancellation;
pub(crate) mod copy;
pub(crate) mod file;
pub(crate) mod next;

use core::ffi::c_int;

/// The address of the calling thread's error number.
pub(crate) fn errno() -> *mut c_int {
    // SAFETY: has no precondition; the address is valid as long as the thread lives.
    unsafe { libc::__errno_location() }
}

/// Reports a failure in the C library's way.
pub(crate) fn fail(error: c_int) -> c_int {
    // SAFETY: this thread's own error number.
    unsafe { *errno() = error };
    -1
}
