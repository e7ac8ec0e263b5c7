// SPDX-License-Identifier: MIT OR Apache-2.0
//! Functions of Windows that this library has only so that programs link: each fails with ERROR_CALL_NOT_IMPLEMENTED. The reference says
//! why, and what to do instead. They take no arguments here: the caller's are left where they are.

use core::ptr;

use crate::handle::Handle;
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
    ntw_RegisterWaitForSingleObject -> i32 = 0;
    ntw_UnregisterWait -> i32 = 0;
    ntw_UnregisterWaitEx -> i32 = 0;
    ntw_CreateTimerQueue -> Handle = ptr::null_mut();
    ntw_CreateTimerQueueTimer -> i32 = 0;
    ntw_ChangeTimerQueueTimer -> i32 = 0;
    ntw_DeleteTimerQueueTimer -> i32 = 0;
    ntw_DeleteTimerQueue -> i32 = 0;
    ntw_DeleteTimerQueueEx -> i32 = 0;
    ntw_QueueUserWorkItem -> i32 = 0;
}
