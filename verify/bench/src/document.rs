// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reports as JSON, as `docs/reference/schemas` describes them.

use std::io::{self, Write};

use serde::Serialize;

/// Another number means that something is gone, or means something else. Keys may be added without.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct Document<'a, T: Serialize> {
    version: u32,
    #[serde(flatten)]
    report: &'a T,
}

/// Prints a report to standard output.
///
/// # Errors
/// It cannot be written.
pub(crate) fn print(report: &impl Serialize) -> io::Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, &Document { version: VERSION, report }).map_err(io::Error::other)?;
    writeln!(out)
}
