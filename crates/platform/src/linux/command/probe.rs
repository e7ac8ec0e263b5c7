// SPDX-License-Identifier: MIT OR Apache-2.0
//! Probes of what this machine lets a process do, by doing it.
//!
//! Version numbers are unreliable: a container's seccomp filter, a security module or a missing option makes a new
//! kernel answer like an old one. So every probe makes the real call. Calls that a filter may answer with a deadly
//! signal, as Android's does for an unlisted call, are made in a child process ([`in_child`]). (`deadly` does so inside
//! programs, with fewer probes.)
//!
//! If the core has a function for the call ([`memory`]), the probe uses that. It queries the driver with raw system
//! calls, because a preloaded library of ntux could answer in the driver's place.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::Path;

use crate::kernel_futex::Scope;
use crate::linux::kernel_futex::interface::{
    SYS_FUTEX_REQUEUE, SYS_FUTEX_WAIT, SYS_FUTEX_WAITV, SYS_FUTEX_WAKE, Waitv, flags,
};
use crate::memory::Caller;
use crate::{errno, memory};

/// The result of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The call works.
    Works,
    /// This kernel lacks the call or option (`ENOSYS`, `EINVAL` for an option), or a filter says so.
    Missing(i32),
    /// A filter or a security module forbids it (`EPERM`, `EACCES`).
    Forbidden(i32),
    /// It failed with another error number.
    Fails(i32),
    /// It succeeded with a wrong result.
    WrongResult,
    /// It killed the process with this signal (`SIGSYS` from a seccomp filter).
    Kills(i32),
}

/// The result of trying to use `/dev/ntsync`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    /// There is no such file.
    Absent,
    /// It exists but may not be opened (`EPERM`, `EACCES`).
    NoPermission(i32),
    /// It cannot be opened for another reason: the error number.
    OpenFails(i32),
    /// It opens, but creating an event or reading it back fails: the error number.
    IoctlFails(i32),
    /// It opens and answers, but with a wrong value, or the attempt killed the process.
    Misbehaves,
    /// An event was created and read back.
    Usable,
}

/// The seccomp mode of this process, from `/proc/self/status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seccomp {
    /// No filter.
    Off,
    /// Only read, write and exit.
    Strict,
    /// Filters decide about each call.
    Filter,
    /// `/proc` does not say.
    Unknown,
}

/// The limit on open descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DescriptorLimit {
    /// In force now.
    pub soft: u64,
    /// What the process may raise it to.
    pub hard: u64,
}

/// Path of the driver's device.
pub const DEVICE_PATH: &str = "/dev/ntsync";

const DEVICE_PATH_C: &CStr = c"/dev/ntsync";
const CREATE_EVENT: libc::c_ulong = 0x4008_4e87;
const EVENT_READ: libc::c_ulong = 0x8008_4e8d;

const FUTEX_WAKE: libc::c_int = 1;
const FUTEX_WAIT_BITSET: libc::c_int = 9;

impl Answer {
    /// Returns whether the call can be used.
    pub fn works(self) -> bool {
        self == Answer::Works
    }

    /// Classifies an error number; 0 means success.
    pub fn from_errno(error: i32) -> Self {
        match error {
            0 => Answer::Works,
            libc::ENOSYS => Answer::Missing(error),
            libc::EPERM | libc::EACCES => Answer::Forbidden(error),
            _ => Answer::Fails(error),
        }
    }
}

/// Why a probe failed: an error number, or a wrong answer.
enum Trouble {
    Errno(i32),
    Wrong,
}

impl From<std::io::Error> for Trouble {
    fn from(error: std::io::Error) -> Self {
        error.raw_os_error().map_or(Trouble::Wrong, Trouble::Errno)
    }
}

type Probe = fn() -> Result<(), Trouble>;

/// Sleeps and wakes with the futex call that every Linux has, which is all that the core needs.
pub fn futex() -> Answer {
    in_child(|| {
        let word = 1u32;
        let any = u32::MAX;
        let no_time = core::ptr::null::<libc::timespec>();
        let no_word = core::ptr::null::<u32>();
        // SAFETY: the kernel only reads the word, which outlives the call; it differs, so nothing sleeps.
        let waited = unsafe { libc::syscall(libc::SYS_futex, &word, FUTEX_WAIT_BITSET, 0, no_time, no_word, any) };
        refused_to_sleep(waited)?;
        // SAFETY: a wake reads no memory.
        succeeded(unsafe { libc::syscall(libc::SYS_futex, &word, FUTEX_WAKE, 1) }).map(drop)
    })
}

