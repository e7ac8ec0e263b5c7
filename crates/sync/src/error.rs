// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why an operation failed.

use ntux_platform::error as number;

/// Result of an operation.
pub type Result<T> = core::result::Result<T, Error>;

/// Why an operation failed. Nothing changed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Error {
    /// An argument out of range, or an object of another kind or arena (`EINVAL`).
    Invalid,
    /// The object was closed, or never existed (`EBADF`).
    NoSuchObject,
    /// The owner id given does not own the mutex (`EPERM`).
    NotOwner,
    /// The calling process does not hold the object (`EPERM`).
    NotHeld,
    /// No process with this number takes part in the arena, as far as the caller can know (`ESRCH`).
    NoSuchProcess,
    /// No object has this name (`ENOENT`).
    NoSuchName,
    /// An object of another kind has this name (`EPROTOTYPE`).
    OtherKind,
    /// The count would exceed the semaphore's maximum (`EOVERFLOW`).
    Overflow,
    /// The deadline passed (`ETIMEDOUT`).
    TimedOut,
    /// A signal handler is due (`EINTR`); see [`crate::protocol::waiter::Waiter::interrupt`].
    Interrupted,
    /// The system says that the thread or process lives, which the caller called dead (`EBUSY`).
    Alive,
    /// No slot left in the arena, or no memory (`ENOMEM`).
    Exhausted,
    /// The shared memory is corrupt: somebody wrote rubbish into it (`EIO`).
    Corrupt,
    /// The descriptor is not an arena, or one of another version, or could be truncated (`ENOTTY`).
    NotAnArena,
    /// The operating system refused; its error number.
    Os(i32),
}

impl Error {
    /// The positive error number.
    pub fn errno(self) -> i32 {
        match self {
            Error::Invalid => number::EINVAL,
            Error::NoSuchObject => number::EBADF,
            Error::NotOwner | Error::NotHeld => number::EPERM,
            Error::NoSuchProcess => number::ESRCH,
            Error::NoSuchName => number::ENOENT,
            Error::OtherKind => number::EPROTOTYPE,
            Error::Overflow => number::EOVERFLOW,
            Error::TimedOut => number::ETIMEDOUT,
            Error::Interrupted => number::EINTR,
            Error::Alive => number::EBUSY,
            Error::Exhausted => number::ENOMEM,
            Error::Corrupt => number::EIO,
            Error::NotAnArena => number::ENOTTY,
            Error::Os(number) => number,
        }
    }

    pub(crate) fn from_io(error: std::io::Error) -> Error {
        match error.raw_os_error() {
            Some(number::ENOMEM) => Error::Exhausted,
            Some(number) => Error::Os(number),
            None => Error::Os(number::EIO),
        }
    }
}

impl core::fmt::Display for Error {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let text = match self {
            Error::Invalid => "an argument is out of range, or an object is of another kind or arena",
            Error::NoSuchObject => "the object was closed, or never was",
            Error::NotOwner => "this owner id does not own the mutex",
            Error::NotHeld => "this process does not hold the object",
            Error::NoSuchProcess => "no process with this number takes part in the arena",
            Error::NoSuchName => "no object has this name",
            Error::OtherKind => "an object of another kind has this name",
            Error::Overflow => "the count would exceed the semaphore's maximum",
            Error::TimedOut => "the deadline passed",
            Error::Interrupted => "interrupted by a signal",
            Error::Alive => "the thread or process lives",
            Error::Exhausted => {
                "the arena has no slot left, or the system no memory: create it with a larger capacity, or close objects"
            }
            Error::Corrupt => "the shared memory makes no sense: a process that shares it has scribbled over it",
            Error::NotAnArena => "not an arena of this version: attach with the version of ntux that created it",
            Error::Os(number) => return std::io::Error::from_raw_os_error(*number).fmt(formatter),
        };
        formatter.write_str(text)
    }
}

impl std::error::Error for Error {}
