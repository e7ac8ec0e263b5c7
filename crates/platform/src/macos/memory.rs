// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shared memory: unlinked POSIX shared memory objects.
//!
//! # XNU's behaviour
//! * A name has at most 31 characters. The size of an object can be set once, and is rounded up to pages; before that
//!   the object cannot be mapped. Its descriptor is close-on-exec.
//! * It is not a file: `fstat` gives a mode without a type, no device and no inode; it cannot be read, sought or
//!   locked, and opening `/dev/fd` only duplicates the descriptor.
//! * It keeps the name with which it was created, which every process can query: if random enough, this is its
//!   identity. (Whoever has such an object can create another one with its name. Then two objects have one identity, but only for
//!   those who take a descriptor from that process.)
//! * It can only be mapped with `MAP_SHARED`.

use std::ffi::{CStr, CString};
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;

use super::MacOs;
use super::calls::{self, SHM_NAME_MAX};
use super::planted::{Bug, planted};
use crate::memory::{FileId, Locks, SharedMemory, map_at_once};
use crate::protection::page_size;

/// How often a new name is tried.
const ATTEMPTS: u32 = 16;

impl SharedMemory for MacOs {
    fn create(_name: &CStr, length: u64) -> io::Result<OwnedFd> {
        let mut last = io::ErrorKind::AlreadyExists.into();
        for _ in 0..ATTEMPTS {
            let name = new_name()?;
            match calls::shm_create(&name) {
                Ok(fd) => {
                    calls::shm_unlink(&name);
                    if planted(Bug::SizeInTwoSteps) {
                        calls::set_size_once(&fd, 1)?;
                    }
                    calls::set_size_once(&fd, length)?;
                    return Ok(fd);
                }
                Err(error) if error.raw_os_error() == Some(libc::EEXIST) => last = error,
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }

    fn regular_file(fd: BorrowedFd<'_>) -> io::Result<Option<FileId>> {
        match calls::shm_name(fd) {
            Ok(_) if planted(Bug::IdentityFromStatus) => Ok(Some(FileId { device: 0, inode: 0 })),
            Ok(name) => Ok(Some(identity(&name))),
            // Something else, which is no error.
            Err(libc::EBADF) => calls::size(fd).map(|_| None),
            Err(error) => Err(io::Error::from_raw_os_error(error)),
        }
    }

    /// An object whose size is set keeps it. A file has no seals.
    fn cannot_shrink(fd: BorrowedFd<'_>) -> bool {
        calls::shm_name(fd).is_ok() && calls::size(fd).is_ok_and(|size| size > 0)
    }

    fn cannot_fault(fd: BorrowedFd<'_>) -> bool {
        Self::cannot_shrink(fd)
    }

    fn size(fd: BorrowedFd<'_>) -> io::Result<u64> {
        calls::size(fd)
    }

    fn read_start(fd: BorrowedFd<'_>, bytes: &mut [u8]) -> io::Result<usize> {
        let length = bytes.len().min(usize::try_from(calls::size(fd)?).unwrap_or(usize::MAX));
        if length == 0 {
            return Ok(0);
        }
        if !Self::cannot_shrink(fd) || planted(Bug::ReadAsAFile) {
            // SAFETY: the buffer is valid for its whole length.
            let read = unsafe { libc::pread(fd.as_raw_fd(), bytes.as_mut_ptr().cast(), bytes.len(), 0) };
            return usize::try_from(read).map_err(|_| io::Error::last_os_error());
        }
        let mapped = length.next_multiple_of(page_size());
        let base = map_at_once(mapped, libc::PROT_READ, libc::MAP_SHARED, fd.as_raw_fd())?;
        for (offset, byte) in bytes[..length].iter_mut().enumerate() {
            // SAFETY: within the mapping, which cannot fault.
            *byte = unsafe { crate::atomic::load_foreign(base.as_ptr() as usize + offset, 1) } as u8;
        }
        // SAFETY: mapped just now, and nobody knows of it.
        unsafe { libc::munmap(base.as_ptr().cast(), mapped) };
        Ok(length)
    }

    fn map(length: usize, access: libc::c_int, flags: libc::c_int, fd: libc::c_int) -> io::Result<NonNull<u8>> {
        map_at_once(length, access, flags, fd)
    }

    /// XNU provides promised memory, or kills the process.
    unsafe fn provide(_start: NonNull<u8>, _length: usize) -> io::Result<()> {
        Ok(())
    }

    /// Memory of a shared object cannot be freed, so this fills it with zeros.
    unsafe fn discard(start: NonNull<u8>, length: usize) -> io::Result<()> {
        // SAFETY: the caller's promise.
        unsafe { start.as_ptr().write_bytes(0, length) };
        Ok(())
    }

    /// The same object, through another descriptor.
    fn to_read(fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
        fd.try_clone_to_owned()
    }

    /// XNU does not say which pages have memory.
    fn parts(_fd: BorrowedFd<'_>, length: u64) -> io::Result<Vec<Range<u64>>> {
        Ok(core::iter::once(0..length).collect())
    }
}

/// For files; an object has no locks.
impl Locks for MacOs {
    fn hold(fd: BorrowedFd<'_>, byte: u64) -> io::Result<()> {
        calls::lock(fd, libc::F_RDLCK.into(), byte)
    }

    fn hold_alone(fd: BorrowedFd<'_>, byte: u64) -> io::Result<bool> {
        match calls::lock(fd, libc::F_WRLCK.into(), byte) {
            Ok(()) => Ok(true),
            Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn let_go(fd: BorrowedFd<'_>, byte: u64) -> io::Result<()> {
        calls::lock(fd, libc::F_UNLCK.into(), byte)
    }

    fn is_held(fd: BorrowedFd<'_>, byte: u64, count: u32) -> io::Result<bool> {
        calls::is_locked(fd, byte, count)
    }
}

/// A name that nobody has used since the system was started: the process, and 64 random bits.
fn new_name() -> io::Result<CString> {
    let mut random = [0u8; 8];
    // SAFETY: a place of this length.
    if unsafe { libc::getentropy(random.as_mut_ptr().cast(), random.len()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let name = format!("/ntux.{:08x}.{:016x}", std::process::id(), u64::from_ne_bytes(random));
    debug_assert_eq!(name.len(), SHM_NAME_MAX);
    Ok(CString::new(if planted(Bug::LongNames) { name + "x" } else { name })?)
}

/// 128 bits for a name, by the hash of Fowler, Noll and Vo from two starts.
fn identity(name: &[u8]) -> FileId {
    let hash = |start: u64| {
        let bytes = name.iter().take_while(|&&byte| byte != 0);
        bytes.fold(start, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
    };
    FileId { device: hash(0xcbf2_9ce4_8422_2325), inode: hash(0x9e37_79b9_7f4a_7c15) }
}
