// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files by which the processes of a user find each other, and what another process has open.
//!
//! The files lie in a directory of the user alone: `$XDG_RUNTIME_DIR/ntux`, or `/dev/shm/ntux-UID` if that variable is not set, or the
//! program runs with another user's rights than who set it (set-user-ID).
//! A process that may write there may end the user's processes anyway.

use std::ffi::CStr;
use std::io;
use std::os::fd::OwnedFd;

use crate::Here;

/// What a system may provide.
pub trait Meetings {
    /// Implements [`place`].
    fn place(name: &CStr, start: &[u8]) -> io::Result<OwnedFd>;
    /// Implements [`file_of`].
    fn file_of(pid: u32, fd: u32, inode: u64) -> io::Result<OwnedFd>;
}

/// Opens the file with this name in the user's directory, or makes one with these bytes, in one step: of several processes that do so
/// at the same time one makes it, and all open the same. A process that is killed leaves no file, or a whole one.
///
/// Errors: `EPERM` if the directory or the file is another user's, or others may use the directory; `ELOOP` or `ENOTDIR` for a symbolic link;
/// `ENOENT` if there is no place for the directory; `ENOSYS` if the system has none of this; others of the system.
pub fn place(name: &CStr, start: &[u8]) -> io::Result<OwnedFd> {
    Here::place(name, start)
}

/// Opens the regular file with this inode again that a process has behind this descriptor.
///
/// Errors: `NotFound` if it has another one there, or none, or has ended; `EACCES` if this process may not look there, or cannot; `ENOSYS` if the
/// system has none of this.
pub fn file_of(pid: u32, fd: u32, inode: u64) -> io::Result<OwnedFd> {
    Here::file_of(pid, fd, inode)
}
