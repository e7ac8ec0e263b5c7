// SPDX-License-Identifier: MIT OR Apache-2.0
//! The C library's streams: opens the device as a stream, and notices a stream's descriptor being closed.

use crate::c_library::{errno, next};
use crate::descriptors;
use crate::device::opening::open as open_device;
use crate::device::path::is_name;
use crate::device::using::is_instance;
use core::ffi::{CStr, c_char, c_int};
use libc::{AT_FDCWD, DIR, FILE};
use ntux_platform::interposition::proc;
use ntux_platform::path::Path;
use ntux_platform::{keeping_errno, memory};
use std::os::fd::BorrowedFd;

interposed! {
    // They open the device if the path means it.
    fn fopen(path: *const c_char, mode: *const c_char) -> *mut FILE => |real| open(path, mode, real);
    fn fopen64(path: *const c_char, mode: *const c_char) -> *mut FILE => |real| open(path, mode, real);
    // They forget the stream's descriptor.
    fn fclose(stream: *mut FILE) -> c_int => |real| closed_by(|| libc::fileno(stream), real);
    fn _IO_fclose(stream: *mut FILE) -> c_int as fclose => |real| closed_by(|| libc::fileno(stream), real);
    fn pclose(stream: *mut FILE) -> c_int => |real| closed_by(|| libc::fileno(stream), real);
    // It forgets the directory's descriptor. (musl's `dirfd` does not take none.)
    fn closedir(directory: *mut DIR) -> c_int => |real| {
        closed_by(|| if directory.is_null() { -1 } else { libc::dirfd(directory) }, real)
    };
}

macro_rules! opening_again {
    ($($name:ident;)*) => {
        $(
            /// Forgets the stream's descriptor, and opens the device if the path means it.
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $name(path: *const c_char, mode: *const c_char, stream: *mut FILE) -> *mut FILE {
                // SAFETY: the caller's own arguments.
                unsafe { open_again(path, mode, stream, |path| next::$name(path, mode, stream)) }
            }
        )*
    };
}

opening_again! {
    freopen;
    freopen64;
}

/// `close`; does nothing more if no descriptor is known.
#[inline(always)]
unsafe fn closed_by<R>(fd: impl FnOnce() -> c_int, close: impl FnOnce() -> R) -> R {
    if !descriptors::any() {
        return close();
    }
    descriptors::closed_by(keeping_errno(fd), close)
}

/// The real function first, then ours, as [`open_device`] does.
///
/// # Safety
/// `path` and `mode` are what `real` passes to the real function.
#[inline(always)]
unsafe fn open(path: *const c_char, mode: *const c_char, real: impl FnOnce() -> *mut FILE) -> *mut FILE {
    // SAFETY: this thread's own error number.
    let error_before = unsafe { *errno() };
    let stream = real();
    // SAFETY: as above; the real function has read both strings, unless it failed for a reason that says otherwise.
    unsafe {
        let unread = stream.is_null() && matches!(*errno(), libc::EFAULT | libc::EINVAL | libc::ENOMEM);
        if unread || !is_name(CStr::from_ptr(path).to_bytes()) {
            return stream;
        }
        replace(path, mode, stream, error_before)
    }
}

/// A stream of the device in place of the one that the real function opened, if it did.
#[cold]
unsafe fn replace(path: *const c_char, mode: *const c_char, opened: *mut FILE, error_before: c_int) -> *mut FILE {
    // SAFETY: the caller's strings; the descriptor and the stream are nobody else's.
    unsafe {
        let Some(fd) = instance(path, mode) else { return opened };
        if !opened.is_null() {
            next::fclose(opened);
        }
        let stream = libc::fdopen(fd, mode);
        if stream.is_null() {
            keeping_errno(|| descriptors::closed_by(fd, || next::close(fd)));
        } else {
            *errno() = error_before;
        }
        stream
    }
}

/// A new instance for a stream, if its path means the device and its mode does not create a file. Preserves the error
/// number.
///
/// # Safety
/// Both are readable strings.
unsafe fn instance(path: *const c_char, mode: *const c_char) -> Option<c_int> {
    // SAFETY: the caller's promise.
    let mode = unsafe { CStr::from_ptr(mode) }.to_bytes();
    if !mode.starts_with(b"r") {
        return None;
    }
    let access = if mode.contains(&b'+') { libc::O_RDWR } else { libc::O_RDONLY };
    let flags = access | if mode.contains(&b'e') { libc::O_CLOEXEC } else { 0 };
    keeping_errno(|| {
        // SAFETY: the caller's promise.
        let fd = unsafe { open_device(AT_FDCWD, path, flags, || next::open(path, flags, 0)) };
        let is_ours = fd >= 0 && is_instance(fd);
        if fd >= 0 && !is_ours {
            // SAFETY: opened just now, by the kernel.
            unsafe { next::close(fd) };
        }
        is_ours.then_some(fd)
    })
}

/// `freopen` closes its old file before it opens the new one, so the path is examined first. It opens the new instance
/// by its name in `/proc`. If that name leads to another file by now, the program gets `EBADF` and not that file.
///
/// # Safety
/// As for the function itself; `real` calls it with another path.
unsafe fn open_again(
    path: *const c_char,
    mode: *const c_char,
    stream: *mut FILE,
    real: impl FnOnce(*const c_char) -> *mut FILE,
) -> *mut FILE {
    // SAFETY: the caller's own stream.
    let before = keeping_errno(|| unsafe { libc::fileno(stream) });
    // SAFETY: null is tried first, then whether the kernel can read the path.
    let instance = unsafe {
        let readable =
            !path.is_null() && keeping_errno(|| next::access(path, libc::F_OK) == 0 || *errno() != libc::EFAULT);
        if readable && is_name(CStr::from_ptr(path).to_bytes()) { instance(path, mode) } else { None }
    };
    let Some(fd) = instance else { return descriptors::closed_by(before, || real(path)) };
    // SAFETY: strings that end with a zero.
    let is_there = |name: &Path| unsafe { next::access(name.as_ptr(), libc::F_OK) } == 0;
    let found = keeping_errno(|| proc::own_descriptor_paths(fd).find(is_there));
    // Without /proc the real function says that there is no file.
    let name = found.unwrap_or_else(|| Path::new(format_args!("/proc/thread-self/fd/{fd}")));
    let mut result = descriptors::closed_by(before, || real(name.as_ptr()));
    // SAFETY: the stream that the real function has made.
    if !result.is_null() && !keeping_errno(|| is_same_file(fd, unsafe { libc::fileno(result) })) {
        // SAFETY: as above; the program never sees it. This thread's own error number.
        unsafe {
            next::fclose(result);
            *errno() = libc::EBADF;
        }
        result = core::ptr::null_mut();
    }
    // SAFETY: opened for this call.
    keeping_errno(|| descriptors::closed_by(fd, || unsafe { next::close(fd) }));
    result
}

fn is_same_file(one: c_int, other: c_int) -> bool {
    // SAFETY: open a moment ago; they are only asked.
    let file = |fd| memory::regular_file(unsafe { BorrowedFd::borrow_raw(fd) }).ok().flatten();
    file(one).is_some_and(|known| file(other) == Some(known))
}
