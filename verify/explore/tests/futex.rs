// SPDX-License-Identifier: MIT OR Apache-2.0
//! The futex layer: a slice of what the example `futexes` explores, small enough for every test run.

use ntux_explore::futex::programs;
use ntux_explore::futex::search::{self, Memory};
use ntux_explore::machine::token::Token;
use ntux_futex::planted;

/// Unoptimized code explores less.
const EXECUTIONS: u64 = if cfg!(debug_assertions) { 800 } else { 30_000 };

#[test]
fn the_model_explains_every_program() {
    for program in programs::all() {
        let report = search::exhaustive(&program, 1, EXECUTIONS, Memory::States);
        assert!(report.failure.is_none(), "{}: {:?}", program.name, report.failure);
        assert!(report.executions > 3, "{} has no choices", program.name);
        let report = search::random(&program, EXECUTIONS / 10, 1);
        assert!(report.failure.is_none(), "{}: {:?}", program.name, report.failure);
    }
}

/// A search that goes on from no state twice comes to all ends of one that runs every schedule.
#[test]
fn a_search_that_remembers_states_misses_no_end() {
    let mut compared = 0;
    for (program, preemptions) in programs::all().iter().flat_map(|program| [(program, 1), (program, 2)]) {
        let whole = search::exhaustive(program, preemptions, EXECUTIONS, Memory::Nothing);
        if whole.complete {
            let reduced = search::exhaustive(program, preemptions, EXECUTIONS, Memory::States);
            let (name, ends) = (program.name, [reduced.ends.len(), whole.ends.len()]);
            assert!(reduced.complete && reduced.executions <= whole.executions, "{name}");
            assert!(reduced.ends == whole.ends, "{name}, {preemptions} preemptions: ends {ends:?}");
            compared += 1;
        }
    }
    assert!(compared > 10, "every schedule was run in {compared} cases only");
}

#[test]
fn a_search_that_takes_too_much_for_visited_misses_ends() {
    let program = programs::find("two-waiters").expect("a program of this name");
    let [whole, careless] =
        [Memory::Nothing, Memory::Careless].map(|memory| search::exhaustive(&program, 1, 10_000, memory));
    assert!(whole.complete && careless.complete);
    assert!(careless.ends.len() < whole.ends.len(), "the comparison would not notice");
}

#[test]
fn every_planted_bug_is_found_and_its_token_repeats_it() {
    for &(bug, name, preemptions) in programs::PLANTED {
        let program = programs::find(name).expect("a program of this name");
        planted::set(Some(bug));
        let report = search::exhaustive(&program, preemptions, 300_000, Memory::States);
        let (what, token) = report.failure.unwrap_or_else(|| panic!("{bug:?} is not found by {name}"));
        let token: Token = token.to_string().parse().expect("a token");
        let (again, trace) = search::replay(&program, &token.schedule);
        assert_eq!(again, Some(what), "{bug:?}, {token}\n{trace}");
        assert!(trace.contains("T0") && trace.contains("Invoke"), "{bug:?}: nothing is told\n{trace}");
        planted::set(None);
        assert_eq!(search::replay(&program, &token.schedule).0, None, "{bug:?}: it fails without the bug");
    }
}
