// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the functions of `<ntux/win/nt.h>` return: a status, and no error number.

use crate::boundary::call;
use crate::last_error::{self, Error};

/// A number of `<ntux/win/ntstatus.h>`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Status(pub u32);

pub type Result<T> = core::result::Result<T, Status>;

pub const SUCCESS: Status = Status(0);
pub const USER_APC: Status = Status(0xC0);
pub const ALERTED: Status = Status(0x101);
pub const TIMEOUT: Status = Status(0x102);
pub const OBJECT_NAME_EXISTS: Status = Status(0x4000_0000);
pub const DATATYPE_MISALIGNMENT: Status = Status(0x8000_0002);
pub const INVALID_INFO_CLASS: Status = Status(0xC000_0003);
pub const INFO_LENGTH_MISMATCH: Status = Status(0xC000_0004);
pub const ACCESS_VIOLATION: Status = Status(0xC000_0005);
pub const INVALID_HANDLE: Status = Status(0xC000_0008);
pub const INVALID_CID: Status = Status(0xC000_000B);
pub const INVALID_PARAMETER: Status = Status(0xC000_000D);
pub const ACCESS_DENIED: Status = Status(0xC000_0022);
pub const OBJECT_TYPE_MISMATCH: Status = Status(0xC000_0024);
pub const OBJECT_NAME_INVALID: Status = Status(0xC000_0033);
pub const OBJECT_NAME_COLLISION: Status = Status(0xC000_0035);
pub const OBJECT_PATH_NOT_FOUND: Status = Status(0xC000_003A);
pub const OBJECT_PATH_SYNTAX_BAD: Status = Status(0xC000_003B);
pub const INVALID_PARAMETER_1: Status = Status(0xC000_00EF);
pub const INVALID_PARAMETER_4: Status = Status(0xC000_00F2);
pub const INTERNAL_ERROR: Status = Status(0xC000_00E5);

/// The status that says what the error says.
impl From<Error> for Status {
    fn from(error: Error) -> Status {
        match error {
            last_error::FILE_NOT_FOUND => Status(0xC000_0034),
            last_error::PATH_NOT_FOUND => OBJECT_PATH_NOT_FOUND,
            last_error::ACCESS_DENIED => ACCESS_DENIED,
            last_error::INVALID_HANDLE => INVALID_HANDLE,
            last_error::NOT_ENOUGH_MEMORY => Status(0xC000_0017),
            last_error::FILENAME_EXCED_RANGE => OBJECT_NAME_INVALID,
            last_error::INVALID_PARAMETER => INVALID_PARAMETER,
            last_error::CALL_NOT_IMPLEMENTED => Status(0xC000_0002),
            last_error::NOT_OWNER => Status(0xC000_0046),
            last_error::TOO_MANY_POSTS => Status(0xC000_0047),
            last_error::PRIVILEGE_NOT_HELD => Status(0xC000_0061),
            _ => INTERNAL_ERROR,
        }
    }
}

/// Runs the body of a function that returns a status, which is SUCCESS unless it says another.
pub fn call_for_status(body: impl FnOnce() -> Result<Status>) -> u32 {
    call(INTERNAL_ERROR, || Ok(body().unwrap_or_else(|refused| refused))).0
}
