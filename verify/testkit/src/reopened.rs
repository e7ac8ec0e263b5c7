// SPDX-License-Identifier: MIT OR Apache-2.0
//! The system calls alone by which ntux makes the descriptor of an object: one that says in every process which object it is has a
//! description of its own. The arena's file is opened again, and its offset is set. The file has a lock, as the arena has.

use std::ffi::{CString, c_int};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// A file in memory with a lock.
pub struct Reopened {
    file: OwnedFd,
    name: CString,
}

impl Reopened {
    /// Makes one.
    ///
    /// Errors: those of the calls.
    pub fn new() -> io::Result<Reopened> {
        // SAFETY: a terminated name; what is returned is new.
        let file = unsafe { owned(libc::memfd_create(c"floor".as_ptr(), libc::MFD_CLOEXEC))? };
        // SAFETY: an flock is made of integers; zeros are a read lock of the whole file, which the kernel only reads.
        let locked = unsafe {
            let lock: libc::flock = core::mem::zeroed();
            libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &lock)
        };
        if locked != 0 {
            return Err(io::Error::last_os_error());
        }
        let name = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
        Ok(Reopened { file, name })
    }

    /// The file as it was made.
    pub fn file(&self) -> &OwnedFd {
        &self.file
    }

    /// Opens it again, and sets the offset.
    ///
    /// Errors: those of the calls.
    pub fn again(&self) -> io::Result<OwnedFd> {
        // SAFETY: a terminated name; what is returned is new.
        let made = unsafe { owned(libc::open(self.name.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC))? };
        // SAFETY: an offset harms nobody.
        match unsafe { libc::lseek(made.as_raw_fd(), 1 << 40, libc::SEEK_SET) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(made),
        }
    }
}

/// What a call has returned that makes a descriptor, or fails.
///
/// Errors: the call's.
///
/// # Safety
///
/// If it is a descriptor, it is new.
pub unsafe fn owned(fd: c_int) -> io::Result<OwnedFd> {
    match fd {
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: by the contract.
        fd => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
    }
}
