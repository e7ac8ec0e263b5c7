//! `ntux watch`: which pages are written over time, as a heat map.

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

/// Show which pages of memory a program writes, as a heat map: a line for each interval, a column for each stretch of pages,
/// darker where more of them were written.
///
/// With PROGRAM, all private memory of its first process is drawn: the data of the program and its libraries, the heap, other
/// mappings, the stack; of each, those parts that were ever written. The map goes to standard error, and the exit status is
/// the program's. Processes that it starts are not drawn. Without PROGRAM, a built-in workload is drawn.
#[derive(Args)]
pub struct Arguments {
    /// What writes, if no program does.
    #[arg(long, value_enum, default_value = "sort", conflicts_with = "program")]
    workload: Workload,
    /// Pages that the workload may write.
    #[arg(long, default_value_t = 4096, value_parser = clap::value_parser!(u32).range(16..=1 << 20), conflicts_with = "program")]
    pages: u32,
    /// Lines to draw [default: 40, and for a program as many as it takes].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    lines: Option<u32>,
    /// Milliseconds for each line [default: 25, and for a program 250].
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..=3_600_000))]
    interval: Option<u64>,
    /// Columns to draw.
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(8..=512))]
    columns: u32,
    /// Who notices the workload's writes: async, sync, mprotect or cow. By default NTUX_WATCH says, or it is the first of
    /// async, sync and mprotect that works. A program's are always noticed by async.
    #[arg(long, conflicts_with = "program")]
    mechanism: Option<String>,
    /// Draw the map into this file as well, as a picture.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Draw a program's lines into this file instead of standard error.
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
