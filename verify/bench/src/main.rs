//! `ntux-bench`, which `ntux bench` starts. It is a separate program, because only it needs the rivals. It measures the
//! drop-in device if `NTUX_BENCH_PRELOAD` is the `LD_PRELOAD` value that loads its library.

use std::process::ExitCode;

use clap::Parser;
use ntux_bench::{BenchArguments, futex, waiting, watch};

/// Measure ntux beside the other ways to do the same.
#[derive(Parser)]
#[command(name = "ntux bench", version)]
enum Command {
    /// Measure synchronization objects.
    Sync(BenchArguments),
    /// Measure futexes: of every size, in vectors, requeued.
    Futex(futex::FutexArguments),
    /// Measure the policy for waiting: what looking before sleeping gains and costs.
    Waiting(waiting::WaitingArguments),
    /// Measure write watches.
    Watch(watch::WatchArguments),
}

fn main() -> ExitCode {
    let result = match Command::parse() {
        Command::Sync(mut arguments) => {
            arguments.preload = std::env::var_os("NTUX_BENCH_PRELOAD");
            ntux_bench::run(&arguments)
        }
        Command::Futex(arguments) => futex::run(&arguments),
        Command::Waiting(arguments) => waiting::run(&arguments),
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
