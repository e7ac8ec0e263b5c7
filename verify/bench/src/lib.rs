// SPDX-License-Identifier: MIT OR Apache-2.0
//! Measures ntux beside the other ways to have NT synchronization objects on Linux, all in the same run.
//!
//! [`run`] is all of `ntux bench sync`. The README beside this crate's sources describes each scenario and rival.
//!
//! On macOS, and where that is simulated, there is `ntux bench sync` with ntux's own rows and those of `parking_lot`: the other rivals,
//! the other benchmarks, and what counts system calls are made of Linux's calls.
#![cfg(any(target_os = "linux", target_os = "macos"))]
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "peers are written as they would be without ntux"
)]
#![cfg_attr(not(linux_calls), allow(dead_code, unused_imports, reason = "for what is Linux's"))]

mod asleep;
mod bench;
mod document;
mod expectation;
pub mod figures;
#[cfg(linux_calls)]
pub mod futex;
mod grid;
mod machine;
mod measure;
#[path = "../../../crates/cli/src/output.rs"]
#[allow(dead_code, reason = "the command also writes whole files at once")]
mod output;
mod peer;
#[cfg(linux_calls)]
mod preloaded;
mod progress;
mod record;
mod report;
mod scenario;
#[cfg(linux_calls)]
mod trace;
#[cfg(linux_calls)]
pub mod waiting;
#[cfg(linux_calls)]
pub mod watch;

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::PathBuf;

use bench::Bench;
use machine::Machine;
use measure::Effort;
#[cfg(linux_calls)]
use ntux_testkit::rival::{AdaptiveFutex, EventFd, Futex, Server, WaitV};
use output::Output;
use peer::arena::RustArena;
use peer::c_face::CArena;
#[cfg(linux_calls)]
use peer::device::Device;
use peer::parking::Parking;
use report::{Absent, Report};

/// What to measure and how to print it.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct BenchArguments {
    /// Print one JSON document instead of tables
    #[arg(long)]
    pub json: bool,
    /// Print all tables, not only the first screen
    #[arg(long)]
    pub full: bool,
    /// Draw the times into FILE
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Write a page with the drawing and all tables into FILE
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Finish in seconds; the numbers then mean little
    #[arg(long)]
    pub quick: bool,
    /// Measure nothing, and show what an earlier run printed with --json into FILE
    #[arg(long, value_name = "FILE", conflicts_with_all = ["quick", "only"])]
    pub from: Option<PathBuf>,
    /// Measure only what contains TEXT, of "scenario: peer" (progress shows these)
    #[arg(long, value_name = "TEXT")]
    pub only: Option<String>,
    /// Measure the device, in the child that has it preloaded
    #[arg(long, hide = true)]
    pub inside_device: bool,
    /// `LD_PRELOAD` of a program that is to have the drop-in device; without it the device is not measured.
    #[arg(skip)]
    pub preload: Option<OsString>,
}

/// Measures every scenario for every peer and prints the report to standard output; progress goes to standard error.
///
/// The process must have a single thread: some peers are forked from it. The run starts the same program again, with
/// the same arguments, to measure under the preloaded library.
///
/// # Errors
/// Something that should work failed; the report, which says what, is printed first.
pub fn run(arguments: &BenchArguments) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    allow_many_descriptors()?;
    let effort = if arguments.quick { Effort::QUICK } else { Effort::FULL };
    let mut bench = Bench::new(effort, arguments.only.clone());
    #[cfg(linux_calls)]
    if arguments.inside_device {
        measure_preloaded(&mut bench);
        progress::done();
        return serde_json::to_writer(io::stdout(), &bench.records).map_err(io::Error::other);
    }
    let files = Files::open(arguments)?;
    if let Some(file) = &arguments.from {
        return files.show(&report::stored(file)?, arguments);
    }
    let machine = Machine::describe();
    let absent = measure_here(&mut bench, arguments.preload.as_deref());
    progress::done();
    some_was_measured(bench.records.len(), arguments.only.as_deref())?;
    let report = Report::new(machine, bench.records, absent);
    files.show(&report, arguments)?;
    match report.failures() {
        0 => Ok(()),
        count => Err(io::Error::other(format!("{count} measurements failed; the report says which"))),
    }
}

/// The files that are written at the end. A file that cannot be made is refused before minutes of measuring.
struct Files {
    svg: Option<Output>,
    html: Option<Output>,
}

impl Files {
    fn open(arguments: &BenchArguments) -> io::Result<Files> {
        let output = |file: &Option<PathBuf>| file.as_deref().map(Output::create).transpose();
        Ok(Files { svg: output(&arguments.svg)?, html: output(&arguments.html)? })
    }

