// SPDX-License-Identifier: MIT OR Apache-2.0
//! The device node for programs that only inspect it: `access`, `stat`, `realpath` and `glob` of a path without a node,
//! and `fstat` of a descriptor of the device or of an object.
//!
//! As with `open`, the real function runs first. Only if it finds nothing, and the path means the device, is the answer
//! a character device that everybody may read and write. A descriptor is described like the driver's if its file is
//! that of an instance that this process has seen. The system call itself (`syscall`) shows the memory file, as does
//! `/proc/self/fd`, and a listing of `/dev` shows no node.

use super::path::is_name;
use super::serving::would_serve;
use crate::c_library::{errno, fail};
use crate::instances;
use core::ffi::{CStr, c_char, c_int};
use ntux_platform::keeping_errno;
use ntux_platform::memory::{self, FileId};
use std::os::fd::BorrowedFd;

/// The number of miscellaneous devices, and the first minor that is given out as needed, like the driver's.
const MAJOR: u32 = 10;
const MINOR: u32 = 256;
const PATH: &CStr = c"/dev/ntsync";

/// The `stat` results for the node and for objects. No file system has the device number 0.
struct Description {
    mode: libc::mode_t,
    /// Major and minor number.
    device: (u32, u32),
    inode: u64,
}

/// The node, and every descriptor of an instance.
const NODE: Description = Description { mode: libc::S_IFCHR | 0o666, device: (MAJOR, MINOR), inode: 1 };
/// Every object: the driver's share one inode, without a file type.
const OBJECT: Description = Description { mode: 0o600, device: (0, 0), inode: 2 };
const BLOCK_SIZE: u32 = 4096;

impl Description {
    fn status(&self) -> libc::stat {
        // SAFETY: all bytes zero is a value.
        let mut status: libc::stat = unsafe { core::mem::zeroed() };
        status.st_mode = self.mode;
        status.st_nlink = 1;
        status.st_ino = self.inode;
        status.st_rdev = libc::makedev(self.device.0, self.device.1);
        status.st_blksize = BLOCK_SIZE as _;
        status
    }

    fn extended_status(&self) -> libc::statx {
        // SAFETY: all bytes zero is a value.
        let mut status: libc::statx = unsafe { core::mem::zeroed() };
        status.stx_mask = libc::STATX_BASIC_STATS;
        status.stx_mode = self.mode as u16;
        status.stx_nlink = 1;
        status.stx_ino = self.inode;
        (status.stx_rdev_major, status.stx_rdev_minor) = self.device;
        status.stx_blksize = BLOCK_SIZE;
        status
    }

    /// The results for a descriptor whose file is this one, if that is an instance that this process has seen.
    #[cold]
    fn of(fd: c_int, file: FileId) -> Option<Description> {
        if !instances::has_met(file) {
            return None;
        }
        // SAFETY: the real function has just described it. If the program closes it meanwhile, it asks about nothing.
        let offset = keeping_errno(|| memory::offset(unsafe { BorrowedFd::borrow_raw(fd) })).ok()?;
        Some(if offset == 0 { NODE } else { OBJECT })
    }
}

/// Returns true if a query of `path` found nothing and this library would serve an open of it. Preserves the error number.
///
/// # Safety
/// `path` is what the real function was called with.
#[inline(always)]
unsafe fn is_missing(result: c_int, directory: c_int, path: *const c_char) -> bool {
    // SAFETY: this thread's own error number.
    if result >= 0 || unsafe { *errno() } != libc::ENOENT {
        return false;
    }
    // SAFETY: the kernel looked the path up, so it is a readable string.
    let path = unsafe { CStr::from_ptr(path) };
    is_name(path.to_bytes()) && would_serve(directory, path.to_bytes())
}

/// A query of a path: the real function's result, or `found` if that finds nothing and the path means the device.
///
/// # Safety
/// `path` is what `real` passes to the real function.
#[inline(always)]
unsafe fn look(
    directory: c_int,
    path: *const c_char,
    real: impl FnOnce() -> c_int,
    found: impl FnOnce() -> c_int,
) -> c_int {
    // SAFETY: this thread's own error number.
    let error_before = unsafe { *errno() };
    let result = real();
    // SAFETY: the caller's promise.
    if !unsafe { is_missing(result, directory, path) } {
        return result;
    }
    // SAFETY: this thread's own error number.
    unsafe { *errno() = error_before };
    found()
}

/// `access` and its variants.
///
/// # Safety
/// `path` is what `real` passes to the real function.
#[inline(always)]
pub(crate) unsafe fn access(directory: c_int, path: *const c_char, mode: c_int, real: impl FnOnce() -> c_int) -> c_int {
    let found = || if mode & libc::X_OK != 0 { fail(libc::EACCES) } else { 0 };
    // SAFETY: the caller's promise.
    unsafe { look(directory, path, real, found) }
}

