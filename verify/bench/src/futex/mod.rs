// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ntux bench futex`: the futex layer beside the kernel's own calls, and waits for several objects beside other
//! designs, all in one run.

mod contender;
mod crowd;
mod expectation;
mod pool;
mod report;
mod seed;
mod single;
mod tokens;

use std::io;

use crate::machine::Machine;
use crate::measure::{Effort, Sample};
use report::Report;

/// What to measure and how to print it.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct FutexArguments {
    /// Print one JSON document instead of tables
    #[arg(long)]
    pub json: bool,
    /// Finish in seconds; the numbers then mean little
    #[arg(long)]
    pub quick: bool,
    /// Crowds of at most so many threads; there are 8, 80, 800 and 8000 (80 if quick)
    #[arg(long, value_name = "COUNT")]
    pub threads: Option<usize>,
}

/// One number: nanoseconds for each operation.
#[derive(Clone, Debug, serde::Serialize)]
pub(crate) struct Row {
    pub(crate) scenario: String,
    pub(crate) contender: &'static str,
    pub(crate) sample: Sample,
}

/// What this machine does not allow.
#[derive(Clone, Debug, serde::Serialize)]
pub(crate) struct Absent {
    pub(crate) scenario: String,
    pub(crate) reason: String,
}

fn progress(what: &str) {
    crate::progress::show(what);
}

/// Measures every scenario and prints the report to standard output; progress goes to standard error.
///
/// # Errors
/// The system refuses memory or descriptors.
pub fn run(arguments: &FutexArguments) -> io::Result<()> {
    let machine = Machine::describe();
    let effort = if arguments.quick { Effort::QUICK } else { Effort::FULL };
    let threads_max = arguments.threads.unwrap_or(if arguments.quick { 80 } else { 8000 });
    let (mut rows, mut absent) = (single::run(effort)?, Vec::new());
    for threads in [8, 80, 800, 8000].into_iter().filter(|&threads| threads <= threads_max) {
        seed::run(effort, threads, &mut rows, &mut absent)?;
    }
    let report = Report::new(machine, rows, tokens::run(arguments.quick)?, absent);
    crate::progress::done();
    if arguments.json { crate::document::print(&report) } else { report.print_tables() }
}
