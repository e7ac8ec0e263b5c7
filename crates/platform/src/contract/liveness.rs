// SPDX-License-Identifier: MIT OR Apache-2.0
//! Liveness of processes and threads, identified so that a recycled number is not confused with its predecessor.
//!
//! A number alone names nobody for good. It is used again, and in another namespace another process has it at the same time: the first
//! process of a container has number 1, and so has the first of a container in it, which can be its forked child. So whoever keeps a
//! number for later keeps more:
//!
//! * what stays within a process and is copied by a fork: the [`lineage`]. A process and its ancestors all have different ones, however
//!   they were forked, and nobody else has a copy of that memory;
//! * what other processes read: a [`Process`]. Its namespace says to whom the number means the same, its start time tells it from a
//!   later process with its number, and its incarnation makes the whole differ from that of every other process. So who replaces
//!   a recorded process by a compare-exchange replaces none that has come since.
//!
//! # Picture
//! One page that a fork wipes, with two words. 0: not asked for yet.
//! ```text
//!            63                 32 31                  0
//!           +---------------------+---------------------+
//! lineage   |     generation      |       number        |
//!           +---------------------+---------------------+
//! word 1    |                incarnation                |
//!           +-------------------------------------------+
//! ```
//! The generation is one more than the highest of the ancestors that have asked. It is counted in ordinary memory, which a child
//! inherits. (Siblings can have the same one; they have no memory of each other.)
//!
//! # Order
//! O-lineage: a thread counts the generation before it writes the lineage, and writes the lineage before anybody can keep it. A fork
//! copies the pages of a process one by one while its other threads run, but a page that was copied is not written by them before
//! the fork is over. So a child that inherits a kept lineage inherits the count as well, and counts further.
//!
//! # Limits
//! Where the system wipes no page, the generation is the number, and the incarnation 0.

use core::sync::atomic::{AtomicPtr, Ordering};

use super::protection::Pages;
use crate::Here;
use crate::atomic::{Word32, Word64};
#[cfg(not(ntux_explore))]
use crate::clock;
#[cfg(ntux_explore)]
use crate::explore;
use crate::without::Feature;

/// The identity of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Process {
    /// Process number in its own namespace.
    pub pid: u32,
    /// Its start time, on the system's clock for that, as far as it fits [`START_BITS`]; 0 if unknown: on Linux without /proc, with
    /// that of another namespace, or in a time namespace, whose clock is another one.
    pub start: u64,
    /// The namespace of the number; 0 if unknown.
    pub namespace: u64,
    /// Drawn by each process, and anew by each program that it executes, from [`INCARNATION_BITS`]; 0 if unknown.
    pub incarnation: u32,
}

/// Bits of a start time that are kept. One that is longer wraps: two processes would be taken for one if they started exactly so far
/// apart (on macOS six days, in microseconds).
pub const START_BITS: u32 = 39;
/// Bits of an incarnation.
pub const INCARNATION_BITS: u32 = 24;
const START_MASK: u64 = u64::MAX >> (64 - START_BITS);

/// The system's view of the process that has a number now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seen {
    /// The start time of the process, as [`Process::start`] has it.
    pub start: u64,
    /// Dead, but its parent has not waited for it yet.
    pub is_corpse: bool,
}

/// Bits of a thread's number.
pub const THREAD_BITS: u32 = 50;

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
    /// Returns whether no thread of this process has this number. False if unknown.
    fn is_thread_gone(pid: u32, thread: u64) -> bool;
}

/// The calling process's number, without a system call after the first; right even in a child made by a bare fork.
#[inline(always)]
pub fn process_id() -> u32 {
    lineage() as u32
}

/// What tells the calling process from all its ancestors, however it was forked, and whatever numbers they have. Not 0; no system
/// call after the first. The lower half is its number, the upper half its generation.
#[inline(always)]
pub fn lineage() -> u64 {
    #[cfg(ntux_explore)]
    if let Some(lineage) = explore::identity().and_then(|identity| identity.lineage()) {
        return lineage;
    }
    // SAFETY: null, or words that live for ever ([`own`]).
    match unsafe { OWN.load(Ordering::Acquire).as_ref() }.map_or(0, |own| own.lineage.load()) {
        0 => learn_lineage(),
        lineage => lineage,
    }
}

