// SPDX-License-Identifier: MIT OR Apache-2.0
//! What this library does not do: each function changes nothing, and says so. Their arguments are not looked at, so none is declared.

use core::ffi::c_void;
use core::ptr;

use crate::boundary::FALSE;
use crate::last_error::{self, CALL_NOT_IMPLEMENTED};
use crate::status::NOT_IMPLEMENTED;

/// INVALID_HANDLE_VALUE
const NO_FILE: *mut c_void = ptr::without_provenance_mut(usize::MAX);
const WAIT_FAILED: u32 = u32::MAX;

/// Functions that fail with `CALL_NOT_IMPLEMENTED`, and what each returns then.
macro_rules! refused {
    ($($result:ty = $value:expr, of $($name:ident)*;)*) => {
        $($(
            #[unsafe(no_mangle)]
            pub extern "C" fn $name() -> $result {
                last_error::set(CALL_NOT_IMPLEMENTED);
                $value
            }
        )*)*
    };
}

refused! {
    i32 = FALSE, of
        ntw_CreateProcessA ntw_CreateProcessW ntw_TerminateProcess ntw_ConvertFiberToThread ntw_ReadFile
        ntw_WriteFile ntw_GetOverlappedResult ntw_CancelIo ntw_CreatePipe ntw_BindIoCompletionCallback
        ntw_PostThreadMessageA ntw_PostThreadMessageW ntw_GetThreadContext ntw_SetThreadContext
        ntw_GetKernelObjectSecurity ntw_SetKernelObjectSecurity;
    *mut c_void = ptr::null_mut(), of
        ntw_CreateRemoteThread ntw_CreateFiber ntw_CreateFiberEx ntw_ConvertThreadToFiber
        ntw_ConvertThreadToFiberEx ntw_CreateFileMappingA ntw_CreateFileMappingW ntw_MapViewOfFile
        ntw_CreateThreadpoolIo ntw_AddVectoredExceptionHandler;
    *mut c_void = NO_FILE, of
        ntw_CreateFileA ntw_CreateFileW ntw_CreateNamedPipeA ntw_CreateNamedPipeW;
    u32 = WAIT_FAILED, of
        ntw_MsgWaitForMultipleObjects ntw_MsgWaitForMultipleObjectsEx;
    () = (), of
        ntw_SwitchToFiber ntw_DeleteFiber;
}

/// It sets no error number, as all functions of ntdll.
#[unsafe(no_mangle)]
pub extern "C" fn ntw_NtAlertThread() -> u32 {
    NOT_IMPLEMENTED.0
}
