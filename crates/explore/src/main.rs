//! `ntux-explore`: explores the catalogue, or replays one execution.

use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use ntux_explore::catalogue;
use ntux_explore::program::Program;
use ntux_explore::search::{self, Bounds, Report};
use ntux_explore::token::Token;

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
    /// Print the programs
    List,
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
    match cli.command {
        Some(Command::Replay { token }) => replay(&token),
        Some(Command::List) => {
            catalogue::all_programs().iter().for_each(|program| print!("{program:?}"));
            ExitCode::SUCCESS
        }
        None => explore(&cli.explore),
    }
}

fn explore(arguments: &Explore) -> ExitCode {
    let programs: Vec<Program> =
        catalogue::all_programs().into_iter().filter(|program| wanted(&arguments.names, &program.name)).collect();
    if programs.is_empty() {
        eprintln!("no such program; `list` prints all");
        return ExitCode::FAILURE;
    }
    let failed = programs.iter().filter(|program| !passes(program, arguments)).count();
    println!("{} programs, {failed} failed", programs.len());
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn wanted(names: &[String], program: &str) -> bool {
    names.iter().any(|name| match name.strip_suffix('*') {
        Some(prefix) => program.starts_with(prefix),
        None => name == "all" || name == program,
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
    print_report(program, &report);
    report.failure.is_none()
}

fn print_report(program: &Program, report: &Report) {
    println!("{:<14} {report}", program.name);
    if let Some(failure) = &report.failure {
        println!("    {}\n    replay {}", failure.what, failure.token);
    }
}

fn replay(token: &str) -> ExitCode {
    let token: Token = match token.parse() {
        Ok(token) => token,
        Err(what) => {
            eprintln!("{what}");
            return ExitCode::FAILURE;
        }
    };
    let Some(program) = catalogue::all_programs().into_iter().find(|program| program.name == token.program) else {
        eprintln!("no program is called {}", token.program);
        return ExitCode::FAILURE;
    };
    let (failure, trace) = search::replay(&program, &token.schedule);
    print!("{program:?}{trace}");
    match failure {
        Some(what) => {
            println!("FAIL {what}");
            ExitCode::FAILURE
        }
        None => {
            println!("ok");
            ExitCode::SUCCESS
        }
    }
}