/// The upper half of the [`lineage`], which tells as much. It has 31 bits, and is not 0.
#[inline(always)]
pub fn generation() -> u32 {
    (lineage() >> 32) as u32
}

/// The highest generation of this process and its ancestors.
static GENERATIONS: Word32 = Word32::new(0);

/// Does what [`lineage`] does, for a forked child that has hardly asked before: it writes at once, because a page that is read
/// first and then written is faulted in twice.
#[cold]
pub fn learn_lineage() -> u64 {
    let pid = u64::from(std::process::id());
    let Some(own) = own() else { return pid << 32 | pid };
    // O-lineage
    let generation = GENERATIONS.fetch_add(1).wrapping_add(1) & (u32::MAX >> 1);
    let mine = u64::from(generation.max(1)) << 32 | pid;
    own.lineage.compare_exchange(0, mine).map_or_else(|found| found, |()| mine)
}

/// What a process knows of itself, in a page that a fork wipes.
#[repr(C)]
struct Own {
    lineage: Word64,
    incarnation: Word64,
    kept: [Word64; 2],
}

/// What [`own`] has made.
static OWN: AtomicPtr<Own> = AtomicPtr::new(core::ptr::null_mut());

/// The word that caches the lineage of the calling process: 0 in a forked child that has not asked for it yet. None if a fork would
/// not zero it.
pub fn lineage_word() -> Option<&'static Word64> {
    lineage();
    own().map(|own| &own.lineage)
}

/// Where a system keeps what it has found out about the calling process: 0 before that, and in a forked child. None if a fork would
/// not zero it.
pub fn kept_words() -> Option<&'static [Word64; 2]> {
    own().map(|own| &own.kept)
}

/// The words of this process; none if a fork would not zero them.
///
/// Lock-free: of two threads that create them at the same time, one leaves its page. A thread that waited could be a
/// forked child, and wait for a thread that it does not have.
fn own() -> Option<&'static Own> {
    // Stands for none.
    static NONE: Own =
        Own { lineage: Word64::new(0), incarnation: Word64::new(0), kept: [const { Word64::new(0) }; 2] };
    // SAFETY: null, or words that live for ever (below).
    let known = unsafe { OWN.load(Ordering::Acquire).as_ref() };
    let own = known.unwrap_or_else(|| {
        let made = page_wiped_on_fork().map_or(core::ptr::from_ref(&NONE), |page| page.cast());
        let _ = OWN.compare_exchange(core::ptr::null_mut(), made.cast_mut(), Ordering::AcqRel, Ordering::Acquire);
        // SAFETY: whichever words came first live for ever.
        unsafe { &*OWN.load(Ordering::Acquire) }
    });
    (!core::ptr::eq(own, &NONE)).then_some(own)
}

/// The incarnation of the calling process: not the same in a child, in the program that it executes next, or in a later process with
/// its number. 0 if the system wipes no page.
fn incarnation() -> u32 {
    // A checker repeats its runs exactly.
    #[cfg(ntux_explore)]
    return explore::identity().filter(|identity| identity.process.is_some()).map_or(0, |identity| identity.generation);
    #[cfg(not(ntux_explore))]
    own().map_or(0, drawn_incarnation)
}

#[cfg(not(ntux_explore))]
fn drawn_incarnation(own: &'static Own) -> u32 {
    let drawn = match own.incarnation.load() {
        0 => {
            let drawn = u64::from(draw(core::ptr::from_ref(own).addr() as u64));
            own.incarnation.compare_exchange(0, drawn).map_or_else(|found| found, |()| drawn)
        }
        known => known,
    };
    drawn as u32
}

/// A number that another process draws by chance only, of a time in nanoseconds, and an address that the system chose at random.
#[cfg(not(ntux_explore))]
fn draw(address: u64) -> u32 {
    let mut mixed = clock::monotonic_ns() ^ address.rotate_left(20) ^ u64::from(process_id()) << 40;
    for factor in [0xbf58_476d_1ce4_e5b9u64, 0x94d0_49bb_1331_11eb] {
        mixed = (mixed ^ mixed >> 30).wrapping_mul(factor);
    }
    ((mixed >> (64 - INCARNATION_BITS)) as u32).max(1)
}

