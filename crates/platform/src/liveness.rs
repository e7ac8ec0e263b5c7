//! Who is alive: processes and threads, named so that a recycled number is not taken for the one before.

use core::sync::atomic::{AtomicPtr, Ordering};

use crate::atomic::Word64;
#[cfg(ntux_explore)]
use crate::explore;
use crate::path::Path;
use crate::without::Feature;

/// A process, as others may remember it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Process {
    /// Process number in its own namespace.
    pub pid: u32,
    /// When it started, in the kernel's ticks; 0 where unknown: without /proc, or with that of another namespace.
    pub start: u64,
    /// Which namespace the number belongs to; 0 where unknown.
    pub namespace: u64,
}

/// The calling process number, without a system call after the first; right also in a child made by a bare fork.
pub fn process_id() -> u32 {
    #[cfg(ntux_explore)]
    if let Some(process) = explore::identity().and_then(|identity| identity.process) {
        return process;
    }
    let Some(mark) = mark() else { return std::process::id() };
    match mark.load() {
        0 => {
            let pid = std::process::id();
            mark.store(u64::from(pid));
            pid
        }
        pid => pid as u32,
    }
}

/// The word that holds the process number; none where a fork would not empty it.
///
/// Nobody waits for anybody: of two threads that make one at the same time, one gives its page away. Whoever waited could
/// be a forked child, and wait for a thread that it does not have.
fn mark() -> Option<&'static Word64> {
    // Stands for none.
    static NONE: Word64 = Word64::new(0);
    static MARK: AtomicPtr<Word64> = AtomicPtr::new(core::ptr::null_mut());
    // SAFETY: null, or a word that lives for ever (below).
    let known = unsafe { MARK.load(Ordering::Acquire).as_ref() };
    let mark = known.unwrap_or_else(|| {
        let made = core::ptr::from_ref(word_wiped_on_fork().unwrap_or(&NONE)).cast_mut();
        let _ = MARK.compare_exchange(core::ptr::null_mut(), made, Ordering::AcqRel, Ordering::Acquire);
        // SAFETY: whichever word came first lives for ever.
        unsafe { &*MARK.load(Ordering::Acquire) }
    });
    (!core::ptr::eq(mark, &NONE)).then_some(mark)
}

/// A new word that reads 0 in a forked child, whatever was written before, however it was forked. None where the kernel
/// cannot do that (Linux before 4.14). Takes a page, for good; async-signal-safe.
pub fn word_wiped_on_fork() -> Option<&'static Word64> {
    if Feature::WipeOnFork.is_left_out() {
        return None;
    }
    const PAGE: usize = 4096;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a fresh anonymous mapping at an address of the kernel's choice; never unmapped, so the word in it lives
    // for ever, and zero bytes are a valid Word64.
    unsafe {
        let page = libc::mmap(core::ptr::null_mut(), PAGE, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
        if page == libc::MAP_FAILED {
            return None;
        }
        if !wipe_on_fork(page, PAGE) {
            libc::munmap(page, PAGE);
            return None;
        }
        Some(&*page.cast::<Word64>())
    }
}

#[cfg(target_os = "linux")]
pub(crate) fn wipe_on_fork(page: *mut libc::c_void, length: usize) -> bool {
    // SAFETY: advice about a mapping of our own.
    unsafe { libc::madvise(page, length, libc::MADV_WIPEONFORK) == 0 }
}

#[cfg(target_os = "macos")]
pub(crate) fn wipe_on_fork(page: *mut libc::c_void, length: usize) -> bool {
    const VM_INHERIT_ZERO: libc::c_int = 3;
    unsafe extern "C" {
        fn minherit(address: *mut libc::c_void, length: usize, inherit: libc::c_int) -> libc::c_int;
    }
    // SAFETY: advice about a mapping of our own.
    unsafe { minherit(page, length, VM_INHERIT_ZERO) == 0 }
}

/// The calling process. Reads /proc; not for a hot path.
pub fn this_process() -> Process {
    let pid = process_id();
    #[cfg(ntux_explore)]
    if explore::identity().is_some_and(|identity| identity.process.is_some()) {
        return Process { pid, start: 0, namespace: namespace() };
    }
    let stat = if is_proc_ours(pid) { Stat::read(pid) } else { None };
    Process { pid, start: stat.map_or(0, |stat| stat.start), namespace: namespace() }
}

/// The calling thread's number.
pub fn thread_id() -> u32 {
    #[cfg(ntux_explore)]
    if let Some(identity) = explore::identity() {
        return identity.thread;
    }
    #[cfg(target_os = "linux")]
    {
        // SAFETY: a call without arguments.
        (unsafe { libc::syscall(libc::SYS_gettid) }) as u32
    }
    #[cfg(target_os = "macos")]
    {
        // SAFETY: the current thread's port name is a plain number.
        unsafe { libc::pthread_mach_thread_np(libc::pthread_self()) }
    }
}

/// Whether this process is certainly gone, as seen by `me`. False whenever that cannot be known: what belongs to a dead
/// process that counts as alive stays taken, what belongs to a living one must not be taken away.
pub fn is_process_dead(process: Process, me: Process) -> bool {
    #[cfg(ntux_explore)]
    if let Some(scheduler) = explore::current() {
        return scheduler.is_process_dead(process.pid);
    }
    if process.namespace != me.namespace || process.namespace == 0 || process.pid == 0 {
        return false;
    }
    if is_number_free(process.pid) {
        return true;
    }
    // Where this process does not find itself in /proc, it does not look for others there.
    me.start != 0
        && Stat::read(process.pid)
            .is_some_and(|now| now.is_corpse() || (process.start != 0 && now.start != process.start))
}

