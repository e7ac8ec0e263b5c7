// SPDX-License-Identifier: MIT OR Apache-2.0
//! Descriptors that sleep on words, by each mechanism of this system: the tests run once more in processes that do without the first one.
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "a test is no part of the model")]

#[path = "asleep/asleep.rs"]
mod asleep;
#[path = "readable/readable.rs"]
mod readable;
#[path = "seccomp/rule.rs"]
mod seccomp;

use std::os::fd::AsRawFd;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use asleep::is_asleep;
use ntux_platform::clock::{Deadline, monotonic_ns, realtime_ns};
use ntux_platform::memory::{self, Mapping};
use ntux_platform::wake_descriptor::{Awaited, WakeDescriptor, WhyNot, is_readable, why_no_ring};
use ntux_platform::{futex, liveness};
use readable::{LONG_MS, becomes_readable};

fn word(mapping: &Mapping, index: usize) -> &AtomicU32 {
    // SAFETY: the mapping is provided, aligned, and longer.
    unsafe { AtomicU32::from_ptr(mapping.base().as_ptr().cast::<u32>().add(index)) }
}

fn words() -> Mapping {
    let fd = memory::create(c"words", 4096).unwrap();
    let mapping = Mapping::new(std::os::fd::AsFd::as_fd(&fd), 4096).unwrap();
    mapping.provide(0, 4096).unwrap();
    mapping
}

fn quiet(word: &AtomicU32, expected: u32) -> Awaited {
    Awaited { word: word.as_ptr(), expected, due: Deadline::Never }
}

/// Arms it for a word that is mapped as long as the test runs.
fn try_to_arm(descriptor: &WakeDescriptor, awaited: Awaited) -> std::io::Result<()> {
    // SAFETY: each test drops its descriptors before it unmaps the words.
    unsafe { descriptor.arm(awaited) }
}

fn arm(descriptor: &WakeDescriptor, awaited: Awaited) {
    try_to_arm(descriptor, awaited).unwrap();
}

fn set_and_wake(word: &AtomicU32, value: u32) {
    word.store(value, SeqCst);
    futex::wake(word.as_ptr(), 1);
}

/// The thread that arms need not be inside of any call.
#[test]
fn a_wake_makes_it_readable_until_it_is_armed_again() {
    let mapping = words();
    let (word, descriptor) = (word(&mapping, 0), WakeDescriptor::new().unwrap());
    assert!(!is_readable(descriptor.fd()), "before it is armed");
    for round in 0..100 {
        arm(&descriptor, quiet(word, round));
        if round < 3 {
            settles(&descriptor, quiet(word, round));
        }
        set_and_wake(word, round + 1);
        assert!(becomes_readable(descriptor.fd(), LONG_MS), "round {round}");
        assert!(is_readable(descriptor.fd()), "it stays so");
    }
}

#[test]
fn a_word_that_differs_makes_it_readable_at_once() {
    let mapping = words();
    let (word, descriptor) = (word(&mapping, 0), WakeDescriptor::new().unwrap());
    arm(&descriptor, quiet(word, 7));
    assert!(becomes_readable(descriptor.fd(), LONG_MS));
    arm(&descriptor, quiet(word, 0));
    settles(&descriptor, quiet(word, 0));
    // It goes on sleeping for 0, and the word does not have the other value.
    arm(&descriptor, quiet(word, 1));
    assert!(becomes_readable(descriptor.fd(), LONG_MS));
}

/// Nobody wakes who has seen another value meanwhile: the sleep for the old one serves.
#[test]
fn it_is_armed_for_another_value_while_it_sleeps() {
    let mapping = words();
    let (word, descriptor) = (word(&mapping, 0), WakeDescriptor::new().unwrap());
    arm(&descriptor, quiet(word, 0));
    word.store(1, SeqCst);
    arm(&descriptor, quiet(word, 1));
    set_and_wake(word, 2);
    assert!(becomes_readable(descriptor.fd(), LONG_MS));
}

#[test]
fn a_time_that_comes_makes_it_readable() {
    let mapping = words();
    let (word, descriptor) = (word(&mapping, 0), WakeDescriptor::new().unwrap());
    let soon = |ns| [Deadline::Monotonic(monotonic_ns() + ns), Deadline::Realtime(realtime_ns() + ns)];
    for index in 0..2 {
        let due = soon(20_000_000)[index];
        comes(&descriptor, Awaited { due, ..quiet(word, 0) });
    }
    for due in [Deadline::NOW, Deadline::Realtime(0)] {
        arm(&descriptor, Awaited { due, ..quiet(word, 0) });
        assert!(becomes_readable(descriptor.fd(), LONG_MS), "{due:?}");
    }
    // An earlier time than that for which it sleeps; then a later one.
    let late = Awaited { due: Deadline::after_ns(u64::MAX / 4), ..quiet(word, 0) };
    arm(&descriptor, late);
    settles(&descriptor, late);
    comes(&descriptor, Awaited { due: Deadline::after_ns(20_000_000), ..quiet(word, 0) });
    arm(&descriptor, quiet(word, 0));
    settles(&descriptor, quiet(word, 0));
    set_and_wake(word, 1);
    assert!(becomes_readable(descriptor.fd(), LONG_MS));
}

