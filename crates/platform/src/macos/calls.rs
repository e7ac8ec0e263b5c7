// SPDX-License-Identifier: MIT OR Apache-2.0
//! The calls of this room that are not the same on every system, each once. Their users explain them; [`interface`] has
//! their declarations.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use super::interface::{
    __error, __ulock_wait2, __ulock_wake, KERN_SUCCESS, OS_CLOCK_MACH_ABSOLUTE_TIME, OS_SYNC_SHARED,
    PROC_PIDFDPSHMINFO, PROC_PIDTBSDINFO, PROC_PIDTHREADID64INFO, ProcBsdInfo, ProcThreadInfo, PshmFdInfo, SZOMB,
    UL_COMPARE_AND_WAIT, UL_COMPARE_AND_WAIT_SHARED, UL_COMPARE_AND_WAIT64, UL_COMPARE_AND_WAIT64_SHARED, ULF_NO_ERRNO,
    ULF_WAKE_ALL, VM_INHERIT_COPY, VM_INHERIT_NONE, VM_REGION_BASIC_INFO_64, VmRegionBasicInfo64, mach_task_self_,
    minherit, proc_pidfdinfo, proc_pidinfo, pthread_threadid_np, vm_read_overwrite, vm_region_64,
};
use super::planted::{Bug, planted};
use crate::atomic::{Word32, Word64};
use crate::memory::owned;
use crate::without::Feature;

/// The threads that may sleep on a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Among {
    /// Threads of this process: the word is known by its address.
    Threads,
    /// Every process that maps the memory: the word is known by its memory object and its place in there.
    Processes,
}

/// A word that threads sleep on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slept {
    /// Its address.
    pub address: usize,
    /// Its bytes: 4 or 8.
    pub bytes: usize,
    pub among: Among,
}

impl Slept {
    pub(super) fn word(address: *const u32, among: Among) -> Slept {
        Slept { address: address as usize, bytes: size_of::<u32>(), among }
    }

    pub(super) fn long_word(address: *const u64, among: Among) -> Slept {
        let bytes = if planted(Bug::HalfWords) { size_of::<u32>() } else { size_of::<u64>() };
        Slept { address: address as usize, bytes, among }
    }

    /// The word's value.
    pub(super) fn load(self) -> u64 {
        // SAFETY: the caller's word is mapped and aligned; it is written by atomic accesses.
        unsafe { crate::atomic::load_foreign(self.address, self.bytes) }
    }

    fn place(self) -> *mut libc::c_void {
        core::ptr::with_exposed_provenance_mut(self.address)
    }

    fn operation(self) -> u32 {
        let is_long = self.bytes == size_of::<u64>();
        ULF_NO_ERRNO
            | match (self.among, is_long) {
                (Among::Threads, false) => UL_COMPARE_AND_WAIT,
                (Among::Processes, false) => UL_COMPARE_AND_WAIT_SHARED,
                (Among::Threads, true) => UL_COMPARE_AND_WAIT64,
                (Among::Processes, true) => UL_COMPARE_AND_WAIT64_SHARED,
            }
    }
}

fn without_errno(result: i32) -> Result<(), i32> {
    if result < 0 { Err(-result) } else { Ok(()) }
}

/// The system call: sleeps while the word holds the expected value; without a time, for ever.
pub(super) fn ulock_wait(word: Slept, expected: u64, time_ns: Option<u64>) -> Result<(), i32> {
    let time_ns = time_ns.map_or(0, |time| time.max(1));
    // SAFETY: the kernel checks the address and only reads the word. (It takes 0 for no limit.)
    without_errno(unsafe { __ulock_wait2(word.operation(), word.place(), expected, time_ns, 0) })
}

/// The system call: wakes one sleeper, or all.
pub(super) fn ulock_wake(word: Slept, all: bool) -> Result<(), i32> {
    let all = if all { ULF_WAKE_ALL } else { 0 };
    // SAFETY: a wake reads no memory; a bad address is an error that changes nothing.
    without_errno(unsafe { __ulock_wake(word.operation() | all, word.place(), 0) })
}