/// `futex_waitv` (Linux 5.16): sleeping on several words.
pub fn futex_waitv() -> Answer {
    in_child(|| {
        let word = 1u32;
        let waiter = Waitv::new(&word, 0, flags(Scope::Shared, false));
        let no_time = core::ptr::null::<libc::timespec>();
        // SAFETY: one entry, as said; the kernel only reads it and the word, which outlive the call.
        refused_to_sleep(unsafe { libc::syscall(SYS_FUTEX_WAITV, &waiter, 1, 0, no_time, libc::CLOCK_MONOTONIC) })
    })
}

/// `futex_wake` (Linux 6.7).
pub fn futex_wake() -> Answer {
    in_child(|| {
        let word = 1u32;
        // SAFETY: a wake reads no memory.
        succeeded(unsafe { libc::syscall(SYS_FUTEX_WAKE, &word, u64::from(u32::MAX), 1, flags(Scope::Shared, false)) })
            .map(drop)
    })
}

/// `futex_wait` (Linux 6.7).
pub fn futex_wait() -> Answer {
    in_child(|| {
        let word = 1u32;
        let any = u64::from(u32::MAX);
        let no_time = core::ptr::null::<libc::timespec>();
        let (flags, clock) = (flags(Scope::Shared, false), libc::CLOCK_MONOTONIC);
        // SAFETY: the kernel only reads the word, which outlives the call; it differs, so nothing sleeps.
        refused_to_sleep(unsafe { libc::syscall(SYS_FUTEX_WAIT, &word, 0u64, any, flags, no_time, clock) })
    })
}

/// `futex_requeue` (Linux 6.7).
pub fn futex_requeue() -> Answer {
    in_child(|| {
        let (from, to) = (1u32, 1u32);
        let flags = flags(Scope::Shared, false);
        let pair = [Waitv::new(&from, 1, flags), Waitv::new(&to, 1, flags)];
        // SAFETY: the call takes exactly two entries; the kernel only reads them and the words, which outlive it.
        succeeded(unsafe { libc::syscall(SYS_FUTEX_REQUEUE, pair.as_ptr(), 0, 1, 1) }).map(drop)
    })
}

/// `userfaultfd` (unprivileged since Linux 5.11): noticing the first write to a page.
pub fn userfaultfd() -> Answer {
    const USER_MODE_ONLY: libc::c_int = 1;
    option(in_child(|| {
        // SAFETY: a call without pointers.
        descriptor(unsafe { libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC | USER_MODE_ONLY) }).map(drop)
    }))
}

/// Anonymous shared memory whose size can be sealed.
pub fn memfd_sealed() -> Answer {
    in_child(|| {
        let memory = some_memory()?;
        if memory::cannot_shrink(memory.as_fd()) { Ok(()) } else { Err(Trouble::Wrong) }
    })
}

/// The flag `MFD_NOEXEC_SEAL` (Linux 6.3), which `vm.memfd_noexec=2` demands.
pub fn memfd_noexec_seal() -> Answer {
    const MFD_NOEXEC_SEAL: libc::c_uint = 8;
    let answer = in_child(|| {
        let flags = libc::MFD_CLOEXEC | MFD_NOEXEC_SEAL;
        // SAFETY: the name ends in a zero byte and outlives the call.
        descriptor(unsafe { libc::syscall(libc::SYS_memfd_create, c"ntux-probe".as_ptr(), flags) }).map(drop)
    });
    option(answer)
}

/// Opening a memory file again through `/proc/thread-self/fd`: gives it a second, independent file offset.
pub fn reopen() -> Answer {
    in_child(|| Ok(reopened(some_memory()?.as_fd()).map(drop)?))
}

fn reopened(fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let file = memory::regular_file(fd)?.ok_or(io::ErrorKind::InvalidInput)?;
    memory::reopen(fd, file, Caller::AnyThread)
}

/// Open-file-description locks on memory files: a read lock held by one open is seen by another.
pub fn ofd_locks() -> Answer {
    in_child(|| {
        let memory = some_memory()?;
        let other = reopened(memory.as_fd())?;
        memory::hold(memory.as_fd(), 0)?;
        if memory::is_held(other.as_fd(), 0, 1)? { Ok(()) } else { Err(Trouble::Wrong) }
    })
}

/// The list through which the kernel sends the wake-up that a killed thread owed.
pub fn robust_list() -> Answer {
    in_child(|| {
        let mut head: *mut libc::c_void = core::ptr::null_mut();
        let mut length = 0usize;
        // SAFETY: both places are valid for the answer.
        succeeded(unsafe { libc::syscall(libc::SYS_get_robust_list, 0, &mut head, &mut length) })?;
        if head.is_null() { Err(Trouble::Wrong) } else { Ok(()) }
    })
}

