// SPDX-License-Identifier: MIT OR Apache-2.0
//! The real functions behind those of [`crate::entry`]. A function that the C library lacks fails with `ENOSYS`.

use libc::{FILE, c_char, c_int, c_void, mode_t, off_t, size_t, ssize_t};

ntux_platform::next_functions! {
    fn open(path: *const c_char, flags: c_int, mode: mode_t);
    fn open64(path: *const c_char, flags: c_int, mode: mode_t);
    fn openat(directory: c_int, path: *const c_char, flags: c_int, mode: mode_t);
    fn openat64(directory: c_int, path: *const c_char, flags: c_int, mode: mode_t);
    fn __open_2(path: *const c_char, flags: c_int);
    fn __open64_2(path: *const c_char, flags: c_int);
    fn __openat_2(directory: c_int, path: *const c_char, flags: c_int);
    fn __openat64_2(directory: c_int, path: *const c_char, flags: c_int);
    fn fopen(path: *const c_char, mode: *const c_char) -> *mut FILE;
    fn fopen64(path: *const c_char, mode: *const c_char) -> *mut FILE;
    fn fread(buffer: *mut c_void, size: size_t, count: size_t, stream: *mut FILE) -> size_t;
    fn fread_unlocked(buffer: *mut c_void, size: size_t, count: size_t, stream: *mut FILE) -> size_t;
    fn __fread_chk(buffer: *mut c_void, room: size_t, size: size_t, count: size_t, stream: *mut FILE) -> size_t;
    fn __fread_unlocked_chk(buffer: *mut c_void, room: size_t, size: size_t, count: size_t, stream: *mut FILE) -> size_t;
    fn fflush(stream: *mut FILE);
    fn fclose(stream: *mut FILE);
    fn close(fd: c_int);
    fn dup(old: c_int);
    fn dup2(old: c_int, new: c_int);
    fn dup3(old: c_int, new: c_int, flags: c_int);
    fn fcntl(fd: c_int, command: c_int, argument: usize);
    fn fcntl64(fd: c_int, command: c_int, argument: usize);
    fn read(fd: c_int, buffer: *mut c_void, length: size_t) -> ssize_t;
    fn pread(fd: c_int, buffer: *mut c_void, length: size_t, offset: off_t) -> ssize_t;
    fn pread64(fd: c_int, buffer: *mut c_void, length: size_t, offset: off_t) -> ssize_t;
    fn __read_chk(fd: c_int, buffer: *mut c_void, length: size_t, room: size_t) -> ssize_t;
    fn __pread_chk(fd: c_int, buffer: *mut c_void, length: size_t, offset: off_t, room: size_t) -> ssize_t;
    fn __pread64_chk(fd: c_int, buffer: *mut c_void, length: size_t, offset: off_t, room: size_t) -> ssize_t;
    fn write(fd: c_int, buffer: *const c_void, length: size_t) -> ssize_t;
    fn pwrite(fd: c_int, buffer: *const c_void, length: size_t, offset: off_t) -> ssize_t;
    fn pwrite64(fd: c_int, buffer: *const c_void, length: size_t, offset: off_t) -> ssize_t;
}
