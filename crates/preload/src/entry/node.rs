// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shows the node to programs that only look.

use crate::c_library::next;
use crate::device::node;
use core::ffi::{c_char, c_int, c_uint, c_void};
use libc::AT_FDCWD;

/// Says that the node exists.
#[unsafe(link_section = ".text.ntux_start")]
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn access(path: *const c_char, mode: c_int) -> c_int {
    // SAFETY: the caller's own arguments.
    unsafe { node::access(AT_FDCWD, path, mode, || next::access(path, mode)) }
}

/// Says that the node exists.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn faccessat(directory: c_int, path: *const c_char, mode: c_int, flags: c_int) -> c_int {
    // SAFETY: the caller's own arguments.
    unsafe { node::access(directory, path, mode, || next::faccessat(directory, path, mode, flags)) }
}

macro_rules! access_by_effective_user {
    ($($name:ident;)*) => {
        $(
            /// Says that the node exists.
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $name(path: *const c_char, mode: c_int) -> c_int {
                // SAFETY: the caller's own arguments.
                unsafe { node::access(AT_FDCWD, path, mode, || next::$name(path, mode)) }
            }
        )*
    };
}

access_by_effective_user! {
    eaccess;
    euidaccess;
}

macro_rules! status_by_path {
    ($($name:ident($($version:ident)?) => $flags:expr;)*) => {
        $(
            /// Describes the node. (Old programs say which version of the structure they know.)
            #[unsafe(link_section = ".text.ntux_start")]
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $name(
                $($version: c_int,)?
                path: *const c_char,
                status: *mut libc::stat,
            ) -> c_int {
                let real = || {
                    // SAFETY: the caller's own arguments.
                    unsafe { next::$name($($version,)? path, status) }
                };
                // SAFETY: as above.
                unsafe { node::stat(AT_FDCWD, path, status, real) }
            }
        )*
    };
}

status_by_path! {
    stat() => 0;
    stat64() => 0;
    lstat() => libc::AT_SYMLINK_NOFOLLOW;
    lstat64() => libc::AT_SYMLINK_NOFOLLOW;
    __xstat(version) => 0;
    __xstat64(version) => 0;
    __lxstat(version) => libc::AT_SYMLINK_NOFOLLOW;
    __lxstat64(version) => libc::AT_SYMLINK_NOFOLLOW;
}

macro_rules! status_of_descriptor {
    ($($name:ident($($version:ident)?);)*) => {
        $(
            /// Describes a descriptor of ours like the driver's.
            #[unsafe(link_section = ".text.ntux_start")]
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $name($($version: c_int,)? fd: c_int, status: *mut libc::stat) -> c_int {
                let real = || {
                    // SAFETY: the caller's own arguments.
                    unsafe { next::$name($($version,)? fd, status) }
                };
                // SAFETY: as above.
                unsafe { node::fstat(fd, status, real) }
            }
        )*
    };
}

status_of_descriptor! {
    fstat();
    fstat64();
    __fxstat(version);
    __fxstat64(version);
}

macro_rules! status_in_directory {
    ($($name:ident($($version:ident)?);)*) => {
        $(
            /// Describes the node.
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $name(
                $($version: c_int,)?
                directory: c_int,
                path: *const c_char,
                status: *mut libc::stat,
                flags: c_int,
            ) -> c_int {
                let real = || {
                    // SAFETY: the caller's own arguments.
                    unsafe { next::$name($($version,)? directory, path, status, flags) }
                };
                // SAFETY: as above.
                unsafe { node::stat_in(directory, path, status, real) }
            }
        )*
    };
}

status_in_directory! {
    fstatat();
    fstatat64();
    __fxstatat(version);
    __fxstatat64(version);
}

/// Describes the node.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn statx(
    directory: c_int,
    path: *const c_char,
    flags: c_int,
    mask: c_uint,
    status: *mut libc::statx,
) -> c_int {
    let real = || {
        // SAFETY: the caller's own arguments.
        unsafe { next::statx(directory, path, flags, mask, status) }
    };
    // SAFETY: as above.
    unsafe { node::statx(directory, path, status, real) }
}

/// Names the node.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn realpath(path: *const c_char, room: *mut c_char) -> *mut c_char {
    // SAFETY: the caller's own arguments.
    unsafe { node::realpath(path, room, || next::realpath(path, room)) }
}

/// Names the node.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __realpath_chk(path: *const c_char, room: *mut c_char, size: usize) -> *mut c_char {
    // SAFETY: the caller's own arguments. The real function has ended the program if there is less room than needed.
    unsafe { node::realpath(path, room, || next::__realpath_chk(path, room, size)) }
}

/// Names the node.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn canonicalize_file_name(path: *const c_char) -> *mut c_char {
    // SAFETY: the caller's own argument.
    unsafe { node::realpath(path, core::ptr::null_mut(), || next::canonicalize_file_name(path)) }
}

macro_rules! finding_paths {
    ($($name:ident;)*) => {
        $(
            /// Finds the node by its path.
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $name(
                pattern: *const c_char,
                flags: c_int,
                on_error: *const c_void,
                found: *mut c_void,
            ) -> c_int {
                // SAFETY: the caller's own arguments.
                unsafe { node::glob(pattern, flags, |flags| next::$name(pattern, flags, on_error, found)) }
            }
        )*
    };
}

finding_paths! {
    glob;
    glob64;
}
