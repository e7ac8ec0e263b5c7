// SPDX-License-Identifier: MIT OR Apache-2.0
//! No descriptor names a process.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use crate::clock::Deadline;
use crate::processes::{End, Processes};

/// Marks a system without [`Processes`].
pub trait NoProcesses {}

impl<S: NoProcesses> Processes for S {
    fn open(_: u32) -> io::Result<OwnedFd> {
        absent()
    }

    fn has_ended(_: BorrowedFd<'_>) -> io::Result<bool> {
        absent()
    }

    fn end(_: BorrowedFd<'_>) -> io::Result<Option<End>> {
        absent()
    }

    fn bell() -> io::Result<OwnedFd> {
        absent()
    }

    fn ring(_: BorrowedFd<'_>) {}

    fn wait_for_end(_: BorrowedFd<'_>, _: &[BorrowedFd<'_>], _: Deadline) -> io::Result<()> {
        absent()
    }
}

fn absent<T>() -> io::Result<T> {
    Err(io::Error::from_raw_os_error(libc::ENOSYS))
}
