// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sleeping and waking.

use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

use super::stage::{Child, Page, View, appears, in_thread};
use super::{Outcome, ensure, failed};
use ntux_platform::clock::Deadline;
use ntux_platform::contract::System;
use ntux_platform::futex::{Sleep, Woken};
use ntux_platform::kernel_futex::{Futexes, LongWords, MATCH_ANY, Scope};
use ntux_platform::protection::page_size;
use ntux_platform::wake_descriptor::{Flag, is_readable};

const SLEEPERS: usize = 4;
const ALL: u32 = i32::MAX as u32;
/// How often two threads pass a word to each other.
const PASSES: u32 = 3000;

fn wait<S: System>(view: &View<S>, word: usize, expected: u32, deadline: Deadline) -> Woken {
    <S as Sleep>::wait(view.address(word), expected, deadline)
}

fn wake<S: System>(view: &View<S>, word: usize, count: u32) {
    <S as Sleep>::wake(view.address(word), count);
}

/// Sleeps until the word is another one.
fn sleep_while<S: System>(view: &View<S>, word: usize, value: u32) {
    while view.word(word).load() == value {
        wait(view, word, value, Deadline::Never);
    }
}

pub(super) fn differs<S: System>(limit: Duration) -> Outcome {
    let page = Page::<S>::new()?;
    let woken = in_thread(move || wait(&page.view, 0, 1, Deadline::Never)).result(limit)?;
    ensure!(woken == Woken::LookAgain, "{woken:?}, but there was no deadline");
    let page = Page::<S>::new()?;
    // Nobody sleeps: nothing happens.
    wake(&page.view, 0, 1);
    wake(&page.view, 0, ALL);
    Ok(())
}

pub(super) fn deadlines<S: System>(limit: Duration) -> Outcome {
    let page = Arc::new(Page::<S>::new()?);
    let sleeper = Arc::clone(&page);
    let sleeps = move |deadline: fn() -> Deadline| {
        let page = Arc::clone(&sleeper);
        in_thread(move || {
            let deadline = deadline();
            while wait(&page.view, 0, 0, deadline) != Woken::TimedOut {}
            deadline.passed()
        })
        .result(limit)
    };
    ensure!(sleeps(|| Deadline::NOW)?, "a deadline in the past has not passed");
    ensure!(sleeps(|| Deadline::after_ns(20_000_000))?, "a sleep ended before its deadline");
    let soon = || Deadline::Realtime(ntux_platform::clock::realtime_ns() + 20_000_000);
    ensure!(sleeps(soon)?, "a sleep ended before its deadline on the wall clock");
    ensure!(page.view.word(0).load() == 0, "the word was changed");
    Ok(())
}

pub(super) fn all_are_woken<S: System>(limit: Duration) -> Outcome {
    let page = Arc::new(Page::<S>::new()?);
    let start = || {
        let page = Arc::clone(&page);
        in_thread(move || {
            page.view.word(1).fetch_add(1);
            sleep_while(&page.view, 0, 0);
        })
    };
    let sleepers: Vec<_> = (0..SLEEPERS).map(|_| start()).collect();
    while (page.view.word(1).load() as usize) < SLEEPERS {
        std::thread::sleep(Duration::from_millis(1));
    }
    // They sleep by now, or they will find the word changed: either way nobody may stay.
    std::thread::sleep(Duration::from_millis(20));
    page.view.word(0).store(1);
    wake(&page.view, 0, 1);
    wake(&page.view, 0, ALL);
    sleepers.iter().try_for_each(|sleeper| sleeper.result(limit))
}

pub(super) fn no_wake_is_lost<S: System>(limit: Duration) -> Outcome {
    let page = Arc::new(Page::<S>::new()?);
    let player = |turn: u32| {
        let page = Arc::clone(&page);
        in_thread(move || {
            for round in (turn..PASSES).step_by(2) {
                while page.view.word(0).load() != round {
                    let seen = page.view.word(0).load();
                    if seen != round {
                        wait(&page.view, 0, seen, Deadline::Never);
                    }
                }
                page.view.word(0).store(round + 1);
                wake(&page.view, 0, 1);
            }
        })
    };
    [player(0), player(1)].iter().try_for_each(|player| player.result(limit))
}

pub(super) fn between_processes<S: System>(limit: Duration) -> Outcome {
    let page = Page::<S>::new()?;
    // The two see the same word at different addresses.
    let elsewhere = View::<S>::new(&page.fd)?;
    let child = Child::start(|| {
        elsewhere.word(1).store(1);
        sleep_while(&elsewhere, 0, 0);
        0
    })?;
    appears(page.view.word(1), limit)?;
    std::thread::sleep(Duration::from_millis(20));
    page.view.word(0).store(1);
    wake(&page.view, 0, 1);
    let code = child.end(limit)?;
    ensure!(code == 0, "the process that slept ended with {code}");
    Ok(())
}

