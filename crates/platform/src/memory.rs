//! Shared memory behind a descriptor: created, sealed, mapped; and what the kernel knows about a descriptor.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;

#[cfg(target_os = "linux")]
use crate::deadly::Call;
#[cfg(target_os = "linux")]
use crate::protection::page_size;
#[cfg(target_os = "linux")]
use crate::without::Feature;

/// Which file a descriptor belongs to; the same in every process.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FileId {
    /// Device number.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
}

/// A shared, writable mapping of a whole file. Unmapped on drop.
///
/// It is in no core dump: the kernel would give memory to every page in order to write it down. And no `mlockall` that
/// came before reaches it.
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
    /// Maps `length` bytes of `fd`. Fails when the file is shorter: touching what lies behind its end would raise
    /// SIGBUS.
    pub fn new(fd: BorrowedFd<'_>, length: usize) -> io::Result<Mapping> {
        if length == 0 || size(fd)? < length as u64 {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        let base = map(length, READ_AND_WRITE, libc::MAP_SHARED, fd.as_raw_fd())?;
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

    /// Sees to it that there is memory behind so many bytes; see [`provide`].
    pub fn provide(&self, offset: usize, length: usize) -> io::Result<()> {
        if offset.checked_add(length).is_none_or(|end| end > self.length) {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        // SAFETY: the range lies in the mapping.
        unsafe { provide(self.base.add(offset), length) }
    }

    /// Gives the memory behind whole pages of the file back: they are zero in every mapping.
    #[cfg(target_os = "linux")]
    pub fn discard(&self, offset: usize, length: usize) -> io::Result<()> {
        if offset.checked_add(length).is_none_or(|end| end > self.length) {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        // SAFETY: the range lies in the mapping, whose contents are seen through raw pointers only.
        match unsafe { libc::madvise(self.base.as_ptr().add(offset).cast(), length, libc::MADV_REMOVE) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range was mapped by `new` and nobody else unmaps it; the owner of the mapping is gone.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.length) };
    }
}

/// A shared mapping of a whole file that can be read and never written. Unmapped on drop.
///
/// It has an open file description of its own, which can only read, and whose offset and locks are nobody else's.
pub struct ReadOnly {
    mapping: Mapping,
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "nothing is asked of it there"))]
    description: OwnedFd,
}

