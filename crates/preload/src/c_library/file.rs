// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files that this library opens for itself. Nothing here allocates or takes a lock, because it also runs in children of `vfork`.

use super::next;
use core::ffi::{CStr, c_int};
use core::mem::{MaybeUninit, size_of};
use ntux_platform::path::Path;

/// Types that have only integer fields, so every bit pattern is a value.
///
/// # Safety
/// The implementor promises exactly that.
pub(crate) unsafe trait Numbers {}
// SAFETY: integers only.
unsafe impl Numbers for libc::Elf64_Ehdr {}
// SAFETY: integers only.
unsafe impl Numbers for libc::Elf64_Phdr {}
// SAFETY: integers only.
unsafe impl Numbers for libc::Elf64_Shdr {}

/// A file that is open while this exists.
pub(crate) struct File(c_int);

impl File {
    pub(crate) fn open(path: &CStr) -> Option<File> {
        File::open_at(libc::AT_FDCWD, path)
    }

    pub(crate) fn open_at(directory: c_int, path: &CStr) -> Option<File> {
        File::open_with(directory, path, libc::O_NONBLOCK)
    }

    pub(crate) fn open_directory(path: &CStr) -> Option<File> {
        File::open_with(libc::AT_FDCWD, path, libc::O_DIRECTORY)
    }

    /// The first of these that is there: parts of this thread's own entry in /proc.
    pub(crate) fn open_own(mut paths: impl Iterator<Item = Path>) -> Option<File> {
        paths.find_map(|path| File::open(path.text()))
    }

    fn open_with(directory: c_int, path: &CStr, flags: c_int) -> Option<File> {
        // SAFETY: a string that ends with a zero.
        File::of(unsafe { next::openat(directory, path.as_ptr(), flags | libc::O_RDONLY | libc::O_CLOEXEC, 0) })
    }

    /// From the result of a call that opens something.
    pub(crate) fn of(fd: c_int) -> Option<File> {
        (fd >= 0).then_some(File(fd))
    }

    /// True of an executable file.
    pub(crate) fn may_be_executed(&self) -> bool {
        self.status()
            .is_some_and(|status| status.st_mode & libc::S_IFMT == libc::S_IFREG && status.st_mode & 0o111 != 0)
    }

    /// True of a file that is read without waiting.
    #[cfg(not(target_env = "musl"))]
    pub(crate) fn is_regular(&self) -> bool {
        self.status().is_some_and(|status| status.st_mode & libc::S_IFMT == libc::S_IFREG)
    }

    pub(crate) fn status(&self) -> Option<libc::stat> {
        let mut status = MaybeUninit::<libc::stat>::uninit();
        // SAFETY: a place for the answer, which is there if the call succeeded.
        unsafe { (libc::fstat(self.0, status.as_mut_ptr()) == 0).then(|| status.assume_init()) }
    }

    pub(crate) fn number(&self) -> c_int {
        self.0
    }

    /// The bytes from here on, as many as fit; none at the end.
    pub(crate) fn read<'a>(&self, room: &'a mut [u8]) -> Option<&'a [u8]> {
        // SAFETY: a buffer of the given length.
        let length = unsafe { libc::read(self.0, room.as_mut_ptr().cast(), room.len()) };
        usize::try_from(length).ok().filter(|length| *length > 0).map(|length| &room[..length])
    }

    /// The value that stands at this place, or none if the file ends before its end.
    pub(crate) fn read_at<T: Numbers>(&self, offset: u64) -> Option<T> {
        let mut value = MaybeUninit::<T>::uninit();
        // SAFETY: as many bytes as there is room for.
        let length = unsafe { libc::pread(self.0, value.as_mut_ptr().cast(), size_of::<T>(), offset as libc::off_t) };
        // SAFETY: all of it was read, and every bit pattern is a value.
        (length == size_of::<T>() as isize).then(|| unsafe { value.assume_init() })
    }

    /// The bytes at this place, as many as fit and as there are.
    #[cfg(not(target_env = "musl"))]
    pub(crate) fn read_part<'a>(&self, offset: u64, room: &'a mut [u8]) -> &'a [u8] {
        // SAFETY: a buffer of the given length.
        let length = unsafe { libc::pread(self.0, room.as_mut_ptr().cast(), room.len(), offset as libc::off_t) };
        &room[..usize::try_from(length).unwrap_or(0)]
    }

    pub(crate) fn read_at_most(&self, offset: u64, length: usize) -> [u8; 64] {
        let mut room = [0; 64];
        // SAFETY: no more bytes than there is room for.
        unsafe { libc::pread(self.0, room.as_mut_ptr().cast(), length.min(64), offset as libc::off_t) };
        room
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: this value's own descriptor.
        unsafe { next::close(self.0) };
    }
}

/// Concatenates these bytes to a string; none if they do not fit.
pub(crate) fn join<'a>(room: &'a mut [u8], parts: [&[u8]; 4]) -> Option<&'a CStr> {
    let mut length = 0;
    for part in parts {
        room.get_mut(length..length + part.len())?.copy_from_slice(part);
        length += part.len();
    }
    *room.get_mut(length)? = 0;
    CStr::from_bytes_until_nul(room).ok()
}
