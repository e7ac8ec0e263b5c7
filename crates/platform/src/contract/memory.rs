// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shared memory behind a descriptor: creation, sealing, mapping; and the offsets and locks of descriptors.

use std::ffi::CStr;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;

use super::protection::Pages;
use crate::Here;

/// The identity of a descriptor's file, which is the same in every process.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FileId {
    /// Device number.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
}

/// What a system must provide for shared memory.
pub trait SharedMemory {
    /// Implements [`create`].
    fn create(name: &CStr, length: u64) -> io::Result<OwnedFd>;
    /// Implements [`regular_file`].
    fn regular_file(fd: BorrowedFd<'_>) -> io::Result<Option<FileId>>;
    /// Implements [`cannot_shrink`].
    fn cannot_shrink(fd: BorrowedFd<'_>) -> bool;
    /// Implements [`cannot_fault`].
    fn cannot_fault(fd: BorrowedFd<'_>) -> bool;
    /// Implements [`size`].
    fn size(fd: BorrowedFd<'_>) -> io::Result<u64>;
    /// Implements [`read_start`].
    fn read_start(fd: BorrowedFd<'_>, bytes: &mut [u8]) -> io::Result<usize>;
    /// New memory, at an address of the system's choice; access, flags and descriptor are those of `mmap`.
    fn map(length: usize, access: libc::c_int, flags: libc::c_int, fd: libc::c_int) -> io::Result<NonNull<u8>>;
    /// Implements [`provide`].
    ///
    /// # Safety
    /// The contract is that function's.
    unsafe fn provide(start: NonNull<u8>, length: usize) -> io::Result<()>;
    /// Implements [`Mapping::discard`].
    ///
    /// # Safety
    /// The range is in a mapping that is accessed through raw pointers only.
    unsafe fn discard(start: NonNull<u8>, length: usize) -> io::Result<()>;
    /// A descriptor for [`ReadOnly`], which checks it.
    fn to_read(fd: BorrowedFd<'_>) -> io::Result<OwnedFd>;
    /// Implements [`ReadOnly::parts`] for such a descriptor.
    fn parts(fd: BorrowedFd<'_>, length: u64) -> io::Result<Vec<Range<u64>>>;
}

/// What a system must provide for locks of open file descriptions.
pub trait Locks {
    /// Implements [`hold`].
    fn hold(fd: BorrowedFd<'_>, byte: u64) -> io::Result<()>;
    /// Implements [`hold_alone`].
    fn hold_alone(fd: BorrowedFd<'_>, byte: u64) -> io::Result<bool>;
    /// Implements [`let_go`].
    fn let_go(fd: BorrowedFd<'_>, byte: u64) -> io::Result<()>;
    /// Implements [`is_held`].
    fn is_held(fd: BorrowedFd<'_>, byte: u64, count: u32) -> io::Result<bool>;
}

/// What a system may provide for descriptors that name a position in shared memory.
pub trait Descriptions {
    /// Does what [`reopen`] does, without the check.
    fn reopen(fd: BorrowedFd<'_>, caller: Caller) -> io::Result<OwnedFd>;
}

/// The thread that opens a descriptor again. Threads of a process can have different descriptors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Caller {
    /// The first thread of its process, which on Linux takes less time.
    FirstThread,
    /// Any thread.
    AnyThread,
}

/// A shared, writable mapping of a whole file. Unmapped on drop.
///
/// It is excluded from core dumps, for which the kernel would allocate every page, and an earlier `mlockall` does not
/// apply to it.
pub struct Mapping {
    base: NonNull<u8>,
    length: usize,
}

// SAFETY: a mapping is only an address range; what is read and written through it is up to the caller, who gets a raw
// pointer. Unmapping takes ownership.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `length` bytes of `fd`. Fails if the file is shorter, because touching bytes beyond its end would raise
    /// SIGBUS.
    pub fn new(fd: BorrowedFd<'_>, length: usize) -> io::Result<Mapping> {
        if length == 0 || size(fd)? < length as u64 {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        let base = Here::map(length, READ_AND_WRITE, libc::MAP_SHARED, fd.as_raw_fd())?;
        Ok(Mapping { base, length })
    }

    /// First byte; page-aligned.
    #[inline(always)]
    pub fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Length in bytes.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Allocates the memory of these bytes; see [`provide`].
    pub fn provide(&self, offset: usize, length: usize) -> io::Result<()> {
        if offset.checked_add(length).is_none_or(|end| end > self.length) {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        // SAFETY: the range lies in the mapping.
        unsafe { provide(self.base.add(offset), length) }
    }

    /// Frees the memory of whole pages of the file, which are then zero in every mapping.
    pub fn discard(&self, offset: usize, length: usize) -> io::Result<()> {
        if offset.checked_add(length).is_none_or(|end| end > self.length) {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        // SAFETY: the range lies in the mapping, whose contents are seen through raw pointers only.
        unsafe { Here::discard(self.base.add(offset), length) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range was mapped by `new` and nobody else unmaps it; the owner of the mapping is gone.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.length) };
    }
}

/// A shared read-only mapping of a whole file. Unmapped on drop.
///
/// If the system supports that, it has its own open file description, which is read-only, and whose offset and locks it
/// shares with nobody.
pub struct ReadOnly {
    mapping: Mapping,
    description: OwnedFd,
}

impl ReadOnly {
    /// Maps `length` bytes of `fd`, which is known to be of this file. Fails if the file is shorter.
    ///
    /// Errors: `EBADF` if the descriptor is of another file by now; those of opening the file again and of mapping it.
    pub fn new(fd: BorrowedFd<'_>, file: FileId, length: usize) -> io::Result<ReadOnly> {
        let description = if_of(file, Here::to_read(fd)?)?;
        if length == 0 || size(fd)? < length as u64 {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        let base = Here::map(length, libc::PROT_READ, libc::MAP_SHARED, description.as_raw_fd())?;
        Ok(ReadOnly { mapping: Mapping { base, length }, description })
    }

    /// First byte; page-aligned.
    pub fn base(&self) -> NonNull<u8> {
        self.mapping.base
    }

    /// Length in bytes.
    pub fn length(&self) -> usize {
        self.mapping.length
    }

    /// The parts of the file that have memory, in order. Reading other parts would allocate memory, on behalf of the
    /// file's users.
    pub fn parts(&self) -> io::Result<Vec<Range<u64>>> {
        Here::parts(self.description.as_fd(), self.mapping.length as u64)
    }
}

/// `length` zero bytes for this process, never unmapped, which are zero again in a forked child. None without memory,
/// or if the system cannot wipe (Linux before 4.14).
pub fn wiped_on_fork(length: usize) -> Option<NonNull<u8>> {
    if crate::without::Feature::WipeOnFork.is_left_out() {
        return None;
    }
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let base = Here::map(length, READ_AND_WRITE, flags, -1).ok()?;
    if !Here::wipe_on_fork(base.as_ptr() as usize, length) {
        // SAFETY: mapped just now, and nobody knows of it.
        unsafe { libc::munmap(base.as_ptr().cast(), length) };
        return None;
    }
    Some(base)
}

const READ_AND_WRITE: libc::c_int = libc::PROT_READ | libc::PROT_WRITE;

/// Allocates the memory of these bytes from `start` on, so that touching them never raises SIGBUS even if the system
/// has no more. (A shared file gets its memory page by page, at the first touch. Only Linux can run out of memory so:
/// with strict overcommit, and in a control group that must not be killed for its memory.)
///
/// Errors: `ENOMEM`.
///
/// # Safety
/// The range is mapped, readable and writable during the call, and is accessed only atomically.
pub unsafe fn provide(start: NonNull<u8>, length: usize) -> io::Result<()> {
    // SAFETY: the caller's promise.
    unsafe { Here::provide(start, length) }
}

/// Duplicates a descriptor to a high number, where programs meet it rarely: from three quarters of those that the process may have, and of
/// the first 1,024, on. It is closed when a program is executed.
///
/// Errors: those of the system; `EMFILE` if no number is left.
pub fn duplicate_high(fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    const FIRST: libc::rlim_t = 1024;
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a place for the answer.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } == 0;
    let most = if known { limit.rlim_cur.min(FIRST) } else { FIRST };
    let lowest = (most / 4 * 3) as libc::c_int;
    // SAFETY: fcntl with an integer argument on a borrowed, hence open, descriptor.
    let number = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, lowest) };
    // SAFETY: nobody else knows the new descriptor.
    if number < 0 { Err(io::Error::last_os_error()) } else { Ok(unsafe { OwnedFd::from_raw_fd(number) }) }
}

/// Returns whether this process may create a file of this length. (Otherwise the attempt raises a signal.)
pub fn may_have_file_of(length: u64) -> bool {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid place for the answer.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) } == 0;
    known && length <= limit.rlim_cur
}

/// Creates an anonymous shared file of `length` zero bytes, close-on-exec, whose size can never change, so a mapping of
/// it cannot fault. The name is for people who inspect the process, if the system shows it.
pub fn create(name: &CStr, length: u64) -> io::Result<OwnedFd> {
    Here::create(name, length)
}

/// Maps as `mmap` does, at an address of the system's choice.
pub(crate) fn map_at_once(
    length: usize,
    access: libc::c_int,
    flags: libc::c_int,
    fd: libc::c_int,
) -> io::Result<NonNull<u8>> {
    // SAFETY: a fresh mapping at an address of the kernel's choice replaces nothing.
    let base = unsafe { libc::mmap(core::ptr::null_mut(), length, access, flags, fd, 0) };
    match NonNull::new(base.cast::<u8>()) {
        Some(base) if base.as_ptr().cast() != libc::MAP_FAILED => Ok(base),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Converts the result of a call that creates a descriptor.
pub(crate) fn owned(fd: libc::c_int) -> io::Result<OwnedFd> {
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just given this descriptor to us, and to nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Returns whether a mapping of the file can never fault: the file cannot shrink, and its pages are ordinary. (The
/// system may have no replacement for a huge page that somebody has freed.)
pub fn cannot_fault(fd: BorrowedFd<'_>) -> bool {
    Here::cannot_fault(fd)
}

/// Returns whether the file can never shrink.
pub fn cannot_shrink(fd: BorrowedFd<'_>) -> bool {
    Here::cannot_shrink(fd)
}

/// Size in bytes.
pub fn size(fd: BorrowedFd<'_>) -> io::Result<u64> {
    Here::size(fd)
}

/// The file's identity, if it can hold an arena: a regular file, or the system's shared memory.
pub fn regular_file(fd: BorrowedFd<'_>) -> io::Result<Option<FileId>> {
    Here::regular_file(fd)
}

/// Copies from the start of the file into `bytes`, without moving its offset. Returns the number of bytes.
pub fn read_start(fd: BorrowedFd<'_>, bytes: &mut [u8]) -> io::Result<usize> {
    Here::read_start(fd, bytes)
}

/// The offset of the open file description, which all copies of a descriptor share.
pub fn offset(fd: BorrowedFd<'_>) -> io::Result<u64> {
    // SAFETY: lseek on a borrowed, hence open, descriptor touches no memory.
    let offset = unsafe { libc::lseek(fd.as_raw_fd(), 0, libc::SEEK_CUR) };
    u64::try_from(offset).map_err(|_| io::Error::last_os_error())
}

/// Moves the offset of the open file description.
pub fn seek(fd: BorrowedFd<'_>, offset: u64) -> io::Result<()> {
    // SAFETY: lseek on a borrowed, hence open, descriptor touches no memory.
    match unsafe { libc::lseek(fd.as_raw_fd(), offset as libc::off_t, libc::SEEK_SET) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// The descriptor stays open in a program that this process executes. Async-signal-safe.
pub fn keep_across_exec(fd: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: fcntl on a borrowed, hence open, descriptor touches no memory.
    match unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFD, 0) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Opens another open file description of the same file, with its own offset, 0 at first, on the lowest free
/// descriptor. `file` is what `fd` is known to be of.
///
/// Errors: `EBADF` if the program has closed the descriptor meanwhile and the number means another file; nobody gets
/// that one. Others of the system.
pub fn reopen(fd: BorrowedFd<'_>, file: FileId, caller: Caller) -> io::Result<OwnedFd> {
    if_of(file, Here::reopen(fd, caller)?)
}

/// This descriptor, if it is of this file. (What is known of the file, as that it cannot shrink, then holds for this descriptor, too.)
fn if_of(file: FileId, opened: OwnedFd) -> io::Result<OwnedFd> {
    match regular_file(opened.as_fd()) {
        Ok(Some(found)) if found == file => Ok(opened),
        _ => Err(io::Error::from_raw_os_error(libc::EBADF)),
    }
}

/// Locks `byte` for as long as any copy of this open file description lives, through dup, fork and descriptor passing,
/// however the processes end.
pub fn hold(fd: BorrowedFd<'_>, byte: u64) -> io::Result<()> {
    Here::hold(fd, byte)
}

/// Does what [`hold`] does, unless another open file description has locked `byte` already. Returns whether it is ours
/// alone. A mapping made through the description counts as a copy.
pub fn hold_alone(fd: BorrowedFd<'_>, byte: u64) -> io::Result<bool> {
    Here::hold_alone(fd, byte)
}

/// Ends [`hold`], for every copy of this open file description.
pub fn let_go(fd: BorrowedFd<'_>, byte: u64) -> io::Result<()> {
    Here::let_go(fd, byte)
}

/// Returns whether an open file description other than this one holds one of `count` bytes from `byte` on.
pub fn is_held(fd: BorrowedFd<'_>, byte: u64, count: u32) -> io::Result<bool> {
    Here::is_held(fd, byte, count)
}
