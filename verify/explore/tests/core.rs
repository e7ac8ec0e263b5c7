// SPDX-License-Identifier: MIT OR Apache-2.0
//! The core: a slice of what `ntux-explore` can do, small enough for every test run.

use std::sync::mpsc;
use std::time::Duration;

use ntux_explore::histories::generator::{DETACHED, OWNED, TIMED};
use ntux_explore::histories::scheduled::{self, Plan, SCHEDULES};
use ntux_explore::histories::{real, shrink};
use ntux_explore::machine::token::Token;
use ntux_explore::planted::{PLANTED, plant};
use ntux_explore::program::Program;
use ntux_explore::search::{self, Bounds, Failure};
use ntux_explore::subject::{perform, perform_at_once_first};
use ntux_explore::tally::Tally;
use ntux_explore::{catalogue, sequences};
use ntux_sync::spec::{Operation, Outcome};
use ntux_sync::{Arena, Deadline, Object, Waiter};

/// Unoptimized code explores less.
const EFFORT: u64 = if cfg!(debug_assertions) { 1 } else { 10 };

fn bounds(preemptions: u32, executions: u64) -> Bounds {
    Bounds { preemptions: Some(preemptions), frozen: 1, executions, time: Duration::from_secs(600) }
}

/// Its interleavings of few preemptions, so many of them.
fn is_linearizable_with(preemptions: u32, executions: u64, program: &Program) {
    let report = search::exhaustive(program, bounds(preemptions, executions));
    assert!(report.failure.is_none(), "{}: {:?}", program.name, report.failure);
}

/// Its interleavings by chance, so many of them.
fn is_linearizable_by_chance(executions: u64, program: &Program) {
    let report = search::random(program, bounds(0, executions), 1);
    assert!(report.failure.is_none(), "{}: {:?}", program.name, report.failure);
}

#[test]
fn every_program_is_linearizable_and_loses_no_wake() {
    for program in &catalogue::all_programs() {
        is_linearizable_with(1, 400 * EFFORT, program);
        is_linearizable_by_chance(50 * EFFORT, program);
    }
}

/// Arenas by name: processes that have arrived and live have the same.
#[test]
fn every_program_of_meetings_is_linearizable() {
    for program in &catalogue::meetings() {
        is_linearizable_with(2, 2_000 * EFFORT, program);
        is_linearizable_by_chance(50 * EFFORT, program);
    }
}

#[test]
fn every_orderly_program_is_linearizable_and_loses_no_wake() {
    for program in &catalogue::orderly_programs() {
        is_linearizable_with(0, 4_000 * EFFORT, program);
    }
}

/// The counters of these arenas wrap after a few steps.
#[test]
fn every_program_is_linearizable_while_counters_wrap() {
    for program in &catalogue::aged_programs() {
        is_linearizable_by_chance(25 * EFFORT, program);
    }
}

/// The short way of the preloaded library.
#[test]
fn calls_that_try_one_exchange_first_are_linearizable() {
    for program in &catalogue::at_once_programs() {
        is_linearizable_with(2, 400 * EFFORT, program);
        is_linearizable_by_chance(50 * EFFORT, program);
    }
}

/// What `all --bound 2` once found in a thousand executions, and one preemption does not.
#[test]
fn a_waiter_that_is_passed_over_is_awake() {
    is_linearizable_with(2, 3_000, &catalogue::find("4-ab").unwrap());
}

/// A wait that is disturbed again and again joins its queues one after the other in the end, as all waits do with this bug.
/// It may come too early then, which the programs `q-*` are about, but nothing else goes wrong.
#[test]
fn waits_that_are_always_disturbed_lose_nothing() {
    plant(Some("queueatonce")).unwrap();
    for program in catalogue::all_programs().iter().filter(|program| !program.name.starts_with("q-")) {
        is_linearizable_with(1, 100 * EFFORT, program);
    }
    plant(None).unwrap();
}

#[test]
fn every_planted_bug_is_found_and_its_token_replays_it() {
    for planted in PLANTED {
        let Some((program, report)) = planted.look() else { continue };
        plant(Some(planted.name)).unwrap();
        let failure = report.failure.unwrap_or_else(|| panic!("{} is not found by {}", planted.name, program.name));
        let token: Token = failure.token.to_string().parse().unwrap();
        let (again, trace) = search::replay(&program, &token.schedule);
        assert_eq!(again, Some(failure.what), "{}: {token}\n{trace}", planted.name);
        plant(None).unwrap();
        let (without, trace) = search::replay(&program, &token.schedule);
        assert_ne!(without, again, "{}: {token} fails without the bug\n{trace}", planted.name);
    }
}

#[test]
fn random_calls_of_one_thread_return_what_the_model_returns() {
    for seed in 0..150 * EFFORT {
        sequences::run(seed, 200, perform).unwrap();
        sequences::run(seed, 200, perform_at_once_first).unwrap();
    }
}

#[test]
fn random_histories_are_linearizable() {
    let plan = Plan { seeds: 0..80 * EFFORT, schedules: SCHEDULES, workers: 2, bug: None };
    let (tally, failure) = scheduled::run_all(&plan);
    assert!(failure.is_none(), "{failure:?}");
    assert_eq!(tally.histories, plan.seeds.end * SCHEDULES);
    let Tally { blocked, timeouts, alerts, interrupts, deaths, satisfied_all, .. } = tally;
    let counts = [blocked, timeouts, alerts, interrupts, deaths, satisfied_all];
    assert!(counts.iter().all(|&count| count > 10), "{tally}");
}