/// `stat` and its variants.
///
/// # Safety
/// `path` and `status` are what `real` passes to the real function.
#[inline(always)]
pub(crate) unsafe fn stat(
    directory: c_int,
    path: *const c_char,
    status: *mut libc::stat,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let found = || {
        // SAFETY: the caller's place for the answer.
        unsafe { status.write(NODE.status()) };
        0
    };
    // SAFETY: the caller's promise.
    unsafe { look(directory, path, real, found) }
}

/// `fstat` and its variants.
///
/// # Safety
/// `status` is what `real` passes to the real function.
#[inline(always)]
pub(crate) unsafe fn fstat(fd: c_int, status: *mut libc::stat, real: impl FnOnce() -> c_int) -> c_int {
    let result = real();
    if result == 0 && instances::any() {
        // SAFETY: the real function has filled it in.
        let (kind, file) = unsafe {
            let status = &*status;
            (status.st_mode & libc::S_IFMT, FileId { device: status.st_dev, inode: status.st_ino })
        };
        if kind == libc::S_IFREG
            && let Some(description) = Description::of(fd, file)
        {
            // SAFETY: as above.
            unsafe { status.write(description.status()) };
        }
    }
    result
}

/// `fstatat` and its variants: of a path in a directory, or of the descriptor itself if the path is empty.
///
/// # Safety
/// `path` and `status` are what `real` passes to the real function.
#[inline(always)]
pub(crate) unsafe fn stat_in(
    directory: c_int,
    path: *const c_char,
    status: *mut libc::stat,
    real: impl FnOnce() -> c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    let real = || unsafe { stat(directory, path, status, real) };
    // SAFETY: the caller's promise; the path is read when the kernel has accepted it.
    unsafe { fstat_if(|| is_empty(path), directory, status, real) }
}

/// [`fstat`], if `is_descriptor` says so after the real function.
#[inline(always)]
unsafe fn fstat_if(
    is_descriptor: impl FnOnce() -> bool,
    fd: c_int,
    status: *mut libc::stat,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let result = real();
    if result != 0 || !is_descriptor() {
        return result;
    }
    // SAFETY: the caller's promise.
    unsafe { fstat(fd, status, || 0) }
}

/// Returns true if a path that the kernel has accepted names nothing in its directory.
///
/// # Safety
/// Null, or a readable string.
#[inline(always)]
unsafe fn is_empty(path: *const c_char) -> bool {
    // SAFETY: the caller's promise.
    path.is_null() || unsafe { *path == 0 }
}

/// `statx`.
///
/// # Safety
/// `path` and `status` are what `real` passes to the real function.
pub(crate) unsafe fn statx(
    directory: c_int,
    path: *const c_char,
    status: *mut libc::statx,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let found = || {
        // SAFETY: the caller's place for the answer.
        unsafe { status.write(NODE.extended_status()) };
        0
    };
    // SAFETY: the caller's promise.
    let result = unsafe { look(directory, path, real, found) };
    // SAFETY: the kernel has taken the path.
    if result == 0 && instances::any() && unsafe { is_empty(path) } {
        // SAFETY: the real function has filled it in.
        let file = unsafe {
            let device = libc::makedev((*status).stx_dev_major, (*status).stx_dev_minor);
            FileId { device, inode: (*status).stx_ino }
        };
        if let Some(description) = Description::of(directory, file) {
            // SAFETY: as above.
            unsafe { status.write(description.extended_status()) };
        }
    }
    result
}

/// `realpath` and its relatives.
///
/// # Safety
/// `path` and `room` are what `real` passes to the real function.
pub(crate) unsafe fn realpath(
    path: *const c_char,
    room: *mut c_char,
    real: impl FnOnce() -> *mut c_char,
) -> *mut c_char {
    // SAFETY: this thread's own error number.
    let error_before = unsafe { *errno() };
    let result = real();
    // SAFETY: the caller's promise.
    if !unsafe { is_missing(if result.is_null() { -1 } else { 0 }, libc::AT_FDCWD, path) } {
        return result;
    }
    // SAFETY: this thread's own error number; room for every path, as the function asks for; or memory of the C
    // library's, which the caller gives back to it.
    unsafe {
        *errno() = error_before;
        match room.is_null() {
            true => libc::strdup(PATH.as_ptr()),
            false => libc::strcpy(room, PATH.as_ptr()),
        }
    }
}

/// `glob`, for a pattern that is the device's path. One with wildcards finds what a listing of the directory shows.
///
/// # Safety
/// `pattern` is what `real` passes to the real function, with these flags or others.
pub(crate) unsafe fn glob(pattern: *const c_char, flags: c_int, real: impl Fn(c_int) -> c_int) -> c_int {
    let result = real(flags);
    if result != libc::GLOB_NOMATCH {
        return result;
    }
    // SAFETY: the real function has read it.
    let path = unsafe { CStr::from_ptr(pattern) }.to_bytes();
    let is_path = is_name(path) && !path.iter().any(|byte| b"*?[\\{~".contains(byte));
    // What nothing was found for is the result then.
    if is_path && would_serve(libc::AT_FDCWD, path) { real(flags | libc::GLOB_NOCHECK) } else { result }
}
