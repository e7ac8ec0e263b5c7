// SPDX-License-Identifier: MIT OR Apache-2.0
//! The error number of each thread, and the numbers that this library sets. A call that succeeds leaves it alone, as Windows does, but for
//! the creation of objects with names.

use std::cell::Cell;

/// A number of `<ntux/win/errors.h>`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Error(pub u32);

pub type Result<T> = core::result::Result<T, Error>;

pub const SUCCESS: Error = Error(0);
pub const FILE_NOT_FOUND: Error = Error(2);
pub const PATH_NOT_FOUND: Error = Error(3);
pub const ACCESS_DENIED: Error = Error(5);
pub const INVALID_HANDLE: Error = Error(6);
pub const NOT_ENOUGH_MEMORY: Error = Error(8);
pub const BAD_LENGTH: Error = Error(24);
pub const GEN_FAILURE: Error = Error(31);
pub const NOT_SUPPORTED: Error = Error(50);
pub const INVALID_PARAMETER: Error = Error(87);
pub const CALL_NOT_IMPLEMENTED: Error = Error(120);
pub const TOO_MANY_TCBS: Error = Error(155);
pub const SIGNAL_REFUSED: Error = Error(156);
pub const ALREADY_EXISTS: Error = Error(183);
/// WAIT_IO_COMPLETION, which GetQueuedCompletionStatusEx sets as an error.
pub const IO_COMPLETION: Error = Error(0xC0);
pub const FILENAME_EXCED_RANGE: Error = Error(206);
/// What a call that takes packets sets as an error.
pub const WAIT_TIMEOUT: Error = Error(258);
pub const NOT_OWNER: Error = Error(288);
pub const TOO_MANY_POSTS: Error = Error(298);
pub const INVALID_ADDRESS: Error = Error(487);
pub const ABANDONED_WAIT_0: Error = Error(735);
pub const IO_PENDING: Error = Error(997);
pub const NOACCESS: Error = Error(998);
pub const ALREADY_INITIALIZED: Error = Error(1247);
pub const PRIVILEGE_NOT_HELD: Error = Error(1314);
pub const INTERNAL_ERROR: Error = Error(1359);
pub const TIMEOUT: Error = Error(1460);

thread_local! {
    /// Without destructor, so it works as long as the thread runs.
    static LAST: Cell<u32> = const { Cell::new(0) };
}

pub fn set(error: Error) {
    LAST.set(error.0);
}

/// The error of an operation on an object whose handle was right when it was looked up.
#[cold]
pub fn of_object(error: ntux::Error) -> Error {
    match error {
        // Somebody has closed the handle meanwhile.
        ntux::Error::NoSuchObject | ntux::Error::Invalid => INVALID_HANDLE,
        ntux::Error::NotOwner | ntux::Error::NotHeld => NOT_OWNER,
        ntux::Error::Overflow => TOO_MANY_POSTS,
        ntux::Error::Exhausted | ntux::Error::Os(_) => NOT_ENOUGH_MEMORY,
        _ => INTERNAL_ERROR,
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn ntw_GetLastError() -> u32 {
    LAST.get()
}

#[unsafe(no_mangle)]
pub extern "C" fn ntw_SetLastError(error: u32) {
    LAST.set(error);
}
