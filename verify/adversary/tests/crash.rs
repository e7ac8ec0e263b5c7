// SPDX-License-Identifier: MIT OR Apache-2.0
//! A short form of the kills and stops, and the bugs that it must find. Only as it ships (`make test-crash-slice`): unoptimized code takes many
//! times as many steps.
#![cfg(all(target_os = "linux", target_arch = "x86_64", not(debug_assertions)))]

#[path = "../../../crates/platform/tests/skips/skips.rs"]
mod skips;

use std::process::{Command, Output};

use skips::skip;

/// Exit status when ptrace is refused.
const REFUSED: i32 = 77;

fn crash(arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ntux-adversary"));
    command.arg("crash").args(arguments).envs(environment.iter().copied()).output().expect("it was just built")
}

/// Returns whether it could run at all; prints why not.
fn could_run(output: &Output) -> bool {
    let refused = output.status.code() == Some(REFUSED);
    if refused {
        skip("ptrace", String::from_utf8_lossy(&output.stderr));
    }
    !refused
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn nothing_breaks_where_a_victim_has_just_changed_something() {
    let output = crash(&["--slice"], &[]);
    if could_run(&output) {
        assert!(output.status.success(), "{}", text(&output));
    }
}

#[test]
fn a_second_victim_that_helps_the_first_breaks_nothing() {
    let output = crash(&["--slice", "--pairs", "changes", "--only", "set-one"], &[]);
    if could_run(&output) {
        assert!(output.status.success(), "{}", text(&output));
    }
}

#[test]
fn a_claim_is_decided_within_a_few_instructions() {
    // A wait without a thread is counted and rung for in between: 42.
    let output = crash(&["--windows", "44"], &[]);
    if could_run(&output) {
        assert!(output.status.success(), "{}", text(&output));
    }
}

#[test]
fn a_claim_that_stands_undecided_for_too_long_is_found() {
    let output = crash(&["--windows", "3", "--only", "set-one"], &[]);
    if could_run(&output) {
        let found = text(&output);
        assert!(!output.status.success() && found.contains("a claim stood undecided for"), "{found}");
    }
}

/// The number behind a line's title.
fn figure(output: &Output, title: &str) -> u32 {
    let text = text(output);
    let line = text.lines().find(|line| line.starts_with(title)).unwrap_or_else(|| panic!("no {title:?} in\n{text}"));
    line[title.len()..].trim().parse().unwrap()
}

#[test]
fn a_wake_that_a_stopped_signaler_owes_comes_with_the_next_operation_or_when_it_goes_on() {
    let output = crash(&["--slice", "--only", "set-one"], &[]);
    if could_run(&output) {
        assert!(output.status.success(), "{}", text(&output));
        assert!(figure(&output, "wakes held back by a stop") > 0, "no signaler was stopped between grant and wake");
    }
}

#[test]
fn an_operation_that_survives_neither_kills_nor_stops_is_found() {
    for name in ["planted-lock", "planted-loan"] {
        let output = crash(&["--slice", "--patience", "1", "--planted", "--only", name], &[]);
        if could_run(&output) {
            let found = text(&output);
            assert!(!output.status.success(), "{found}");
            assert!(found.contains("Killed after") && found.contains("Stopped after"), "{found}");
        }
    }
}

#[test]
fn an_object_that_ends_too_early_is_found() {
    for (name, how) in [
        ("planted-crowd", "a victim that was not killed ended with Some(Err(NoSuchObject))"),
        ("planted-fork", "a victim that was not killed ended with Some(Err(NoSuchObject))"),
        ("planted-exec", "a victim that was not killed ended with Some(Err(NoSuchObject))"),
        ("planted-founder", "the founder's close ends an object of which a child has a copy"),
    ] {
        let output = crash(&["--slice", "--planted", "--only", name], &[]);
        if could_run(&output) {
            let found = text(&output);
            assert!(!output.status.success() && found.contains(how), "{found}");
        }
    }
}

#[test]
fn a_claim_of_a_dead_child_does_not_outlive_the_object() {
    let output = crash(&["--slice", "--only", "child-"], &[]);
    if could_run(&output) {
        assert!(output.status.success(), "{}", text(&output));
        assert!(figure(&output, "found: half-way") > 0, "no child left a claim: {}", text(&output));
    }
}

#[test]
fn an_onlooker_who_overlooks_something_is_found() {
    for (eyes, scenario, text_of_it) in [
        ("no-units", "set-one-waits", "an onlooker sees"),
        ("no-units", "release-one-waits", "an onlooker sees"),
        ("no-wakes", "set-one-waits", "the analysis does not say StillAsleep"),
        ("old-notes", "set-one-waits", "the analysis says StillAsleep"),
        ("no-claims", "unlock-one-waits", "the analysis does not say HalfWay"),
        ("no-deaths", "set-wait-all-in-vain", "the analysis does not say Unfinished"),
        ("no-deaths", "any-blocked-pulse", "the analysis does not say Stopped"),
        ("hasty", "set-wait-all-in-vain", "the analysis says Unfinished"),
    ] {
        let output = crash(&["--slice", "--eyes", eyes, "--only", scenario], &[]);
        if could_run(&output) {
            let found = text(&output);
            assert!(!output.status.success(), "{eyes}, {scenario}: {found}");
            assert!(found.contains(text_of_it), "{eyes}, {scenario}: {found}");
        }
    }
}

#[test]
fn the_analysis_finds_what_is_half_way_while_it_is_and_not_longer() {
    let output = crash(&["--slice", "--only", "set-wait-all"], &[]);
    if could_run(&output) {
        assert!(output.status.success(), "{}", text(&output));
        for found in ["still asleep", "half-way", "unfinished"] {
            let title = format!("found: {found}");
            assert!(figure(&output, &title) > 0, "no {found} at any point: {}", text(&output));
        }
    }
}

#[test]
fn a_wake_that_dies_with_its_signaler_is_found() {
    let output = crash(&["--slice", "--patience", "1", "--only", "set-one"], &[("NTUX_WITHOUT", "robust_list")]);
    if could_run(&output) {
        let found = text(&output);
        assert!(found.contains("was granted its wait and does not wake") && found.contains("Killed after"), "{found}");
    }
}

/// Each of these operations leaves somebody asleep if the kernel wakes nobody for the dead: who signals, who posts a packet, and who was
/// woken to take a result.
#[test]
fn a_result_that_nobody_is_woken_for_is_found() {
    for scenario in ["detached-set-one-takes", "detached-post", "detached-take-before", "detached-take-packet-before"] {
        let output = crash(&["--slice", "--patience", "1", "--only", scenario], &[("NTUX_WITHOUT", "robust_list")]);
        if could_run(&output) {
            let found = text(&output);
            assert!(!output.status.success(), "{scenario}: {found}");
            assert!(found.contains("sleeps, although the bell was rung") && found.contains("Killed after"), "{found}");
        }
    }
}

/// Bugs in the core itself.
#[cfg(ntux_planted)]
#[test]
fn a_will_that_names_no_bell_is_found() {
    for (bug, scenario) in [
        ("delivery-unwilled", "detached-set-one-takes"),
        ("delivery-unwilled", "detached-set-all"),
        ("taker-unwilled", "detached-take-before"),
        ("taker-unwilled", "detached-post"),
    ] {
        let output = crash(&["--slice", "--patience", "1", "--bug", bug, "--only", scenario], &[]);
        if could_run(&output) {
            let found = text(&output);
            assert!(!output.status.success(), "{bug}, {scenario}: {found}");
            assert!(found.contains("sleeps, although the bell was rung") && found.contains("Killed after"), "{found}");
        }
    }
}
