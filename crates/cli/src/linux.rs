// SPDX-License-Identifier: MIT OR Apache-2.0
//! The `ntux` command on Linux.
//!
//! `run` starts a program with the drop-in device, `doctor` says what this machine can do, `ps` lists arenas, `inspect`
//! shows who waits for what, `why` says what is wrong, `top` shows it live, `trace` records waits over time, `report` packs
//! what a bug report needs, `bench` starts the benchmarks (another program), `watch` draws which pages are written, `help`
//! explains. Each subcommand is one file.

pub(crate) mod arenas;
pub(crate) mod bench;
pub(crate) mod counted;
pub(crate) mod doctor;
pub(crate) mod drawing;
pub(crate) mod glibc;
pub(crate) mod in_front;
pub(crate) mod inspect;
pub(crate) mod interruption;
pub(crate) mod library;
pub(crate) mod pages;
pub(crate) mod program;
pub(crate) mod ps;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod top;
pub(crate) mod topic;
pub(crate) mod trace;
pub(crate) mod watch;
pub(crate) mod why;
pub(crate) mod wine;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::{say, status};

/// Windows NT synchronization for programs on Linux, without a driver, a server or privileges.
#[derive(Parser)]
#[command(name = "ntux", version, disable_help_subcommand = true, arg_required_else_help = true)]
#[command(after_help = "Topics: ntux help environment, ntux help exit-status")]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Run(run::Arguments),
    Doctor(doctor::Arguments),
    Ps(ps::Arguments),
    Inspect(inspect::Arguments),
    Why(why::Arguments),
    Top(top::Arguments),
    Trace(trace::Arguments),
    Report(report::Arguments),
    Bench(bench::Arguments),
    Watch(watch::Arguments),
    /// Explain a subcommand or a topic: environment, exit-status.
    Help {
        /// The topic or subcommand [default: a summary of everything].
        topic: Option<String>,
    },
    #[command(hide = true)]
    Pages(pages::Arguments),
}

pub(crate) fn main() -> ExitCode {
    let matches = command_line().try_get_matches();
    let line = matches.and_then(|matches| CommandLine::from_arg_matches(&matches));
    line.map_or_else(|error| say::usage(&error), |line| execute(line.command))
}

/// The command line, with its statuses at the end of each subcommand's help.
fn command_line() -> clap::Command {
    CommandLine::command().mut_subcommands(|subcommand| {
        let Some(statuses) = status::below_help(subcommand.get_name()) else { return subcommand };
        let examples = subcommand.get_after_long_help().map(|text| format!("{}\n\n", text.to_string().trim_end()));
        subcommand.after_long_help(examples.unwrap_or_default() + &statuses)
    })
}

fn execute(command: Command) -> ExitCode {
    match command {
        Command::Run(arguments) => run::run(&arguments),
        Command::Doctor(arguments) => doctor::doctor(&arguments),
        Command::Ps(arguments) => ps::ps(&arguments),
        Command::Inspect(arguments) => inspect::inspect(&arguments),
        Command::Why(arguments) => why::why(&arguments),
        Command::Top(arguments) => top::top(&arguments),
        Command::Trace(arguments) => trace::trace(&arguments),
        Command::Report(arguments) => report::report(&arguments),
        Command::Bench(arguments) => bench::bench(&arguments, device()),
        Command::Watch(arguments) => watch::watch(&arguments),
        Command::Pages(arguments) => say::succeeded(pages::write(&arguments, &command_line())),
        Command::Help { topic } => topic::explain(command_line(), topic.as_deref()),
    }
}

/// The `LD_PRELOAD` of a program that is to have the device.
fn device() -> Option<std::ffi::OsString> {
    let found = library::find(library::Library::Device);
    let library = found.inspect_err(|reason| say::complain(format_args!("ntux: {reason}"))).ok()?;
    Some(library::preload_list(&library, std::env::var_os("LD_PRELOAD").as_deref()))
}