/// Pages that a child of fork finds zeroed (`MADV_WIPEONFORK`, Linux 4.14).
pub fn wipe_on_fork() -> Answer {
    option(in_child(|| {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a fresh mapping at an address of the kernel's choice disturbs nothing.
        let page = unsafe { libc::mmap(core::ptr::null_mut(), 4096, protection, flags, -1, 0) };
        if page == libc::MAP_FAILED {
            return Err(Trouble::Errno(errno()));
        }
        // SAFETY: the page was mapped just above and nobody else knows it; this process ends right after.
        succeeded(unsafe { libc::syscall(libc::SYS_madvise, page, 4096, libc::MADV_WIPEONFORK) }).map(drop)
    }))
}

/// An option that the kernel does not know is `EINVAL`.
fn option(answer: Answer) -> Answer {
    match answer {
        Answer::Fails(libc::EINVAL) => Answer::Missing(libc::EINVAL),
        other => other,
    }
}

/// Returns whether the kernel's own device exists and answers a real request.
pub fn device() -> Device {
    let opened = in_child(|| open(DEVICE_PATH_C, libc::O_RDONLY).map(drop));
    match opened {
        Answer::Works => {}
        Answer::Fails(libc::ENOENT) => return Device::Absent,
        Answer::Forbidden(error) => return Device::NoPermission(error),
        Answer::Fails(error) | Answer::Missing(error) => return Device::OpenFails(error),
        Answer::WrongResult | Answer::Kills(_) => return Device::Misbehaves,
    }
    match in_child(create_and_read_event) {
        Answer::Works => Device::Usable,
        Answer::Fails(error) | Answer::Missing(error) | Answer::Forbidden(error) => Device::IoctlFails(error),
        Answer::WrongResult | Answer::Kills(_) => Device::Misbehaves,
    }
}

fn create_and_read_event() -> Result<(), Trouble> {
    let device = open(DEVICE_PATH_C, libc::O_RDONLY)?;
    let manual_and_signaled = [1u32, 1];
    // SAFETY: the request reads 8 bytes, which the array has.
    let created = unsafe { libc::syscall(libc::SYS_ioctl, device.as_raw_fd(), CREATE_EVENT, &manual_and_signaled) };
    let event = descriptor(created)?;
    let mut state = [0u32; 2];
    // SAFETY: the request writes 8 bytes, which the array has.
    succeeded(unsafe { libc::syscall(libc::SYS_ioctl, event.as_raw_fd(), EVENT_READ, &mut state) })?;
    if state == manual_and_signaled { Ok(()) } else { Err(Trouble::Wrong) }
}

/// The seccomp mode of this process.
pub fn seccomp() -> Seccomp {
    match status_field("Seccomp") {
        Some(0) => Seccomp::Off,
        Some(1) => Seccomp::Strict,
        Some(2) => Seccomp::Filter,
        _ => Seccomp::Unknown,
    }
}

/// How many seccomp filters this process has, if `/proc` says so (Linux 5.9).
pub fn seccomp_filters() -> Option<u64> {
    status_field("Seccomp_filters")
}

fn status_field(name: &str) -> Option<u64> {
    // This program's name is in it, which need not be text.
    let status = std::fs::read("/proc/self/status").ok()?;
    let text = String::from_utf8_lossy(&status);
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.trim().parse().ok()
}

/// The setting `vm.memfd_noexec` (0, 1 or 2), if the kernel has it.
pub fn memfd_noexec_setting() -> Option<u8> {
    std::fs::read_to_string("/proc/sys/vm/memfd_noexec").ok()?.trim().parse().ok()
}

/// The release of the running kernel, such as `6.12.0`. (Not from /proc/sys, which services and containers may hide.)
pub fn kernel_release() -> String {
    let mut names = core::mem::MaybeUninit::<libc::utsname>::zeroed();
    // SAFETY: a place for the answer; all zeros are valid names, should the call fail.
    let names = unsafe {
        libc::uname(names.as_mut_ptr());
        names.assume_init()
    };
    // SAFETY: the field ends with a zero byte.
    unsafe { CStr::from_ptr(names.release.as_ptr()) }.to_string_lossy().into_owned()
}

/// How many descriptors this process may have open.
pub fn descriptor_limit() -> DescriptorLimit {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid place for the answer; the call cannot fail for this resource.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) };
    DescriptorLimit { soft: limit.rlim_cur, hard: limit.rlim_max }
}

