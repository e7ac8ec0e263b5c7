// SPDX-License-Identifier: MIT OR Apache-2.0
//! Running the commands of which these tests consist. The tests of the Win32 face include this file, too.

use std::process::{Command, Output};

/// Runs a command that must succeed, and returns what it printed.
pub fn output(command: &mut Command) -> String {
    let (result, text) = run(command);
    assert!(result.status.success(), "{command:?}: {}\n{text}", result.status);
    text
}

/// Runs a command; also gives what it printed, standard output first.
pub fn run(command: &mut Command) -> (Output, String) {
    let result = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = [&result.stdout[..], &result.stderr[..]].concat();
    (result, String::from_utf8(text).unwrap())
}
