// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ntux bench watch`: write watches with each mechanism, beside unwatched memory, the kernel's bare interface, and
//! textbook page protection, all in one run.

mod batch;
mod expectation;
mod report;
mod subject;
mod sweep;
mod textbook;
mod writers;

use std::io;

use crate::machine::Machine;
use report::Report;

/// What to measure and how to print it.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct WatchArguments {
    /// Print one JSON document instead of tables
    #[arg(long)]
    pub json: bool,
    /// Finish in seconds; the numbers then mean little
    #[arg(long)]
    pub quick: bool,
}

/// Measures and prints the report to standard output; progress goes to standard error.
///
/// # Errors
/// Something that should work failed.
pub fn run(arguments: &WatchArguments) -> io::Result<()> {
    let machine = Machine::describe();
    let quick = arguments.quick;
    let report = Report::new(machine, writers::run(quick)?, sweep::run(quick)?, batch::run(quick)?);
    crate::progress::done();
    if arguments.json { crate::document::print(&report) } else { report.print_tables() }
}

fn progress(what: &str) {
    crate::progress::show(what);
}

/// The middle of some numbers, and the 99th of 100.
#[derive(Clone, Copy, Debug, Default, serde::Serialize)]
struct Spread {
    mean: f64,
    median: f64,
    p99: f64,
    max: f64,
}

impl Spread {
    fn of(mut numbers: Vec<f64>) -> Spread {
        if numbers.is_empty() {
            return Spread::default();
        }
        numbers.sort_by(f64::total_cmp);
        let at = |share: f64| numbers[((numbers.len() - 1) as f64 * share) as usize];
        let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
        Spread { mean, median: at(0.5), p99: at(0.99), max: at(1.0) }
    }
}
