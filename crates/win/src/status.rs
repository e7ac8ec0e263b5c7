// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the functions of `<ntux/win/nt.h>` return: a status, and no error number.

use crate::boundary::call;
use crate::last_error::{self, Error};

/// A number of `<ntux/win/ntstatus.h>`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Status(pub u32);

pub type Result<T> = core::result::Result<T, Status>;

pub const SUCCESS: Status = Status(0);
pub const ABANDONED_WAIT_0: Status = Status(0x80);
pub const USER_APC: Status = Status(0xC0);
pub const ALERTED: Status = Status(0x101);
pub const TIMEOUT: Status = Status(0x102);
pub const PENDING: Status = Status(0x103);
pub const OBJECT_NAME_EXISTS: Status = Status(0x4000_0000);
pub const TIMER_RESUME_IGNORED: Status = Status(0x4000_0025);
pub const DATATYPE_MISALIGNMENT: Status = Status(0x8000_0002);
pub const UNSUCCESSFUL: Status = Status(0xC000_0001);
pub const NOT_IMPLEMENTED: Status = Status(0xC000_0002);
pub const INVALID_INFO_CLASS: Status = Status(0xC000_0003);
pub const INFO_LENGTH_MISMATCH: Status = Status(0xC000_0004);
pub const ACCESS_VIOLATION: Status = Status(0xC000_0005);
pub const INVALID_HANDLE: Status = Status(0xC000_0008);
pub const INVALID_CID: Status = Status(0xC000_000B);
pub const INVALID_PARAMETER: Status = Status(0xC000_000D);
pub const ACCESS_DENIED: Status = Status(0xC000_0022);
pub const OBJECT_TYPE_MISMATCH: Status = Status(0xC000_0024);
pub const OBJECT_NAME_INVALID: Status = Status(0xC000_0033);
pub const OBJECT_NAME_NOT_FOUND: Status = Status(0xC000_0034);
pub const OBJECT_NAME_COLLISION: Status = Status(0xC000_0035);
pub const OBJECT_PATH_NOT_FOUND: Status = Status(0xC000_003A);
pub const OBJECT_PATH_SYNTAX_BAD: Status = Status(0xC000_003B);
pub const INVALID_PARAMETER_1: Status = Status(0xC000_00EF);
pub const INVALID_PARAMETER_4: Status = Status(0xC000_00F2);
pub const MUTANT_NOT_OWNED: Status = Status(0xC000_0046);
pub const SEMAPHORE_LIMIT_EXCEEDED: Status = Status(0xC000_0047);
pub const PRIVILEGE_NOT_HELD: Status = Status(0xC000_0061);
pub const NO_MEMORY: Status = Status(0xC000_0017);
pub const NOT_SUPPORTED: Status = Status(0xC000_00BB);
pub const TOO_MANY_THREADS: Status = Status(0xC000_0129);
pub const INTERNAL_ERROR: Status = Status(0xC000_00E5);

/// The status that says what the error says.
impl From<Error> for Status {
    fn from(error: Error) -> Status {
        match error {
            last_error::FILE_NOT_FOUND => OBJECT_NAME_NOT_FOUND,
            last_error::PATH_NOT_FOUND => OBJECT_PATH_NOT_FOUND,
            last_error::ACCESS_DENIED => ACCESS_DENIED,
            last_error::INVALID_HANDLE => INVALID_HANDLE,
            last_error::NOT_ENOUGH_MEMORY => NO_MEMORY,
            last_error::FILENAME_EXCED_RANGE => OBJECT_NAME_INVALID,
            last_error::INVALID_PARAMETER => INVALID_PARAMETER,
            last_error::CALL_NOT_IMPLEMENTED => NOT_IMPLEMENTED,
            last_error::NOT_OWNER => MUTANT_NOT_OWNED,
            last_error::TOO_MANY_POSTS => SEMAPHORE_LIMIT_EXCEEDED,
            last_error::PRIVILEGE_NOT_HELD => PRIVILEGE_NOT_HELD,
            last_error::GEN_FAILURE => UNSUCCESSFUL,
            last_error::NOACCESS => ACCESS_VIOLATION,
            last_error::TIMEOUT | last_error::WAIT_TIMEOUT => TIMEOUT,
            last_error::IO_COMPLETION => USER_APC,
            last_error::ABANDONED_WAIT_0 => ABANDONED_WAIT_0,
            _ => INTERNAL_ERROR,
        }
    }
}

/// What Windows says of a status that is in no table.
const MR_MID_NOT_FOUND: u32 = 317;

/// The error that says what the status says: of the statuses of `<ntux/win/ntstatus.h>`, as Windows translates them.
#[unsafe(no_mangle)]
pub extern "C" fn ntw_RtlNtStatusToDosError(status: u32) -> u32 {
    let error = match Status(status) {
        SUCCESS => last_error::SUCCESS,
        ABANDONED_WAIT_0 => last_error::ABANDONED_WAIT_0,
        USER_APC => last_error::IO_COMPLETION,
        TIMEOUT => last_error::TIMEOUT,
        PENDING => last_error::IO_PENDING,
        DATATYPE_MISALIGNMENT | ACCESS_VIOLATION => last_error::NOACCESS,
        UNSUCCESSFUL => last_error::GEN_FAILURE,
        // "Incorrect function."
        NOT_IMPLEMENTED => Error(1),
        INFO_LENGTH_MISMATCH => last_error::BAD_LENGTH,
        INVALID_HANDLE | OBJECT_TYPE_MISMATCH => last_error::INVALID_HANDLE,
        INVALID_INFO_CLASS | INVALID_CID | INVALID_PARAMETER | INVALID_PARAMETER_1 | INVALID_PARAMETER_4 => {
            last_error::INVALID_PARAMETER
        }
        NO_MEMORY => last_error::NOT_ENOUGH_MEMORY,
        ACCESS_DENIED => last_error::ACCESS_DENIED,
        // ERROR_INVALID_NAME
        OBJECT_NAME_INVALID => Error(123),
        OBJECT_NAME_NOT_FOUND => last_error::FILE_NOT_FOUND,
        OBJECT_NAME_COLLISION => last_error::ALREADY_EXISTS,
        OBJECT_PATH_NOT_FOUND => last_error::PATH_NOT_FOUND,
        // ERROR_BAD_PATHNAME
        OBJECT_PATH_SYNTAX_BAD => Error(161),
        MUTANT_NOT_OWNED => last_error::NOT_OWNER,
        SEMAPHORE_LIMIT_EXCEEDED => last_error::TOO_MANY_POSTS,
        PRIVILEGE_NOT_HELD => last_error::PRIVILEGE_NOT_HELD,
        NOT_SUPPORTED => last_error::NOT_SUPPORTED,
        INTERNAL_ERROR => last_error::INTERNAL_ERROR,
        TOO_MANY_THREADS => last_error::TOO_MANY_TCBS,
        _ => Error(MR_MID_NOT_FOUND),
    };
    error.0
}

/// Runs the body of a function that returns a status, which is SUCCESS unless it says another.
pub fn call_for_status(body: impl FnOnce() -> Result<Status>) -> u32 {
    call(INTERNAL_ERROR, || Ok(body().unwrap_or_else(|refused| refused))).0
}
