// SPDX-License-Identifier: MIT OR Apache-2.0
//! The explorer itself: it must find what is planted in a toy, and nothing in the sound one.

use std::time::Duration;

use ntux_explore::program::{Program, any, rel, sem};
use ntux_explore::search::{self, Bounds, Report};
use ntux_explore::subject::{Subject, toy::Toy};

const BOUNDS: Bounds = Bounds { preemptions: None, frozen: 1, executions: 200_000, time: Duration::from_secs(60) };

fn releases(subject: fn(&Program) -> Box<dyn Subject>) -> Program {
    Program::new("toy", &[sem(0)], &[&[rel(0, 1)], &[rel(0, 1)]]).over(subject)
}

fn waits(subject: fn(&Program) -> Box<dyn Subject>) -> Program {
    Program::new("toy", &[sem(0)], &[&[any(&[0])], &[rel(0, 1)]]).over(subject)
}

/// The failure, after checking that its token replays it.
fn failure(program: &Program, report: &Report) -> String {
    let failure = report.failure.as_ref().unwrap_or_else(|| panic!("not found: {report}"));
    let token: ntux_explore::machine::token::Token = failure.token.to_string().parse().unwrap();
    let (again, trace) = search::replay(program, &token.schedule);
    assert_eq!(again.as_ref(), Some(&failure.what), "{token}\n{trace}");
    failure.what.clone()
}

fn found(program: &Program, frozen: usize) -> String {
    let bounds = Bounds { frozen, ..BOUNDS };
    let what = failure(program, &search::exhaustive(program, bounds));
    failure(program, &search::exhaustive(program, Bounds { preemptions: Some(2), ..bounds }));
    failure(program, &search::random(program, bounds, 1));
    what
}

#[test]
fn a_sound_toy_is_found_sound() {
    // A waiter of the toy retries: one that is stopped for ever has not got what was released for it.
    for (program, frozen) in [(releases(Toy::sound), 1), (waits(Toy::sound), 0)] {
        let bounds = Bounds { frozen, ..BOUNDS };
        let report = search::exhaustive(&program, bounds);
        assert!(report.complete && report.failure.is_none(), "{report} {:?}", report.failure);
        assert!(report.states > 10, "{report}");
        let report = search::random(&program, Bounds { executions: 2_000, ..bounds }, 7);
        assert!(report.failure.is_none(), "{:?}", report.failure);
    }
}

#[test]
fn a_lost_update_is_found() {
    assert!(found(&releases(Toy::lost_update), 1).starts_with("not linearizable"));
}

#[test]
fn a_lost_wake_is_found() {
    let what = found(&waits(Toy::lost_wake), 0);
    assert!(what.starts_with("lost wake"), "{what}");
}

#[test]
fn a_lock_is_found() {
    assert!(found(&releases(Toy::lock), 1).contains("spins"));
}
