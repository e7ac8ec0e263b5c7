// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ntux-adversary`: processes that die, stop and scribble, and the state of the objects afterwards.
//!
//! | module | what it does to its victims |
//! | --- | --- |
//! | [`domain`] | kills them at random while they wait in a futex domain |
//! | [`crash`] | kills and stops them at every instruction of every operation (x86-64: it counts instructions) |
//! | [`owners`] | kills them in numbers, with everything that they can own |
//! | [`rivals`] | the same to other designs, in their simplest form |
//! | [`scribble`] | writes rubbish into the arena while they use it |
//! | [`soak`] | kills and stops them at random, for a given time |

#![allow(clippy::disallowed_methods, reason = "this is about processes and their memory, not about the core")]

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod crash;
#[cfg(target_os = "linux")]
mod domain;
#[cfg(target_os = "linux")]
mod owners;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod rivals;
#[cfg(target_os = "linux")]
mod scribble;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[path = "../../../crates/platform/tests/skips/skips.rs"]
mod skips;
#[cfg(target_os = "linux")]
mod soak;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// True if this system sends the wakes that the dead owe, and ends their waits. XNU does not.
#[cfg(target_os = "linux")]
const WAKES_AT_DEATH: bool = cfg!(not(ntux_simulated_macos));

/// Kills, stops and scribbles, and looks what is left.
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Kill and stop a process at every instruction of every operation
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    Crash(crash::Arguments),
    /// Do the same to other designs, in their simplest form
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    Rivals(rivals::Arguments),
    /// Write rubbish into an arena while others use it
    #[cfg(target_os = "linux")]
    Scribble(scribble::Arguments),
    /// The victim of `scribble --mode device`
    #[cfg(target_os = "linux")]
    #[command(hide = true)]
    UseDevice(scribble::device::Program),
    /// Kill processes at random that wait in a futex domain
    #[cfg(target_os = "linux")]
    Domain(domain::Arguments),
    /// Kill processes that own something, in numbers, and count what is left
    #[cfg(target_os = "linux")]
    Owners(owners::Arguments),
    /// Kill and stop processes at random
    #[cfg(target_os = "linux")]
    Soak(soak::Arguments),
}

fn main() -> ExitCode {
    match Cli::parse().command {
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        Command::Crash(arguments) => arguments.run(),
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        Command::Rivals(arguments) => arguments.run(),
        #[cfg(target_os = "linux")]
        Command::Scribble(arguments) => arguments.run(),
        #[cfg(target_os = "linux")]
        Command::UseDevice(program) => program.run(),
        #[cfg(target_os = "linux")]
        Command::Domain(arguments) => arguments.run(),
        #[cfg(target_os = "linux")]
        Command::Owners(arguments) => arguments.run(),
        #[cfg(target_os = "linux")]
        Command::Soak(arguments) => arguments.run(),
    }
}
