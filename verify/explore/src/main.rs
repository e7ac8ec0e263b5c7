// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ntux-explore`: explores the catalogue, or replays one execution.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Args, Parser, Subcommand};
use ntux_explore::histories::generator::{DETACHED, OWNED, TIMED};
use ntux_explore::histories::real;
use ntux_explore::histories::scheduled::{self, Plan, SCHEDULES};
use ntux_explore::machine::token::Token;
use ntux_explore::planted::Found;
use ntux_explore::program::Program;
use ntux_explore::search::{self, Bounds, Failure, Report};
use ntux_explore::subject::perform;
use ntux_explore::weak::{self, Effort};
use ntux_explore::{catalogue, futex, planted, sequences};

/// Calls in one sequence.
const SEQUENCE_LENGTH: usize = 200;
/// How often a history is repeated to see a race again.
const HISTORY_REPEATS: u32 = 1_000;

/// Model checking of the ntux core.
#[derive(Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    explore: Explore,
}

#[derive(Subcommand)]
enum Command {
    /// Repeat an execution and print its trace
    Replay {
        /// What a failure printed
        token: String,
    },
    /// Print the programs and the bugs that can be planted
    List,
    /// Random calls of one thread, compared with the model
    Sequences(Seeds),
    /// Random programs under the scheduler, checked for linearizability
    Histories(Histories),
    /// The same with real threads
    Real(Seeds),
    /// Weak memory: programs with the orders that the code names, or with each of them weakened in turn
    Orders(Orders),
}

#[derive(Args)]
struct Seeds {
    /// The first seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many seeds
    #[arg(long, default_value_t = 10_000)]
    count: u64,
}

#[derive(Args)]
struct Histories {
    #[command(flatten)]
    seeds: Seeds,
    /// Programs that have timers
    #[arg(long)]
    timers: bool,
    /// Programs that have waits without a thread
    #[arg(long, conflicts_with = "timers")]
    detached: bool,
    /// Programs whose threads have owner ids of the arena
    #[arg(long, conflicts_with_all = ["timers", "detached"])]
    owners: bool,
    /// Schedules of each program
    #[arg(long, default_value_t = SCHEDULES)]
    schedules: u64,
    /// Threads that share the work; without: as many as there are processors
    #[arg(long)]
    workers: Option<usize>,
    /// Plant a bug: the histories should find it
    #[arg(long)]
    bug: Option<String>,
}

#[derive(Args)]
struct Orders {
    /// Programs to run: a name, a prefix with `*`, or `all`
    #[arg(default_value = "all")]
    names: Vec<String>,
    /// Weaken one order after the other, and see that some program fails
    #[arg(long)]
    weaken: bool,
    /// Only those with this text in what is left of the order and the name
    #[arg(long, default_value = "")]
    only: String,
    /// Executions of one program
    #[arg(long, default_value_t = 2_000)]
    executions: u64,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Args)]
struct Explore {
    /// Programs to explore: a name, a prefix with `*`, or `all`
    names: Vec<String>,
    /// Preemptions in one execution; without: no limit
    #[arg(long)]
    bound: Option<u32>,
    /// Threads that may stop for ever
    #[arg(long, default_value_t = 1)]
    frozen: usize,
    /// Plant a bug: the exploration should find it
    #[arg(long)]
    bug: Option<String>,
    /// Try so many random schedules instead of all
    #[arg(long)]
    random: Option<u64>,
    /// Seed of the random schedules
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Executions of one program at most
    #[arg(long, default_value_t = u64::MAX)]
    executions: u64,
    /// Seconds for one program at most
    #[arg(long, default_value_t = 600)]
    seconds: u64,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.command {
        Some(Command::Replay { token }) => replay(&token),
        Some(Command::List) => list(),
        Some(Command::Sequences(seeds)) => {
            run_seeds("sequences", &seeds, |seed| sequences::run(seed, SEQUENCE_LENGTH, perform))
        }
        Some(Command::Histories(arguments)) => run_histories(arguments),
        Some(Command::Real(seeds)) => run_seeds("real threads", &seeds, |seed| real::run(seed, perform)),
        Some(Command::Orders(orders)) => run_orders(&orders),
        None => explore(&cli.explore),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(what) => {
            println!("FAIL {what}");
            ExitCode::FAILURE
        }
    }
}

fn list() -> Result<(), String> {
    let others = [catalogue::meetings(), catalogue::orderly_programs()].concat();
    catalogue::all_programs().iter().chain(&others).for_each(|program| print!("{program:?}"));
    planted::PLANTED.iter().for_each(|planted| println!("bug {}: {:?}", planted.name, planted.found));
    Ok(())
}

fn run_seeds(what: &str, seeds: &Seeds, run: impl Fn(u64) -> Result<(), String>) -> Result<(), String> {
    let begun = Instant::now();
    let range = seeds.seed..seeds.seed.saturating_add(seeds.count);
    range.into_iter().try_for_each(run)?;
    println!("{what}: {} from seed {}, {:.1}s, ok", seeds.count, seeds.seed, begun.elapsed().as_secs_f64());
    Ok(())
}

fn run_orders(arguments: &Orders) -> Result<(), String> {
    let programs: Vec<Program> =
        catalogue::all_programs().into_iter().filter(|program| wanted(&arguments.names, &program.name)).collect();
    let effort = Effort { executions: arguments.executions, seed: arguments.seed };
    let survey = weak::survey(&programs, effort)?;
    println!("{survey}");
    if !arguments.weaken {
        return Ok(());
    }
    let table = weak::table(&programs, &survey, effort, &arguments.only, |row| println!("{row}"));
    println!("{table}");
    table.verdict()?;
    if arguments.only.is_empty() { drop_rechecks() } else { Ok(()) }
}

