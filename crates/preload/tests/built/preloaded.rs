// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs that run with the library of this crate preloaded.

#![allow(dead_code, reason = "not every test needs all of it")]

#[path = "library.rs"]
mod library;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub use library::variant;

/// The library to test: what `NTUX_PRELOAD_LIBRARY` names, or one that is built here.
pub fn tested() -> PathBuf {
    given().unwrap_or_else(library::plain)
}

/// The library to test, optimized if it is built here: one that is built for debugging has more instructions, and takes more stack.
pub fn tested_optimized() -> PathBuf {
    given().unwrap_or_else(|| variant("optimized", &["--config", "profile.dev.opt-level=2"]))
}

fn given() -> Option<PathBuf> {
    std::env::var_os("NTUX_PRELOAD_LIBRARY").map(PathBuf::from)
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
