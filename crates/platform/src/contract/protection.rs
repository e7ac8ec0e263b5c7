// SPDX-License-Identifier: MIT OR Apache-2.0
//! Address space, and the protection of its pages.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use crate::Here;
use crate::atomic::Word64;

/// The protection of a page.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Protection {
    /// Loads succeed.
    pub read: bool,
    /// Stores succeed.
    pub write: bool,
    /// Instructions can be fetched.
    pub execute: bool,
}

impl Protection {
    /// Nothing.
    pub const NONE: Protection = Protection { read: false, write: false, execute: false };
    /// Loads.
    pub const READ: Protection = Protection { read: true, write: false, execute: false };
    /// Loads and stores.
    pub const READ_WRITE: Protection = Protection { read: true, write: true, execute: false };

    fn bits(self) -> libc::c_int {
        let bit = |allowed, bit| if allowed { bit } else { 0 };
        bit(self.read, libc::PROT_READ) | bit(self.write, libc::PROT_WRITE) | bit(self.execute, libc::PROT_EXEC)
    }
}

/// What a system must provide beyond POSIX.
pub trait Pages {
    /// Implements [`inherit`].
    fn inherit(start: usize, length: usize, is_inherited: bool) -> io::Result<()>;
    /// Returns whether stores to these whole pages would succeed; if so, makes them present (macOS does when they are
    /// written). False also if the kernel cannot tell.
    fn populate_for_writing(start: usize, length: usize) -> bool;
    /// Implements [`discard`].
    ///
    /// # Safety
    /// The contract is that function's.
    unsafe fn empty(start: usize, length: usize) -> io::Result<()>;
    /// Makes these pages of private memory zero in every forked child, however it is forked. Returns false if that is
    /// impossible.
    fn wipe_on_fork(start: usize, length: usize) -> bool;
}

/// Bytes in a page. The C library is asked once: in a forked child, each of its pages that is used first takes a microsecond.
pub fn page_size() -> usize {
    static SIZE: Word64 = Word64::new(0);
    let known = SIZE.load();
    if known != 0 {
        return known as usize;
    }
    // SAFETY: a call without pointers.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    let size = usize::try_from(size).unwrap_or(4096);
    SIZE.store(size as u64);
    size
}

/// Maps new private memory of `length` zero bytes at an address of the kernel's choice. It takes memory when it is
/// written.
pub fn allocate(length: usize, protection: Protection) -> io::Result<usize> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a fresh mapping at an address of the kernel's choice replaces nothing.
    let base = unsafe { libc::mmap(core::ptr::null_mut(), length, protection.bits(), flags, -1, 0) };
    if base == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(base as usize) }
}

/// Maps fresh private memory over a range: zeros, which nobody may access.
///
/// # Safety
/// The range is the caller's, and nobody relies on what was there.
pub unsafe fn renew(start: usize, length: usize) -> io::Result<()> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
    // SAFETY: the caller's promise.
    mapped(unsafe { libc::mmap(start as *mut libc::c_void, length, libc::PROT_NONE, flags, -1, 0) })
}

/// Maps a file privately, from its first byte on, over a range, which nobody may access.
///
/// # Safety
/// The contract is that of [`renew`].
pub unsafe fn put_file_over(start: usize, length: usize, file: BorrowedFd<'_>) -> io::Result<()> {
    let flags = libc::MAP_PRIVATE | libc::MAP_NORESERVE | libc::MAP_FIXED;
    // SAFETY: the caller's promise.
    mapped(unsafe { libc::mmap(start as *mut libc::c_void, length, libc::PROT_NONE, flags, file.as_raw_fd(), 0) })
}

/// Sets whether a child of fork gets the memory of a range. If not, nothing is mapped there in the child.
pub fn inherit(start: usize, length: usize, is_inherited: bool) -> io::Result<()> {
    Here::inherit(start, length, is_inherited)
}

/// Unmaps address space.
///
/// # Safety
/// The range is the caller's, and nothing refers to it any more.
pub unsafe fn free(start: usize, length: usize) -> io::Result<()> {
    // SAFETY: the caller's promise.
    done(unsafe { libc::munmap(start as *mut libc::c_void, length) })
}

/// Sets the protection of the pages of a range. Async-signal-safe. Fails with `ENOMEM` if the process has the most
/// mappings allowed.
///
/// # Safety
/// References into the range are used only as `protection` allows.
pub unsafe fn protect(start: usize, length: usize, protection: Protection) -> io::Result<()> {
    // SAFETY: the call changes no contents; the rest is the caller's promise.
    done(unsafe { libc::mprotect(start as *mut libc::c_void, length, protection.bits()) })
}

/// Frees the memory of a private range. It contains zeros afterwards, and perhaps nobody may access it (macOS).
///
/// # Safety
/// Nobody relies on the contents.
pub unsafe fn discard(start: usize, length: usize) -> io::Result<()> {
    // SAFETY: the caller's promise.
    unsafe { Here::empty(start, length) }
}

/// Returns whether a store to this page would succeed now; if so, makes it present, and changes nothing else. False if
/// the kernel cannot tell (before Linux 5.14). Async-signal-safe.
pub fn is_writable_now(page: usize) -> bool {
    are_writable_now(page, page_size()) == Some(true)
}

/// Returns whether stores to these whole pages would succeed now; none if the kernel cannot tell. If so, makes them
/// present, and changes nothing else. Async-signal-safe.
pub fn are_writable_now(start: usize, length: usize) -> Option<bool> {
    if Here::populate_for_writing(start, length) {
        return Some(true);
    }
    // Protected pages and a kernel that does not know the advice give the same error; a try on our own stack tells
    // which.
    let local = 0u8;
    let own = core::ptr::from_ref(&local) as usize & !(page_size() - 1);
    Here::populate_for_writing(own, page_size()).then_some(false)
}

fn mapped(base: *mut libc::c_void) -> io::Result<()> {
    if base == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(()) }
}

pub(crate) fn done(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