type Wait = unsafe extern "C" fn(*mut libc::c_void, u64, usize, u32) -> i32;
type WaitWithTimeout = unsafe extern "C" fn(*mut libc::c_void, u64, usize, u32, u32, u64) -> i32;
type Wake = unsafe extern "C" fn(*mut libc::c_void, usize, u32) -> i32;

/// The functions of macOS 14.4 that wrap those calls, and that programs should use.
#[derive(Clone, Copy)]
pub(super) struct OsSync {
    wait: Wait,
    wait_with_timeout: WaitWithTimeout,
    wake_any: Wake,
    wake_all: Wake,
}

/// The functions; none before macOS 14.4, and none if the user does without them. The first call looks for them. Nobody waits
/// while another thread looks: a signal handler could wait for the thread that it interrupted.
pub(super) fn os_sync() -> Option<OsSync> {
    const UNKNOWN: u32 = 0;
    const ABSENT: u32 = 1;
    const FOUND: u32 = 2;
    const NAMES: [&CStr; 4] = [
        c"os_sync_wait_on_address",
        c"os_sync_wait_on_address_with_timeout",
        c"os_sync_wake_by_address_any",
        c"os_sync_wake_by_address_all",
    ];
    static STATE: Word32 = Word32::new(UNKNOWN);
    static ADDRESSES: [Word64; NAMES.len()] = [const { Word64::new(0) }; NAMES.len()];
    if STATE.load() == UNKNOWN {
        for (address, name) in ADDRESSES.iter().zip(NAMES) {
            // SAFETY: a terminated name.
            address.store(unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) } as u64);
        }
        let all = ADDRESSES.iter().all(|address| address.load() != 0);
        STATE.store(if all && !Feature::OsSync.is_left_out() { FOUND } else { ABSENT });
    }
    if STATE.load() != FOUND {
        return None;
    }
    let address = |index: usize| ADDRESSES[index].load() as usize;
    // SAFETY: the system's functions of these names, which have these types and stay.
    unsafe {
        Some(OsSync {
            wait: core::mem::transmute::<usize, Wait>(address(0)),
            wait_with_timeout: core::mem::transmute::<usize, WaitWithTimeout>(address(1)),
            wake_any: core::mem::transmute::<usize, Wake>(address(2)),
            wake_all: core::mem::transmute::<usize, Wake>(address(3)),
        })
    }
}

impl OsSync {
    /// Does what [`ulock_wait`] does.
    pub(super) fn wait(&self, word: Slept, expected: u64, time_ns: Option<u64>) -> Result<(), i32> {
        let (place, bytes, flags) = (word.place(), word.bytes, Self::flags(word.among));
        // SAFETY: the kernel checks the address and only reads the word.
        with_errno(unsafe {
            match time_ns {
                None => (self.wait)(place, expected, bytes, flags),
                Some(time) => {
                    (self.wait_with_timeout)(place, expected, bytes, flags, OS_CLOCK_MACH_ABSOLUTE_TIME, time.max(1))
                }
            }
        })
    }

    /// Does what [`ulock_wake`] does.
    pub(super) fn wake(&self, word: Slept, all: bool) -> Result<(), i32> {
        let wake = if all { self.wake_all } else { self.wake_any };
        let bytes = if planted(Bug::WakesOfEightBytes) { 8 } else { word.bytes };
        let among = if planted(Bug::SharedOnOneSide) { Among::Threads } else { word.among };
        // SAFETY: a wake reads no memory; a bad address is an error that changes nothing.
        with_errno(unsafe { wake(word.place(), bytes, Self::flags(among)) })
    }

    fn flags(among: Among) -> u32 {
        if among == Among::Processes { OS_SYNC_SHARED } else { 0 }
    }
}

fn with_errno(result: i32) -> Result<(), i32> {
    if result < 0 { Err(crate::errno()) } else { Ok(()) }
}

