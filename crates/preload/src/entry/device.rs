// SPDX-License-Identifier: MIT OR Apache-2.0
//! Opens the device, and serves its requests.

use crate::c_library::next::{self, How};
use crate::device::ioctl::{requests, serve};
use crate::device::opening;
use core::ffi::{c_char, c_int, c_ulong, c_void};
use libc::{AT_FDCWD, mode_t};

macro_rules! open_by_path {
    ($($name:ident($($mode:ident)?) => $next:ident;)*) => {
        $(
            /// Opens the device if the path means it.
            #[unsafe(link_section = ".text.ntux_start")]
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $name(path: *const c_char, flags: c_int $(, $mode: mode_t)?) -> c_int {
                // SAFETY: the caller's own arguments.
                unsafe { opening::open(AT_FDCWD, path, flags, || next::$next(path, flags $(, $mode)?)) }
            }
        )*
    };
}

macro_rules! open_in_directory {
    ($($name:ident($($mode:ident)?);)*) => {
        $(
            /// Opens the device if the path means it.
            #[unsafe(link_section = ".text.ntux_start")]
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $name(
                directory: c_int,
                path: *const c_char,
                flags: c_int
                $(, $mode: mode_t)?
            ) -> c_int {
                // SAFETY: the caller's own arguments.
                unsafe { opening::open(directory, path, flags, || next::$name(directory, path, flags $(, $mode)?)) }
            }
        )*
    };
}

open_by_path! {
    open(mode) => open;
    open64(mode) => open64;
    __open(mode) => open;
    __open64(mode) => open64;
    __open_2() => __open_2;
    __open64_2() => __open64_2;
}

open_in_directory! {
    openat(mode);
    openat64(mode);
    __openat_2();
    __openat64_2();
}

/// Opens the device if the path means it.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn openat2(directory: c_int, path: *const c_char, how: *const How, size: usize) -> c_int {
    let real = || {
        // SAFETY: the caller's own arguments.
        unsafe { next::openat2(directory, path, how, size) }
    };
    // SAFETY: as above.
    unsafe { opening::open_how(directory, path, how, real) }
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