/// Arms it until that is due.
fn comes(descriptor: &WakeDescriptor, awaited: Awaited) {
    let mut times = 0;
    while !awaited.due.passed() {
        arm(descriptor, awaited);
        assert!(becomes_readable(descriptor.fd(), LONG_MS), "{awaited:?}");
        times += 1;
    }
    assert!(times < 1000, "it does not sleep");
}

/// It may be readable for nothing: a sleep may end so, and that of before may.
fn settles(descriptor: &WakeDescriptor, awaited: Awaited) {
    readable::settles(descriptor.fd(), || arm(descriptor, awaited));
}

/// One thread passes a word on by poll, the other one by a sleep on the word.
#[test]
fn no_wake_is_lost() {
    const PASSES: u32 = 2000;
    let mapping = words();
    let (word, descriptor) = (word(&mapping, 0), WakeDescriptor::new().unwrap());
    thread::scope(|scope| {
        scope.spawn(|| {
            for turn in (1..PASSES).step_by(2) {
                while word.load(SeqCst) != turn {
                    futex::wait(word.as_ptr(), turn - 1, Deadline::Never);
                }
                set_and_wake(word, turn + 1);
            }
        });
        for turn in (0..PASSES).step_by(2) {
            while word.load(SeqCst) != turn {
                arm(&descriptor, quiet(word, turn - 1));
                assert!(becomes_readable(descriptor.fd(), LONG_MS), "lost at {turn}");
            }
            set_and_wake(word, turn + 1);
        }
    });
}

/// Threads arm it for what they have seen, and each polls then; a third one changes the word all the time.
#[test]
fn threads_that_arm_at_the_same_time_miss_nothing() {
    const LAST: u32 = 3000;
    let mapping = words();
    let (word, descriptor) = (word(&mapping, 0), WakeDescriptor::new().unwrap());
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let seen @ ..LAST = word.load(SeqCst) {
                    arm(&descriptor, quiet(word, seen));
                    assert!(becomes_readable(descriptor.fd(), LONG_MS), "lost at {seen}");
                }
            });
        }
        for value in 1..=LAST {
            set_and_wake(word, value);
            if value % 64 == 0 {
                thread::sleep(Duration::from_millis(1));
            }
        }
    });
}

#[test]
fn it_outlives_the_thread_that_has_armed_it() {
    let mapping = words();
    let (word, descriptor) = (word(&mapping, 0), WakeDescriptor::new().unwrap());
    thread::scope(|scope| scope.spawn(|| arm(&descriptor, quiet(word, 0))).join()).unwrap();
    // Its end may have ended the sleep; then who looks arms again.
    settles(&descriptor, quiet(word, 0));
    set_and_wake(word, 1);
    assert!(becomes_readable(descriptor.fd(), LONG_MS));
}

/// It is one sleeper: what it has taken and nobody saw goes to another one.
#[test]
fn a_dropped_one_takes_no_wake() {
    let mapping = words();
    let (word, is_over, sleeper) = (word(&mapping, 0), AtomicBool::new(false), AtomicU64::new(0));
    let falls_asleep = || {
        while !is_asleep(sleeper.load(SeqCst)) {
            thread::sleep(Duration::from_millis(1));
        }
    };
    for round in 0..20 {
        let descriptor = WakeDescriptor::new().unwrap();
        arm(&descriptor, quiet(word, 0));
        is_over.store(false, SeqCst);
        sleeper.store(0, SeqCst);
        thread::scope(|scope| {
            scope.spawn(|| {
                sleeper.store(liveness::thread_id(), SeqCst);
                while !is_over.load(SeqCst) {
                    futex::wait(word.as_ptr(), 0, Deadline::Never);
                }
            });
            falls_asleep();
            if round % 2 == 0 {
                is_over.store(true, SeqCst);
                // Somebody is woken: the descriptor, or the thread.
                futex::wake(word.as_ptr(), 1);
                drop(descriptor);
            } else {
                drop(descriptor);
                falls_asleep();
                is_over.store(true, SeqCst);
                futex::wake(word.as_ptr(), 1);
            }
        });
    }
}

