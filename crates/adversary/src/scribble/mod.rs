//! Hostile memory: somebody who holds the arena writes rubbish into it while victims work.
//!
//! A victim may get errors or wrong answers about the objects. It must not crash, not touch what is not the arena's, not
//! work without end, and not sleep beyond a deadline.

mod alone;
mod board;
mod face;
mod fence;
pub mod file;
#[cfg(feature = "explore")]
mod inside;
mod operation;
mod rubbish;
mod watch;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use board::Board;
use watch::{Child, Failure, Limits, watch};

/// What to do.
#[derive(clap::Args)]
pub struct Arguments {
    /// The first seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many seeds; without: as many as fit into the time
    #[arg(long)]
    seeds: Option<u64>,
    /// Seconds at most
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Operations and scribbles of one seed
    #[arg(long, default_value_t = 300)]
    steps: u64,
}

/// Scribbles as the arguments say, and prints the figures.
pub fn run(arguments: &Arguments) -> ExitCode {
    match try_run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(what) => {
            println!("FAIL {what}");
            ExitCode::FAILURE
        }
    }
}

fn try_run(arguments: &Arguments) -> Result<(), String> {
    let began = Instant::now();
    let (board, _fd) = Board::create().map_err(|error| error.to_string())?;
    let end = arguments.seeds.map_or(u64::MAX, |seeds| arguments.seed + seeds);
    let limits = Limits::default();
    let failure = alone(board, arguments, end, began, limits);
    let seeds = board.seed.load() + 1 - arguments.seed;
    println!("{seeds} seeds from {}, {:.1}s", arguments.seed, began.elapsed().as_secs_f64());
    report(board);
    match failure {
        None => Ok(()),
        Some(failure) => Err(format!(
            "{failure}\n  replay: ntux-adversary scribble --seed {} --seeds 1 --steps {}",
            failure.seed, arguments.steps
        )),
    }
}

fn alone(board: &'static Board, arguments: &Arguments, end: u64, began: Instant, limits: Limits) -> Option<Failure> {
    let time = Duration::from_secs(arguments.seconds);
    let (seed, steps) = (arguments.seed, arguments.steps);
    let child = Child::fork(|| {
        board.lanes[0].take();
        for seed in seed..end {
            alone::run(board, seed, steps).expect("the arena can be set up");
            if arguments.seeds.is_none() && began.elapsed() > time {
                break;
            }
        }
    });
    watch(board, &mut [child.expect("a fork")], limits).err()
}

fn report(board: &Board) {
    let line = |title: &str, names: &[&str], words: &[ntux_platform::atomic::Word64]| {
        let counts: Vec<String> =
            names.iter().zip(words).map(|(name, word)| format!("{name} {}", word.load())).collect();
        let sum: u64 = words.iter().map(|word| word.load()).sum();
        println!("{title} {sum}: {}", counts.join(", "));
    };
    line("operations", &operation::OUTCOMES, &board.outcomes);
    line("scribbles", &rubbish::KINDS, &board.scribbles);
    if let Some(lane) = board.lanes.iter().max_by_key(|lane| lane.longest_ns.load()) {
        let name = operation::NAMES.get(lane.longest.load() as usize).copied().unwrap_or("?");
        println!("longest operation: {:.1} ms of processor time, {name}", lane.longest_ns.load() as f64 / 1e6);
    }
}
