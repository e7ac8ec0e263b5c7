//! `ntux watch`: draws which pages are written over time, as a heat map.

mod axis;
mod built_in;
mod heat;
mod meeting;
mod program;
mod svg;
mod workload;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use workload::Workload;

/// Show which pages of memory a program writes, as a heat map: a line for each interval, a column for each stretch of
/// pages, darker where more were written.
///
/// With PROGRAM, the map shows all private memory of its first process: the data of the program and its libraries, the
/// heap, other mappings, the stack; of each, the parts that were ever written. The map goes to standard error, and the
/// exit status is the program's. Processes that it starts are not drawn. Without PROGRAM, the map shows a built-in
/// workload.
#[derive(Args)]
pub struct Arguments {
    /// The built-in workload, if there is no PROGRAM.
    #[arg(long, value_enum, default_value = "sort", conflicts_with = "program")]
    workload: Workload,
    /// Pages that the workload may write.
    #[arg(long, default_value_t = 4096, value_parser = clap::value_parser!(u32).range(16..=1 << 20), conflicts_with = "program")]
    pages: u32,
    /// Lines to draw [default: 40; for a program, until it ends].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    lines: Option<u32>,
    /// Milliseconds for each line [default: 25; for a program, 250].
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..=3_600_000))]
    interval: Option<u64>,
    /// Columns to draw.
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(8..=512))]
    columns: u32,
    /// The mechanism that notices the workload's writes: async, sync, mprotect or cow. The default is the one that
    /// NTUX_WATCH names, or the first of async, sync and mprotect that works. For a program it is always async.
    #[arg(long, conflicts_with = "program")]
    mechanism: Option<String>,
    /// Also draw the map as a picture into this file.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Write a program's lines to this file instead of standard error.
    #[arg(long, value_name = "FILE", requires = "program")]
    output: Option<PathBuf>,
    /// The program and its arguments.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_names = ["PROGRAM", "ARGUMENT"])]
    program: Vec<OsString>,
}

/// Draws the map.
pub fn watch(arguments: &Arguments) -> ExitCode {
    if arguments.program.is_empty() { built_in::watch(arguments) } else { program::watch(arguments) }
}
