// SPDX-License-Identifier: MIT OR Apache-2.0
//! A descriptor that a thread makes readable: an eventfd.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::Linux;
use crate::wake_descriptor::{Flag, Flags};

/// It is readable while its count is not 0.
pub struct Eventfd(OwnedFd);

impl Flags for Linux {
    type Flag = Eventfd;

    fn flag() -> io::Result<Eventfd> {
        // SAFETY: two numbers.
        match unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) } {
            -1 => Err(io::Error::last_os_error()),
            // SAFETY: new, and nobody else has it.
            fd => Ok(Eventfd(unsafe { OwnedFd::from_raw_fd(fd) })),
        }
    }
}

impl Flag for Eventfd {
    /// Fails only if the count would exceed 64 bits.
    fn raise(&self) {
        let one = 1u64;
        // SAFETY: eight bytes, which are read only.
        unsafe { libc::write(self.0.as_raw_fd(), (&raw const one).cast(), size_of::<u64>()) };
    }

    /// Fails if it is unreadable.
    fn lower(&self) {
        let mut count = 0u64;
        // SAFETY: a place of eight bytes.
        unsafe { libc::read(self.0.as_raw_fd(), (&raw mut count).cast(), size_of::<u64>()) };
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
