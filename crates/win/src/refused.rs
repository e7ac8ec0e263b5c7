// SPDX-License-Identifier: MIT OR Apache-2.0
//! Functions of Windows that this library has only so that programs link: each fails with ERROR_CALL_NOT_IMPLEMENTED. The reference says
//! why, and what to do instead. They take no arguments here: the caller's are left where they are.

use crate::last_error::{self, CALL_NOT_IMPLEMENTED};

/// Sets the error and returns what the function returns if it fails.
pub fn refuse<R>(failed: R) -> R {
    last_error::set(CALL_NOT_IMPLEMENTED);
    failed
}

macro_rules! refused {
    ($($name:ident -> $type:ty = $failed:expr;)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() -> $type {
            refuse($failed)
        }
    )*};
}

refused! {
    ntw_SuspendThread -> u32 = u32::MAX;
}
