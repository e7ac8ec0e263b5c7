// SPDX-License-Identifier: MIT OR Apache-2.0
//! Some thousand deaths of processes that own something, and the one that lives on, which they must find.
#![cfg(target_os = "linux")]

use std::process::{Command, Output};

fn owners(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ntux-adversary"));
    command.arg("owners").args(arguments).output().expect("it was just built")
}

#[test]
fn owners_that_are_killed_leave_everything_to_the_others() {
    let output = owners(&["--kills", "5000"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn one_that_lives_on_with_what_it_has_is_missed() {
    let output = owners(&["--kills", "5000", "--planted"]);
    let found = String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success() && found.contains("FAILED with --seed 1"), "{found}");
}
