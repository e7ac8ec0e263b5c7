// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kills and stops: at every instruction of every operation, and at random.
//!
//! | question | file |
//! | --- | --- |
//! | Which operations, in which situations? | `scenario`, `operation` |
//! | What happens in one experiment? | `play` (course), `wakes` (sleepers), `stage` (arena, survivors), `board` (commands) |
//! | How does a victim reach a point? | `path` (points), `tracee` (ptrace) |
//! | What may the survivors observe? | `judge`: the sequential model, with the victim's operation done or not |
//! | What may a snapshot show, and what does `ntux why` make of it? | `look`, `findings` |
//! | Which experiments are made, in how many processes? | `run`, `several` |
//! | Does it find faults at all? | `planted`: operations that survive neither |
//! | How many instructions does an operation take, and how many between claim and decision? | `window` |
//!
//! # An experiment
//! The harness restores the arena's bytes, lets survivors fall asleep in their waits, forks a victim and brings it to
//! its point. Then it kills the victim; or stops it until the end, and then kills or resumes it; or resumes it before
//! anybody acts. The survivors, in two other processes, then do everything that the objects allow. One sequence of
//! steps of the model must explain all their observations. Finally a sweep must find every unused slot.
//!
//! # Points
//! The harness steps through a victim's operation once, one instruction at a time. Later victims run to the same
//! address at full speed, as often as the first one reached it; one that takes another path is stepped there. Every
//! instruction is a point, except that a loop that changes nothing has points only in its first three rounds.
//!
//! The short form has points only after changes that others can see: of the arena, of the robust list's pending
//! operation, or by a system call. A victim killed or stopped between two such changes leaves the same state as after
//! the first, and nobody sees the reads of a thread that never continues.

pub mod board;
pub mod findings;
pub mod judge;
pub mod look;
pub mod operation;
mod passing;
pub mod path;
pub mod planted;
pub mod play;
pub mod run;
pub mod scenario;
pub mod several;
pub mod stage;
pub mod tracee;
pub mod wakes;
pub mod window;

use std::io;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ntux_testkit::processors::stay_on_one_processor;

/// Exit status when this system refuses what the harness needs.
pub const REFUSED: u8 = 77;

/// Command line of `crash`.
#[derive(clap::Args, Clone, Debug)]
pub struct Arguments {
    /// Only where something changed that others can see; no limit for wakes
    #[arg(long)]
    slice: bool,
    /// With `slice`: also the scenarios that take long
    #[arg(long, requires = "slice")]
    long: bool,
    /// Only scenarios whose name contains this
    #[arg(long)]
    only: Option<String>,
    /// The operations that are broken on purpose: must fail
    #[arg(long)]
    planted: bool,
    /// How onlookers look: all but the first must fail
    #[arg(long, value_name = "EYES", default_value = "good")]
    eyes: look::Eyes,
    /// What is planted in the core of victims, where something can be (ntux_planted): must fail
    #[arg(long, value_name = "BUG")]
    bug: Option<planted::Bug>,
    /// Second victims too, which meet what the first one left; struck where they have changed something, or everywhere
    #[arg(long, value_name = "POINTS")]
    pairs: Option<Points>,
    /// Instead: two victims at so many random points
    #[arg(long, value_name = "COUNT")]
    random: Option<u64>,
    /// Instead: count instructions; fails if a claim stands undecided for more than so many
    #[arg(long, value_name = "INSTRUCTIONS")]
    windows: Option<u32>,
    /// Where the random choices begin
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many processes share the work, each on a processor of its own. 0: one for each processor
    #[arg(long, default_value_t = 1)]
    processes: usize,
    /// Seconds after which what does not happen is said to hang
    #[arg(long, default_value_t = 10)]
    patience: u64,
    /// Milliseconds after a kill within which whoever was granted something must wake
    #[arg(long, default_value_t = 100)]
    wake_limit: u64,
}

/// Points of a second victim.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Points {
    Changes,
    Every,
}

impl From<Points> for path::Choice {
    fn from(points: Points) -> path::Choice {
        match points {
            Points::Changes => path::Choice::Changes,
            Points::Every => path::Choice::Every,
        }
    }
}

impl Arguments {
    /// Runs it and prints the result.
    pub fn run(&self) -> ExitCode {
        if let Some(most) = self.windows {
            // Where it may not, it takes its chance with the clock.
            let _ = stay_on_one_processor();
            return self.count(most);
        }
        let start = Instant::now();
        let plan = run::Plan {
            choice: if self.slice { path::Choice::Changes } else { path::Choice::Every },
            long: self.long || !self.slice || self.only.is_some(),
            only: self.only.clone(),
            planted: self.planted,
            eyes: self.eyes,
            bug: self.bug,
            pairs: self.pairs.map(path::Choice::from),
            random: self.random.map(|count| (count, self.seed)),
            patience: Duration::from_secs(self.patience),
            wake_limit: (!self.slice).then_some(Duration::from_millis(self.wake_limit)),
        };
        match several::run(&plan, self.processes) {
            Ok(totals) => {
                print(&totals, start.elapsed());
                if totals.failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
            }
            Err(error) => failed(&error),
        }
    }

    fn count(&self, most: u32) -> ExitCode {
        match window::count_all(self.only.as_deref(), Duration::from_secs(self.patience)) {
            Ok(widest) if widest <= most => ExitCode::SUCCESS,
            Ok(widest) => {
                println!("FAILED: a claim stood undecided for {widest} instructions, and {most} are allowed");
                ExitCode::FAILURE
            }
            Err(error) => failed(&error),
        }
    }
}

fn failed(error: &io::Error) -> ExitCode {
    eprintln!("crash: {error}");
    if error.kind() != io::ErrorKind::PermissionDenied {
        return ExitCode::FAILURE;
    }
    eprintln!("crash: it needs ptrace; in a container, allow it (Docker: --cap-add=SYS_PTRACE)");
    ExitCode::from(REFUSED)
}

fn print(totals: &run::Totals, time: Duration) {
    println!();
    println!("operations                     {}", totals.operations);
    println!("kill points                    {}", totals.kills);
    println!("stop points                    {}", totals.stops);
    println!("with a second victim           {}", totals.pairs);
    println!("looks at what was left         {}", totals.looks);
    println!("found: still asleep            {}", totals.found.still_asleep);
    println!("found: half-way                {}", totals.found.half_way);
    println!("found: unfinished              {}", totals.found.unfinished);
    println!("found: stopped                 {}", totals.found.stopped);
    println!("points not reached             {}", totals.missed);
    println!("failures                       {}", totals.failures);
    println!("woken by a victim's death      {}", totals.woken_after_a_kill);
    println!("latest of these wakes          {:.2} ms", totals.latest_wake.as_secs_f64() * 1e3);
    println!("wakes held back by a stop      {}", totals.held_back);
    println!("time                           {:.1} s", time.as_secs_f64());
}