pub(super) fn futex_calls<S: System>(limit: Duration) -> Outcome {
    for scope in [Scope::Private, Scope::Shared] {
        let page = Arc::new(Page::<S>::new()?);
        let call =
            |expected, deadline| <S as Futexes>::wait(page.view.address(0), expected, MATCH_ANY, scope, deadline);
        let differs = call(1, Deadline::Never);
        ensure!(differs == Err(libc::EAGAIN), "a word that differs: {differs:?}");
        let late = call(0, Deadline::after_ns(1_000_000));
        ensure!(matches!(late, Err(libc::ETIMEDOUT | libc::EINTR) | Ok(())), "a deadline: {late:?}");
        let nobody = <S as Futexes>::wake(page.view.address(0), 1, MATCH_ANY, scope);
        ensure!(nobody == Ok(0), "a wake of nobody: {nobody:?}");
        let sleeper = {
            let page = Arc::clone(&page);
            in_thread(move || {
                page.view.word(1).store(1);
                while page.view.word(0).load() == 0 {
                    let _ = <S as Futexes>::wait(page.view.address(0), 0, 2, scope, Deadline::Never);
                }
            })
        };
        appears(page.view.word(1), limit)?;
        std::thread::sleep(Duration::from_millis(20));
        page.view.word(0).store(1);
        let woken = <S as Futexes>::wake(page.view.address(0), ALL, 2, scope);
        ensure!(woken.is_ok(), "a wake with a mask: {woken:?}");
        sleeper.result(limit)?;
    }
    Ok(())
}

/// Between processes, each half of the word counts.
pub(super) fn long_words<S: System>(limit: Duration) -> Outcome {
    if !<S as LongWords>::HAS_LONG_WORDS {
        return Ok(());
    }
    const UPPER: u32 = 7;
    let long = |view: &View<S>| view.address(0).cast::<u64>();
    let wait = |view: &View<S>, expected, deadline| S::wait_long(long(view), expected, Scope::Shared, deadline);
    for half in [0, 1] {
        let page = Page::<S>::new()?;
        let elsewhere = View::<S>::new(&page.fd)?;
        page.view.word(0).store(0);
        page.view.word(1).store(UPPER);
        let value = long_value(&page.view);
        let differs = wait(&page.view, value ^ 1 << (32 * half), Deadline::Never);
        ensure!(differs == Err(libc::EAGAIN), "half {half} differs: {differs:?}");
        let late = wait(&page.view, value, Deadline::after_ns(1_000_000));
        ensure!(matches!(late, Err(libc::ETIMEDOUT | libc::EINTR) | Ok(())), "a deadline: {late:?}");
        let nobody = S::wake_long(long(&page.view), 1, Scope::Shared);
        ensure!(nobody == Ok(0), "a wake of nobody: {nobody:?}");
        let child = Child::start(|| {
            elsewhere.word(2).store(1);
            while long_value(&elsewhere) == value {
                let _ = wait(&elsewhere, value, Deadline::Never);
            }
            0
        })?;
        appears(page.view.word(2), limit)?;
        std::thread::sleep(Duration::from_millis(20));
        page.view.word(half).fetch_add(1);
        let woken = S::wake_long(long(&page.view), ALL, Scope::Shared);
        ensure!(woken.is_ok(), "a wake of all: {woken:?}");
        let code = child.end(limit)?;
        ensure!(code == 0, "the process that slept ended with {code}");
    }
    Ok(())
}

pub(super) fn unreadable<S: System>(_limit: Duration) -> Outcome {
    let (length, flags) = (page_size(), libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    let page = |access| S::map(length, access, flags, -1).map_err(failed("map"));
    for (access, is_readable) in [(libc::PROT_NONE, false), (libc::PROT_READ, true)] {
        let page = page(access)?;
        let said = <S as Futexes>::can_read(page.as_ptr().cast());
        // SAFETY: mapped just now, and nobody else knows it.
        unsafe { ntux_platform::protection::free(page.as_ptr() as usize, length) }.map_err(failed("unmap"))?;
        ensure!(said == is_readable, "of memory with access {access} it says {said}");
    }
    ensure!(!<S as Futexes>::can_read(core::ptr::null()), "nothing can be read");
    Ok(())
}

/// The first two words as one of 64 bits.
fn long_value<S: System>(view: &View<S>) -> u64 {
    let [low, high] = [0, 1].map(|number| view.word(number).load().to_ne_bytes());
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&low);
    bytes[4..].copy_from_slice(&high);
    u64::from_ne_bytes(bytes)
}

pub(super) fn flags<S: System>(_limit: Duration) -> Outcome {
    let flag = S::flag().map_err(failed("a flag"))?;
    ensure!(!is_readable(flag.fd()), "a new flag is readable");
    for times in 1..4 {
        (0..times).for_each(|_| flag.raise());
        ensure!(is_readable(flag.fd()), "raised {times} times, it is not readable");
        flag.lower();
        ensure!(!is_readable(flag.fd()), "raised {times} times and lowered, it is readable");
        flag.lower();
    }
    ensure!(is_close_on_exec(flag.fd()), "it is inherited by programs that are executed");
    Ok(())
}

fn is_close_on_exec(fd: BorrowedFd<'_>) -> bool {
    // SAFETY: asks about an open descriptor.
    unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETFD) & libc::FD_CLOEXEC != 0 }
}