/// Returns whether the word at an address can be read now: the kernel copies it.
pub(super) fn can_read(address: *const u32) -> bool {
    let (mut copy, mut copied) = (0u32, 0);
    let length = size_of_val(&copy) as u64;
    // SAFETY: the kernel checks what it reads, and writes a place of this length.
    let answer =
        unsafe { vm_read_overwrite(mach_task_self_, address as u64, length, (&raw mut copy) as u64, &mut copied) };
    answer == KERN_SUCCESS
}

/// Memory that is mapped in one way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Region {
    pub start: usize,
    pub end: usize,
    protection: i32,
    /// True if others map the same memory.
    pub is_shared: bool,
}

impl Region {
    /// Returns whether an access of this kind (`PROT_READ`, ...) succeeds.
    pub(super) fn can(&self, access: i32) -> bool {
        self.protection & access != 0 || planted(Bug::IgnoresProtection)
    }
}

/// The region that contains the address, or the first one after it.
pub(super) fn region(address: usize) -> Option<Region> {
    let (mut start, mut length, mut object) = (address as u64, 0, 0);
    let mut info = VmRegionBasicInfo64::default();
    let mut count = (size_of_val(&info) / size_of::<u32>()) as u32;
    // SAFETY: places for the answers, the last of so many numbers; it names no object.
    let answer = unsafe {
        vm_region_64(
            mach_task_self_,
            &mut start,
            &mut length,
            VM_REGION_BASIC_INFO_64,
            &mut info,
            &mut count,
            &mut object,
        )
    };
    (answer == KERN_SUCCESS && length > 0).then(|| Region {
        start: start as usize,
        end: start.saturating_add(length) as usize,
        protection: info.protection,
        is_shared: info.shared != 0,
    })
}

/// The address of the calling thread's error number.
pub(super) fn errno_place() -> *mut libc::c_int {
    // SAFETY: has no precondition.
    unsafe { __error() }
}

/// `minherit`: whether a forked child gets a copy of a range, or nothing.
pub(super) fn minherit_copied(start: usize, length: usize, is_copied: bool) -> io::Result<()> {
    let inheritance = if is_copied { VM_INHERIT_COPY } else { VM_INHERIT_NONE };
    // SAFETY: it changes nothing in this process.
    crate::protection::done(unsafe { minherit(start as *mut libc::c_void, length, inheritance) })
}

/// The calling thread's number, which no other thread has until the system is started again.
pub(super) fn thread_number() -> u64 {
    let mut number = 0;
    // SAFETY: a valid place; 0 names the calling thread.
    unsafe { pthread_threadid_np(0, &mut number) };
    number
}

/// A process, from `PROC_PIDTBSDINFO`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Found {
    /// Since 1970.
    pub start_us: u64,
    /// It has ended, and its parent has not waited for it yet.
    pub is_zombie: bool,
}

/// The process that has this number. `ESRCH`, or `EPERM` if it is another user's.
pub(super) fn process(pid: u32) -> Result<Found, i32> {
    /// Otherwise a process that has ended is not found.
    const ZOMBIES_TOO: u64 = 1;
    let zombies = if planted(Bug::ForgetsCorpses) { 0 } else { ZOMBIES_TOO };
    let info: ProcBsdInfo = information(|place, size| {
        // SAFETY: a place of this size for the answer.
        unsafe { proc_pidinfo(pid as i32, PROC_PIDTBSDINFO, zombies, place, size) }
    })?;
    let start_us = info.start_seconds.saturating_mul(1_000_000).saturating_add(info.start_microseconds);
    Ok(Found { start_us, is_zombie: info.status == SZOMB })
}

/// Returns whether a process has a thread of this number. `ESRCH` if not, or if there is no such process; `EPERM` if it
/// is another user's.
pub(super) fn find_thread(pid: u32, thread: u64) -> Result<(), i32> {
    information(|place, size| {
        // SAFETY: a place of this size for the answer.
        unsafe { proc_pidinfo(pid as i32, PROC_PIDTHREADID64INFO, thread, place, size) }
    })
    .map(|_: ProcThreadInfo| ())
}

