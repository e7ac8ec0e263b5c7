// SPDX-License-Identifier: MIT OR Apache-2.0
//! This system, but for one promise that it breaks.

use std::ffi::CStr;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ntux_platform::Here;
use ntux_platform::clock::Deadline;
use ntux_platform::contract::System;
use ntux_platform::contract::to_self::{Information, Mask, OwnSignals};
use ntux_platform::futex::{Sleep, Woken};
use ntux_platform::kernel_futex::{Entry, Futexes, LongWords, Nodes, Scope, Vectors};
use ntux_platform::life::{MarksAtDeath, PAGE};
use ntux_platform::liveness::{Identity, Seen};
use ntux_platform::meeting::Meetings;
use ntux_platform::memory::{Caller, Descriptions, FileId, Locks, SharedMemory};
use ntux_platform::processes::{End, Processes};
use ntux_platform::protection::Pages;
use ntux_platform::robust::{Fields, WakesAtDeath};
use ntux_platform::wake_descriptor::{Flag, Flags, Rings, WhyNot};

macro_rules! deviations {
    ($($(#[$doc:meta])* $name:ident => $check:literal,)+) => {
        /// A promise that is broken.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Deviation {
            $($(#[$doc])* $name,)+
        }

        impl Deviation {
            /// Each, and the check that must notice it.
            pub const ALL: &[(Deviation, &str)] = &[$((Deviation::$name, $check),)+];
        }
    };
}

deviations! {
    /// Wakes reach nobody.
    Deaf => "sleep: all sleepers are woken",
    /// One sleeper is woken, when all should be.
    WakesOne => "sleep: all sleepers are woken",
    /// The comparison comes a while before the sleep.
    TwoSteps => "sleep: no wake is lost",
    /// A word that differs is slept on.
    ComparesNothing => "sleep: a word that differs is not slept on",
    /// A deadline is no end.
    Oversleeps => "sleep: deadlines",
    /// A sleep ends as if its deadline had passed.
    Hasty => "sleep: deadlines",
    /// The key of a word is its address.
    MeetsWithinProcesses => "sleep: between processes",
    /// A wake with a mask goes to those of another one.
    IgnoresMasks => "sleep: futex calls",
    /// All memory can be read.
    ReadsAnything => "sleep: memory that cannot be read",
    /// A flag stays readable.
    LowersNothing => "sleep: flags",
    /// Memory that is freed keeps its contents.
    KeepsContents => "pages: freed",
    /// All memory can be written.
    WritesAnywhere => "pages: writable",
    /// Shared memory has no type and no inode, as XNU's.
    HasNoIdentity => "memory: identity",
    /// Every object is the same one.
    HasOneIdentity => "memory: identity",
    /// Whatever it is, it cannot shrink.
    AcceptsAnything => "memory: what is no shared memory",
    /// The size can be set again.
    CanBeCut => "memory: its size never changes",
    /// Shared memory cannot be read but by mapping it, as XNU's.
    CannotBeRead => "memory: new",
    /// A mapping is a copy.
    Copies => "memory: shared by mappings and processes",
    /// A page that is mapped again is another one.
    MapsElsewhere => "memory: a page that is mapped again",
    /// What is given back stays.
    GivesNothingBack => "memory: given back",
    /// A descriptor is inherited by programs that are executed.
    StaysAcrossExec => "memory: new",
    /// Locks belong to processes.
    LocksOfProcesses => "locks: of open file descriptions",
    /// A lock stays until its description ends.
    LetsNothingGo => "locks: of open file descriptions",
    /// Only the first byte of a range is looked at.
    ChecksOneByte => "locks: of open file descriptions",
    /// Nobody holds anything.
    LocksNothing => "locks: of processes that are killed",
    /// Numbers of threads are those of their process, as the names of Mach ports.
    ThreadsOfProcesses => "identity: numbers of threads",
    /// The number of a thread is longer than what remembers it.
    LongNumbers => "identity: numbers of threads",
    /// No process is found.
    Blind => "identity: processes",
    /// A corpse is like the living.
    SeesNoCorpse => "identity: processes",
    /// All processes have started at the same time.
    StartedTogether => "identity: processes",
    /// Nobody is ever gone.
    NobodyIsGone => "identity: ends of threads",
    /// Everybody else is gone.
    EverybodyIsGone => "identity: ends of threads",
    /// A process is said to live until its parent has waited for it.
    SeesNoEnd => "ends: of children",
    /// Everybody exits with 0.
    ForgetsStatus => "ends: of children",
    /// A bell ends no wait.
    RingsForNobody => "ends: bells",
    /// A bell rings for ever.
    RingsForEver => "ends: bells",
    /// Whatever is behind a descriptor is meant.
    OpensAnything => "meetings: files of others",
    /// Pages are said to be wiped.
    WipesNothing => "pages: wiped in a child",
    /// All threads have one error number.
    OneErrorNumber => "errors: a number for each thread",
}

static CHOSEN: AtomicU32 = AtomicU32::new(0);

/// Breaks this promise from now on, or none.
pub fn choose(deviation: Option<Deviation>) {
    CHOSEN.store(deviation.map_or(0, |deviation| deviation as u32 + 1), Ordering::SeqCst);
}

fn is(deviation: Deviation) -> bool {
    CHOSEN.load(Ordering::SeqCst) == deviation as u32 + 1
}

/// This system, with the chosen deviation.
pub struct Deviating;

fn load(address: *const u32) -> u32 {
    // SAFETY: a word of a page that is mapped.
    unsafe { AtomicU32::from_ptr(address.cast_mut()) }.load(Ordering::SeqCst)
}

impl System for Deviating {
    const BOOT_CLOCK: libc::clockid_t = Here::BOOT_CLOCK;
    const COARSE_CLOCK: libc::clockid_t = Here::COARSE_CLOCK;

    fn errno_place() -> *mut libc::c_int {
        static SAME: AtomicU32 = AtomicU32::new(0);
        if is(Deviation::OneErrorNumber) { SAME.as_ptr().cast() } else { Here::errno_place() }
    }

    fn processors() -> u64 {
        Here::processors()
    }

    fn processor() -> Option<u32> {
        Here::processor()
    }
}

impl Sleep for Deviating {
    fn wait(address: *const u32, expected: u32, deadline: Deadline) -> Woken {
        if is(Deviation::Hasty) {
            return Woken::TimedOut;
        }
        if is(Deviation::TwoSteps) && load(address) == expected {
            std::thread::sleep(Duration::from_micros(50));
        }
        let expected = if is(Deviation::TwoSteps) || is(Deviation::ComparesNothing) { load(address) } else { expected };
        let deadline = if is(Deviation::Oversleeps) { Deadline::Never } else { deadline };
        if is(Deviation::MeetsWithinProcesses) {
            let waited = <Here as Futexes>::wait(address, expected, u32::MAX, Scope::Private, deadline);
            return if waited == Err(libc::ETIMEDOUT) { Woken::TimedOut } else { Woken::LookAgain };
        }
        <Here as Sleep>::wait(address, expected, deadline)
    }

    fn wake(address: *const u32, count: u32) {
        if is(Deviation::MeetsWithinProcesses) {
            let _ = <Here as Futexes>::wake(address, count, u32::MAX, Scope::Private);
        } else if !(is(Deviation::Deaf) || is(Deviation::WakesOne) && count > 1) {
            <Here as Sleep>::wake(address, count);
        }
    }
}

impl Futexes for Deviating {
    const IS_EXACT: bool = <Here as Futexes>::IS_EXACT;

    fn wait(address: *const u32, expected: u32, mask: u32, scope: Scope, deadline: Deadline) -> Result<(), i32> {
        <Here as Futexes>::wait(address, expected, mask, scope, deadline)
    }

    fn wake(address: *const u32, count: u32, mask: u32, scope: Scope) -> Result<u32, i32> {
        if is(Deviation::IgnoresMasks) && mask != u32::MAX {
            return Ok(0);
        }
        <Here as Futexes>::wake(address, count, mask, scope)
    }

    fn can_read(address: *const u32) -> bool {
        is(Deviation::ReadsAnything) || <Here as Futexes>::can_read(address)
    }
}

impl LongWords for Deviating {
    const HAS_LONG_WORDS: bool = <Here as LongWords>::HAS_LONG_WORDS;

    fn wait_long(address: *const u64, expected: u64, scope: Scope, deadline: Deadline) -> Result<(), i32> {
        Here::wait_long(address, expected, scope, deadline)
    }

    fn wake_long(address: *const u64, count: u32, scope: Scope) -> Result<u32, i32> {
        Here::wake_long(address, count, scope)
    }
}

impl Vectors for Deviating {
    const CAN_REQUEUE: bool = <Here as Vectors>::CAN_REQUEUE;

    fn wait_any_may_be_tried() -> bool {
        Here::wait_any_may_be_tried()
    }

    fn wait_any(entries: &[Entry], deadline: Deadline) -> Result<usize, i32> {
        Here::wait_any(entries, deadline)
    }

    fn requeue(
        from: *const u32,
        to: *const u32,
        scope: Scope,
        wake: u32,
        moved: u32,
        expected: u32,
    ) -> Result<u32, i32> {
        Here::requeue(from, to, scope, wake, moved, expected)
    }

    fn times_asleep() -> u64 {
        Here::times_asleep()
    }
}

impl Nodes for Deviating {
    fn nodes_may_be_tried() -> bool {
        Here::nodes_may_be_tried()
    }

    fn wait_at_node(
        address: *const u32,
        expected: u32,
        mask: u32,
        scope: Scope,
        deadline: Deadline,
    ) -> Result<(), i32> {
        Here::wait_at_node(address, expected, mask, scope, deadline)
    }

    fn wake_at_node(address: *const u32, count: u32, mask: u32, scope: Scope) -> Result<u32, i32> {
        Here::wake_at_node(address, count, mask, scope)
    }

    fn requeue_at_node(
        from: *const u32,
        to: *const u32,
        scope: Scope,
        wake: u32,
        moved: u32,
        expected: u32,
    ) -> Result<u32, i32> {
        Here::requeue_at_node(from, to, scope, wake, moved, expected)
    }
}

impl SharedMemory for Deviating {
    fn create(name: &CStr, length: u64) -> io::Result<OwnedFd> {
        if is(Deviation::CanBeCut) {
            let file = tempfile()?;
            file.set_len(length)?;
            return Ok(file.into());
        }
        let fd = Here::create(name, length)?;
        if is(Deviation::StaysAcrossExec) {
            // SAFETY: an open descriptor, and no memory.
            unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFD, 0) };
        }
        Ok(fd)
    }

    fn regular_file(fd: BorrowedFd<'_>) -> io::Result<Option<FileId>> {
        match Here::regular_file(fd)? {
            Some(_) if is(Deviation::HasNoIdentity) => Ok(None),
            Some(_) if is(Deviation::HasOneIdentity) => Ok(Some(FileId { device: 0, inode: 0 })),
            other => Ok(other),
        }
    }

    fn cannot_shrink(fd: BorrowedFd<'_>) -> bool {
        is(Deviation::AcceptsAnything) || is(Deviation::CanBeCut) || Here::cannot_shrink(fd)
    }

    fn cannot_fault(fd: BorrowedFd<'_>) -> bool {
        is(Deviation::CanBeCut) || Here::cannot_fault(fd)
    }

    fn size(fd: BorrowedFd<'_>) -> io::Result<u64> {
        Here::size(fd)
    }

    fn read_start(fd: BorrowedFd<'_>, bytes: &mut [u8]) -> io::Result<usize> {
        if is(Deviation::CannotBeRead) {
            return Err(io::Error::from_raw_os_error(libc::ENXIO));
        }
        Here::read_start(fd, bytes)
    }

    fn map(length: usize, access: libc::c_int, flags: libc::c_int, fd: libc::c_int) -> io::Result<NonNull<u8>> {
        let copies = is(Deviation::Copies) && flags == libc::MAP_SHARED;
        Here::map(length, access, if copies { libc::MAP_PRIVATE } else { flags }, fd)
    }

    unsafe fn provide(start: NonNull<u8>, length: usize) -> io::Result<()> {
        // SAFETY: the caller's promise.
        unsafe { Here::provide(start, length) }
    }

    unsafe fn discard(start: NonNull<u8>, length: usize) -> io::Result<()> {
        if is(Deviation::GivesNothingBack) {
            return Ok(());
        }
        // SAFETY: the caller's promise.
        unsafe { Here::discard(start, length) }
    }

    fn to_read(fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
        Here::to_read(fd)
    }

    fn parts(fd: BorrowedFd<'_>, length: u64) -> io::Result<Vec<Range<u64>>> {
        Here::parts(fd, length)
    }
}

fn tempfile() -> io::Result<std::fs::File> {
    let path = std::env::temp_dir().join(format!("ntux-deviation-{}", std::process::id()));
    let file = std::fs::File::options().read(true).write(true).create_new(true).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

/// The lock of a process, which other descriptors of the process do not see.
fn lock_of_process(fd: BorrowedFd<'_>, byte: u64) -> io::Result<()> {
    // SAFETY: integers, for which zero is a value.
    let mut lock: libc::flock = unsafe { core::mem::zeroed() };
    (lock.l_type, lock.l_whence) = (libc::F_RDLCK as _, libc::SEEK_SET as _);
    (lock.l_start, lock.l_len) = (byte as libc::off_t, 1);
    // SAFETY: a valid request that outlives the call.
    match unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETLK, &raw const lock) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

impl Locks for Deviating {
    fn hold(fd: BorrowedFd<'_>, byte: u64) -> io::Result<()> {
        match () {
            () if is(Deviation::LocksOfProcesses) => lock_of_process(fd, byte),
            () if is(Deviation::LocksNothing) => Ok(()),
            () => Here::hold(fd, byte),
        }
    }

    fn hold_alone(fd: BorrowedFd<'_>, byte: u64) -> io::Result<bool> {
        Here::hold_alone(fd, byte)
    }

    fn let_go(fd: BorrowedFd<'_>, byte: u64) -> io::Result<()> {
        if is(Deviation::LetsNothingGo) { Ok(()) } else { Here::let_go(fd, byte) }
    }

    fn is_held(fd: BorrowedFd<'_>, byte: u64, count: u32) -> io::Result<bool> {
        let count = if is(Deviation::ChecksOneByte) { 1 } else { count };
        Here::is_held(fd, byte, count)
    }
}

impl Descriptions for Deviating {
    fn reopen(fd: BorrowedFd<'_>, caller: Caller) -> io::Result<OwnedFd> {
        Here::reopen(fd, caller)
    }
}

/// Linux gives no process a number this high.
const NUMBERS: u64 = 1 << 22;

impl Identity for Deviating {
    fn thread_id() -> u64 {
        let number = Here::thread_id();
        match () {
            // The first thread of every process has the same number. Others can be below that of their process. Only the
            // lower bits: in the simulation of XNU the time when a thread began stands above them.
            () if is(Deviation::ThreadsOfProcesses) => {
                NUMBERS + (number % NUMBERS + NUMBERS - u64::from(std::process::id())) % NUMBERS
            }
            () if is(Deviation::LongNumbers) => number | 1 << 60,
            () => number,
        }
    }

    fn namespace() -> u64 {
        Here::namespace()
    }

    fn own_start(pid: u32) -> u64 {
        if is(Deviation::StartedTogether) { 0 } else { Here::own_start(pid) }
    }

    fn look(pid: u32) -> Option<Seen> {
        let seen = Here::look(pid).filter(|_| !is(Deviation::Blind))?;
        Some(Seen { is_corpse: seen.is_corpse && !is(Deviation::SeesNoCorpse), ..seen })
    }

    fn is_thread_gone(pid: u32, thread: u64) -> bool {
        match () {
            () if is(Deviation::NobodyIsGone) => false,
            () if is(Deviation::EverybodyIsGone) => pid != std::process::id() || thread != Here::thread_id(),
            () => Here::is_thread_gone(pid, thread),
        }
    }
}

impl Meetings for Deviating {
    fn place(name: &CStr, start: &[u8]) -> io::Result<OwnedFd> {
        Here::place(name, start)
    }

    fn file_of(pid: u32, fd: u32, inode: u64) -> io::Result<OwnedFd> {
        Here::file_of(pid, fd, inode).or_else(|error| match is(Deviation::OpensAnything) {
            true => Here::create(c"anything", 4096),
            false => Err(error),
        })
    }
}

impl Processes for Deviating {
    fn open(pid: u32) -> io::Result<OwnedFd> {
        Here::open(pid)
    }

    fn has_ended(process: BorrowedFd<'_>) -> io::Result<bool> {
        if is(Deviation::SeesNoEnd) { Ok(false) } else { Here::has_ended(process) }
    }

    fn end(process: BorrowedFd<'_>) -> io::Result<Option<End>> {
        let end = Here::end(process)?;
        Ok(if is(Deviation::ForgetsStatus) { end.map(|_| End::Exited(0)) } else { end })
    }

    fn bell() -> io::Result<OwnedFd> {
        Here::bell()
    }

    fn ring(bell: BorrowedFd<'_>) {
        if !is(Deviation::RingsForNobody) {
            Here::ring(bell);
        }
    }

    fn wait_for_end(bell: BorrowedFd<'_>, processes: &[BorrowedFd<'_>], deadline: Deadline) -> io::Result<()> {
        Here::wait_for_end(bell, processes, deadline)?;
        if is(Deviation::RingsForEver) {
            Here::ring(bell);
        }
        Ok(())
    }
}

impl Pages for Deviating {
    fn inherit(start: usize, length: usize, is_inherited: bool) -> io::Result<()> {
        Here::inherit(start, length, is_inherited)
    }

    fn populate_for_writing(start: usize, length: usize) -> bool {
        is(Deviation::WritesAnywhere) || Here::populate_for_writing(start, length)
    }

    unsafe fn empty(start: usize, length: usize) -> io::Result<()> {
        if is(Deviation::KeepsContents) {
            return Ok(());
        }
        // SAFETY: the caller's promise.
        unsafe { Here::empty(start, length) }
    }

    fn wipe_on_fork(start: usize, length: usize) -> bool {
        is(Deviation::WipesNothing) || Here::wipe_on_fork(start, length)
    }
}

impl WakesAtDeath for Deviating {
    fn head() -> *mut Fields {
        Here::head()
    }
}

impl MarksAtDeath for Deviating {
    fn map_again(page: *const u8) -> Option<NonNull<u8>> {
        match is(Deviation::MapsElsewhere) {
            true => {
                Here::map(2 * PAGE, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)
                    .ok()
            }
            false => Here::map_again(page),
        }
    }

    unsafe fn unmap_again(pages: NonNull<u8>) {
        // SAFETY: the caller's promise.
        unsafe { Here::unmap_again(pages) }
    }
}

/// A flag that is never lowered, if that is the deviation.
pub struct Stuck(<Here as Flags>::Flag);

impl Flag for Stuck {
    fn raise(&self) {
        self.0.raise();
    }

    fn lower(&self) {
        if !is(Deviation::LowersNothing) {
            self.0.lower();
        }
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.0.fd()
    }
}

impl Flags for Deviating {
    type Flag = Stuck;

    fn flag() -> io::Result<Stuck> {
        Here::flag().map(Stuck)
    }
}

/// `tests/wake_descriptor.rs` tries what rings promise, by way of what uses them.
impl Rings for Deviating {
    type Ring = <Here as Rings>::Ring;

    fn open_ring() -> Result<Self::Ring, WhyNot> {
        Here::open_ring()
    }
}

impl OwnSignals for Deviating {
    const OF_THE_LIBRARY: Mask = Here::OF_THE_LIBRARY;
    const QUEUED_FROM: libc::c_int = Here::QUEUED_FROM;

    fn send(signal: libc::c_int, information: &Information) {
        Here::send(signal, information);
    }

    fn send_stand_in(signal: libc::c_int) {
        Here::send_stand_in(signal);
    }

    fn is_stand_in(information: &Information, expected: bool) -> bool {
        Here::is_stand_in(information, expected)
    }

    unsafe fn block_in(context: *mut libc::c_void, more: Mask) -> Mask {
        // SAFETY: the caller's promise.
        unsafe { Here::block_in(context, more) }
    }

    fn change(how: libc::c_int, mask: Mask) -> Mask {
        Here::change(how, mask)
    }
}
