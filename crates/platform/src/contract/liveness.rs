//! Liveness of processes and threads, identified so that a recycled number is not confused with its predecessor.

use core::sync::atomic::{AtomicPtr, Ordering};

use super::protection::Pages;
use crate::Here;
use crate::atomic::Word64;
#[cfg(ntux_explore)]
use crate::explore;
use crate::without::Feature;

/// The identity of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Process {
    /// Process number in its own namespace.
    pub pid: u32,
    /// Its start time, on the system's clock for that; 0 if unknown: on Linux without /proc, or with that of another
    /// namespace.
    pub start: u64,
    /// The namespace of the number; 0 if unknown.
    pub namespace: u64,
}

/// The system's view of the process that has a number now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seen {
    /// As [`Process::start`].
    pub start: u64,
    /// Dead, but its parent has not waited for it yet.
    pub is_corpse: bool,
}

/// Bits of a thread's number.
pub const THREAD_BITS: u32 = 51;

/// What a system must provide.
pub trait Identity {
    /// The calling thread's number, which is not 0. No other thread of the machine (or of the process's namespace) has
    /// it.
    fn thread_id() -> u64;
    /// The namespace of this process's numbers; 0 if unknown, the same for all if the system has none.
    fn namespace() -> u64;
    /// The start time of the calling process, which has this number; 0 if unknown.
    fn own_start(pid: u32) -> u64;
    /// The process that has this number now; none if unknown.
    fn look(pid: u32) -> Option<Seen>;
    /// Whether no thread of this process has this number. False if unknown.
    fn is_thread_gone(pid: u32, thread: u64) -> bool;
}

/// The calling process's number, without a system call after the first; right even in a child made by a bare fork.
#[inline(always)]
pub fn process_id() -> u32 {
    #[cfg(ntux_explore)]
    if let Some(process) = explore::identity().and_then(|identity| identity.process) {
        return process;
    }
    // SAFETY: null, or a word that lives for ever ([`mark`]).
    match unsafe { MARK.load(Ordering::Acquire).as_ref() }.map_or(0, |mark| mark.load()) {
        0 => learn_process_id(),
        pid => pid as u32,
    }
}

#[cold]
fn learn_process_id() -> u32 {
    let pid = std::process::id();
    if let Some(mark) = mark() {
        mark.store(u64::from(pid));
    }
    pid
}

/// What [`mark`] has made.
static MARK: AtomicPtr<Word64> = AtomicPtr::new(core::ptr::null_mut());

/// The word that caches the calling process's number: 0 in a forked child that has not asked for it yet. None if a fork would not zero
/// it.
pub fn process_word() -> Option<&'static Word64> {
    process_id();
    mark()
}

/// The word that caches the process number; none if a fork would not zero it.
///
/// Lock-free: of two threads that create one at the same time, one frees its page. A thread that waited could be a
/// forked child, and wait for a thread that it does not have.
fn mark() -> Option<&'static Word64> {
    // Stands for none.
    static NONE: Word64 = Word64::new(0);
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

/// A new word that reads 0 in a forked child, whatever was written before, however it was forked. None if the kernel
/// cannot do that (Linux before 4.14). Takes a page permanently; async-signal-safe.
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
        if !Here::wipe_on_fork(page as usize, PAGE) {
            libc::munmap(page, PAGE);
            return None;
        }
        Some(&*page.cast::<Word64>())
    }
}

/// The calling process. Makes system calls; not for a hot path.
pub fn this_process() -> Process {
    let pid = process_id();
    let namespace = Here::namespace();
    #[cfg(ntux_explore)]
    if explore::identity().is_some_and(|identity| identity.process.is_some()) {
        return Process { pid, start: 0, namespace };
    }
    Process { pid, start: Here::own_start(pid), namespace }
}

/// The calling thread's number.
///
/// It has at most [`THREAD_BITS`] bits. Linux writes it into 30: what its kernel is to recognize there is the whole
/// number.
pub fn thread_id() -> u64 {
    #[cfg(ntux_explore)]
    if let Some(identity) = explore::identity() {
        return identity.thread.into();
    }
    Here::thread_id()
}

/// Whether this process is certainly dead, as seen by `me`. False if that is unknown: resources of a dead process that
/// counts as alive stay taken, but those of a living one must not be taken away.
pub fn is_process_dead(process: Process, me: Process) -> bool {
    #[cfg(ntux_explore)]
    if let Some(scheduler) = explore::current() {
        return scheduler.is_process_dead(process.pid);
    }
    is_dead::<Here>(process, me)
}

pub(super) fn is_dead<S: Identity>(process: Process, me: Process) -> bool {
    if !shares_numbers(process, me) {
        return false;
    }
    if is_number_free(process.pid) {
        return true;
    }
    // A process that cannot find itself does not search for others.
    if me.start == 0 {
        return false;
    }
    match S::look(process.pid) {
        Some(now) => now.is_corpse || (process.start != 0 && now.start != process.start),
        // It, or a later process with its number, may have ended since the first question.
        None => is_number_free(process.pid),
    }
}

/// Whether the number of `process` means the same to `me` as to the process that recorded it.
fn shares_numbers(process: Process, me: Process) -> bool {
    process.namespace == me.namespace && process.namespace != 0 && process.pid != 0
}

/// Whether no process of this namespace has this number now.
pub fn is_number_free(pid: u32) -> bool {
    // SAFETY: signal 0 only asks whether the process exists.
    (unsafe { libc::kill(pid as libc::pid_t, 0) }) != 0 && crate::errno() == libc::ESRCH
}

/// Whether no thread of the calling process has this number. False if that is unknown.
pub fn is_own_thread_gone(thread: u64) -> bool {
    #[cfg(ntux_explore)]
    if let Some(scheduler) = explore::current() {
        return scheduler.is_thread_dead(thread as u32);
    }
    Here::is_thread_gone(process_id(), thread)
}

/// Whether this thread of a living process is certainly dead, as seen by `me`. False if that is unknown.
pub fn is_thread_dead(process: Process, thread: u64, me: Process) -> bool {
    #[cfg(ntux_explore)]
    if let Some(scheduler) = explore::current() {
        return scheduler.is_thread_dead(thread as u32);
    }
    shares_numbers(process, me) && Here::is_thread_gone(process.pid, thread)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A system on which the process that is looked at ends just before.
    struct EndsMeanwhile;

    impl Identity for EndsMeanwhile {
        fn look(pid: u32) -> Option<Seen> {
            // SAFETY: a child of the test.
            unsafe {
                libc::kill(pid as libc::pid_t, libc::SIGKILL);
                libc::waitpid(pid as libc::pid_t, core::ptr::null_mut(), 0);
            }
            None
        }

        fn thread_id() -> u64 {
            Here::thread_id()
        }

        fn namespace() -> u64 {
            Here::namespace()
        }

        fn own_start(pid: u32) -> u64 {
            Here::own_start(pid)
        }

        fn is_thread_gone(pid: u32, thread: u64) -> bool {
            Here::is_thread_gone(pid, thread)
        }
    }

    #[test]
    fn who_ends_between_the_two_questions_is_dead() {
        let mut child = std::process::Command::new("sleep").arg("300").spawn().expect("sleep starts");
        let me = this_process();
        let it = Process { pid: child.id(), ..me };
        assert!(is_dead::<EndsMeanwhile>(it, me));
        assert!(child.wait().is_err(), "nobody is left to wait for");
    }
}
