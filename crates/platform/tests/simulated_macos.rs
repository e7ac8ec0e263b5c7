// SPDX-License-Identifier: MIT OR Apache-2.0
//! The room of macOS over the simulation of XNU (`verify/simulated-macos test -p ntux-platform`): what the room must not make
//! of XNU's answers is noticed, and so is an XNU that does not do what the room relies on.
#![cfg(ntux_simulated_macos)]
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "a test is no part of the model")]

#[path = "contract/suite/mod.rs"]
mod suite;

use std::ffi::{CStr, c_char};
use std::sync::Mutex;
use std::time::Duration;

use ntux_platform::Here;
use ntux_platform::planted_in_room::{self, Bug};
use suite::{Check, checks};

unsafe extern "C" {
    fn xnu_deviate(name: *const c_char) -> i32;
    fn xnu_set_fault(fault: u32, rate: i64);
    fn xnu_deviation(index: usize) -> *const c_char;
}

/// What is planted holds for the whole process.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_secs(2);

/// As `verify/xnu/src/faults.rs` counts them.
const EFAULT: u32 = 0;
const EINTR: u32 = 1;
const SPURIOUS: u32 = 2;
const ENOMEM: u32 = 3;

const BUGS: &[(Bug, &str)] = &[
    (Bug::WakesOfEightBytes, "sleep: all sleepers are woken"),
    (Bug::HalfWords, "sleep: words of 64 bits"),
    (Bug::SharedOnOneSide, "sleep: all sleepers are woken"),
    (Bug::EfaultIsTheEnd, "sleep: deadlines"),
    (Bug::EintrIsTheEnd, "sleep: deadlines"),
    (Bug::AbsenceIsAnError, "sleep: futex calls"),
    (Bug::SizeInTwoSteps, "memory: new"),
    (Bug::LongNames, "memory: new"),
    (Bug::IdentityFromStatus, "memory: identity"),
    (Bug::ReadAsAFile, "memory: new"),
    (Bug::ForgetsCorpses, "identity: processes"),
    (Bug::IgnoresProtection, "pages: writable"),
    (Bug::AdviceFrees, "pages: freed"),
    (Bug::NoHandlerInChildren, "pages: wiped in a child"),
];

const DEVIATIONS: &[(&CStr, &str)] = &[
    (c"deaf", "sleep: all sleepers are woken"),
    (c"wakes-one", "sleep: all sleepers are woken"),
    (c"two-steps", "sleep: no wake is lost"),
    (c"compares-nothing", "sleep: a word that differs is not slept on"),
    (c"no-times", "sleep: deadlines"),
    (c"keys-are-addresses", "sleep: between processes"),
    (c"sleeps-on-efault", "sleep: no wake is lost"),
    (c"wakes-nobody", "sleep: futex calls"),
    (c"regions-are-writable", "pages: writable"),
    (c"regions-without-holes", "pages: writable"),
    (c"sizes-again", "memory: its size never changes"),
    (c"one-name", "memory: identity"),
    (c"short-names", "memory: new"),
    (c"copies", "memory: shared by mappings and processes"),
    (c"locks-of-processes", "locks: of open file descriptions"),
    (c"no-locks", "locks: of processes that are killed"),
    (c"port-names", "identity: numbers of threads"),
    (c"no-corpses", "identity: processes"),
    (c"started-together", "identity: processes"),
    (c"nobody-is-gone", "identity: ends of threads"),
    (c"others-are-gone", "identity: ends of threads"),
];

fn check(name: &str) -> Check {
    checks::<Here>().into_iter().find(|check| check.name == name).expect("there is such a check")
}

fn deviate(name: Option<&CStr>) {
    // SAFETY: null or a terminated name.
    assert_eq!(unsafe { xnu_deviate(name.map_or(std::ptr::null(), CStr::as_ptr)) }, 0, "{name:?} is no deviation");
}

/// One of so many calls meets `EFAULT`, and one of so many `EINTR`; 0 for none. No other fault comes.
fn faults(efault: i64, eintr: i64) {
    for (fault, rate) in [(EFAULT, efault), (EINTR, eintr), (SPURIOUS, 0), (ENOMEM, 0)] {
        // SAFETY: numbers only.
        unsafe { xnu_set_fault(fault, rate) };
    }
}

#[test]
fn an_answer_of_xnu_that_the_room_misunderstands_is_noticed() {
    let _alone = ONE_AT_A_TIME.lock();
    for (bug, name) in BUGS {
        // A sleep that a fault ends would hide that it does not end by itself.
        faults(i64::from(*bug == Bug::EfaultIsTheEnd), i64::from(*bug == Bug::EintrIsTheEnd));
        let check = check(name);
        assert_eq!(check.run(LONG), Ok(()), "{name}, before {bug:?}");
        planted_in_room::set(Some(*bug));
        let outcome = check.run(SHORT);
        planted_in_room::set(None);
        assert!(outcome.is_err(), "{bug:?} is not noticed by \"{name}\"");
        println!("{bug:?}: {}", outcome.unwrap_err());
    }
}

#[test]
fn an_xnu_that_breaks_a_promise_is_noticed() {
    let _alone = ONE_AT_A_TIME.lock();
    for (deviation, name) in DEVIATIONS {
        faults(i64::from(*deviation == c"sleeps-on-efault"), 0);
        let check = check(name);
        assert_eq!(check.run(LONG), Ok(()), "{name}, before {deviation:?}");
        deviate(Some(deviation));
        let outcome = check.run(SHORT);
        deviate(None);
        assert!(outcome.is_err(), "{deviation:?} is not noticed by \"{name}\"");
        println!("{deviation:?}: {}", outcome.unwrap_err());
    }
}

#[test]
fn every_deviation_of_the_simulation_is_tried() {
    for index in 0.. {
        // SAFETY: the simulation's own names, which are terminated and stay.
        let name = unsafe {
            let name = xnu_deviation(index);
            if name.is_null() {
                break;
            }
            CStr::from_ptr(name)
        };
        assert!(DEVIATIONS.iter().any(|(known, _)| *known == name), "nothing tries {name:?}");
    }
}
