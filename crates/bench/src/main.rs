//! The benchmark alone, for development; users have `ntux bench sync`.

use std::process::ExitCode;

use clap::Parser;
use ntux_bench::BenchArguments;

#[derive(Parser)]
#[command(about = "Measure ntux beside its peers")]
struct Arguments {
    #[command(flatten)]
    bench: BenchArguments,
}

fn main() -> ExitCode {
    match ntux_bench::run(&Arguments::parse().bench) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ntux-bench: {error}");
            ExitCode::FAILURE
        }
    }
}
