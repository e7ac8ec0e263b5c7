// SPDX-License-Identifier: MIT OR Apache-2.0
//! The experiments with rival designs find their known weaknesses. (The other tests here show that ntux does not have
//! them.)
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

#[path = "../../../crates/platform/tests/skips/skips.rs"]
mod skips;

use std::process::Command;

use skips::skip;

/// What is printed for one design, struck at every so-manieth instruction; none, with the reason, where ptrace is
/// refused.
fn rivals(only: &str, every: &str) -> Option<(bool, String)> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ntux-adversary"));
    let output = command
        .args(["rivals", "--every", every, "--patience", "500", "--only", only])
        .output()
        .expect("it was just built");
    let complaint = String::from_utf8_lossy(&output.stderr);
    if complaint.contains("ptrace is refused") {
        skip("ptrace", complaint);
        return None;
    }
    Some((output.status.success(), format!("{}{complaint}", String::from_utf8_lossy(&output.stdout))))
}

#[test]
fn a_sleeper_is_stranded_and_everybody_hangs_behind_a_lock() {
    let Some((_, text)) = rivals("robust lock", "4") else { return };
    let wakes: Vec<&str> = text.lines().filter(|line| line.contains("never wakes")).collect();
    assert!(wakes.len() == 2 && !wakes[0].contains("at   0 the sleeper"), "{text}");
    assert!(wakes[1].contains("everybody hangs") && !wakes[1].contains("at   0 everybody"), "{text}");
}

#[test]
fn words_that_are_taken_one_by_one_are_lost_one_by_one() {
    let Some((_, text)) = rivals("futex words", "4") else { return };
    assert!(text.lines().any(|line| line.contains("one unit of two") && !line.contains("at   0 one unit")), "{text}");
}

#[test]
fn a_stopped_server_stops_everybody() {
    let Some((_, text)) = rivals("a server", "64") else { return };
    assert!(text.contains("stopped: everybody hangs; killed: every object is gone"), "{text}");
}
