// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hostile memory: a short form of `make fuzz-scribble`, and the bugs that it must find.
//!
//! With the seam of the model checker only what needs it: scribbles inside operations, and bugs in the core.
#![cfg(target_os = "linux")]

#[cfg(not(ntux_explore))]
#[path = "../../testkit/tests/products/products.rs"]
mod products;

#[cfg(not(ntux_explore))]
use std::path::{Path, PathBuf};
use std::process::Command;

const PROGRAM: &str = env!("CARGO_BIN_EXE_ntux-adversary");

/// Returns whether all victims survived, and what was printed.
fn scribble(arguments: &[&str]) -> (bool, String) {
    let output = Command::new(PROGRAM).arg("scribble").args(arguments).output().expect("the program starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.success(), text(&output.stdout) + &text(&output.stderr))
}

#[track_caller]
fn survives(arguments: &[&str]) {
    let (survived, text) = scribble(arguments);
    assert!(survived && text.contains("crashes and hangs 0"), "{text}");
    println!("{text}");
}

/// The failure that a planted bug leads to; it must be replayed by what it prints.
#[track_caller]
fn notices(arguments: &[&str], expected: &str) {
    let (survived, text) = scribble(arguments);
    assert!(!survived, "{arguments:?} went unnoticed:\n{text}");
    let failure = text.lines().find(|line| line.starts_with("FAIL")).expect("a failure is printed");
    assert!(failure.contains(expected), "{text}");
}

#[test]
fn a_thread_survives_what_is_written_between_its_operations() {
    survives(&["--mode", "alone", "--seeds", "150", "--seconds", "120"]);
}

#[cfg(not(ntux_explore))]
#[test]
fn processes_survive_a_storm() {
    survives(&["--mode", "storm", "--seeds", "4", "--seconds", "120"]);
}

#[cfg(not(ntux_explore))]
#[test]
fn a_program_survives_what_is_written_into_its_device() {
    let library = build_library();
    let library = library.to_str().expect("a path of text");
    let device = ["--mode", "device", "--library", library, "--seconds", "120"];
    survives(&[&device[..], &["--seeds", "3"]].concat());
    notices(&[&device[..], &["--seeds", "1", "--bug", "panic"]].concat(), "a panic");
}

#[test]
fn what_a_victim_must_not_do_is_noticed() {
    let cases = [
        ("alone", "behind", "killed by signal 11"),
        ("alone", "before", "killed by signal 11"),
        ("alone", "elsewhere", "ended with status 101"),
        ("alone", "endless", "does not end: retire"),
        ("alone", "oversleep", "sleeps beyond its deadline: retire"),
        ("storm", "signal", "killed by signal 31"),
        ("storm", "wake", "killed by signal 31"),
    ];
    // A storm is of what ships.
    for (mode, bug, expected) in cases.into_iter().filter(|case| case.0 == "alone" || cfg!(not(ntux_explore))) {
        notices(&["--mode", mode, "--bug", bug, "--work", "1", "--late", "1", "--seeds", "1"], expected);
    }
}

#[cfg(ntux_explore)]
#[test]
fn a_seed_means_the_same_each_time() {
    let figures = || {
        let (_, text) = scribble(&["--mode", "alone", "--seeds", "20", "--seconds", "120"]);
        let counted = |line: &&str| line.contains("operations") || line.contains("scribbles");
        text.lines().filter(counted).map(str::to_owned).collect::<Vec<_>>()
    };
    let first = figures();
    assert_eq!((first.len(), &first), (2, &figures()));
}

/// Bugs in the core itself.
#[cfg(ntux_explore)]
#[test]
fn what_is_planted_in_the_core_is_noticed_and_replayed() {
    // A checked build panics where another one would leave the arena.
    for (bug, expected) in [("index", "the victim "), ("chain", "an operation does not end")] {
        let arguments = ["--mode", "alone", "--bug", bug, "--work", "2", "--seconds", "120"];
        let (_, text) = scribble(&arguments);
        notices(&arguments, expected);
        let replay = text.lines().find_map(|line| line.trim().strip_prefix("replay: ntux-adversary scribble "));
        let replay: Vec<&str> = replay.expect("a failure is printed with its replay").split(' ').collect();
        notices(&[&replay[..], &["--work", "2"]].concat(), expected);
    }
}

/// Builds the preloaded library in the profile that the program was built in.
#[cfg(not(ntux_explore))]
fn build_library() -> PathBuf {
    if let Some(library) = std::env::var_os("NTUX_PRELOAD_LIBRARY") {
        return library.into();
    }
    let target = products::products(Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("TARGET/tmp"));
    let mut cargo = Command::new(env!("CARGO"));
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates/preload/Cargo.toml");
    cargo.args(["build", "--quiet", "--offline", "--manifest-path", manifest, "--target-dir"]).arg(&target);
    assert!(cargo.status().expect("cargo starts").success(), "the preloaded library does not build");
    target.join("debug/libntux_preload.so")
}
