// SPDX-License-Identifier: MIT OR Apache-2.0
//! The harness works: the intended case finds each planted mistake.

use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};

use ntux_conformance::case::Kind;
use ntux_conformance::reference::{Flaw, Reference};
use ntux_conformance::run::{self, Instantiation};

/// Each mistake with a case that must fail on it.
const FLAWS: &[(Flaw, &str)] = &[
    (Flaw::PreviousIsNext, "a_release_adds_and_gives_the_count_before"),
    (Flaw::OverflowSaturates, "release_beyond_max_changes_nothing"),
    (Flaw::ShortCounts, "recursion_counts_up_and_down_without_a_gap"),
    (Flaw::KillForgets, "a_kill_frees_and_marks_as_abandoned"),
    (Flaw::AbandonedStays, "who_acquires_an_abandoned_mutex_is_told_once"),
    (Flaw::DuplicatesAllowed, "wait_all_refuses_the_same_object_twice"),
    (Flaw::PastDeadlineFirst, "a_deadline_in_the_past_is_one_attempt"),
    (Flaw::AlertFirst, "objects_come_before_the_alert"),
    (Flaw::NewestFirst, "waiters_are_served_in_the_order_of_their_arrival"),
    (Flaw::AnyBeforeAll, "wait_all_comes_before_wait_any"),
    (Flaw::AllReserves, "a_wait_all_that_cannot_complete_delays_nobody"),
    (Flaw::IneligibleBlocks, "a_mutex_waiter_that_cannot_own_is_skipped"),
    (Flaw::NoHandOff, "a_set_auto_event_is_clear_at_once"),
    (Flaw::PulseReachesNobody, "a_pulsed_auto_event_satisfies_one"),
    (Flaw::ManualSatisfiesOne, "a_set_manual_event_satisfies_everybody"),
    (Flaw::TimedOutStays, "who_timed_out_has_left_the_queue"),
    (Flaw::LostWake, "a_released_token_is_gone_at_once"),
];

/// Tells a child process which mistake to plant: its place in [`FLAWS`].
const PLANTED: &str = "CONFORMANCE_PLANTED";

/// A planted mistake may make a case hang; the watchdog must find that as well, and need not be patient.
const WATCHDOG_SECONDS: u32 = 3;

fn main() -> ExitCode {
    let face = Instantiation {
        name: "reference with a planted mistake",
        open: || Box::new(Reference::planted(planted())),
        without: &[
            (Kind::Processes, "lives in one process"),
            (Kind::Holds, "lives in one process"),
            (Kind::Device, "no descriptors"),
        ],
    };
    if std::env::var_os(PLANTED).is_some() {
        return run::main(&face);
    }
    let found = FLAWS.iter().enumerate().map(|(place, (flaw, case))| {
        Trial::test(format!("{flaw:?}_is_found_by_{case}"), move || must_fail(place, case))
    });
    let hang = Trial::test("a_hang_is_reported_as_a_hang", a_hang_is_reported);
    let arguments = Arguments::from_args();
    let conclusion = libtest_mimic::run(&arguments, found.chain([hang]).collect());
    println!("planted mistakes: {}, found {}", FLAWS.len() + 1, conclusion.num_passed);
    conclusion.exit_code()
}

fn planted() -> Option<Flaw> {
    let place: usize = std::env::var(PLANTED).expect("only children run cases").parse().expect("a place");
    Some(FLAWS[place].0)
}

fn message_of(place: usize, case: &str) -> Option<String> {
    let output = run::child_for(case, WATCHDOG_SECONDS).env(PLANTED, place.to_string()).output().expect("it starts");
    run::verdict(&output)
}

fn must_fail(place: usize, case: &str) -> Result<(), Failed> {
    message_of(place, case).map(|_| ()).ok_or_else(|| "the mistake was not found".into())
}

fn a_hang_is_reported() -> Result<(), Failed> {
    let place = FLAWS.iter().position(|(flaw, _)| *flaw == Flaw::LostWake).expect("it is listed");
    let message = message_of(place, FLAWS[place].1).ok_or("the lost wake was not found")?;
    if message.contains("hangs") { Ok(()) } else { Err(message.into()) }
}
