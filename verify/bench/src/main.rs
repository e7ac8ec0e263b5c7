// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ntux-bench`, which `ntux bench` starts. It is a separate program, because only it needs the rivals. It measures the
//! drop-in device if `NTUX_BENCH_PRELOAD` is the `LD_PRELOAD` value that loads its library.

use std::process::ExitCode;

use clap::Parser;
use ntux_bench::BenchArguments;
#[cfg(linux_calls)]
use ntux_bench::{futex, waiting, watch};
use ntux_platform::environment::{BENCH_PRELOAD, text};

/// Measure ntux beside the other ways to do the same.
#[derive(Parser)]
#[command(name = "ntux bench", version)]
enum Command {
    /// Measure synchronization objects.
    Sync(BenchArguments),
    #[cfg(not(linux_calls))]
    #[command(external_subcommand)]
    Other(Vec<String>),
    /// Measure futexes: of every size, in vectors, requeued.
    #[cfg(linux_calls)]
    Futex(futex::FutexArguments),
    /// Measure the policy for waiting: what looking before sleeping gains and costs.
    #[cfg(linux_calls)]
    Waiting(waiting::WaitingArguments),
    /// Measure write watches.
    #[cfg(linux_calls)]
    Watch(watch::WatchArguments),
}

fn main() -> ExitCode {
    let result = match Command::parse() {
        Command::Sync(mut arguments) => {
            arguments.preload = std::env::var_os(text(BENCH_PRELOAD));
            ntux_bench::run(&arguments)
        }
        #[cfg(not(linux_calls))]
        Command::Other(words) => Err(std::io::Error::other(format!(
            "no {}: on macOS there is `ntux bench sync`; the others measure what only Linux has",
            words[0]
        ))),
        #[cfg(linux_calls)]
        Command::Futex(arguments) => futex::run(&arguments),
        #[cfg(linux_calls)]
        Command::Waiting(arguments) => waiting::run(&arguments),
        #[cfg(linux_calls)]
        Command::Watch(arguments) => watch::run(&arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ntux bench: {error}");
            ExitCode::FAILURE
        }
    }
}
