// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs the list on one face: each case in its own process, so that a case that hangs or dies fails alone.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitCode, Output};

use libtest_mimic::{Arguments, Failed, Trial};

use crate::case::{self, Body, Case, Kind};
use crate::clock;
use crate::face::Face;
use crate::process;
use crate::skips::skip;

/// Seconds that a case may take. Most take milliseconds. One that puts 120 threads to sleep, one after the other, takes many seconds
/// where ten other programs run for each processor.
pub const WATCHDOG_SECONDS: u32 = 120;

const ONE_CASE: &str = "--one-case";

/// A face, and which cases it leaves out and why.
pub struct Instantiation {
    /// The name in the summary.
    pub name: &'static str,
    /// A new instance.
    pub open: fn() -> Box<dyn Face>,
    /// What it cannot run, each kind with a reason.
    pub without: &'static [(Kind, &'static str)],
}

impl Instantiation {
    /// What is left out, each kind with a reason: what the face cannot run, and what the system does not permit. Only
    /// the latter is a skip: what a face cannot run, it can run on no machine.
    fn left_out(&self) -> Vec<(Kind, String)> {
        let mut left_out: Vec<_> = self.without.iter().map(|(kind, reason)| (*kind, reason.to_string())).collect();
        if left_out.iter().any(|(kind, _)| *kind == Kind::Processes) {
            left_out.push((Kind::TimeNamespace, "needs several processes".to_string()));
        } else if cfg!(target_os = "macos") {
            left_out.push((Kind::TimeNamespace, "macOS has no such namespaces".to_string()));
        } else if let Some(reason) = process::reason_against_shifting_clocks() {
            skip("time-namespace", &reason);
            left_out.push((Kind::TimeNamespace, reason));
        }
        if let Some(reason) = clock::reason_against_setting() {
            skip("set-clock", reason);
            left_out.push((Kind::WallClock, reason.to_string()));
        }
        left_out
    }
}

/// The `main` of a test program: runs all cases, or those that the command line selects, and prints the summary.
pub fn main(face: &Instantiation) -> ExitCode {
    if let Some((name, seconds)) = one_case_asked() {
        run_here(face, &name, seconds);
        return ExitCode::SUCCESS;
    }
    let arguments = Arguments::from_args();
    let mut cases: Vec<Case> = case::all().collect();
    for (kind, reason) in face.left_out() {
        let before = cases.len();
        cases.retain(|case| case.kind() != kind);
        println!("face {}: {} cases of kind {kind:?} left out: {reason}", face.name, before - cases.len());
    }
    let trials = cases.into_iter().map(|case| Trial::test(case.name, move || in_own_process(case.name))).collect();
    let conclusion = libtest_mimic::run(&arguments, trials);
    let ran = conclusion.num_passed + conclusion.num_failed;
    println!("face {}: {ran} cases, {} passed", face.name, conclusion.num_passed);
    conclusion.exit_code()
}

fn in_own_process(name: &str) -> Result<(), Failed> {
    let output = child_for(name, WATCHDOG_SECONDS).output().map_err(|error| format!("cannot start: {error}"))?;
    match verdict(&output) {
        None => Ok(()),
        Some(message) => Err(message.into()),
    }
}

/// A command that runs one case in a new process of this program.
pub fn child_for(name: &str, watchdog_seconds: u32) -> Command {
    // On Linux also if somebody has removed it.
    let program = if cfg!(target_os = "linux") { Ok("/proc/self/exe".into()) } else { std::env::current_exe() };
    let mut command = Command::new(program.expect("the path of this program"));
    command.args([ONE_CASE, name, &watchdog_seconds.to_string()]);
    command
}

/// None when the case passed, else what it said.
pub fn verdict(output: &Output) -> Option<String> {
    if output.status.success() {
        return None;
    }
    let reason = match output.status.signal() {
        Some(libc::SIGALRM) => "hangs (ended by the watchdog)".to_string(),
        _ => output.status.to_string(),
    };
    let said = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned()).concat();
    Some(format!("{reason}\n{said}"))
}

/// Returns whether this process is one of those that run one case.
pub fn one_case_is_asked() -> bool {
    one_case_asked().is_some()
}

fn one_case_asked() -> Option<(String, u32)> {
    let mut arguments = std::env::args().skip(1);
    if arguments.next()? != ONE_CASE {
        return None;
    }
    let name = arguments.next().expect("the name of a case");
    let seconds = arguments.next().and_then(|seconds| seconds.parse().ok()).expect("seconds for the watchdog");
    Some((name, seconds))
}

/// Runs one case on the main thread of this process, which has no other yet.
fn run_here(face: &Instantiation, name: &str, watchdog_seconds: u32) {
    end_process_on_panic();
    // SAFETY: only arms a timer; nobody handles its signal, so it ends the process.
    unsafe { libc::alarm(watchdog_seconds) };
    let case = case::all().find(|case| case.name == name).expect("the name of a case");
    match case.body {
        Body::Everywhere(body)
        | Body::Processes(body)
        | Body::Holds(body)
        | Body::TimeNamespace(body)
        | Body::WallClock(body) => {
            body(&*(face.open)());
        }
        Body::Device(body) => body(),
    }
}

/// A panic in any thread ends the process: its other threads may sleep in waits that nobody would end.
fn end_process_on_panic() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        print(panic);
        // SAFETY: ends the process without waiting for its other threads.
        unsafe { libc::_exit(101) };
    }));
}
