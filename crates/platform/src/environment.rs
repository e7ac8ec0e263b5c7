//! Environment variables.

use core::ffi::CStr;

/// The value of a variable; none if it is not set. Allocates nothing and takes no lock.
pub fn value(name: &CStr) -> Option<&'static CStr> {
    // SAFETY: the name ends with a zero; the answer is null or a string that stays, as the program must not change its
    // environment while others read it.
    unsafe {
        let value = libc::getenv(name.as_ptr());
        (!value.is_null()).then(|| CStr::from_ptr(value))
    }
}
