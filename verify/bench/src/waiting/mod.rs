// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ntux bench waiting`: what the policy for waiting gains and costs, beside sleeping at once, in the same run.

mod condition;
mod program;
mod report;

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;

use condition::{Condition, Stage};
use ntux_testkit::child::Child;
use program::{Cost, Program};
use report::Report;
use serde::Serialize;

use crate::machine::Machine;
use crate::progress;

/// What to measure and how to print it.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct WaitingArguments {
    /// Print one JSON document instead of a table
    #[arg(long)]
    pub json: bool,
    /// Finish in seconds; the numbers then mean little
    #[arg(long)]
    pub quick: bool,
    /// Measure only what contains TEXT, of "condition: program"
    #[arg(long, value_name = "TEXT")]
    pub only: Option<String>,
}

/// Of [`ntux_sync::Arena::set_spins`]: never look.
const SLEEP_AT_ONCE: Option<u32> = Some(0);
const BY_POLICY: Option<u32> = None;

/// What is compared. The last one differs from the first in nothing: it tells how much chance does.
const ARMS: [Option<u32>; 3] = [SLEEP_AT_ONCE, BY_POLICY, SLEEP_AT_ONCE];
const AT_ONCE: usize = 0;
const POLICY: usize = 1;
const AGAIN: usize = 2;

/// How much is measured.
#[derive(Clone, Copy)]
struct Effort {
    rounds: usize,
    /// How long a run is that sleeps at once.
    run_ns: f64,
}

/// One program under one condition.
#[derive(Serialize)]
pub(crate) struct Row {
    condition: Condition,
    program: Program,
    /// The same as [`ARMS`]: each round has one run of each.
    rounds: Vec<[Cost; ARMS.len()]>,
}

/// What this machine does not allow.
#[derive(Serialize)]
pub(crate) struct Absent {
    condition: Condition,
    reason: String,
}

/// Programs that are measured under every condition; the crowds only where it is quiet.
const PROGRAMS: [Program; 6] =
    [Program::Mutex(2), Program::Semaphore(2), Program::Event(2), Program::Zigzag, Program::Ticks, Program::Timers];
const CROWDS: [Program; 4] = [Program::Mutex(8), Program::Mutex(64), Program::Mutex(512), Program::Semaphore(64)];

/// Measures every program under every condition and prints the report to standard output; progress goes to standard error.
///
/// # Errors
/// The system refuses threads, processes or memory.
pub fn run(arguments: &WaitingArguments) -> io::Result<()> {
    let machine = Machine::describe();
    let effort = match arguments.quick {
        true => Effort { rounds: 1, run_ns: 5e6 },
        false => Effort { rounds: 7, run_ns: 100e6 },
    };
    let (mut rows, mut absent) = (Vec::new(), Vec::new());
    for condition in Condition::ALL {
        let programs =
            if condition == Condition::Quiet { &[&PROGRAMS[..], &CROWDS[..]].concat() } else { &PROGRAMS[..] };
        let wanted = |program: &Program| {
            let title = format!("{}: {}", condition.name(), program.name());
            arguments.only.as_ref().is_none_or(|only| title.contains(only.as_str()))
        };
        let programs: Vec<_> = programs.iter().copied().filter(wanted).collect();
        if programs.is_empty() {
            continue;
        }
        match condition.stage() {
            Ok(stage) => {
                for program in programs {
                    progress::show(&format!("{}: {}", condition.name(), program.name()));
                    rows.push(Row { condition, program, rounds: in_turns(program, &stage, effort)? });
                }
            }
            Err(error) => absent.push(Absent { condition, reason: error.to_string() }),
        }
    }
    progress::done();
    crate::some_was_measured(rows.len() + absent.len(), arguments.only.as_deref())?;
    let report = Report::new(machine, rows, absent);
    if arguments.json { crate::document::print(&report) } else { report.print_table() }
}

fn in_turns(program: Program, stage: &Stage, effort: Effort) -> io::Result<Vec<[Cost; ARMS.len()]>> {
    let work = calibrated(program, stage, effort.run_ns)?;
    let round = |number: usize| {
        let mut costs = [Cost::default(); ARMS.len()];
        // The arm that goes first may find the processors warmer, or colder.
        for arm in (0..ARMS.len()).map(|arm| (arm + number) % ARMS.len()) {
            costs[arm] = in_child(program, work, ARMS[arm], stage)?;
        }
        Ok(costs)
    };
    (0..effort.rounds).map(round).collect()
}

/// How much work takes so long if the program sleeps at once; some for each thread, else it is all starting and ending threads.
fn calibrated(program: Program, stage: &Stage, run_ns: f64) -> io::Result<u64> {
    let least = 16 * u64::from(program.threads());
    let mut work = least;
    loop {
        let cost = in_child(program, work, SLEEP_AT_ONCE, stage)?;
        let elapsed_ns = cost.elapsed_ns * work as f64;
        if elapsed_ns >= run_ns / 4.0 {
            return Ok(((run_ns / cost.elapsed_ns) as u64).max(least));
        }
        work *= 4;
    }
}

/// In a process of its own: what one run has learnt does not help the next.
fn in_child(program: Program, work: u64, spins: Option<u32>, stage: &Stage) -> io::Result<Cost> {
    let (mut here, mut there) = UnixStream::pair()?;
    let child = Child::fork(|| {
        let mut run = || {
            stage.enter()?;
            let cost = program.run(work, spins, stage)?;
            there.write_all(&[cost.elapsed_ns.to_ne_bytes(), cost.processor_ns.to_ne_bytes()].concat())
        };
        let done: io::Result<()> = run();
        done.expect("a program runs to its end");
    })?;
    drop(there);
    let mut bytes = [[0; 8]; 2];
    bytes.iter_mut().try_for_each(|bytes| here.read_exact(bytes))?;
    child.wait()?;
    let [elapsed_ns, processor_ns] = bytes.map(f64::from_ne_bytes);
    Ok(Cost { elapsed_ns, processor_ns })
}
