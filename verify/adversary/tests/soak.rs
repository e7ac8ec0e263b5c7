// SPDX-License-Identifier: MIT OR Apache-2.0
//! A few seconds of random kills, and the bug that they must find.
#![cfg(target_os = "linux")]

use std::process::{Command, Output};

fn soak(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ntux-adversary"));
    command.arg("soak").args(arguments).output().expect("it was just built")
}

#[test]
fn nothing_is_lost_among_eight_processes_that_are_killed_at_random() {
    let output = soak(&["--seconds", "3"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn a_unit_that_is_kept_is_missed() {
    let output = soak(&["--seconds", "30", "--planted"]);
    let found = String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success() && found.contains("units are missing") && found.contains("--seed 1"), "{found}");
}
