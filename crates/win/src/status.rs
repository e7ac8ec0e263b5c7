// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the functions of `<ntux/win/nt.h>` return: a status, and no error number.

use crate::boundary::call;
use crate::last_error::{self, Error, Result};

pub const SUCCESS: u32 = 0;
pub const USER_APC: u32 = 0xC0;
pub const TIMEOUT: u32 = 0x102;
pub const OBJECT_NAME_EXISTS: u32 = 0x4000_0000;
pub const INVALID_PARAMETER_1: u32 = 0xC000_00EF;
pub const INVALID_PARAMETER_4: u32 = 0xC000_00F2;
pub const OBJECT_TYPE_MISMATCH: u32 = 0xC000_0024;
pub const OBJECT_NAME_COLLISION: u32 = 0xC000_0035;
const INTERNAL_ERROR: u32 = 0xC000_00E5;

/// The status that says what the error says.
pub fn of(error: Error) -> u32 {
    match error {
        last_error::FILE_NOT_FOUND => 0xC000_0034,
        last_error::PATH_NOT_FOUND => 0xC000_003A,
        last_error::ACCESS_DENIED => 0xC000_0022,
        last_error::INVALID_HANDLE => 0xC000_0008,
        last_error::NOT_ENOUGH_MEMORY => 0xC000_0017,
        last_error::INVALID_PARAMETER => 0xC000_000D,
        last_error::CALL_NOT_IMPLEMENTED => 0xC000_0002,
        last_error::PRIVILEGE_NOT_HELD => 0xC000_0061,
        _ => INTERNAL_ERROR,
    }
}

/// Runs the body of a function that returns a status.
pub fn call_for_status(body: impl FnOnce() -> Result<u32>) -> u32 {
    call(INTERNAL_ERROR, || Ok(body().unwrap_or_else(of)))
}
