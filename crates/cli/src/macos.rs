// SPDX-License-Identifier: MIT OR Apache-2.0
//! The `ntux` command on macOS. What the other subcommands are about is Linux's.

mod bench;
#[path = "doctor/futexes.rs"]
pub(crate) mod futexes;
#[path = "macos/needs.rs"]
mod needs;
mod pages;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use ntux_watch::Mechanism;
use serde::Serialize;

use crate::page::Page;
use crate::say;

/// The version of the JSON document.
const VERSION: u32 = 1;
/// Width of the column of marks and names.
const NAME_WIDTH: usize = 50;

/// Windows NT synchronization in user space. On macOS the library is what there is to use; this command says what works.
#[derive(Parser)]
#[command(name = "ntux", version, disable_help_subcommand = true, arg_required_else_help = true)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Test what this machine can do, and say what ntux would use. The exit status is 0 if everything that ntux needs works.
    Doctor {
        /// Print JSON instead of text.
        #[arg(long)]
        json: bool,
    },
    Bench(bench::Arguments),
    #[command(hide = true)]
    Pages(pages::Arguments),
}

/// The whole report; the JSON has the same shape.
#[derive(Serialize)]
struct Report {
    ntux: &'static str,
    system: &'static str,
    architecture: &'static str,
    page_size: usize,
    /// What ntux needs.
    needs: Vec<Fact>,
    futexes: Vec<futexes::Row>,
    watch: Vec<Fact>,
    /// The mechanism of write watches that is chosen.
    chosen: Option<&'static str>,
}

#[derive(Serialize)]
struct Fact {
    name: &'static str,
    works: bool,
    /// Why not.
    why: Option<String>,
}

impl Fact {
    fn new(name: &'static str, outcome: Result<(), String>) -> Fact {
        Fact { name, works: outcome.is_ok(), why: outcome.err() }
    }
}

pub(crate) fn main() -> ExitCode {
    match CommandLine::try_parse() {
        Ok(CommandLine { command: Command::Doctor { json } }) => doctor(json),
        Ok(CommandLine { command: Command::Bench(arguments) }) => bench::bench(&arguments, None),
        Ok(CommandLine { command: Command::Pages(arguments) }) => {
            say::succeeded(pages::write(&arguments, &CommandLine::command()))
        }
        Err(error) => say::usage(&error),
    }
}

fn doctor(json: bool) -> ExitCode {
    let report = Report::gather();
    let works = report.needs.iter().all(|fact| fact.works);
    let status = if works { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    match json {
        true => say::json(VERSION, &report, status),
        false => say::page(&report.text(), status),
    }
}

impl Report {
    /// Tries everything out.
    fn gather() -> Report {
        let tried =
            |mechanism: Mechanism| Fact::new(mechanism.name(), mechanism.probe().map_err(|error| error.to_string()));
        Report {
            ntux: env!("CARGO_PKG_VERSION"),
            system: std::env::consts::OS,
            architecture: std::env::consts::ARCH,
            page_size: ntux_watch::page_size(),
            needs: needs::ALL.into_iter().map(|(name, attempt)| Fact::new(name, attempt())).collect(),
            futexes: futexes::rows(),
            watch: Mechanism::ALL.into_iter().map(tried).collect(),
            chosen: Mechanism::choose().ok().filter(|chosen| chosen.probe().is_ok()).map(Mechanism::name),
        }
    }

    fn text(&self) -> String {
        let mut page = Page::with_names_of(NAME_WIDTH);
        let Report { ntux, system, architecture, page_size, .. } = self;
        page.line(&format!("ntux {ntux} on {system} ({architecture}), pages of {page_size} bytes"));
        page.title("What ntux needs, each tried");
        for Fact { name, works, why } in &self.needs {
            page.fact(*works, name, why.as_deref().unwrap_or_default());
        }
        page.line("");
        for row in &self.futexes {
            let answer = row.how.map_or(row.answer.to_owned(), |how| format!("{}: {how}", row.answer));
            page.setting(&format!("futexes: {}", row.operation), &answer);
        }
        page.line("");
        for Fact { name, works, why } in &self.watch {
            page.fact(*works, &format!("{name}, of write watches"), why.as_deref().unwrap_or_default());
        }
        page.setting("chosen for write watches", self.chosen.unwrap_or("none: nothing works"));
        match self.needs.iter().filter(|fact| !fact.works).count() {
            0 => page.title("Everything that ntux needs works."),
            failed => page.title(&format!("{failed} things that ntux needs do not work.")),
        }
        page.into_text()
    }
}
