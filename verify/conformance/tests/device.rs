// SPDX-License-Identifier: MIT OR Apache-2.0
//! The list on the drop-in device: the program that would judge the real driver, with the library preloaded.

mod library;

use std::env;
use std::path::Path;
use std::process::{Command, ExitCode};

use library::PROGRAM;

/// Where the drop-in device differs from the driver, and why. Each of these cases must fail; one that passes must be
/// removed from the list.
fn known_differences() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = include_str!("../known-differences").lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split_once(": ").expect("a case and a reason"))
}

fn main() -> ExitCode {
    let library = library::build();
    let mut program = Command::new(PROGRAM);
    program.args(env::args_os().skip(1)).env("LD_PRELOAD", &library);
    for (case, reason) in known_differences() {
        println!("known difference: {case}: {reason}");
        program.args(["--skip", case]);
    }
    let passed = program.status().expect("the program starts").success();
    let stale = known_differences().filter(|(case, _)| passes(&library, case)).count();
    if passed && stale == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn passes(library: &Path, case: &str) -> bool {
    let output = Command::new(PROGRAM).args(["--exact", case]).env("LD_PRELOAD", library).output().expect("it starts");
    if output.status.success() {
        println!("{case} passes now: strike it out of verify/conformance/known-differences");
    }
    output.status.success()
}