/// Lets this process, and what it executes, have so many descriptors open; no more than the hard limit allows.
///
/// Errors: those of the system.
pub fn set_descriptor_limit(soft: u64) -> std::io::Result<()> {
    let hard = descriptor_limit().hard;
    let limit = libc::rlimit { rlim_cur: soft.min(hard), rlim_max: hard };
    // SAFETY: a valid request that outlives the call.
    match unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// The real user and group of this process, to compare with those of a set-user-id program.
pub fn real_ids() -> (u32, u32) {
    // SAFETY: these calls have no arguments and cannot fail.
    unsafe { (libc::getuid(), libc::getgid()) }
}

/// Returns whether the kernel tells loaders the platform, with which they replace `$PLATFORM` in a path.
pub fn names_platform() -> bool {
    // SAFETY: asks for a number that came with the process.
    unsafe { libc::getauxval(libc::AT_PLATFORM) != 0 }
}

/// Returns whether the file has capabilities. False if the file system does not support them.
pub fn has_file_capabilities(path: &Path) -> bool {
    use std::os::unix::ffi::OsStrExt;
    let Ok(path) = std::ffi::CString::new(path.as_os_str().as_bytes()) else {
        return false;
    };
    let name = c"security.capability";
    // SAFETY: both strings end in a zero byte; with size 0 nothing is written, only the length is told.
    unsafe { libc::getxattr(path.as_ptr(), name.as_ptr(), core::ptr::null_mut(), 0) > 0 }
}

/// Runs a probe in a child process, so that a deadly answer kills only the child.
///
/// The child lacks the parent's other threads, so a probe takes no lock except the allocator's, which the C library
/// reinitializes in a child.
fn in_child(probe: Probe) -> Answer {
    /// Exit status for [`Trouble::Wrong`]: above every error number.
    const WRONG: i32 = 255;
    // SAFETY: the child calls nothing but `probe`, which is written for it (above), and `_exit`.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let status = match probe() {
            Ok(()) => 0,
            Err(Trouble::Errno(error)) => error,
            Err(Trouble::Wrong) => WRONG,
        };
        // SAFETY: ends the child without running what belongs to the parent.
        unsafe { libc::_exit(status) };
    }
    if child < 0 {
        return Answer::from_errno(errno());
    }
    let mut status = 0;
    // SAFETY: waits for our own child; `status` is a valid place for the answer.
    while unsafe { libc::waitpid(child, &mut status, 0) } < 0 {
        if errno() != libc::EINTR {
            return Answer::from_errno(errno());
        }
    }
    if libc::WIFSIGNALED(status) {
        return Answer::Kills(libc::WTERMSIG(status));
    }
    match libc::WEXITSTATUS(status) {
        WRONG => Answer::WrongResult,
        error => Answer::from_errno(error),
    }
}

fn succeeded(result: libc::c_long) -> Result<libc::c_long, Trouble> {
    if result < 0 { Err(Trouble::Errno(errno())) } else { Ok(result) }
}

/// A wait on a word that differs must come back at once with `EAGAIN`.
fn refused_to_sleep(result: libc::c_long) -> Result<(), Trouble> {
    match succeeded(result) {
        Err(Trouble::Errno(libc::EAGAIN)) => Ok(()),
        Err(other) => Err(other),
        Ok(_) => Err(Trouble::Wrong),
    }
}

fn descriptor(result: libc::c_long) -> Result<OwnedFd, Trouble> {
    let number = succeeded(result)? as libc::c_int;
    // SAFETY: the kernel made this descriptor just now, for us.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

fn open(path: &CStr, flags: libc::c_int) -> Result<OwnedFd, Trouble> {
    // SAFETY: the path ends in a zero byte and outlives the call.
    descriptor(unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags | libc::O_CLOEXEC, 0) })
}

/// Creates memory as the core does for an arena.
fn some_memory() -> Result<OwnedFd, Trouble> {
    Ok(memory::create(c"ntux-probe", 4096)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_that_is_killed_is_told_from_one_that_fails() {
        let killed = in_child(|| {
            // SAFETY: ends this child only.
            unsafe { libc::raise(libc::SIGKILL) };
            Ok(())
        });
        assert_eq!(killed, Answer::Kills(libc::SIGKILL));
        assert_eq!(in_child(|| Err(Trouble::Errno(libc::ENOSYS))), Answer::Missing(libc::ENOSYS));
        assert_eq!(in_child(|| Err(Trouble::Errno(libc::EPERM))), Answer::Forbidden(libc::EPERM));
        assert_eq!(in_child(|| Err(Trouble::Errno(libc::EMFILE))), Answer::Fails(libc::EMFILE));
        assert_eq!(in_child(|| Err(Trouble::Wrong)), Answer::WrongResult);
        assert_eq!(in_child(|| Ok(())), Answer::Works);
    }

    #[test]
    fn a_wait_that_would_sleep_or_succeed_is_a_wrong_answer() {
        assert!(matches!(refused_to_sleep(0), Err(Trouble::Wrong)));
    }

    #[test]
    fn an_ordinary_file_has_no_capabilities() {
        assert!(!has_file_capabilities(Path::new("/proc/self/status")));
    }
}
