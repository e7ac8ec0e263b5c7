// SPDX-License-Identifier: MIT OR Apache-2.0
//! Renders the tables and the picture of the documents from `benchmarks/`; with `--check`, says whether they are current.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let check = std::env::args().nth(1).is_some_and(|word| word == "--check");
    match ntux_bench::figures::run(&root, check) {
        Ok(()) => {
            println!("figures: {}", if check { "all are current" } else { "rendered" });
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("figures: {error}");
            ExitCode::FAILURE
        }
    }
}
