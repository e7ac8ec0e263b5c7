// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a test leaves out, and why: said past libtest's capture, and counted by `.ci/skips`.

use std::fmt::Display;
use std::io::Write;

/// The file in which `.ci/skips` collects what is left out.
const COLLECTED: &str = "NTUX_TEST_SKIPS";

/// Says that this test leaves something out. `name` stands in `.ci/known-skips` if that is all right.
///
/// # Panics
/// If it cannot be counted: then nobody would hear of it.
pub fn skip(name: &str, reason: impl Display) {
    let (test, reason) = (std::thread::current(), reason.to_string());
    let (test, reason) = (test.name().unwrap_or("a thread"), reason.trim().replace('\n', " "));
    writeln!(std::io::stderr(), "skipped {name}, in {test}: {reason}").expect("standard error");
    let Some(path) = std::env::var_os(COLLECTED) else { return };
    let line = format!("{name}, in {test}: {reason}\n");
    let file = std::fs::OpenOptions::new().append(true).open(&path);
    file.and_then(|mut file| file.write_all(line.as_bytes()))
        .unwrap_or_else(|error| panic!("{} cannot be written: {error}", path.display()));
}
