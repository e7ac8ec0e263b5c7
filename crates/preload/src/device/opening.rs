// SPDX-License-Identifier: MIT OR Apache-2.0
//! Opening the device.
//!
//! The real `open` runs first. Its result says whether the path could be read at all, so the kernel refuses a bad
//! pointer, and an open of any other file costs only a check of the end of its path. Only then, if the path means the
//! device and the user does not want the kernel's, this creates an arena and returns its descriptor instead.
//!
//! An open with `O_CREAT` or `O_PATH` is left to the kernel.

use super::path::is_name;
use super::refusals::explain;
use super::serving::is_ours;
use super::summary;
use super::using::begin_use;
use crate::c_library::cancellation::without_cancellation;
use crate::c_library::next::{self, How};
use crate::c_library::{errno, fail};
use crate::descriptors::{self, Known, What};
use crate::instances::{self, traced};
use crate::thread::{self, Record, actions};
use core::ffi::{CStr, c_char, c_int};
use ntux_platform::interposition::own_stack::on_own_stack;
use ntux_sync::{Arena, Capacity};
use std::os::fd::{AsFd, AsRawFd, IntoRawFd, OwnedFd};

/// An `open` of the program: the real one first, then ours if the path means the device.
///
/// # Safety
/// `path` is what `real` passes to the real function.
#[inline(always)]
pub(crate) unsafe fn open(directory: c_int, path: *const c_char, flags: c_int, real: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: this thread's own error number.
    let error_before = unsafe { *errno() };
    let result = real();
    if flags & (libc::O_CREAT | libc::O_PATH) != 0 || !has_looked(result) {
        return result;
    }
    // SAFETY: the kernel has looked the path up, so it is a readable string.
    let path = unsafe { CStr::from_ptr(path) }.to_bytes();
    if !is_name(path) || !is_ours(result, directory, path, flags & libc::O_NOFOLLOW == 0) {
        return result;
    }
    replace(result, flags, error_before)
}

/// True if the kernel opened the file, or found nothing that it could open. Any other error is the kernel's to report.
#[inline(always)]
fn has_looked(result: c_int) -> bool {
    // SAFETY: this thread's own error number.
    let error = || unsafe { *errno() };
    result >= 0 || matches!(error(), libc::ENOENT | libc::ENXIO | libc::ENODEV | libc::EACCES | libc::EPERM)
}

/// An `openat2` of the program: the real one first, then ours if the path means the device.
///
/// # Safety
/// `path` and `how` are what `real` passes to the real function.
pub(crate) unsafe fn open_how(
    directory: c_int,
    path: *const c_char,
    how: *const How,
    real: impl FnOnce() -> c_int,
) -> c_int {
    const NO_SYMLINKS: u64 = 4;
    const IN_ROOT: u64 = 16;
    // SAFETY: this thread's own error number.
    let error_before = unsafe { *errno() };
    let result = real();
    if !has_looked(result) {
        return result;
    }
    // SAFETY: the kernel has read both and looked the path up.
    let (how, path) = unsafe { (&*how, CStr::from_ptr(path).to_bytes()) };
    let flags = how.flags as c_int;
    let left_alone = flags & (libc::O_CREAT | libc::O_PATH) != 0 || how.resolve & IN_ROOT != 0;
    let follow = flags & libc::O_NOFOLLOW == 0 && how.resolve & NO_SYMLINKS == 0;
    if left_alone || !is_name(path) || !is_ours(result, directory, path, follow) {
        return result;
    }
    replace(result, flags, error_before)
}

/// Opens an instance in place of the file that the real function opened, if it did.
#[cold]
fn replace(result: c_int, flags: c_int, error_before: c_int) -> c_int {
    if result >= 0 {
        // SAFETY: the descriptor that the real function made for this very call.
        unsafe { next::close(result) };
    }
    let open = || {
        let opened = if flags & libc::O_DIRECTORY != 0 { Err(libc::ENOTDIR) } else { new_instance(flags) };
        opened.inspect_err(|error| explain(*error))
    };
    match on_own_stack(open).unwrap_or(Err(libc::EIO)) {
        Ok(fd) => {
            // SAFETY: this thread's own error number.
            unsafe { *errno() = error_before };
            fd
        }
        Err(error) => fail(error),
    }
}

/// Creates an instance and returns its descriptor, or an error number.
fn new_instance(flags: c_int) -> Result<c_int, c_int> {
    if !actions::active() {
        begin_use();
    }
    let record = thread::enter().ok_or(libc::ENOMEM)?;
    let result = without_cancellation(|| create(record, flags));
    let _ = thread::leave(record);
    result
}

fn create(record: &Record, flags: c_int) -> Result<c_int, c_int> {
    instances::collect(record, descriptors::any_of);
    let fd = Arena::create_file(Capacity::default()).map_err(|error| error.errno())?;
    let arena = Arena::map_for_descriptors(fd.as_fd()).map_err(|error| error.errno())?;
    match arena.can_make_descriptors(fd.as_fd()).map_err(|error| error.errno()) {
        // An object may find a free descriptor later.
        Ok(()) | Err(libc::EMFILE | libc::ENFILE) => {}
        Err(error) => return Err(error),
    }
    traced::made(&arena, fd.as_fd());
    set_close_on_exec(&fd, flags & libc::O_CLOEXEC != 0);
    let tag = instances::find_or_add(arena.file(), || Ok(arena)).map_err(|why| why.errno())?;
    let (_, seen) = descriptors::look_up(fd.as_raw_fd());
    descriptors::remember(fd.as_raw_fd(), seen, Known { tag, what: What::Device });
    summary::opened(false);
    Ok(fd.into_raw_fd())
}

fn set_close_on_exec(fd: &OwnedFd, wanted: bool) {
    let flags = if wanted { libc::FD_CLOEXEC } else { 0 };
    // SAFETY: a descriptor that is open.
    unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFD, flags) };
}
