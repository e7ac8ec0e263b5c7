// SPDX-License-Identifier: MIT OR Apache-2.0
//! The Win32 face: every schedule of small programs over it, stores that come late among them, and the planted bugs.

use ntux_explore::win::{programs, search};
use ntux_win::planted;

/// With so many preemptions, until so many executions were cut off or came to their end.
fn explore(preemptions: u32, executions: u64) {
    let mut incomplete = Vec::new();
    for program in programs::all() {
        let report = search::exhaustive(&program, preemptions, executions);
        println!("{:<24} {report}", program.name);
        if let Some(failure) = report.failure {
            let (again, trace) = search::replay(&program, &failure);
            panic!("{}: {}; again: {again:?}\n{trace}", program.name, failure.what);
        }
        assert!(report.states > 10, "{}: {} states", program.name, report.states);
        if !report.complete {
            incomplete.push(program.name);
        }
    }
    println!("not to the end: {incomplete:?}");
}

#[test]
fn no_schedule_loses_a_call_a_wake_or_an_object() {
    explore(3, 3_000);
}

#[test]
#[ignore = "make test-win32 runs it: minutes"]
fn no_schedule_of_many_more_does() {
    explore(4, 200_000);
}

#[test]
fn every_planted_bug_is_found_and_its_schedule_repeats_it() {
    for &(bug, name) in programs::PLANTED {
        let program = programs::find(name).expect("a program of this name");
        planted::set(Some(bug));
        let report = search::exhaustive(&program, 3, 300_000);
        println!("{bug:?}: {report}");
        let failure = report.failure.unwrap_or_else(|| panic!("{bug:?} is not found by {name}"));
        println!("  {}", failure.what);
        let (again, trace) = search::replay(&program, &failure);
        assert_eq!(again.as_ref(), Some(&failure.what), "{bug:?}, {:?}\n{trace}", failure.schedule);
        planted::set(None);
        let (without, trace) = search::replay(&program, &failure);
        let passes = without.is_none_or(|what| what.starts_with("the schedule does not fit"));
        assert!(passes, "{bug:?}: it fails without the bug\n{trace}");
    }
}

/// The fault that was found on a processor before it was found here: without stores that come late there is none.
#[test]
fn a_call_is_lost_by_a_store_that_comes_late() {
    let program = programs::find("apc-first").expect("a program of this name");
    planted::set(Some(planted::Bug::AlertByStore));
    let [in_order, late] = [search::in_order, search::exhaustive].map(|search| search(&program, 3, 20_000));
    planted::set(None);
    assert!(in_order.complete && in_order.failure.is_none(), "{in_order}");
    assert!(late.failure.is_some_and(|failure| failure.what.starts_with("lost wake")));
}
