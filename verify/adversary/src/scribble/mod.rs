// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hostile memory: a process writes rubbish into the arena while victims use it.
//!
//! A victim may get errors or wrong results about the objects. It must not crash, access memory outside the arena, run
//! for ever, or sleep beyond a deadline. `SECURITY.md` states these promises.
//!
//! ```text
//! ntux-adversary scribble                            one thread first, then a storm, then the device: 10 seconds each
//! ntux-adversary scribble --mode storm --seconds 60
//! ntux-adversary scribble --mode alone --seed 99 --seeds 1 --steps 300      what a failure of one thread printed
//! ```
//!
//! | mode | scribbles come | repeatable |
//! | --- | --- | --- |
//! | `alone` | between a thread's operations; with `ntux_explore` also inside them | yes; with `ntux_explore` exactly |
//! | `storm` | from another process at any time, while six threads in two processes work | by chance |
//! | `device` | as in the storm, into the device of a program that knows only `/dev/ntsync` | by chance |

mod alone;
mod board;
pub mod device;
mod face;
mod fence;
mod file;
mod filter;
#[cfg(ntux_explore)]
mod inside;
mod operation;
mod planted;
mod rubbish;
#[cfg(test)]
mod smallest;
mod storm;
mod watch;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use board::Board;
use ntux_testkit::child::Child;
use watch::{Failure, Limits, watch};

/// What to do.
#[derive(clap::Args)]
pub struct Arguments {
    /// Only one of the modes
    #[arg(long, value_enum)]
    mode: Option<Mode>,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many seeds; without: as many as fit into the time
    #[arg(long)]
    seeds: Option<u64>,
    /// Seconds for each mode
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Operations and scribbles of one seed of `alone`
    #[arg(long, default_value_t = 300)]
    steps: u64,
    /// The preloaded library, for `device`; without: no device
    #[arg(long)]
    library: Option<PathBuf>,
    /// Plant a bug: it should be found
    #[arg(long, value_enum)]
    bug: Option<planted::Bug>,
    /// Seconds of processor time that one operation may take
    #[arg(long, default_value_t = 60)]
    work: u64,
    /// Seconds that a sleeper may be late
    #[arg(long, default_value_t = 10)]
    late: u64,
}

/// Which process scribbles when.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Mode {
    /// One thread that is victim and scribbler in turn
    Alone,
    /// Victims in several processes, and a scribbler that runs freely
    Storm,
    /// As the storm, for a program that uses the device
    Device,
}

impl Arguments {
    /// Scribbles as the arguments say, and prints the figures.
    pub fn run(&self) -> ExitCode {
        let modes = match self.mode {
            Some(mode) => vec![mode],
            None => vec![Mode::Alone, Mode::Storm, Mode::Device],
        };
        match modes.into_iter().try_for_each(|mode| run_mode(self, mode)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(what) => {
                println!("FAIL {what}");
                ExitCode::FAILURE
            }
        }
    }
}

fn run_mode(arguments: &Arguments, mode: Mode) -> Result<(), String> {
    let began = Instant::now();
    let (board, fd) = Board::create().map_err(|error| error.to_string())?;
    let limits = Limits { work: Duration::from_secs(arguments.work), late: Duration::from_secs(arguments.late) };
    let seeds = Seeds::of(arguments);
    let result = match (mode, &arguments.library) {
        (Mode::Alone, _) => alone(board, arguments, seeds, limits),
        (Mode::Storm, _) => seeds.clone().try_for_each(|seed| storm::run(board, seed, arguments.bug, limits)),
        (Mode::Device, Some(library)) => {
            seeds.clone().try_for_each(|seed| device::run(board, &fd, library, seed, arguments.bug, limits))
        }
        (Mode::Device, None) => {
            println!("device: left out, no --library was given");
            return Ok(());
        }
    };
    let count = board.seed.load() + 1 - arguments.seed;
    let crashes = u32::from(result.is_err());
    println!(
        "{mode:?}: seeds {} to {}, {count} in {:.1} s, crashes and hangs {crashes}",
        arguments.seed,
        board.seed.load(),
        began.elapsed().as_secs_f64()
    );
    report(board);
    result.map_err(|failure| format!("{failure}\n  replay: {}", replay(arguments, mode, &failure)))
}

/// The seeds, until they or the time are spent.
#[derive(Clone)]
struct Seeds {
    next: u64,
    end: u64,
    until: Instant,
}

impl Seeds {
    fn of(arguments: &Arguments) -> Seeds {
        let end = arguments.seeds.map_or(u64::MAX, |seeds| arguments.seed.saturating_add(seeds));
        Seeds { next: arguments.seed, end, until: Instant::now() + Duration::from_secs(arguments.seconds) }
    }
}

impl Iterator for Seeds {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let seed = self.next;
        self.next += 1;
        (seed < self.end && Instant::now() < self.until).then_some(seed)
    }
}

fn alone(board: &'static Board, arguments: &Arguments, mut seeds: Seeds, limits: Limits) -> Result<(), Failure> {
    let child = Child::fork(|| {
        planted::plant(arguments.bug);
        board.lanes[0].take();
        seeds
            .try_for_each(|seed| alone::run(board, seed, arguments.steps, arguments.bug))
            .expect("the arena can be set up");
    });
    watch(board, &[child.expect("a fork")], limits)
}

fn replay(arguments: &Arguments, mode: Mode, failure: &Failure) -> String {
    let mode = format!("{mode:?}").to_lowercase();
    let library = arguments.library.iter().map(|library| format!(" --library {}", library.display()));
    let bug = arguments.bug.iter().map(|bug| format!(" --bug {bug}"));
    let rest: String = library.chain(bug).collect();
    let (seed, steps) = (failure.seed, arguments.steps);
    format!("ntux-adversary scribble --mode {mode} --seed {seed} --seeds 1 --steps {steps}{rest}")
}

fn report(board: &Board) {
    let line = |title: &str, names: &[&str], words: &[ntux_platform::atomic::Word64]| {
        let counts: Vec<String> =
            names.iter().zip(words).map(|(name, word)| format!("{name} {}", word.load())).collect();
        let sum: u64 = words.iter().map(|word| word.load()).sum();
        println!("  {title} {sum}: {}", counts.join(", "));
    };
    line("operations", &operation::OUTCOMES, &board.outcomes);
    line("scribbles", &rubbish::KINDS, &board.scribbles);
    if let Some(lane) = board.lanes.iter().max_by_key(|lane| lane.longest_ns.load()) {
        let name = operation::NAMES.get(lane.longest.load() as usize).copied().unwrap_or("?");
        println!("  longest operation: {:.1} ms of processor time, {name}", lane.longest_ns.load() as f64 / 1e6);
    }
}
