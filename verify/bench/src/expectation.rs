// SPDX-License-Identifier: MIT OR Apache-2.0
//! Promises of speed, as factors, and their results.

use comfy_table::Table;
use serde::Serialize;

use crate::grid::{aligned, grid};

/// A promise of the project, and what came out.
#[derive(Debug, Serialize)]
pub(crate) struct Expectation {
    pub(crate) promise: String,
    /// The factor that the promise is about.
    pub(crate) found: f64,
    pub(crate) is_kept: bool,
}

/// A line for each.
pub(crate) fn table(expectations: &[Expectation]) -> Table {
    let mut table = grid(["expected", "found", ""]);
    for expectation in expectations {
        let verdict = if expectation.is_kept { "kept" } else { "NOT KEPT" };
        table.add_row([expectation.promise.clone(), format!("{:.2} x", expectation.found), verdict.to_owned()]);
    }
    aligned(table)
}
