// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values that words name by their address.

/// Moves a value to where others find it.
pub fn keep<T>(value: Box<T>) -> *mut T {
    #[cfg(ntux_explore)]
    if crate::explored::machine().is_some() {
        return crate::explored::keep(*value);
    }
    Box::into_raw(value)
}

/// Takes it back.
///
/// # Safety
/// [`keep`] has returned the place, this takes it back for the first time, and nobody uses the value.
pub unsafe fn take_back<T>(place: *mut T) -> T {
    #[cfg(ntux_explore)]
    if crate::explored::machine().is_some() {
        // SAFETY: the caller's promise.
        return unsafe { crate::explored::take_back(place) };
    }
    // SAFETY: the caller's promise.
    *unsafe { Box::from_raw(place) }
}
