// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thousand random kills in a futex domain, and the leak that they must find.
#![cfg(target_os = "linux")]

use std::process::{Command, Output};

fn domain(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ntux-adversary"));
    command.arg("domain").args(arguments).output().expect("it was just built")
}

#[test]
fn those_that_are_killed_in_a_domain_keep_no_seat() {
    let output = domain(&["--kills", "1000"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn a_seat_that_is_kept_is_missed() {
    let output = domain(&["--kills", "20000", "--planted"]);
    let found = String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success() && !found.contains("seats   0"), "{found}");
}