    /// As files and on standard output.
    fn show(self, report: &Report, arguments: &BenchArguments) -> io::Result<()> {
        let printed = match (arguments.json, arguments.full) {
            (true, _) => document::print(report),
            (false, true) => report.print_tables(),
            (false, false) => report.print_first_screen(),
        };
        self.svg.map_or(Ok(()), |file| filled(file, &report.svg()?))?;
        self.html.map_or(Ok(()), |file| filled(file, &report.html()?))?;
        printed
    }
}

fn filled(mut file: Output, text: &str) -> io::Result<()> {
    // `finish` says what went wrong.
    let _ = file.write_all(text.as_bytes());
    file.finish()
}

/// `--only TEXT` may be a slip of the pen.
fn some_was_measured(count: usize, only: Option<&str>) -> io::Result<()> {
    match only {
        Some(only) if count == 0 => Err(io::Error::other(format!("nothing that it measures contains {only:?}"))),
        _ => Ok(()),
    }
}

/// Everything but the child's part, whose records are added; who could not take part at all.
#[cfg(linux_calls)]
fn measure_here(bench: &mut Bench, preload: Option<&OsStr>) -> Vec<Absent> {
    let mut absent = Vec::new();
    scenario::yardsticks::run(bench);
    scenario::foreign::run(bench, scenario::foreign::WITHOUT);
    scenario::all(bench, report::FUTEX, Futex::open);
    scenario::meetings(bench, report::ADAPTIVE, AdaptiveFutex::open);
    scenario::meetings(bench, report::PARKING, Parking::open);
    scenario::all(bench, report::EVENTFD, || Ok(EventFd::default()));
    scenario::definitions::poll(bench, report::EVENTFD, || Ok(EventFd::default()));
    scenario::shared::eventfds(bench);
    scenario::shared::bare_calls(bench);
    scenario::all(bench, report::WAITV, WaitV::<false>::open);
    scenario::definitions::poll(bench, report::WAITV, WaitV::<false>::open);
    scenario::all(bench, report::WAITV_COUNTED, WaitV::<true>::open);
    scenario::definitions::poll(bench, report::WAITV_COUNTED, WaitV::<true>::open);
    scenario::all(bench, report::SERVER, Server::open);
    scenario::definitions::poll(bench, report::SERVER, Server::open);
    match Device::open() {
        Ok(_) => {
            scenario::all(bench, report::DRIVER, Device::open);
            scenario::shared::run(bench);
        }
        Err(error) => absent.push(Absent::new(report::DRIVER, format!("/dev/ntsync: {error}"), false)),
    }
    scenario::all(bench, report::RUST, RustArena::open);
    scenario::definitions::poll(bench, report::RUST, RustArena::open);
    scenario::memory::run(bench.peer(report::RUST));
    scenario::guarded::run(bench);
    scenario::named::run(bench);
    scenario::owners::run(bench);
    scenario::timers::run(bench);
    scenario::queues::run(bench);
    scenario::asynchronous::run(bench);
    scenario::held::run(bench);
    scenario::observed::run(bench);
    scenario::all(bench, report::C, CArena::open);
    // The child has a line of its own.
    progress::done();
    match preload.map(preloaded::records) {
        Some(Ok(records)) => bench.records.extend(records),
        Some(Err(error)) => absent.push(Absent::new(report::DEVICE, error.to_string(), true)),
        None => absent.push(Absent::new(report::DEVICE, "its library was not found".to_owned(), true)),
    }
    absent
}

/// ntux's own rows, beside the rivals that are there.
#[cfg(not(linux_calls))]
fn measure_here(bench: &mut Bench, _preload: Option<&OsStr>) -> Vec<Absent> {
    scenario::yardsticks::run(bench);
    scenario::meetings(bench, report::PARKING, Parking::open);
    scenario::all(bench, report::RUST, RustArena::open);
    scenario::definitions::poll(bench, report::RUST, RustArena::open);
    scenario::guarded::run(bench);
    scenario::all(bench, report::C, CArena::open);
    let here = [report::PARKING, report::STD, report::PTHREAD];
    let absent = report::PEERS.into_iter().chain([report::DEVICE]).filter(|peer| !here.contains(peer));
    absent.map(|peer| Absent::new(peer, "it is made of Linux's calls".to_owned(), false)).collect()
}

#[cfg(linux_calls)]
fn measure_preloaded(bench: &mut Bench) {
    scenario::foreign::run(bench, scenario::foreign::THROUGH);
    scenario::all(bench, report::DEVICE, Device::open);
    scenario::shared::run(bench);
}

/// Peers that need a descriptor for each object get as many as this process may have.
#[cfg(target_os = "linux")]
fn allow_many_descriptors() -> io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel writes, then reads `limit`.
    let result = unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
        limit.rlim_cur = limit.rlim_max;
        libc::setrlimit(libc::RLIMIT_NOFILE, &limit)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
