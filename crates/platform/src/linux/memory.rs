// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shared memory: sealed memory files.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;

use super::Linux;
use super::deadly::Call;
use super::proc;
use crate::memory::{Caller, Descriptions, FileId, Locks, SharedMemory, map_at_once, may_have_file_of, owned};
use crate::protection::page_size;
use crate::without::Feature;

impl SharedMemory for Linux {
    fn create(name: &CStr, length: u64) -> io::Result<OwnedFd> {
        const MFD_NOEXEC_SEAL: libc::c_uint = 8;
        let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
        let no_exec = if Feature::NoExecSeal.is_left_out() { 0 } else { MFD_NOEXEC_SEAL };
        // Kernels from 6.3 on can be set to insist on the no-exec flag; older ones do not know it.
        let fd = match memfd(name, flags | no_exec) {
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => memfd(name, flags)?,
            other => other?,
        };
        set_length(&fd, length)?;
        let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
        // SAFETY: fcntl on a descriptor that we own, with an integer argument.
        if unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_ADD_SEALS, seals) } < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(fd)
    }

    fn regular_file(fd: BorrowedFd<'_>) -> io::Result<Option<FileId>> {
        let status = status(fd)?;
        let regular = status.st_mode & libc::S_IFMT == libc::S_IFREG;
        Ok(regular.then_some(FileId { device: status.st_dev as u64, inode: status.st_ino }))
    }

    fn cannot_shrink(fd: BorrowedFd<'_>) -> bool {
        // SAFETY: fcntl without an argument on a borrowed, hence open, descriptor.
        let seals = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GET_SEALS) };
        seals >= 0 && seals & libc::F_SEAL_SHRINK != 0
    }

    fn cannot_fault(fd: BorrowedFd<'_>) -> bool {
        let mut system = core::mem::MaybeUninit::<libc::statfs>::uninit();
        #[allow(clippy::unnecessary_cast, reason = "musl has other types for the same fields")]
        // SAFETY: a borrowed, hence open, descriptor, and a place for the answer, which is whole when the call returns
        // 0.
        let of_huge_pages = unsafe {
            libc::fstatfs(fd.as_raw_fd(), system.as_mut_ptr()) != 0
                || system.assume_init().f_type as i64 == libc::HUGETLBFS_MAGIC as i64
        };
        Self::cannot_shrink(fd) && !of_huge_pages
    }

    fn size(fd: BorrowedFd<'_>) -> io::Result<u64> {
        Ok(status(fd)?.st_size as u64)
    }

    fn read_start(fd: BorrowedFd<'_>, bytes: &mut [u8]) -> io::Result<usize> {
        // SAFETY: the buffer is valid for its whole length.
        let read = unsafe { libc::pread(fd.as_raw_fd(), bytes.as_mut_ptr().cast(), bytes.len(), 0) };
        usize::try_from(read).map_err(|_| io::Error::last_os_error())
    }

    /// A program that locks all future memory (`mlockall` with `MCL_FUTURE`) does not mean this mapping: all of it
    /// would be allocated at once, or, at a limit, refused. So this maps one page, unlocks it, and grows the mapping,
    /// which is then unlocked, too. Everything else stays locked.
    fn map(length: usize, access: libc::c_int, flags: libc::c_int, fd: libc::c_int) -> io::Result<NonNull<u8>> {
        static UNLOCK: Call = Call::new(libc::SYS_munlock, [0, 0]);
        let may_unlock = !UNLOCK.is_deadly();
        let first = if may_unlock { length.min(page_size()) } else { length };
        let base = map_at_once(first, access, flags, fd)?;
        let start = base.as_ptr().cast();
        // SAFETY: mapped just now, and nobody knows of it. Where a step is refused, the memory is in core dumps, or
        // locked.
        let grown = unsafe {
            if flags & libc::MAP_SHARED != 0 {
                libc::madvise(start, first, libc::MADV_DONTDUMP);
            }
            if may_unlock {
                libc::munlock(start, first);
            }
            if first == length { start } else { move_to_grow(start, first, length) }
        };
        if grown == libc::MAP_FAILED {
            let error = io::Error::last_os_error();
            // SAFETY: as above; it has not grown.
            unsafe { libc::munmap(start, first) };
            return Err(error);
        }
        NonNull::new(grown.cast()).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }

    /// Has the kernel replace a word of each page by itself: the call fails where the program would get the signal.
    /// This is as good as `MADV_POPULATE_WRITE`, which Linux has since 5.14, and needs no descriptor.
    unsafe fn provide(start: NonNull<u8>, length: usize) -> io::Result<()> {
        let page = page_size();
        let start = start.as_ptr() as usize;
        (start / page * page..start + length).step_by(page).try_for_each(provide_page)
    }

    unsafe fn discard(start: NonNull<u8>, length: usize) -> io::Result<()> {
        // SAFETY: the caller's promise.
        match unsafe { libc::madvise(start.as_ptr().cast(), length, libc::MADV_REMOVE) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn to_read(fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
        proc::open_descriptor(fd.as_raw_fd(), libc::O_RDONLY | NO_EFFECT)
    }

    fn parts(fd: BorrowedFd<'_>, length: u64) -> io::Result<Vec<Range<u64>>> {
        let mut parts = Vec::new();
        let mut end = 0;
        while let Some(start) = seek_from(fd, end, libc::SEEK_DATA)?.filter(|&start| start < length) {
            end = seek_from(fd, start, libc::SEEK_HOLE)?.unwrap_or(length).min(length);
            parts.push(start..end);
        }
        Ok(parts)
    }
}

impl Locks for Linux {
    fn hold(fd: BorrowedFd<'_>, byte: u64) -> io::Result<()> {
        lock_byte(fd, libc::F_RDLCK, byte)
    }

    fn hold_alone(fd: BorrowedFd<'_>, byte: u64) -> io::Result<bool> {
        match lock_byte(fd, libc::F_WRLCK, byte) {
            Ok(()) => Ok(true),
            Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn let_go(fd: BorrowedFd<'_>, byte: u64) -> io::Result<()> {
        lock_byte(fd, libc::F_UNLCK, byte)
    }

    fn is_held(fd: BorrowedFd<'_>, byte: u64, count: u32) -> io::Result<bool> {
        let mut lock = lock_of(libc::F_WRLCK, byte, count);
        // SAFETY: `lock` is a valid request and a valid place for the answer.
        match unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_OFD_GETLK, core::ptr::from_mut(&mut lock)) } {
            0 => Ok(i32::from(lock.l_type) != libc::F_UNLCK),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Descriptions for Linux {
    fn reopen(fd: BorrowedFd<'_>, caller: Caller) -> io::Result<OwnedFd> {
        let open = match caller {
            Caller::FirstThread => proc::open_descriptor_of_first_thread,
            Caller::AnyThread => proc::open_descriptor,
        };
        open(fd.as_raw_fd(), libc::O_RDWR | NO_EFFECT)
    }
}

/// If the descriptor has become a terminal's meanwhile, it does not become that of the process.
const NO_EFFECT: libc::c_int = libc::O_NOCTTY;

fn memfd(name: &CStr, flags: libc::c_uint) -> io::Result<OwnedFd> {
    // As a system call: glibc has a function for it from 2.27 on.
    // SAFETY: `name` is a terminated string that outlives the call.
    owned(unsafe { libc::syscall(libc::SYS_memfd_create, name.as_ptr(), flags) } as libc::c_int)
}

pub(super) fn status(fd: impl AsFd) -> io::Result<libc::stat> {
    let fd = fd.as_fd();
    let mut status = core::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: `status` is a valid place for the answer, which the kernel fills in whole when it returns 0.
    unsafe {
        match ask_status(fd.as_raw_fd(), status.as_mut_ptr()) {
            0 => Ok(status.assume_init()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// `mremap` by system call, because the C library of Android does not say that it has it.
///
/// # Safety
///
/// As `mremap` that may move the mapping.
unsafe fn move_to_grow(start: *mut libc::c_void, from: usize, to: usize) -> *mut libc::c_void {
    /// `MREMAP_MAYMOVE`
    const MAY_MOVE: usize = 1;
    // SAFETY: by the contract; an address, or -1 as `MAP_FAILED`.
    unsafe { libc::syscall(libc::SYS_mremap, start, from, to, MAY_MOVE) as usize as *mut libc::c_void }
}

/// `fstat` by system call, because the preloaded library interposes on the C library's function, and describes an
/// arena's file as a device.
#[cfg(any(target_env = "gnu", target_env = "musl"))]
unsafe fn ask_status(fd: libc::c_int, status: *mut libc::stat) -> libc::c_long {
    // SAFETY: the caller's place for the answer, which the kernel lays out as the C library does.
    unsafe { libc::syscall(libc::SYS_fstat, fd, status) }
}

/// Nothing is preloaded on Android.
#[cfg(not(any(target_env = "gnu", target_env = "musl")))]
unsafe fn ask_status(fd: libc::c_int, status: *mut libc::stat) -> libc::c_int {
    // SAFETY: the caller's place for the answer.
    unsafe { libc::fstat(fd, status) }
}

fn provide_page(page: usize) -> io::Result<()> {
    /// A bitwise or with 0. It wakes private sleepers on the word, of which there are none.
    const OR_NOTHING: u32 = 2 << 28;
    let operation = libc::FUTEX_WAKE_OP | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the kernel checks the address, and changes the word into what it is, in one step.
    let result = unsafe { libc::syscall(libc::SYS_futex, page, operation, 0, 0usize, page, OR_NOTHING) };
    // Other errors, such as a filter's, mean nothing.
    match crate::errno() {
        libc::EFAULT | libc::ENOMEM if result < 0 => Err(io::Error::from_raw_os_error(libc::ENOMEM)),
        _ => Ok(()),
    }
}

/// `None` if there is nothing of that kind up to the end of the file.
fn seek_from(fd: BorrowedFd<'_>, offset: u64, what: libc::c_int) -> io::Result<Option<u64>> {
    // SAFETY: lseek on a borrowed, hence open, descriptor touches no memory.
    let found = unsafe { libc::lseek(fd.as_raw_fd(), offset as libc::off_t, what) };
    match u64::try_from(found) {
        Ok(found) => Ok(Some(found)),
        Err(_) if crate::errno() == libc::ENXIO => Ok(None),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

fn lock_byte(fd: BorrowedFd<'_>, kind: i32, byte: u64) -> io::Result<()> {
    let lock = lock_of(kind, byte, 1);
    // SAFETY: `lock` is a valid request that outlives the call.
    match unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_OFD_SETLK, core::ptr::from_ref(&lock)) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn lock_of(kind: i32, byte: u64, count: u32) -> libc::flock {
    // SAFETY: flock is made of integers only, for which zero is a value.
    let mut lock: libc::flock = unsafe { core::mem::zeroed() };
    lock.l_type = kind as _;
    lock.l_whence = libc::SEEK_SET as _;
    lock.l_start = byte as libc::off_t;
    lock.l_len = count.into();
    lock
}

/// Sets the length of a new file, without the signal that the system sends if a limit forbids it.
///
/// Errors: `EFBIG` beyond the limit on the size of files (`RLIMIT_FSIZE`); others from the system.
fn set_length(file: &OwnedFd, length: u64) -> io::Result<()> {
    if !may_have_file_of(length) {
        return Err(io::Error::from_raw_os_error(libc::EFBIG));
    }
    File::from(file.try_clone()?).set_len(length)
}
