//! Sleeps on a word.
//!
//! # XNU's behaviour
//! * The key of a shared word is its memory object and its offset; within a process it is the address. Sleeper and
//!   waker must use the same, and the same number of bytes (`EDOM` if not): all words here have 4.
//! * `EFAULT`: the word is compared under a spin lock, where no page can be faulted in. The caller touches the word and
//!   retries. Only a wait can get it.
//! * `EINTR`: a signal, which ends the sleep. `ENOMEM`: no memory for a queue. In both cases the caller checks again.
//! * A wake without a sleeper is `ENOENT`. But who was woken, or timed out, counts as a sleeper until it has run: so a wake that
//!   succeeds need not have woken anybody, and no number of wakes that succeed is a number of threads.
//! * Times are relative, in nanoseconds, on a clock that stops while the machine sleeps, so after a wake the caller
//!   checks the deadline's clock again.

use super::MacOs;
use super::calls::{self, Among};
use super::planted::{Bug, planted};
use crate::clock::Deadline;
use crate::futex::{Sleep, Woken};
use crate::kernel_futex::{Futexes, MATCH_ANY, Scope};

/// How often a word is touched before the caller is told to check again.
const TOUCHES: u32 = 16;
/// More sleepers than any word has.
const ALL: u32 = i32::MAX as u32;

/// Sleeps once, for at most this long. The word or the clock tells why it ended.
fn sleep(address: *const u32, expected: u32, among: Among, time_ns: Option<u64>) -> Result<(), i32> {
    for _ in 0..TOUCHES {
        let slept = match calls::os_sync() {
            Some(functions) => functions.wait(address, expected, among, time_ns),
            None => calls::ulock_wait(address, expected, among, time_ns),
        };
        if slept != Err(libc::EFAULT) || planted(Bug::EfaultIsTheEnd) {
            return slept;
        }
        // SAFETY: the caller's word is mapped and aligned; it is written by atomic accesses.
        if unsafe { crate::atomic::load_foreign(address as usize, size_of::<u32>()) } != expected.into() {
            return Ok(());
        }
    }
    Err(libc::EFAULT)
}

fn wake(address: *const u32, among: Among, all: bool) -> Result<(), i32> {
    match calls::os_sync() {
        Some(functions) => functions.wake(address, among, all),
        None => calls::ulock_wake(address, among, all),
    }
}

/// Wakes at most this many. Returns how many wakes XNU took for good: 0 if nobody slept, and never too few but for all, where it
/// is 1 if there was one.
fn wake_counted(address: *const u32, among: Among, count: u32) -> Result<u32, i32> {
    if count >= ALL {
        return match wake(address, among, true) {
            Ok(()) => Ok(1),
            Err(libc::ENOENT) => Ok(0),
            Err(error) => Err(error),
        };
    }
    for woken in 0..count {
        match wake(address, among, false) {
            Ok(()) => {}
            Err(libc::ENOENT) if !planted(Bug::AbsenceIsAnError) => return Ok(woken),
            Err(error) => return Err(error),
        }
    }
    Ok(count)
}

impl Sleep for MacOs {
    fn wait(address: *const u32, expected: u32, deadline: Deadline) -> Woken {
        let time_ns = deadline.remaining_ns();
        if time_ns == Some(0) {
            return Woken::TimedOut;
        }
        match sleep(address, expected, Among::Processes, time_ns) {
            Err(libc::EFAULT) if planted(Bug::EfaultIsTheEnd) => return Woken::TimedOut,
            Err(libc::EINTR) if planted(Bug::EintrIsTheEnd) => return Woken::TimedOut,
            _ => {}
        }
        if deadline.remaining_ns() == Some(0) { Woken::TimedOut } else { Woken::LookAgain }
    }

    fn wake(address: *const u32, count: u32) {
        let _ = wake_counted(address, Among::Processes, count);
    }
}

impl Futexes for MacOs {
    const IS_EXACT: bool = false;

    /// Masks are not supported: a wake with one wakes everybody.
    fn wait(address: *const u32, expected: u32, _mask: u32, scope: Scope, deadline: Deadline) -> Result<(), i32> {
        // SAFETY: the caller's word is mapped and aligned, as in every wait.
        if unsafe { crate::atomic::load_foreign(address as usize, size_of::<u32>()) } != u64::from(expected) {
            return Err(libc::EAGAIN);
        }
        let time_ns = deadline.remaining_ns();
        let slept = if time_ns == Some(0) { Ok(()) } else { sleep(address, expected, among(scope), time_ns) };
        match slept {
            Err(libc::EINTR) => Err(libc::EINTR),
            _ if deadline.remaining_ns() == Some(0) => Err(libc::ETIMEDOUT),
            _ => Ok(()),
        }
    }

    fn wake(address: *const u32, count: u32, mask: u32, scope: Scope) -> Result<u32, i32> {
        match count {
            0 => Ok(0),
            _ if mask != MATCH_ANY => wake_counted(address, among(scope), ALL),
            _ => wake_counted(address, among(scope), count),
        }
    }
}

fn among(scope: Scope) -> Among {
    match scope {
        Scope::Private => Among::Threads,
        Scope::Shared => Among::Processes,
    }
}
