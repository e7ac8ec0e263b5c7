//! `ntux bench futex`: the futex layer beside the kernel's own calls, in one run.
//!
//! The scenarios are those of `perf bench futex` and of the futex2 proposal, with sleepers that are known to sleep and
//! a clock of nanoseconds.

mod contender;
mod crowd;
mod report;
mod single;

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
    /// Crowds of at most so many threads; there are 8, 80, 800 and 8000
    #[arg(long, value_name = "COUNT", default_value_t = 800)]
    pub threads: usize,
}

/// One number: nanoseconds for each operation.
#[derive(Clone, Debug, serde::Serialize)]
pub(crate) struct Row {
    pub(crate) scenario: String,
    pub(crate) contender: &'static str,
    pub(crate) sample: Sample,
}

/// Measures every scenario and prints the report to standard output; progress goes to standard error.
///
/// # Errors
/// The system refuses threads or memory.
pub fn run(arguments: &FutexArguments) -> io::Result<()> {
    let effort = if arguments.quick { Effort::QUICK } else { Effort::FULL };
    let mut rows = single::run(effort)?;
    for threads in [8, 80, 800, 8000] {
        if threads <= arguments.threads {
            rows.extend(crowd::run(effort, threads)?);
        }
    }
    Report::new(Machine::describe(), rows).print(arguments.json)
}