/// Whether no process of this namespace has this number now.
pub fn is_number_free(pid: u32) -> bool {
    // SAFETY: signal 0 only asks whether the process exists.
    (unsafe { libc::kill(pid as libc::pid_t, 0) }) != 0 && crate::errno() == libc::ESRCH
}

/// Whether this thread of a living process is certainly gone, as seen by `me`. False whenever that cannot be known.
pub fn is_thread_dead(process: Process, thread: u32, me: Process) -> bool {
    #[cfg(ntux_explore)]
    if let Some(scheduler) = explore::current() {
        return scheduler.is_thread_dead(thread);
    }
    #[cfg(target_os = "linux")]
    {
        if process.namespace != me.namespace || process.namespace == 0 || process.pid == 0 {
            return false;
        }
        // SAFETY: signal 0 only asks whether the thread exists.
        let result = unsafe { libc::syscall(libc::SYS_tgkill, process.pid, thread, 0) };
        result != 0 && crate::errno() == libc::ESRCH
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (process, thread, me);
        false
    }
}

/// Whether the numbers in /proc are those of this process's own namespace. They are not in a new namespace of processes
/// before somebody mounts a new /proc: numbers mean other processes there.
#[cfg(target_os = "linux")]
fn is_proc_ours(pid: u32) -> bool {
    let mut buffer = [0u8; 4096];
    let Some(length) = read_file(Path::new(format_args!("/proc/self/status")), &mut buffer) else { return false };
    is_sole_number(&buffer[..length], pid)
}

#[cfg(not(target_os = "linux"))]
fn is_proc_ours(_pid: u32) -> bool {
    true
}

/// Whether this is the status of a process that has this number, and no other one in namespaces below that of /proc.
#[cfg(target_os = "linux")]
fn is_sole_number(status: &[u8], pid: u32) -> bool {
    let line = |name: &[u8]| {
        let line = status.split(|&byte| byte == b'\n').find_map(|line| line.strip_prefix(name))?;
        core::str::from_utf8(line).ok().map(str::trim)
    };
    let is_ours = |numbers: &str| numbers.parse() == Ok(pid);
    // The second line is missing from kernels without such namespaces, and behind a long list of groups.
    line(b"Tgid:").is_some_and(is_ours) && line(b"NStgid:").is_none_or(is_ours)
}

/// What /proc tells of a process.
struct Stat {
    state: char,
    threads: u32,
    start: u64,
}

impl Stat {
    fn read(pid: u32) -> Option<Stat> {
        let mut buffer = [0u8; 1024];
        let length = read_file(Path::new(format_args!("/proc/{pid}/stat")), &mut buffer)?;
        // The command may hold bytes that are no text; what is behind it is plain.
        let command_end = buffer[..length].iter().rposition(|&byte| byte == b')')?;
        let line = core::str::from_utf8(&buffer[command_end..length]).ok()?;
        let mut fields = line[1..].split_whitespace();
        let state = fields.next()?.chars().next()?;
        let threads = fields.nth(16)?.parse().ok()?;
        let start = fields.nth(1)?.parse().ok()?;
        Some(Stat { state, threads, start })
    }

    /// Dead, but its parent has not asked yet. (A leader that ended before its threads looks dead too, but counts them.)
    fn is_corpse(&self) -> bool {
        matches!(self.state, 'Z' | 'X') && self.threads <= 1
    }
}

/// Reads the beginning of a file, without touching the heap.
fn read_file(path: Path, buffer: &mut [u8]) -> Option<usize> {
    // SAFETY: the path is terminated and outlives the call; the buffer is valid for its length; the descriptor is ours.
    unsafe {
        let fd = libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if fd < 0 {
            return None;
        }
        let length = libc::read(fd, buffer.as_mut_ptr().cast(), buffer.len());
        libc::close(fd);
        usize::try_from(length).ok()
    }
}

#[cfg(target_os = "linux")]
fn namespace() -> u64 {
    let mut status = core::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: a terminated path, and a valid place for the answer, which is whole when the call returns 0.
    unsafe {
        match libc::stat(c"/proc/self/ns/pid".as_ptr(), status.as_mut_ptr()) {
            0 => status.assume_init().st_ino,
            _ => 0,
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn namespace() -> u64 {
    1
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_one_number_in_its_own_proc() {
        let status = |numbers| format!("Name:\tTgid:\t7\nTgid:\t42\n{numbers}Seccomp:\t0\n").into_bytes();
        assert!(is_sole_number(&status("NStgid:\t42\n"), 42));
        assert!(is_sole_number(&status(""), 42), "the line was cut off");
        assert!(!is_sole_number(&status("NStgid:\t42\n"), 7));
        assert!(!is_sole_number(&status("NStgid:\t42\t3\n"), 3), "/proc is of the namespace above");
        assert!(!is_sole_number(&status("NStgid:\t42\t42\n"), 42), "... where it has the same number by chance");
        assert!(!is_sole_number(b"", 42));
        assert!(is_proc_ours(std::process::id()) && this_process().start != 0, "these tests have a /proc of their own");
    }
}