impl ReadOnly {
    /// Maps `length` bytes of `fd`. Fails when the file is shorter.
    ///
    /// Errors: those of opening the file again and of mapping it.
    pub fn new(fd: BorrowedFd<'_>, length: usize) -> io::Result<ReadOnly> {
        #[cfg(target_os = "linux")]
        let description = reopen_as(fd, libc::O_RDONLY)?;
        #[cfg(not(target_os = "linux"))]
        let description = fd.try_clone_to_owned()?;
        if length == 0 || size(fd)? < length as u64 {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        let base = map(length, libc::PROT_READ, libc::MAP_SHARED, description.as_raw_fd())?;
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

    /// The parts of the file that have memory, in order. To read another one would give memory to it, in the name of those who
    /// use the file.
    pub fn parts(&self) -> io::Result<Vec<Range<u64>>> {
        let length = self.mapping.length as u64;
        #[cfg(target_os = "linux")]
        {
            let mut parts = Vec::new();
            let mut end = 0;
            while let Some(start) = self.seek_from(end, libc::SEEK_DATA)?.filter(|&start| start < length) {
                end = self.seek_from(start, libc::SEEK_HOLE)?.unwrap_or(length).min(length);
                parts.push(start..end);
            }
            Ok(parts)
        }
        #[cfg(not(target_os = "linux"))]
        {
            Ok(vec![0..length])
        }
    }

    /// None: there is nothing of that sort up to the end of the file.
    #[cfg(target_os = "linux")]
    fn seek_from(&self, offset: u64, what: libc::c_int) -> io::Result<Option<u64>> {
        // SAFETY: lseek on a descriptor of our own, whose description nobody shares, touches no memory.
        let found = unsafe { libc::lseek(self.description.as_raw_fd(), offset as libc::off_t, what) };
        match u64::try_from(found) {
            Ok(found) => Ok(Some(found)),
            Err(_) if crate::errno() == libc::ENXIO => Ok(None),
            Err(_) => Err(io::Error::last_os_error()),
        }
    }
}

/// `length` zero bytes for this process, never unmapped, of which a forked child finds only zeros again. None without
/// memory, or where the system cannot wipe (Linux before 4.14).
pub fn wiped_on_fork(length: usize) -> Option<NonNull<u8>> {
    if crate::without::Feature::WipeOnFork.is_left_out() {
        return None;
    }
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let base = map(length, READ_AND_WRITE, flags, -1).ok()?;
    if !crate::liveness::wipe_on_fork(base.as_ptr().cast(), length) {
        // SAFETY: mapped just now, and nobody knows of it.
        unsafe { libc::munmap(base.as_ptr().cast(), length) };
        return None;
    }
    Some(base)
}

/// New memory, at an address of the system's choice.
///
/// A program that locks all memory that it will ever have (`mlockall` with `MCL_FUTURE`) does not mean this: all of it would
/// get memory at once, or, at a limit, the mapping would be refused. So one page comes first, is unlocked, and grows: what
/// grows is locked only if it was. The lock on everything else stays.
#[cfg(target_os = "linux")]
fn map(length: usize, access: libc::c_int, flags: libc::c_int, fd: libc::c_int) -> io::Result<NonNull<u8>> {
    static UNLOCK: Call = Call::new(libc::SYS_munlock, [0, 0]);
    let may_unlock = !UNLOCK.is_deadly();
    let first = if may_unlock { length.min(page_size()) } else { length };
    let base = map_at_once(first, access, flags, fd)?;
    let start = base.as_ptr().cast();
    // SAFETY: mapped just now, and nobody knows of it. Where a step is refused, the memory is in core dumps, or locked.
    let grown = unsafe {
        if flags & libc::MAP_SHARED != 0 {
            libc::madvise(start, first, libc::MADV_DONTDUMP);
        }
        if may_unlock {
            libc::munlock(start, first);
        }
        if first == length { start } else { libc::mremap(start, first, length, libc::MREMAP_MAYMOVE) }
    };
    if grown == libc::MAP_FAILED {
        let error = io::Error::last_os_error();
        // SAFETY: as above; it has not grown.
        unsafe { libc::munmap(start, first) };
        return Err(error);
    }
    NonNull::new(grown.cast()).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}

#[cfg(not(target_os = "linux"))]
use map_at_once as map;

const READ_AND_WRITE: libc::c_int = libc::PROT_READ | libc::PROT_WRITE;

fn map_at_once(length: usize, access: libc::c_int, flags: libc::c_int, fd: libc::c_int) -> io::Result<NonNull<u8>> {
    // SAFETY: a fresh mapping at an address of the kernel's choice replaces nothing.
    let base = unsafe { libc::mmap(core::ptr::null_mut(), length, access, flags, fd, 0) };
    match NonNull::new(base.cast::<u8>()) {
        Some(base) if base.as_ptr().cast() != libc::MAP_FAILED => Ok(base),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Sees to it that there is memory behind so many bytes from `start` on: touching them raises no SIGBUS then, though the
/// system may have no more. (A shared file is given memory page by page, at the first touch. Only Linux can run out of it in
/// this way: with strict overcommit, and in a group of processes that must not be ended for its memory.)
///
/// The kernel is asked to change a word of each page into what it is: it answers with an error where the program would get
/// the signal. That is as good as `MADV_POPULATE_WRITE`, which Linux has since 5.14, and it needs no descriptor.
///
/// Errors: `ENOMEM`.
///
/// # Safety
/// The range is mapped, readable and writable, for as long as the call takes, and is reached by atomic accesses only.
pub unsafe fn provide(start: NonNull<u8>, length: usize) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        let page = page_size();
        let start = start.as_ptr() as usize;
        (start / page * page..start + length).step_by(page).try_for_each(provide_page)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (start, length);
        Ok(())
    }
}

#[cfg(target_os = "linux")]
fn provide_page(page: usize) -> io::Result<()> {
    /// A bitwise or with 0. Whoever sleeps here is woken; of this process alone that is nobody.
    const OR_NOTHING: u32 = (libc::FUTEX_OP_OR as u32) << 28;
    let operation = libc::FUTEX_WAKE_OP | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the kernel checks the address, and changes the word into what it is, in one step.
    let result = unsafe { libc::syscall(libc::SYS_futex, page, operation, 0, 0usize, page, OR_NOTHING) };
    // Of other errors, a filter's for one, nothing follows.
    match crate::errno() {
        libc::EFAULT | libc::ENOMEM if result < 0 => Err(io::Error::from_raw_os_error(libc::ENOMEM)),
        _ => Ok(()),
    }
}

/// Gives a new file its length, without the signal that the system sends where a limit forbids it.
///
/// Errors: `EFBIG` beyond the limit on the size of files (`RLIMIT_FSIZE`); others from the system.
fn set_length(file: &OwnedFd, length: u64) -> io::Result<()> {
    if !may_have_file_of(length) {
        return Err(io::Error::from_raw_os_error(libc::EFBIG));
    }
    File::from(file.try_clone()?).set_len(length)
}

/// Whether this process may make a file so long. (Who tries it anyway gets a signal.)
pub fn may_have_file_of(length: u64) -> bool {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid place for the answer.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) } == 0;
    known && length <= limit.rlim_cur
}