/// The thread that armed is asleep elsewhere.
#[test]
fn the_thread_that_armed_may_sleep() {
    let mapping = words();
    let (word, other) = (word(&mapping, 0), word(&mapping, 1));
    let descriptor = WakeDescriptor::new().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            arm(&descriptor, quiet(word, 0));
            while other.load(SeqCst) == 0 {
                futex::wait(other.as_ptr(), 0, Deadline::Never);
            }
        });
        thread::sleep(Duration::from_millis(20));
        set_and_wake(word, 1);
        assert!(becomes_readable(descriptor.fd(), LONG_MS));
        set_and_wake(other, 1);
    });
}

#[test]
fn another_process_wakes_it_and_a_forked_child_has_no_part_in_it() {
    let mapping = words();
    let (word, descriptor) = (word(&mapping, 0), WakeDescriptor::new().unwrap());
    arm(&descriptor, quiet(word, 0));
    // SAFETY: the child makes system calls, and changes words; it allocates nothing.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let refused =
            try_to_arm(&descriptor, quiet(word, 0)).is_err_and(|error| error.raw_os_error() == Some(libc::EPERM));
        let fd = descriptor.fd().as_raw_fd();
        drop(descriptor);
        // SAFETY: asks about a number; the child ends.
        unsafe {
            let closed = libc::fcntl(fd, libc::F_GETFD) == -1;
            set_and_wake(word, 1);
            libc::_exit(i32::from(!(refused && closed)));
        }
    }
    assert!(becomes_readable(descriptor.fd(), LONG_MS));
    let mut status = 0;
    // SAFETY: a place for the answer.
    unsafe { libc::waitpid(child, &mut status, 0) };
    assert_eq!(status, 0, "the child could arm it, or its copy stayed open");
    arm(&descriptor, quiet(word, 1));
    set_and_wake(word, 2);
    assert!(becomes_readable(descriptor.fd(), LONG_MS), "it is the parent's as before");
}

#[test]
fn it_is_close_on_exec_and_leaves_nothing_open() {
    let mapping = words();
    let open = || std::fs::read_dir("/dev/fd").unwrap().count();
    let one = |due| {
        let descriptor = WakeDescriptor::new().unwrap();
        // SAFETY: asks about an open descriptor.
        let flags = unsafe { libc::fcntl(descriptor.fd().as_raw_fd(), libc::F_GETFD) };
        assert_eq!(flags, libc::FD_CLOEXEC);
        arm(&descriptor, Awaited { due, ..quiet(word(&mapping, 0), 0) });
    };
    one(Deadline::Never);
    let before = open();
    for _ in 0..200 {
        one(Deadline::Never);
        one(Deadline::after_ns(u64::MAX / 4));
    }
    // Other tests of this process open a few.
    assert!(open() < before + 100, "{before}, then {}", open());
}

/// Runs the other tests in a process of their own.
fn again(command: &mut Command, expected: &str) {
    readable::again(command.env("NTUX_TEST_MECHANISM", expected));
}

/// In a process that [`again`] has started.
#[test]
fn what_was_to_be_chosen_is_chosen() {
    let Ok(expected) = std::env::var("NTUX_TEST_MECHANISM") else { return };
    assert_eq!(format!("{:?}", why_no_ring()), expected);
}

#[test]
fn mechanism_without_rings() {
    again(&mut readable::without_rings(), &format!("{:?}", Some(WhyNot::LeftOut)));
}

#[cfg(target_os = "linux")]
mod refused {
    use super::seccomp::{Rule, under};
    use super::*;

    const SETUP: libc::c_long = 425;
    const ENTER: libc::c_long = 426;

    fn this_program() -> Command {
        Command::new(std::env::current_exe().unwrap())
    }

    #[test]
    fn mechanism_that_a_filter_refuses() {
        let expected = format!("{:?}", Some(WhyNot::Refused(libc::EPERM)));
        if why_no_ring() == Some(WhyNot::NoSuchSystem) {
            return;
        }
        again(under(&mut this_program(), [Rule::errno(SETUP, libc::EPERM)]), &expected);
        // Without the other call a ring is of no use.
        again(under(&mut this_program(), [Rule::errno(ENTER, libc::EPERM)]), &expected);
    }

    #[test]
    fn mechanism_for_which_a_filter_kills() {
        if why_no_ring() == Some(WhyNot::NoSuchSystem) {
            return;
        }
        for call in [SETUP, ENTER] {
            again(under(&mut this_program(), [Rule::kill(call)]), &format!("{:?}", Some(WhyNot::Deadly)));
        }
    }
}