/// A new word that reads 0 in a forked child, whatever was written before, however it was forked. None if the kernel
/// cannot do that (Linux before 4.14). Takes a page permanently; async-signal-safe.
pub fn word_wiped_on_fork() -> Option<&'static Word64> {
    // SAFETY: the page is never unmapped, so the word in it lives for ever, and zero bytes are a valid Word64.
    page_wiped_on_fork().map(|page| unsafe { &*page.cast::<Word64>() })
}

/// Does what [`word_wiped_on_fork`] does, with a page of zeros that is never unmapped.
fn page_wiped_on_fork() -> Option<*const u8> {
    if Feature::WipeOnFork.is_left_out() {
        return None;
    }
    const PAGE: usize = 4096;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a fresh anonymous mapping at an address of the kernel's choice; nobody else knows it when it is unmapped.
    unsafe {
        let page = libc::mmap(core::ptr::null_mut(), PAGE, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
        if page == libc::MAP_FAILED {
            return None;
        }
        if !Here::wipe_on_fork(page as usize, PAGE) {
            libc::munmap(page, PAGE);
            return None;
        }
        Some(page.cast_const().cast())
    }
}

/// The calling process. Makes a few system calls; not for a hot path.
pub fn this_process() -> Process {
    let (pid, namespace, incarnation) = (process_id(), Here::namespace(), incarnation());
    #[cfg(ntux_explore)]
    if let Some(identity) = explore::identity().filter(|identity| identity.process.is_some()) {
        return Process { pid, start: 0, namespace: identity.namespace.unwrap_or(namespace), incarnation };
    }
    Process { pid, start: Here::own_start(pid) & START_MASK, namespace, incarnation }
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

/// Returns whether this process is certainly dead, as seen by `me`. False if that is unknown: resources of a dead
/// process that counts as alive stay taken, but those of a living one must not be taken away.
pub fn is_process_dead(process: Process, me: Process) -> bool {
    #[cfg(ntux_explore)]
    if let Some(scheduler) = explore::current() {
        return shares_numbers(process, me) && scheduler.is_process_dead(process.pid);
    }
    is_dead::<Here>(process, me)
}

/// Returns what [`is_process_dead`] says where this system answers.
pub fn is_dead<S: Identity>(process: Process, me: Process) -> bool {
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
        Some(now) => now.is_corpse || (process.start != 0 && (now.start ^ process.start) & START_MASK != 0),
        // It, or a later process with its number, may have ended since the first question.
        None => is_number_free(process.pid),
    }
}

/// Returns whether the number of `process` means the same to `me` as to the process that recorded it. False if that is
/// unknown.
pub fn shares_numbers(process: Process, me: Process) -> bool {
    process.namespace == me.namespace && process.namespace != 0 && process.pid != 0
}

/// Returns whether the number of `process` certainly means another process to `me`. False if that is unknown.
pub fn differs_in_numbers(process: Process, me: Process) -> bool {
    process.namespace != me.namespace && process.namespace != 0 && me.namespace != 0
}

/// Returns whether `process` was recorded in the number of `me`, and with the same start time, by somebody else: an earlier program
/// of this process, a dead process whose number was used again at once (or later, if the start times are unknown), or another copy
/// of this library in this process. It is none of the other processes that live, because no two of a namespace have the same
/// number.
pub fn precedes(process: Process, me: Process) -> bool {
    shares_numbers(process, me)
        && process.pid == me.pid
        && process.start == me.start
        && process.incarnation != me.incarnation
}

/// Returns whether no process of this namespace has this number now.
pub fn is_number_free(pid: u32) -> bool {
    // SAFETY: signal 0 only asks whether the process exists.
    (unsafe { libc::kill(pid as libc::pid_t, 0) }) != 0 && crate::errno() == libc::ESRCH
}

/// Returns whether no thread of the calling process has this number. False if that is unknown.
pub fn is_own_thread_gone(thread: u64) -> bool {
    #[cfg(ntux_explore)]
    if let Some(scheduler) = explore::current() {
        return scheduler.is_thread_dead(thread as u32);
    }
    Here::is_thread_gone(process_id(), thread)
}

/// Returns whether this thread of a living process is certainly dead, as seen by `me`. False if that is unknown.
pub fn is_thread_dead(process: Process, thread: u64, me: Process) -> bool {
    #[cfg(ntux_explore)]
    if let Some(scheduler) = explore::current() {
        return shares_numbers(process, me) && scheduler.is_thread_dead(thread as u32);
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
