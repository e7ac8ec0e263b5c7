//! The benchmark alone, for development; users have `ntux bench sync`. It measures the drop-in device if `NTUX_PRELOAD`
//! names its library.

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
    let mut arguments = Arguments::parse().bench;
    arguments.preload = std::env::var_os("NTUX_PRELOAD");
    match ntux_bench::run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ntux-bench: {error}");
            ExitCode::FAILURE
        }
    }
}
