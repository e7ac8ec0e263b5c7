//! The device node for programs that only look: `access` and `stat` of a path where there is no node.
//!
//! As with `open`, the real function goes first; only where it finds nothing, and the path means the device, the answer
//! is a character device that everybody may read and write.

use crate::device;
use core::ffi::{CStr, c_char, c_int};

/// The number of miscellaneous devices, and the first minor that is given out as needed, like the driver's.
const MAJOR: u32 = 10;
const MINOR: u32 = 256;
const MODE: libc::mode_t = libc::S_IFCHR | 0o666;

/// Whether a look at `path` found nothing and this library would serve an open of it. The error number stays as it was.
///
/// # Safety
/// `path` is what the real function was called with.
#[inline(always)]
unsafe fn is_missing(result: c_int, directory: c_int, path: *const c_char) -> bool {
    // SAFETY: this thread's own error number.
    if result >= 0 || unsafe { *crate::errno() } != libc::ENOENT {
        return false;
    }
    // SAFETY: the kernel looked the path up, so it is a readable string.
    let path = unsafe { CStr::from_ptr(path) };
    device::is_name(path.to_bytes()) && device::would_serve(directory, path.to_bytes())
}

/// A look at a path: the real function's, and `found` where that finds nothing and the path means the device.
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
    let error_before = unsafe { *crate::errno() };
    let result = real();
    // SAFETY: the caller's promise.
    if !unsafe { is_missing(result, directory, path) } {
        return result;
    }
    // SAFETY: this thread's own error number.
    unsafe { *crate::errno() = error_before };
    found()
}

/// `access` and its relatives.
///
/// # Safety
/// `path` is what `real` passes to the real function.
#[inline(always)]
pub(crate) unsafe fn access(directory: c_int, path: *const c_char, mode: c_int, real: impl FnOnce() -> c_int) -> c_int {
    let found = || if mode & libc::X_OK != 0 { crate::fail(libc::EACCES) } else { 0 };
    // SAFETY: the caller's promise.
    unsafe { look(directory, path, real, found) }
}

/// `stat` and its relatives.
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
        // SAFETY: all bytes zero is a value.
        let mut node: libc::stat = unsafe { core::mem::zeroed() };
        node.st_mode = MODE;
        node.st_nlink = 1;
        node.st_rdev = libc::makedev(MAJOR, MINOR);
        // SAFETY: the caller's place for the answer.
        unsafe { status.write(node) };
        0
    };
    // SAFETY: the caller's promise.
    unsafe { look(directory, path, real, found) }
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
        // SAFETY: all bytes zero is a value.
        let mut node: libc::statx = unsafe { core::mem::zeroed() };
        node.stx_mask = libc::STATX_TYPE | libc::STATX_MODE | libc::STATX_NLINK;
        node.stx_mode = MODE as u16;
        node.stx_nlink = 1;
        node.stx_rdev_major = MAJOR;
        node.stx_rdev_minor = MINOR;
        // SAFETY: the caller's place for the answer.
        unsafe { status.write(node) };
        0
    };
    // SAFETY: the caller's promise.
    unsafe { look(directory, path, real, found) }
}
