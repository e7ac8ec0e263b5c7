// SPDX-License-Identifier: MIT OR Apache-2.0
//! Opens the device, and serves its requests.

use crate::c_library::next::{self, How};
use crate::device::ioctl::{requests, serve};
use crate::device::opening;
use core::ffi::{c_char, c_int, c_ulong, c_void};
use libc::{AT_FDCWD, mode_t};

interposed! {
    in ".text.ntux_start";
    // They open the device if the path means it.
    fn open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int => |real| open_here(path, flags, real);
    fn open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int => |real| open_here(path, flags, real);
    fn __open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int as open => |real| open_here(path, flags, real);
    fn __open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int as open64 => |real| open_here(path, flags, real);
    fn __open_2(path: *const c_char, flags: c_int) -> c_int => |real| open_here(path, flags, real);
    fn __open64_2(path: *const c_char, flags: c_int) -> c_int => |real| open_here(path, flags, real);
    fn openat(directory: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int => |real| {
        opening::open(directory, path, flags, real)
    };
    fn openat64(directory: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int => |real| {
        opening::open(directory, path, flags, real)
    };
    fn __openat_2(directory: c_int, path: *const c_char, flags: c_int) -> c_int => |real| {
        opening::open(directory, path, flags, real)
    };
    fn __openat64_2(directory: c_int, path: *const c_char, flags: c_int) -> c_int => |real| {
        opening::open(directory, path, flags, real)
    };
}

interposed! {
    // It opens the device if the path means it.
    fn openat2(directory: c_int, path: *const c_char, how: *const How, size: usize) -> c_int => |real| {
        opening::open_how(directory, path, how, real)
    };
}

/// `open` of a path that may be relative to the current directory.
///
/// # Safety
/// `path` is what `real` passes to the real function.
#[inline(always)]
unsafe fn open_here(path: *const c_char, flags: c_int, real: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { opening::open(AT_FDCWD, path, flags, real) }
}

/// Serves the requests of the device and of objects.
#[unsafe(link_section = ".text.ntux_start")]
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn ioctl(fd: c_int, request: c_ulong, argument: *mut c_void) -> c_int {
    // The kernel looks at 32 bits of the request.
    let request_word = request as u32;
    if requests::is_ours(request_word)
        && let Some(result) = serve(fd, request_word, argument as usize)
    {
        return result;
    }
    // SAFETY: the caller's own arguments.
    unsafe { next::ioctl(fd, request, argument) }
}
