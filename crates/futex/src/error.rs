// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why an operation was refused, or a wait ended without a wake.

use ntux_platform::error as number;

/// Result of an operation.
pub type Result<T> = core::result::Result<T, Error>;

/// Why an operation was refused, or a wait ended without a wake. No wake was consumed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Error {
    /// The word does not hold what was expected (`EAGAIN`). Comes before [`Error::TimedOut`].
    Differs,
    /// The deadline passed (`ETIMEDOUT`).
    TimedOut,
    /// A signal handler ran, or the caller should check its words again for another reason (`EINTR`).
    Interrupted,
    /// A misaligned address, an empty bitset, no entry or more than 128, a value that the word cannot hold (`EINVAL`).
    Invalid,
    /// No such memory (`EFAULT`).
    Fault,
    /// More waiters or entries at a time than the wait table has room for (`ENOMEM`).
    Exhausted,
    /// This mechanism or this kernel cannot do it (`EOPNOTSUPP`): see [`crate::capability()`].
    Refused,
    /// The operating system refused; its error number.
    Os(i32),
}

impl Error {
    /// The positive error number.
    pub fn errno(self) -> i32 {
        match self {
            Error::Differs => number::EAGAIN,
            Error::TimedOut => number::ETIMEDOUT,
            Error::Interrupted => number::EINTR,
            Error::Invalid => number::EINVAL,
            Error::Fault => number::EFAULT,
            Error::Exhausted => number::ENOMEM,
            Error::Refused => number::EOPNOTSUPP,
            Error::Os(number) => number,
        }
    }

    /// Translates the kernel's error number.
    pub(crate) fn from_errno(errno: i32) -> Error {
        match errno {
            number::EAGAIN => Error::Differs,
            number::ETIMEDOUT => Error::TimedOut,
            number::EINTR => Error::Interrupted,
            number::EINVAL => Error::Invalid,
            number::EFAULT => Error::Fault,
            number::ENOMEM => Error::Exhausted,
            // A filter that does not know a call returns either of the first two. The last: two sizes at one address, on macOS.
            number::ENOSYS | number::EPERM | number::EDOM => Error::Refused,
            other => Error::Os(other),
        }
    }
}

impl core::fmt::Display for Error {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let text = match self {
            Error::Differs => "the word does not hold the expected value",
            Error::TimedOut => "the deadline passed",
            Error::Interrupted => "interrupted: look at the word again",
            Error::Invalid => "misaligned address, empty bitset, value too large, or not 1 to 128 entries",
            Error::Fault => "there is no memory at this address",
            Error::Exhausted => "too many waiters at a time",
            Error::Refused => "not possible with this mechanism on this kernel: `ntux doctor` tells which would do it",
            Error::Os(number) => return std::io::Error::from_raw_os_error(*number).fmt(formatter),
        };
        formatter.write_str(text)
    }
}

impl std::error::Error for Error {}
