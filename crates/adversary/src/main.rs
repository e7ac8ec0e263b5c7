//! `ntux-adversary`: processes that die, stop and scribble, and what is left of the objects afterwards.
//!
//! | module | what it does to its victims |
//! | --- | --- |
//! | [`scribble`] | writes rubbish into the arena while they use it |

#![allow(clippy::disallowed_methods, reason = "this is about processes and their memory, not about the core")]

#[cfg(target_os = "linux")]
mod scribble;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Kills, stops and scribbles, and looks what is left.
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Write rubbish into an arena while others use it
    #[cfg(target_os = "linux")]
    Scribble(scribble::Arguments),
    /// The victim of `scribble --mode device`
    #[cfg(target_os = "linux")]
    #[command(hide = true)]
    UseDevice(scribble::device::Program),
}

fn main() -> ExitCode {
    match Cli::parse().command {
        #[cfg(target_os = "linux")]
        Command::Scribble(arguments) => arguments.run(),
        #[cfg(target_os = "linux")]
        Command::UseDevice(program) => program.run(),
    }
}