/// Longest name of a shared memory object, without its zero.
pub(super) const SHM_NAME_MAX: usize = 31;

/// The name with which a shared memory object was created, even if it was unlinked since. `EBADF` if the descriptor is
/// something else.
pub(super) fn shm_name(fd: BorrowedFd<'_>) -> Result<[u8; SHM_NAME_MAX + 1], i32> {
    let info: PshmFdInfo = information(|place, size| {
        // SAFETY: a place of this size for the answer.
        unsafe { proc_pidfdinfo(libc::getpid(), fd.as_raw_fd(), PROC_PIDFDPSHMINFO, place, size) }
    })?;
    let mut name = [0; SHM_NAME_MAX + 1];
    name.copy_from_slice(&info.name[..SHM_NAME_MAX + 1]);
    Ok(name)
}

/// The result of a call that returns how many bytes it wrote, or 0 for an error.
fn information<T>(ask: impl FnOnce(*mut libc::c_void, i32) -> i32) -> Result<T, i32> {
    let mut place = core::mem::MaybeUninit::<T>::zeroed();
    let written = ask(place.as_mut_ptr().cast(), size_of::<T>() as i32);
    // SAFETY: structures of numbers, for which zeros are values, and which the kernel wrote.
    if written > 0 { Ok(unsafe { place.assume_init() }) } else { Err(crate::errno()) }
}

/// `shm_open` of a new object, to read and write, for this user. `EEXIST`.
pub(super) fn shm_create(name: &CStr) -> io::Result<OwnedFd> {
    // SAFETY: a terminated name.
    owned(unsafe { libc::shm_open(name.as_ptr(), libc::O_RDWR | libc::O_CREAT | libc::O_EXCL, 0o600) })
}

/// `shm_unlink`.
pub(super) fn shm_unlink(name: &CStr) {
    // SAFETY: a terminated name.
    unsafe { libc::shm_unlink(name.as_ptr()) };
}

/// `fstat`: the size, of a shared memory object or a file.
pub(super) fn size(fd: BorrowedFd<'_>) -> io::Result<u64> {
    let mut status = core::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: a valid place for the answer, which is whole when the call returns 0.
    unsafe {
        match libc::fstat(fd.as_raw_fd(), status.as_mut_ptr()) {
            0 => Ok(status.assume_init().st_size as u64),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// `ftruncate` of a new object, which takes it once.
pub(super) fn set_size_once(fd: &OwnedFd, length: u64) -> io::Result<()> {
    let length = libc::off_t::try_from(length).map_err(|_| io::Error::from_raw_os_error(libc::EFBIG))?;
    // SAFETY: no memory is passed.
    crate::protection::done(unsafe { libc::ftruncate(fd.as_raw_fd(), length) })
}

/// `F_OFD_SETLK` of one byte of a file.
pub(super) fn lock(fd: BorrowedFd<'_>, kind: i32, byte: u64) -> io::Result<()> {
    let lock = lock_of(kind, byte, 1);
    // SAFETY: a valid request that outlives the call.
    crate::protection::done(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_OFD_SETLK, &raw const lock) })
}

/// `F_OFD_GETLK`: whether another open file description has a lock on one of so many bytes of a file.
pub(super) fn is_locked(fd: BorrowedFd<'_>, byte: u64, count: u32) -> io::Result<bool> {
    let mut lock = lock_of(libc::F_WRLCK.into(), byte, count);
    // SAFETY: a valid request, and a valid place for the answer.
    crate::protection::done(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_OFD_GETLK, &raw mut lock) })?;
    Ok(i32::from(lock.l_type) != i32::from(libc::F_UNLCK))
}

fn lock_of(kind: i32, byte: u64, count: u32) -> libc::flock {
    libc::flock {
        l_start: byte as libc::off_t,
        l_len: count.into(),
        l_pid: 0,
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
    }
}
