// SPDX-License-Identifier: MIT OR Apache-2.0
//! No process can open what another one has.

use std::ffi::CStr;
use std::io;
use std::os::fd::OwnedFd;

use crate::meeting::Meetings;

/// Marks a system without [`Meetings`].
pub trait NoMeetings {}

impl<S: NoMeetings> Meetings for S {
    fn place(_name: &CStr, _start: &[u8]) -> io::Result<OwnedFd> {
        Err(io::Error::from_raw_os_error(libc::ENOSYS))
    }

    fn file_of(_pid: u32, _fd: u32, _inode: u64) -> io::Result<OwnedFd> {
        Err(io::Error::from_raw_os_error(libc::ENOSYS))
    }
}
