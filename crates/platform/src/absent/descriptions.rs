// SPDX-License-Identifier: MIT OR Apache-2.0
//! The system's shared memory has no open file descriptions.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use crate::memory::{Caller, Descriptions};

/// Marks a system without [`Descriptions`].
pub trait NoDescriptions {}

impl<S: NoDescriptions> Descriptions for S {
    fn reopen(_fd: BorrowedFd<'_>, _caller: Caller) -> io::Result<OwnedFd> {
        Err(io::Error::from_raw_os_error(libc::ENOSYS))
    }
}
