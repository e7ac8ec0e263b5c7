// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sleeps on a word.
//!
//! # XNU's behaviour
//! * The key of a shared word is its memory object and its offset; within a process it is the address. Sleeper and
//!   waker must use the same, and the same number of bytes: 4, or 8 ([`LongWords`]). With the other size, a wait while somebody
//!   sleeps there is refused, and a wake reaches nobody (`EDOM`). A woken thread counts as a sleeper until it has run, so a
//!   wait is tried again for a moment.
//! * `EFAULT`: the word is compared under a spin lock, where no page can be faulted in. The caller touches the word and
//!   retries. Only a wait can get it.
//! * `EINTR`: a signal, which ends the sleep. `ENOMEM`: no memory for a queue. In both cases the caller checks again.
//! * A wake without a sleeper is `ENOENT`. But who was woken, or timed out, counts as a sleeper until it has run: so a wake that
//!   succeeds need not have woken anybody, and no number of wakes that succeed is a number of threads.
//! * Times are relative, in nanoseconds, on a clock that stops while the machine sleeps, so after a wake the caller
//!   checks the deadline's clock again.

use super::MacOs;
use super::calls::{self, Among, Slept};
use super::planted::{Bug, planted};
use crate::clock::Deadline;
use crate::futex::{Sleep, Woken};
use crate::kernel_futex::{Futexes, LongWords, MATCH_ANY, Scope};

/// How often a word is touched, and a wait in another size tried, before the caller is told.
const ATTEMPTS: u32 = 16;
/// More sleepers than any word has.
const ALL: u32 = i32::MAX as u32;

/// Sleeps once, for at most this long. The word or the clock tells why it ended.
fn sleep(word: Slept, expected: u64, time_ns: Option<u64>) -> Result<(), i32> {
    let mut refusal = libc::EFAULT;
    for _ in 0..ATTEMPTS {
        let slept = match calls::os_sync() {
            Some(functions) => functions.wait(word, expected, time_ns),
            None => calls::ulock_wait(word, expected, time_ns),
        };
        match slept {
            Err(libc::EFAULT) if !planted(Bug::EfaultIsTheEnd) => {
                if word.load() != expected {
                    return Ok(());
                }
            }
            // That the last attempt meets a page that is out does not undo it.
            Err(libc::EDOM) => {
                refusal = libc::EDOM;
                std::thread::yield_now();
            }
            _ => return slept,
        }
    }
    Err(refusal)
}

fn wake(word: Slept, all: bool) -> Result<(), i32> {
    match calls::os_sync() {
        Some(functions) => functions.wake(word, all),
        None => calls::ulock_wake(word, all),
    }
}

/// Wakes at most this many. Returns how many wakes XNU took for good: 0 if nobody slept, and never too few but for all, where it
/// is 1 if there was one.
fn wake_counted(word: Slept, count: u32) -> Result<u32, i32> {
    if count >= ALL {
        return match wake(word, true) {
            Ok(()) => Ok(1),
            Err(libc::ENOENT | libc::EDOM) => Ok(0),
            Err(error) => Err(error),
        };
    }
    for woken in 0..count {
        match wake(word, false) {
            Ok(()) => {}
            Err(libc::ENOENT | libc::EDOM) if !planted(Bug::AbsenceIsAnError) => return Ok(woken),
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
        match sleep(Slept::word(address, Among::Processes), expected.into(), time_ns) {
            Err(libc::EFAULT) if planted(Bug::EfaultIsTheEnd) => return Woken::TimedOut,
            Err(libc::EINTR) if planted(Bug::EintrIsTheEnd) => return Woken::TimedOut,
            _ => {}
        }
        if deadline.remaining_ns() == Some(0) { Woken::TimedOut } else { Woken::LookAgain }
    }

    fn wake(address: *const u32, count: u32) {
        let _ = wake_counted(Slept::word(address, Among::Processes), count);
    }
}

impl Futexes for MacOs {
    const IS_EXACT: bool = false;

    /// Masks are not supported: a wake with one wakes everybody.
    fn wait(address: *const u32, expected: u32, _mask: u32, scope: Scope, deadline: Deadline) -> Result<(), i32> {
        wait(Slept::word(address, among(scope)), expected.into(), deadline)
    }

    fn wake(address: *const u32, count: u32, mask: u32, scope: Scope) -> Result<u32, i32> {
        let word = Slept::word(address, among(scope));
        match count {
            0 => Ok(0),
            _ if mask != MATCH_ANY => wake_counted(word, ALL),
            _ => wake_counted(word, count),
        }
    }

    fn can_read(address: *const u32) -> bool {
        calls::can_read(address)
    }
}

impl LongWords for MacOs {
    const HAS_LONG_WORDS: bool = true;

    fn wait_long(address: *const u64, expected: u64, scope: Scope, deadline: Deadline) -> Result<(), i32> {
        wait(Slept::long_word(address, among(scope)), expected, deadline)
    }

    fn wake_long(address: *const u64, count: u32, scope: Scope) -> Result<u32, i32> {
        wake_counted(Slept::long_word(address, among(scope)), count)
    }
}

fn wait(word: Slept, expected: u64, deadline: Deadline) -> Result<(), i32> {
    if word.load() != expected {
        return Err(libc::EAGAIN);
    }
    let time_ns = deadline.remaining_ns();
    let slept = if time_ns == Some(0) { Ok(()) } else { sleep(word, expected, time_ns) };
    match slept {
        Err(error @ (libc::EINTR | libc::EDOM)) => Err(error),
        _ if deadline.remaining_ns() == Some(0) => Err(libc::ETIMEDOUT),
        _ => Ok(()),
    }
}

fn among(scope: Scope) -> Among {
    match scope {
        Scope::Private => Among::Threads,
        Scope::Shared => Among::Processes,
    }
}
