// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why an operation failed.

use ntux_platform::error as number;

/// Result of an operation.
pub type Result<T> = core::result::Result<T, Error>;

/// Why an operation failed. Nothing changed.
///
/// Checks come in the order of Windows: first what the caller passed (`Invalid`), then whether the memory is watched.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Error {
    /// An empty range, no room for a result, or an unaligned address where a page is asked for
    /// (`EINVAL`; `ERROR_INVALID_PARAMETER`).
    Invalid,
    /// The range is not inside one watched region (`EINVAL`; `ERROR_INVALID_PARAMETER`).
    NotWatched,
    /// The protection of a page that is not committed cannot be set (`EFAULT`; `ERROR_INVALID_ADDRESS`).
    NotCommitted,
    /// Somebody watches part of this memory already (`EBUSY`).
    Busy,
    /// This mechanism cannot watch this memory, or this operation is for reserved memory only (`EOPNOTSUPP`).
    Unsupported,
    /// No memory, or no mapping left (`ENOMEM`).
    Exhausted,
    /// The operating system refused; its error number.
    Os(i32),
}

impl Error {
    /// The positive error number.
    pub fn errno(self) -> i32 {
        match self {
            Error::Invalid | Error::NotWatched => number::EINVAL,
            Error::NotCommitted => number::EFAULT,
            Error::Busy => number::EBUSY,
            Error::Unsupported => number::EOPNOTSUPP,
            Error::Exhausted => number::ENOMEM,
            Error::Os(number) => number,
        }
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Error {
        match error.raw_os_error() {
            Some(number::ENOMEM) => Error::Exhausted,
            Some(number::EBUSY) => Error::Busy,
            Some(number) => Error::Os(number),
            None => Error::Os(number::EIO),
        }
    }
}

impl core::fmt::Display for Error {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let text = match self {
            Error::Invalid => "an empty range, no room for a result, or an unaligned address",
            Error::NotWatched => "the range is not inside one watched region",
            Error::NotCommitted => "the range has pages that are not committed: commit them first",
            Error::Busy => "somebody watches part of this memory already",
            Error::Unsupported => "this mechanism cannot watch this memory, or this watcher did not reserve it",
            Error::Exhausted => "no memory, or no mapping left (vm.max_map_count)",
            Error::Os(number) => return std::io::Error::from_raw_os_error(*number).fmt(formatter),
        };
        formatter.write_str(text)
    }
}

impl std::error::Error for Error {}