/// Of programs from this seed on.
fn random_histories_are_linearizable_from(first: u64) {
    let plan = Plan { seeds: first..first + 40 * EFFORT, schedules: SCHEDULES, workers: 2, bug: None };
    let (tally, failure) = scheduled::run_all(&plan);
    assert!(failure.is_none(), "{failure:?}");
    assert_eq!(tally.histories, 40 * EFFORT * SCHEDULES);
    let counts = [tally.blocked, tally.timeouts, tally.deaths, tally.satisfied_all];
    assert!(counts.iter().all(|&count| count > 10), "{tally}");
}

#[test]
fn random_histories_with_timers_are_linearizable() {
    random_histories_are_linearizable_from(TIMED);
}

#[test]
fn random_histories_without_threads_are_linearizable() {
    random_histories_are_linearizable_from(DETACHED);
}

#[test]
fn random_histories_with_owners_are_linearizable() {
    random_histories_are_linearizable_from(OWNED);
}

/// Programs that failed once: a timeout from no instant, a claim on an object that was being made, what lies beside the word of
/// one that was made meanwhile, and a wait that was served before one that had queued earlier.
#[test]
fn histories_that_failed_once_are_linearizable() {
    for seed in [49_527, 60_172, 439_243, 678_360] {
        let plan = Plan { seeds: seed..seed + 1, schedules: SCHEDULES, workers: 1, bug: None };
        let (_, failure) = scheduled::run_all(&plan);
        assert!(failure.is_none(), "{failure:?}");
    }
}

fn replayed(failure: &Failure) -> Option<String> {
    let token: Token = failure.token.to_string().parse().unwrap();
    search::replay(&catalogue::find(&token.program).unwrap(), &token.schedule).0
}

/// The first of a few hundred programs from this seed on that goes wrong: which seed notices a bug depends on every access
/// that the core makes.
fn first_failure(seed: u64) -> Option<(u64, Failure)> {
    let run = |seed| Some((seed, scheduled::run(seed, SCHEDULES, &mut Tally::default()).err()?));
    (seed..seed + 400).find_map(run)
}

/// Random programs notice these bugs; the others are noticed by the directed programs only.
#[test]
fn random_histories_find_planted_bugs() {
    for planted in PLANTED {
        let Some(seed) = planted.histories else { continue };
        plant(Some(planted.name)).unwrap();
        let (_, failure) = first_failure(seed).expect(planted.name);
        assert_eq!(replayed(&failure).as_ref(), Some(&failure.what), "{}: {}", planted.name, failure.token);
        plant(None).unwrap();
        assert_ne!(replayed(&failure), Some(failure.what), "{}: fails without the bug", planted.name);
    }
}

#[test]
fn a_program_that_fails_is_made_small() {
    plant(Some("flagfirst")).unwrap();
    let (seed, failure) = first_failure(31).expect("the bug");
    let smallest = shrink::smallest(seed, failure.clone());
    assert_eq!(replayed(&smallest), Some(smallest.what.clone()));
    let calls = |failure: &Failure| {
        let program = catalogue::find(&failure.token.program).unwrap();
        program.threads.iter().map(Vec::len).sum::<usize>()
    };
    assert!(calls(&smallest) < calls(&failure) && calls(&smallest) >= 2, "{}", smallest.token);
}

/// The differences from the model that are known; a test that fails once one of them is gone.
#[test]
fn known_differences_are_still_there() {
    for program in catalogue::known() {
        let report = search::exhaustive(&program, bounds(2, 4_000_000));
        assert!(report.failure.is_some(), "{}: no difference", program.name);
    }
}

/// Ends the process if the test that holds this is not over in time: real threads may hang.
fn watchdog() -> mpsc::Sender<()> {
    let (alive, ended) = mpsc::channel();
    std::thread::spawn(move || {
        if ended.recv_timeout(Duration::from_secs(120)) == Err(mpsc::RecvTimeoutError::Timeout) {
            eprintln!("real threads hang");
            std::process::abort();
        }
    });
    alive
}

#[test]
fn histories_of_real_threads_are_linearizable() {
    let _watchdog = watchdog();
    for seed in 0..100 * EFFORT {
        real::run(seed, perform).unwrap();
        real::run(seed, perform_at_once_first).unwrap();
    }
}

/// A bug for the two tests above: a pulse that leaves the event signaled.
fn perform_pulse_as_set(
    arena: &Arena,
    waiter: &Waiter,
    objects: &[Object],
    operation: &Operation,
    deadline: Deadline,
) -> Outcome {
    match *operation {
        Operation::EventPulse { object } => perform(arena, waiter, objects, &Operation::EventSet { object }, deadline),
        ref other => perform(arena, waiter, objects, other, deadline),
    }
}

#[test]
fn a_pulse_that_sets_is_noticed_by_sequences_and_by_histories() {
    let _watchdog = watchdog();
    let sequence = (0..20).find_map(|seed| sequences::run(seed, 200, perform_pulse_as_set).err());
    assert!(sequence.is_some_and(|report| report.starts_with("replay seq/")));
    let history = (0..200).find_map(|seed| real::run(seed, perform_pulse_as_set).err());
    assert!(history.is_some_and(|report| report.starts_with("replay real/")));
}
