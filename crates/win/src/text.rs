// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names as C passes them: UTF-16 (functions that end in W), or UTF-8 (those that end in A).

use core::ffi::{CStr, c_char};

use crate::last_error::{FILENAME_EXCED_RANGE, INVALID_PARAMETER, Result};

/// The longest name of a function that ends in A, with its end.
const MAX_PATH: usize = 260;
/// The longest name of the others.
const MAX_UNITS: usize = 32_767;

/// A name, if there is one.
pub type Text = Option<Vec<u16>>;

/// Errors: `FILENAME_EXCED_RANGE`.
///
/// # Safety
/// `text` is NULL or ends with a zero.
pub unsafe fn wide(text: *const u16) -> Result<Text> {
    if text.is_null() {
        return Ok(None);
    }
    let mut units = Vec::new();
    loop {
        // SAFETY: by the contract; all units before this one were not the end.
        match unsafe { text.add(units.len()).read_unaligned() } {
            0 => return Ok(Some(units)),
            _ if units.len() == MAX_UNITS => return Err(FILENAME_EXCED_RANGE),
            unit => units.push(unit),
        }
    }
}

/// Errors: `FILENAME_EXCED_RANGE`; `INVALID_PARAMETER` if it is not UTF-8.
///
/// # Safety
/// `text` is NULL or ends with a zero.
pub unsafe fn narrow(text: *const c_char) -> Result<Text> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: by the contract.
    let text = unsafe { CStr::from_ptr(text) };
    if text.count_bytes() >= MAX_PATH {
        return Err(FILENAME_EXCED_RANGE);
    }
    let text = text.to_str().map_err(|_| INVALID_PARAMETER)?;
    Ok(Some(text.encode_utf16().collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_mean_the_same() {
        let wide_text: Vec<u16> = "Tür\0".encode_utf16().collect();
        // SAFETY: both end with a zero.
        let (wide, narrow) = unsafe { (wide(wide_text.as_ptr()), narrow(c"Tür".as_ptr())) };
        assert_eq!(wide, narrow);
        assert_eq!(wide.unwrap().unwrap().len(), 3);
    }

    #[test]
    fn what_is_no_name_is_refused() {
        let long = std::ffi::CString::new("x".repeat(MAX_PATH)).unwrap();
        // SAFETY: each is NULL or ends with a zero.
        unsafe {
            assert_eq!(narrow(long.as_ptr()), Err(FILENAME_EXCED_RANGE));
            assert_eq!(narrow(c"\xff".as_ptr()), Err(INVALID_PARAMETER));
            assert_eq!((narrow(core::ptr::null()), wide(core::ptr::null())), (Ok(None), Ok(None)));
        }
    }
}
