// SPDX-License-Identifier: MIT OR Apache-2.0
//! The boundary to C: no panic crosses it, and a refusal becomes the thread's error number. What C passes is trusted as Windows trusts
//! it: a pointer that may be NULL is checked for that, any other bad pointer is the caller's end.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::last_error::{self, INTERNAL_ERROR, Result};

pub const TRUE: i32 = 1;
pub const FALSE: i32 = 0;

/// Runs the body of one function. If it fails, sets the thread's error and returns `failed`. Not inlined: so what a function does at
/// once, before it, saves no registers for it.
#[inline(never)]
pub fn call<R: Copy>(failed: R, body: impl FnOnce() -> Result<R>) -> R {
    // A panic is a bug in ntux; C gets an error that nothing else gives.
    let ended = catch_unwind(AssertUnwindSafe(body)).unwrap_or(Err(INTERNAL_ERROR));
    ended.unwrap_or_else(|error| {
        last_error::set(error);
        failed
    })
}

/// [`call`] for a function that returns a BOOL.
pub fn call_for_bool(body: impl FnOnce() -> Result<()>) -> i32 {
    call(FALSE, || body().map(|()| TRUE))
}

/// Stores a result where C wants it.
///
/// # Safety
/// `place` is NULL or may be written.
pub unsafe fn put<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: not null, so by the contract it may be written.
        unsafe { place.write_unaligned(value) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::last_error::{NOT_OWNER, ntw_GetLastError};

    #[test]
    fn a_panic_becomes_an_error_number() {
        assert_eq!(call_for_bool(|| panic!("planted, to be caught")), FALSE);
        assert_eq!(ntw_GetLastError(), INTERNAL_ERROR.0);
        assert_eq!(call_for_bool(|| Err(NOT_OWNER)), FALSE);
        assert_eq!(ntw_GetLastError(), NOT_OWNER.0);
        assert_eq!(call_for_bool(|| Ok(())), TRUE);
        assert_eq!(ntw_GetLastError(), NOT_OWNER.0);
    }
}
