// SPDX-License-Identifier: MIT OR Apache-2.0
//! The C library's functions on which this library interposes. The real function always runs first, and its result is
//! returned. Only then does this library check whether the call concerns it.
//!
//! The frames here may be unwound (a cancelled `read`), so they have no destructors.

use crate::{descriptors, introduction, next, soft_dirty, streams};
use core::ffi::{c_char, c_int, c_void};
use libc::{FILE, mode_t, off_t, size_t, ssize_t};
use ntux_platform::interposition::objects::{Visit, iterate};
use ntux_platform::keeping_errno;

/// Runs when the library is loaded.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = start;

extern "C" fn start() {
    next::resolve();
    soft_dirty::start();
    introduction::begin();
}

/// Runs when the program exits normally.
#[used]
#[unsafe(link_section = ".fini_array")]
static AT_EXIT: extern "C" fn() = introduction::end;

/// Tells a sanitizer's runtime of this library last.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn dl_iterate_phdr(visit: Visit, data: *mut c_void) -> c_int {
    // SAFETY: the caller's own arguments.
    unsafe { iterate(visit, data) }
}

macro_rules! making_a_descriptor {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {
        $(
            /// Forgets the descriptor's number, which is reused.
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $name($($argument: $type),*) -> c_int {
                // SAFETY: the caller's own arguments.
                let fd = unsafe { next::$name($($argument),*) };
                descriptors::forget(fd);
                fd
            }
        )*
    };
}

making_a_descriptor! {
    open(path: *const c_char, flags: c_int, mode: mode_t);
    open64(path: *const c_char, flags: c_int, mode: mode_t);
    openat(directory: c_int, path: *const c_char, flags: c_int, mode: mode_t);
    openat64(directory: c_int, path: *const c_char, flags: c_int, mode: mode_t);
    __open_2(path: *const c_char, flags: c_int);
    __open64_2(path: *const c_char, flags: c_int);
    __openat_2(directory: c_int, path: *const c_char, flags: c_int);
    __openat64_2(directory: c_int, path: *const c_char, flags: c_int);
    dup(old: c_int);
    dup2(old: c_int, new: c_int);
    dup3(old: c_int, new: c_int, flags: c_int);
}

macro_rules! making_a_stream {
    ($($name:ident;)*) => {
        $(
            /// Forgets the number of the stream's descriptor, because C++ streams read it with `read`.
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $name(path: *const c_char, mode: *const c_char) -> *mut FILE {
                // SAFETY: the caller's own arguments.
                let stream = unsafe { next::$name(path, mode) };
                if !stream.is_null() {
                    // SAFETY: a stream that was opened just now.
                    descriptors::forget(unsafe { libc::fileno(stream) });
                }
                stream
            }
        )*
    };
}

making_a_stream! {
    fopen;
    fopen64;
}

macro_rules! reading_a_stream {
    ($($name:ident($($room:ident)?);)*) => {
        $(
            /// Fills in soft-dirty bits, if what was read is a page map.
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $name(
                buffer: *mut c_void,
                $($room: size_t,)?
                size: size_t,
                count: size_t,
                stream: *mut FILE,
            ) -> size_t {
                // SAFETY: the caller's own stream.
                let reading = unsafe { streams::reading(stream) };
                // SAFETY: the caller's own arguments.
                let items = unsafe { next::$name(buffer, $($room,)? size, count, stream) };
                if let Some(reading) = reading {
                    // SAFETY: the real function has just filled in as many items.
                    unsafe { streams::after_read(reading, buffer.cast(), items * size) };
                }
                items
            }
        )*
    };
}

reading_a_stream! {
    fread();
    fread_unlocked();
    __fread_chk(room);
    __fread_unlocked_chk(room);
}

macro_rules! writing_a_stream_out {
    ($($name:ident;)*) => {
        $(
            /// Clears soft-dirty bits, if that is what is written.
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $name(stream: *mut FILE) -> c_int {
                // SAFETY: the caller's own stream.
                let will_clear = unsafe { streams::will_clear(stream) };
                // SAFETY: as above.
                let result = unsafe { next::$name(stream) };
                if will_clear && result == 0 {
                    keeping_errno(soft_dirty::clear);
                }
                result
            }
        )*
    };
}

writing_a_stream_out! {
    fflush;
    fclose;
}

macro_rules! descriptor_control {
    ($($name:ident;)*) => {
        $(
            /// Forgets the number of the copy.
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $name(fd: c_int, command: c_int, argument: usize) -> c_int {
                // SAFETY: the caller's own arguments.
                let result = unsafe { next::$name(fd, command, argument) };
                if matches!(command, libc::F_DUPFD | libc::F_DUPFD_CLOEXEC) {
                    descriptors::forget(result);
                }
                result
            }
        )*
    };
}

descriptor_control! {
    fcntl;
    fcntl64;
}

/// Forgets the number, which is closed.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn close(fd: c_int) -> c_int {
    descriptors::forget(fd);
    // SAFETY: the caller's own argument.
    unsafe { next::close(fd) }
}

macro_rules! reading {
    ($($name:ident($($offset:ident)?; $($room:ident)?);)*) => {
        $(
            /// Fills in soft-dirty bits, if what was read is a page map.
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $name(
                fd: c_int,
                buffer: *mut c_void,
                length: size_t
                $(, $offset: off_t)?
                $(, $room: size_t)?
            ) -> ssize_t {
                // SAFETY: the caller's own arguments.
                let read = unsafe { next::$name(fd, buffer, length $(, $offset)? $(, $room)?) };
                #[allow(unused_mut, unused_assignments, reason = "by whether there is an offset")]
                let mut from = None;
                $(from = Some($offset);)?
                // SAFETY: the kernel has just filled in as many bytes.
                unsafe { soft_dirty::after_read(fd, buffer.cast(), read, from) };
                read
            }
        )*
    };
}

reading! {
    read(;);
    pread(offset;);
    pread64(offset;);
    __read_chk(;room);
    __pread_chk(offset; room);
    __pread64_chk(offset; room);
}

macro_rules! writing {
    ($($name:ident($($offset:ident)?);)*) => {
        $(
            /// Clears soft-dirty bits, if that is what is written.
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $name(
                fd: c_int,
                buffer: *const c_void,
                length: size_t
                $(, $offset: off_t)?
            ) -> ssize_t {
                // SAFETY: the caller's own arguments.
                let written = unsafe { next::$name(fd, buffer, length $(, $offset)?) };
                // SAFETY: the kernel has just read as many bytes.
                unsafe { soft_dirty::after_write(fd, buffer.cast(), written) };
                written
            }
        )*
    };
}

writing! {
    write();
    pwrite(offset);
    pwrite64(offset);
}
