// SPDX-License-Identifier: MIT OR Apache-2.0
//! The lock that barges: every interleaving of small programs, in which a thread loses patience the first time it was woken in vain.

#![allow(clippy::cloned_ref_to_slice_refs, reason = "lists of one call look like the others")]

use std::time::Duration;

use ntux::planted::{self, Bug};
use ntux_explore::machine::token::Token;
use ntux_explore::program::{Call, Program, rel, sem};
use ntux_explore::search::{self, Bounds};
use ntux_explore::subject::Barging;

/// Unoptimized code explores less.
const EXECUTIONS: u64 = if cfg!(debug_assertions) { 3_000 } else { 60_000 };
const BOUNDS: Bounds =
    Bounds { preemptions: Some(3), frozen: 0, executions: EXECUTIONS, time: Duration::from_secs(60) };

fn program(name: &str, threads: &[&[Call]]) -> Program {
    Program::new(name, &[sem(0)], threads).over(Barging::subject).blocking()
}

fn programs() -> Vec<Program> {
    // Too many units: it locks and unlocks if its deadline lets it, and changes nothing.
    let (once, timed) = (rel(0, 1), rel(0, 9).hasty());
    vec![
        program("barging-two", &[&[once.clone()], &[once.clone()]]),
        program("barging-again", &[&[once.clone(), once.clone()], &[once.clone()]]),
        program("barging-three", &[&[once.clone()], &[once.clone()], &[once.clone()]]),
        program("barging-timed", &[&[once.clone()], &[timed.clone()], &[once.clone()]]),
        program("barging-both-timed", &[&[once.clone()], &[timed.clone()], &[timed.clone()]]),
        program("barging-gives-up", &[&[once.clone(), once.clone()], &[timed], &[once]]),
    ]
}

#[test]
fn one_thread_has_the_lock_and_every_other_gets_it() {
    for program in programs() {
        let report = search::exhaustive(&program, BOUNDS);
        assert!(report.failure.is_none(), "{}: {report} {:?}", program.name, report.failure);
        assert!(report.states > 50, "{}: {report}", program.name);
        println!("{}: {report}", program.name);
        let report = search::random(&program, Bounds { executions: 1_000, ..BOUNDS }, 7);
        assert!(report.failure.is_none(), "{}: {:?}", program.name, report.failure);
    }
}

#[test]
fn every_planted_bug_is_found_and_its_token_repeats_it() {
    for bug in [Bug::ForgetsOthers, Bug::GivesUpSilently, Bug::HandsOverSilently] {
        planted::set(Some(bug));
        let found = programs().into_iter().find_map(|program| {
            let report = search::exhaustive(&program, Bounds { executions: 300_000, ..BOUNDS });
            report.failure.map(|failure| (program, failure))
        });
        let (program, failure) = found.unwrap_or_else(|| panic!("{bug:?} is not found"));
        let token: Token = failure.token.to_string().parse().expect("a token");
        let (again, trace) = search::replay(&program, &token.schedule);
        assert_eq!(again.as_ref(), Some(&failure.what), "{bug:?}, {token}\n{trace}");
        assert!(failure.what.starts_with("lost wake"), "{bug:?}: {}", failure.what);
        planted::set(None);
        assert_eq!(search::replay(&program, &token.schedule).0, None, "{bug:?}: it fails without the bug");
    }
}
