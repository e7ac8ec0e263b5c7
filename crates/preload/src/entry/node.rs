// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shows the node to programs that only look.

use crate::c_library::next;
use crate::device::node;
use core::ffi::{c_char, c_int, c_uint, c_void};
use libc::{AT_FDCWD, stat as Status};

interposed! {
    in ".text.ntux_start";
    // It says that the node exists.
    fn access(path: *const c_char, mode: c_int) -> c_int => |real| node::access(AT_FDCWD, path, mode, real);
    // They describe the node. (Old programs say which version of the structure they know.)
    fn stat(path: *const c_char, status: *mut Status) -> c_int => |real| node::stat(AT_FDCWD, path, status, real);
    fn stat64(path: *const c_char, status: *mut Status) -> c_int => |real| node::stat(AT_FDCWD, path, status, real);
    fn lstat(path: *const c_char, status: *mut Status) -> c_int => |real| node::stat(AT_FDCWD, path, status, real);
    fn lstat64(path: *const c_char, status: *mut Status) -> c_int => |real| node::stat(AT_FDCWD, path, status, real);
    fn __xstat(version: c_int, path: *const c_char, status: *mut Status) -> c_int => |real| {
        node::stat(AT_FDCWD, path, status, real)
    };
    fn __xstat64(version: c_int, path: *const c_char, status: *mut Status) -> c_int => |real| {
        node::stat(AT_FDCWD, path, status, real)
    };
    fn __lxstat(version: c_int, path: *const c_char, status: *mut Status) -> c_int => |real| {
        node::stat(AT_FDCWD, path, status, real)
    };
    fn __lxstat64(version: c_int, path: *const c_char, status: *mut Status) -> c_int => |real| {
        node::stat(AT_FDCWD, path, status, real)
    };
    // They describe a descriptor of ours like the driver's.
    fn fstat(fd: c_int, status: *mut Status) -> c_int => |real| node::fstat(fd, status, real);
    fn fstat64(fd: c_int, status: *mut Status) -> c_int => |real| node::fstat(fd, status, real);
    fn __fxstat(version: c_int, fd: c_int, status: *mut Status) -> c_int => |real| node::fstat(fd, status, real);
    fn __fxstat64(version: c_int, fd: c_int, status: *mut Status) -> c_int => |real| node::fstat(fd, status, real);
}

interposed! {
    // They say that the node exists.
    fn faccessat(directory: c_int, path: *const c_char, mode: c_int, flags: c_int) -> c_int => |real| {
        node::access(directory, path, mode, real)
    };
    fn eaccess(path: *const c_char, mode: c_int) -> c_int => |real| node::access(AT_FDCWD, path, mode, real);
    fn euidaccess(path: *const c_char, mode: c_int) -> c_int => |real| node::access(AT_FDCWD, path, mode, real);
    // They describe the node.
    fn fstatat(directory: c_int, path: *const c_char, status: *mut Status, flags: c_int) -> c_int => |real| {
        node::stat_in(directory, path, status, real)
    };
    fn fstatat64(directory: c_int, path: *const c_char, status: *mut Status, flags: c_int) -> c_int => |real| {
        node::stat_in(directory, path, status, real)
    };
    fn __fxstatat(version: c_int, directory: c_int, path: *const c_char, status: *mut Status, flags: c_int) -> c_int => |real| {
        node::stat_in(directory, path, status, real)
    };
    fn __fxstatat64(version: c_int, directory: c_int, path: *const c_char, status: *mut Status, flags: c_int) -> c_int => |real| {
        node::stat_in(directory, path, status, real)
    };
    fn statx(directory: c_int, path: *const c_char, flags: c_int, mask: c_uint, status: *mut libc::statx) -> c_int => |real| {
        node::statx(directory, path, status, real)
    };
    // They name the node. (The real function of the second has ended the program if there is less room than needed.)
    fn realpath(path: *const c_char, room: *mut c_char) -> *mut c_char => |real| node::realpath(path, room, real);
    fn __realpath_chk(path: *const c_char, room: *mut c_char, size: usize) -> *mut c_char => |real| {
        node::realpath(path, room, real)
    };
    fn canonicalize_file_name(path: *const c_char) -> *mut c_char => |real| {
        node::realpath(path, core::ptr::null_mut(), real)
    };
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
