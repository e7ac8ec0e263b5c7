// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs that run with the library of this crate preloaded.

#![allow(dead_code, reason = "not every test needs all of it")]

#[path = "library.rs"]
mod library;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub use library::build;

/// The library to test: what `NTUX_PRELOAD_LIBRARY` names, or one that is built in this directory, with more arguments for Cargo.
pub fn given_or_built(directory: &str, arguments: &[&str]) -> PathBuf {
    let given = std::env::var_os("NTUX_PRELOAD_LIBRARY").map(PathBuf::from);
    given.unwrap_or_else(|| build(directory, arguments))
}

pub fn command(program: &Path, library: &Path) -> Command {
    let mut command = Command::new(program);
    command.env("LD_PRELOAD", library).env("NTUX_DEVICE", "user").env_remove("NTUX_LOG").env_remove("NTUX_SPIN");
    command
}

pub fn complaints(output: &Output) -> String {
    format!("{}\n{}", output.status, String::from_utf8_lossy(&output.stderr))
}

pub fn succeeds(command: &mut Command) -> Output {
    let output = command.output().expect("the program starts");
    assert!(output.status.success(), "{command:?}: {}", complaints(&output));
    output
}