/// Leaves out one re-check of the protocol after the other: a program must notice, or the list says why none does.
fn drop_rechecks() -> Result<(), String> {
    let (mut found, mut equivalent) = (0, 0);
    for planted in planted::PLANTED {
        match (planted.look(), planted.found) {
            (Some((program, Report { failure: Some(_), executions, .. })), _) => {
                println!("re-check {}: found by {} ({executions} executions)", planted.name, program.name);
                found += 1;
            }
            (None, Found::Not(why)) => {
                println!("re-check {}: equivalent: {why}", planted.name);
                equivalent += 1;
            }
            _ => return Err(format!("re-check {}: NOT FOUND", planted.name)),
        }
    }
    println!("{:>12}  re-checks left out: {found} found, {equivalent} equivalent", planted::PLANTED.len());
    Ok(())
}

fn run_histories(arguments: Histories) -> Result<(), String> {
    let begun = Instant::now();
    let Seeds { seed, count } = arguments.seeds;
    let seed = if arguments.timers { seed.saturating_add(TIMED) } else { seed };
    let seed = if arguments.detached { seed.saturating_add(DETACHED) } else { seed };
    let seed = if arguments.owners { seed.saturating_add(OWNED) } else { seed };
    let workers = arguments.workers.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let (schedules, bug) = (arguments.schedules, arguments.bug);
    planted::plant(bug.as_deref())?;
    let plan = Plan { seeds: seed..seed.saturating_add(count), schedules, workers, bug };
    let (tally, failure) = scheduled::run_all(&plan);
    let failures = u32::from(failure.is_some());
    print!("{count:>12}  programs, from seed {seed}\n{tally}");
    println!("{failures:>12}  failures\n{:>12.1}  seconds, {workers} workers", begun.elapsed().as_secs_f64());
    failure.map_or(Ok(()), |failure| Err(report(&failure, plan.bug.as_deref())))
}

/// What went wrong, the program, and the token that replays it with a trace.
fn report(failure: &Failure, bug: Option<&str>) -> String {
    let bug = bug.map(|bug| format!("{bug}:")).unwrap_or_default();
    let program = catalogue::find(&failure.token.program).map(|program| format!("{program:?}")).unwrap_or_default();
    format!("{}\n{program}replay {bug}{}", failure.what, failure.token)
}

fn explore(arguments: &Explore) -> Result<(), String> {
    let programs: Vec<Program> = catalogue::all_programs()
        .into_iter()
        .chain(catalogue::aged_programs())
        .chain(catalogue::meetings())
        .chain(catalogue::known())
        .filter(|program| wanted(&arguments.names, &program.name))
        .chain(catalogue::orderly_programs().into_iter().filter(|program| arguments.names.contains(&program.name)))
        .collect();
    if programs.is_empty() {
        return Err("no such program; `list` prints all".into());
    }
    planted::plant(arguments.bug.as_deref())?;
    let failed = programs.iter().filter(|program| !passes(program, arguments)).count();
    println!("{} programs, {failed} failed", programs.len());
    if failed == 0 { Ok(()) } else { Err(format!("{failed} programs")) }
}

fn wanted(names: &[String], program: &str) -> bool {
    names.iter().any(|name| match name.strip_suffix('*') {
        Some(prefix) => program.starts_with(prefix),
        None => name == program || name == "all" && !program.starts_with("old-") && !program.starts_with("known-"),
    })
}

fn passes(program: &Program, arguments: &Explore) -> bool {
    let bounds = Bounds {
        preemptions: arguments.bound,
        frozen: arguments.frozen,
        executions: arguments.random.unwrap_or(arguments.executions),
        time: Duration::from_secs(arguments.seconds),
    };
    let report = match arguments.random {
        Some(_) => search::random(program, bounds, arguments.seed),
        None => search::exhaustive(program, bounds),
    };
    println!("{:<14} {report}", program.name);
    if let Some(failure) = &report.failure {
        println!("{}", self::report(failure, arguments.bug.as_deref()));
    }
    report.failure.is_none()
}

/// Repeats an execution, a sequence or a history; an error if it goes wrong again.
fn replay(token: &str) -> Result<(), String> {
    if let Some((seed, length)) = token.strip_prefix("seq/").and_then(|rest| rest.split_once('/')) {
        return sequences::run(number(seed)?, number(length)? as usize, perform);
    }
    if let Some(seed) = token.strip_prefix("real/") {
        let seed = number(seed)?;
        return (0..HISTORY_REPEATS).try_for_each(|_| real::run(seed, perform));
    }
    if let Some((token, reads)) = token.rsplit_once('/').filter(|(token, _)| token.contains('/')) {
        let (what, trace) = weak::replay(token, reads)?;
        print!("{trace}");
        return what.map_or(Ok(()), Err);
    }
    let (bug, token) = token.split_once(':').map_or((None, token), |(bug, token)| (Some(bug), token));
    planted::plant(bug)?;
    let token: Token = token.parse()?;
    if let Some(program) = futex::programs::find(&token.program) {
        let (failure, trace) = futex::search::replay(&program, &token.schedule);
        print!("{program:?}\n{trace}");
        return failure.map_or(Ok(()), Err);
    }
    let program = catalogue::find(&token.program).ok_or(format!("no program is called {}", token.program))?;
    let (failure, trace) = search::replay(&program, &token.schedule);
    print!("{program:?}{trace}");
    failure.map_or(Ok(()), Err)
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("not a number: {text}"))
}
