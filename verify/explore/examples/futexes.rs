// SPDX-License-Identifier: MIT OR Apache-2.0
//! Explores every program over the futex layer with at most so many preemptions (the first argument; 2), and at most so
//! many executions of each (the second; a million), then, if that was not all, as many at random. The exit status is 1
//! if one fails.

use std::process::ExitCode;
use std::time::Instant;

use ntux_explore::futex::programs;
use ntux_explore::futex::search::{self, Memory};

fn main() -> ExitCode {
    let number = |position: usize, otherwise: u64| {
        std::env::args().nth(position).map_or(otherwise, |text| text.parse().expect("a number"))
    };
    let (preemptions, executions) = (number(1, 2), number(2, 1_000_000));
    let mut failed = false;
    for program in programs::all() {
        let begun = Instant::now();
        let mut report = search::exhaustive(&program, preemptions as u32, executions, Memory::States);
        if report.failure.is_none() && !report.complete {
            let random = search::random(&program, executions, 1);
            report.executions += random.executions;
            report.failure = random.failure;
        }
        let verdict = match (&report.failure, report.complete) {
            (Some(_), _) => "FAIL",
            (None, true) => "ok",
            (None, false) => "part",
        };
        let (count, histories, time) = (report.executions, report.histories, begun.elapsed().as_secs_f64());
        println!("{verdict:<4} {:<20} executions {count:>9} histories {histories:>6} {time:>7.1}s", program.name);
        if let Some((what, token)) = report.failure {
            println!("     {what}\n     ntux-explore replay {token}");
            failed = true;
        }
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