/// A new anonymous shared file of `length` zero bytes, close-on-exec, which can never change its size: a mapping of it
/// cannot fault.
#[cfg(target_os = "linux")]
pub fn create(name: &std::ffi::CStr, length: u64) -> io::Result<OwnedFd> {
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

#[cfg(target_os = "linux")]
fn memfd(name: &std::ffi::CStr, flags: libc::c_uint) -> io::Result<OwnedFd> {
    // As a system call: glibc has a function for it from 2.27 on.
    // SAFETY: `name` is a terminated string that outlives the call.
    owned(unsafe { libc::syscall(libc::SYS_memfd_create, name.as_ptr(), flags) } as libc::c_int)
}

/// A new anonymous shared file of `length` zero bytes, close-on-exec: a POSIX shared memory object whose name is gone.
#[cfg(target_os = "macos")]
pub fn create(_name: &std::ffi::CStr, length: u64) -> io::Result<OwnedFd> {
    for attempt in 0..64u32 {
        let name = std::ffi::CString::new(format!("/ntux.{}.{attempt}", std::process::id()))?;
        // SAFETY: `name` is a terminated string that outlives the calls.
        let fd = unsafe { libc::shm_open(name.as_ptr(), libc::O_RDWR | libc::O_CREAT | libc::O_EXCL, 0o600) };
        if fd < 0 {
            continue;
        }
        // SAFETY: as above; the name was created just now by this process.
        unsafe { libc::shm_unlink(name.as_ptr()) };
        let fd = owned(fd)?;
        set_length(&fd, length)?;
        return Ok(fd);
    }
    Err(io::Error::last_os_error())
}

fn owned(fd: libc::c_int) -> io::Result<OwnedFd> {
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just given this descriptor to us, and to nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Whether a mapping of the file can never fault: it cannot become shorter, and its pages are ordinary ones. (Of huge pages
/// the system may have no other, once somebody has given one back.)
pub fn cannot_fault(fd: BorrowedFd<'_>) -> bool {
    #[cfg(target_os = "linux")]
    {
        let mut system = core::mem::MaybeUninit::<libc::statfs>::uninit();
        #[allow(clippy::unnecessary_cast, reason = "musl has other types for the same fields")]
        // SAFETY: a borrowed, hence open, descriptor, and a place for the answer, which is whole when the call returns 0.
        let of_huge_pages = unsafe {
            libc::fstatfs(fd.as_raw_fd(), system.as_mut_ptr()) != 0
                || system.assume_init().f_type as i64 == libc::HUGETLBFS_MAGIC as i64
        };
        cannot_shrink(fd) && !of_huge_pages
    }
    #[cfg(not(target_os = "linux"))]
    {
        cannot_shrink(fd)
    }
}

/// Whether the file can never become shorter.
pub fn cannot_shrink(fd: BorrowedFd<'_>) -> bool {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: fcntl without an argument on a borrowed, hence open, descriptor.
        let seals = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GET_SEALS) };
        seals >= 0 && seals & libc::F_SEAL_SHRINK != 0
    }
    #[cfg(target_os = "macos")]
    {
        // A shared memory object of macOS takes its size once.
        let _ = fd;
        true
    }
}

/// Size in bytes.
pub fn size(fd: BorrowedFd<'_>) -> io::Result<u64> {
    Ok(status(fd)?.st_size as u64)
}

/// Which file this is, if it is a regular one.
pub fn regular_file(fd: BorrowedFd<'_>) -> io::Result<Option<FileId>> {
    let status = status(fd)?;
    let regular = status.st_mode & libc::S_IFMT == libc::S_IFREG;
    Ok(regular.then_some(FileId { device: status.st_dev as u64, inode: status.st_ino }))
}

