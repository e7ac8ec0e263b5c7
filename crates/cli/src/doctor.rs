// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ntux doctor`: what this machine can do, what ntux would use, and why not the rest.

mod choice;
mod deaths;
mod facts;
mod futexes;
mod multiple;
mod program;
mod report;
mod text;
mod wakes;
mod watch;
mod wine;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Args;
use ntux_platform::environment::{DEVICE, text};

use crate::run::Device;
use crate::say;
use crate::status::NO;
use choice::Choice;
use deaths::OwnerDeaths;
use facts::Facts;
use multiple::WaitMultiple;
use program::Program;
use report::Report;
use wakes::WakeDescriptors;
use watch::Watch;
use wine::Running;

/// Test what this machine can do, and say what ntux would use; or say what one program would get.
///
/// What a program does while it runs is not foreseen: a library that it loads with RTLD_DEEPBIND or dlmopen is not served, and a
/// line names it then.
///
/// With --wine: which synchronization each process of Wine that runs here uses at this moment: the server, the kernel's driver, ntux's
/// device, ntux's back end, esync or fsync. /proc tells, so nothing is disturbed; of other users' processes it tells root only.
///
/// The exit status is 0 if programs on this machine, or the given program, can be served, 1 otherwise. With --wine it is 0 if Wine runs
/// and all of it uses the driver or ntux, 1 otherwise.
#[derive(Args)]
pub struct Arguments {
    /// Print JSON instead of text.
    #[arg(long)]
    json: bool,
    /// Which device programs should get.
    #[arg(long, value_enum, env = text(DEVICE), hide_env_values = true, default_value = "auto")]
    device: Device,
    /// Say which synchronization the Wine that runs here uses.
    #[arg(long, conflicts_with = "program")]
    wine: bool,
    /// The program to examine, and its arguments. It is not started.
    #[arg(last = true, value_names = ["PROGRAM", "ARGUMENT"])]
    program: Vec<OsString>,
}

/// The version of the JSON document.
const VERSION: u32 = 1;

/// Prints the report.
pub fn doctor(arguments: &Arguments) -> ExitCode {
    if arguments.wine {
        return running_wine(arguments.json);
    }
    let facts = Facts::gather();
    let choice = Choice::make(arguments.device, &facts);
    let program = (!arguments.program.is_empty()).then(|| Program::examine(&arguments.program, &choice));
    let can_serve = program.as_ref().map_or(choice.can_serve, |program| program.device.is_some());
    let (futexes, wait_multiple) = (futexes::rows(), WaitMultiple::gather(&facts));
    let (wake_descriptors, owner_deaths, watch) =
        (WakeDescriptors::gather(), OwnerDeaths::gather(&facts), Watch::gather());
    let report = Report { futexes, facts, choice, wait_multiple, wake_descriptors, owner_deaths, watch, program };
    let status = if can_serve { ExitCode::SUCCESS } else { ExitCode::from(NO) };
    match arguments.json {
        true => say::json(VERSION, &report, status),
        false => say::page(&text::render(&report), status),
    }
}

fn running_wine(json: bool) -> ExitCode {
    let running = Running::gather();
    let status = if running.is_good() { ExitCode::SUCCESS } else { ExitCode::from(NO) };
    match json {
        true => say::json(VERSION, &running, status),
        false => say::page(&running.render(), status),
    }
}