fn status(fd: BorrowedFd<'_>) -> io::Result<libc::stat> {
    let mut status = core::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: `status` is a valid place for the answer, which the kernel fills in whole when it returns 0.
    unsafe {
        match ask_status(fd.as_raw_fd(), status.as_mut_ptr()) {
            0 => Ok(status.assume_init()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// `fstat` by its number: the preloaded library stands in front of the C library's function, and describes an arena's file
/// as a device.
#[cfg(target_os = "linux")]
unsafe fn ask_status(fd: libc::c_int, status: *mut libc::stat) -> libc::c_long {
    // SAFETY: the caller's place for the answer, which the kernel lays out as the C library does.
    unsafe { libc::syscall(libc::SYS_fstat, fd, status) }
}

#[cfg(not(target_os = "linux"))]
use libc::fstat as ask_status;

/// Copies from the start of the file into `bytes`, without moving its offset; returns how many.
pub fn read_start(fd: BorrowedFd<'_>, bytes: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the buffer is valid for its whole length.
    let read = unsafe { libc::pread(fd.as_raw_fd(), bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    usize::try_from(read).map_err(|_| io::Error::last_os_error())
}

/// The offset of the open file description: the number that every copy of a descriptor shares.
pub fn offset(fd: BorrowedFd<'_>) -> io::Result<u64> {
    // SAFETY: lseek on a borrowed, hence open, descriptor touches no memory.
    let offset = unsafe { libc::lseek(fd.as_raw_fd(), 0, libc::SEEK_CUR) };
    u64::try_from(offset).map_err(|_| io::Error::last_os_error())
}

/// Another open file description of the same file, with an offset of its own, 0 at first; takes the lowest
/// free descriptor.
#[cfg(target_os = "linux")]
pub fn reopen(fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    reopen_as(fd, libc::O_RDWR)
}

#[cfg(target_os = "linux")]
fn reopen_as(fd: BorrowedFd<'_>, access: libc::c_int) -> io::Result<OwnedFd> {
    let path = crate::path::Path::new(format_args!("/proc/self/fd/{}", fd.as_raw_fd()));
    // SAFETY: `path` is a terminated string that outlives the call.
    owned(unsafe { libc::open(path.as_ptr(), access | libc::O_CLOEXEC) })
}

/// Moves the offset of the open file description.
pub fn seek(fd: BorrowedFd<'_>, offset: u64) -> io::Result<()> {
    // SAFETY: lseek on a borrowed, hence open, descriptor touches no memory.
    match unsafe { libc::lseek(fd.as_raw_fd(), offset as libc::off_t, libc::SEEK_SET) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Marks `byte` as in use for as long as any copy of this open file description lives: through dup, fork and descriptor
/// passing, and no longer than the last of them, however their processes end.
#[cfg(target_os = "linux")]
pub fn hold(fd: BorrowedFd<'_>, byte: u64) -> io::Result<()> {
    lock_byte(fd, libc::F_RDLCK, byte)
}

/// As [`hold`], unless another open file description holds `byte` already; says whether it is ours alone. A mapping made
/// through the description counts as a copy.
#[cfg(target_os = "linux")]
pub fn hold_alone(fd: BorrowedFd<'_>, byte: u64) -> io::Result<bool> {
    match lock_byte(fd, libc::F_WRLCK, byte) {
        Ok(()) => Ok(true),
        Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(target_os = "linux")]
fn lock_byte(fd: BorrowedFd<'_>, kind: i32, byte: u64) -> io::Result<()> {
    let lock = byte_lock(kind, byte);
    // SAFETY: `lock` is a valid request that outlives the call.
    match unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_OFD_SETLK, core::ptr::from_ref(&lock)) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Whether an open file description other than this one holds `byte`.
#[cfg(target_os = "linux")]
pub fn is_held(fd: BorrowedFd<'_>, byte: u64) -> io::Result<bool> {
    let mut lock = byte_lock(libc::F_WRLCK, byte);
    // SAFETY: `lock` is a valid request and a valid place for the answer.
    match unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_OFD_GETLK, core::ptr::from_mut(&mut lock)) } {
        0 => Ok(i32::from(lock.l_type) != libc::F_UNLCK),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(target_os = "linux")]
fn byte_lock(kind: i32, byte: u64) -> libc::flock {
    // SAFETY: flock is made of integers only, for which zero is a value.
    let mut lock: libc::flock = unsafe { core::mem::zeroed() };
    lock.l_type = kind as _;
    lock.l_whence = libc::SEEK_SET as _;
    lock.l_start = byte as libc::off_t;
    lock.l_len = 1;
    lock
}
