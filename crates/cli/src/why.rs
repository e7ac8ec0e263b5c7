// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ntux why`: which thread waits for which, and what is wrong.

mod addresses;
mod awaited;
mod chain;
mod cycle;
mod image;
mod log;
mod names;
mod native;
mod stack;
mod text;
mod trouble;
mod unwind;
mod verdict;

use std::process::ExitCode;

use clap::Args;
use ntux_sync::inspect::why::Case;

use crate::arenas::examine::Examined;
use crate::arenas::find::{self, Found, Target};
use crate::arenas::processes::PeerProcesses;
use crate::arenas::scene::Scene;
use crate::counted::counted;
use crate::status::{NO, NOTHING_THERE};
use crate::{NTUX_FAILED, say};
use chain::Follower;
use log::Logs;
use verdict::{Asked, Verdict};

/// Say why threads wait: for whom, and what is wrong.
///
/// This takes two snapshots, a tenth of a second apart, of the shared memory in which the objects of ntux lie, and
/// changes nothing. What it reports held all the time between the two. What can pass by itself must also hold a second
/// later. It finds:
///
/// a deadlock: threads that wait for each other's mutexes, and all threads that wait behind them;
///
/// a mutex whose owner has ended or is stopped, while others wait for it;
///
/// a thread that was given what it waited for and still sleeps, or an operation that is half-way: the thread that was
/// to finish it is stopped, or was killed;
///
/// a thread that waits for objects that are closed, so that nobody can signal them;
///
/// a thread that is stopped while it waits;
///
/// a wait for all of several objects that lacks only one of them. (This alone does not count as wrong.)
///
/// For a process, it also says what each waiting thread waits for, who owns that, and what the owner waits for in turn.
///
/// In an arena of Wine it also lists the threads that wait for no object, but for a critical section, an SRW lock, a condition variable
/// or an address. With `--memory` it reads which from the memory of the programs, and finds deadlocks over critical sections. With `--stacks` it
/// shows where in their programs the threads wait.
///
/// `--memory` also reads native programs that use ntux's Win32 face (`libntux-win`): the threads that wait for a critical section, who owns it,
/// deadlocks over critical sections and mutexes, whose end an object is, and names that a process has for itself.
///
/// It knows which thread the owner of a mutex is once that thread has had to wait with its owner id: ntux records
/// nothing that would cost a program time.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// A process, one of its threads, or an arena: as for `ntux inspect`. Without it, everything on this machine that you may see.
    #[arg(value_name = "PID[/TID]|PID:FD|FILE")]
    target: Option<Target>,
    /// Also read the memory of Windows programs: which critical section, SRW lock or address a thread waits for, and who owns it; and that of
    /// native programs, for the critical sections, threads and names of `libntux-win`. Nothing is changed or stopped. You must be allowed to trace them
    /// (`kernel.yama.ptrace_scope`).
    #[arg(long)]
    memory: bool,
    /// Also show the stacks of the threads that are named: which functions of a 64-bit Windows program have not returned. They are read from
    /// its memory, as with `--memory`, while the threads wait; no debugger is needed.
    #[arg(long)]
    stacks: bool,
    /// Print JSON instead of text.
    #[arg(long)]
    json: bool,
}

impl Arguments {
    fn asked(&self) -> Asked {
        Asked { memory: self.memory, stacks: self.stacks }
    }
}

/// The version of the JSON document.
const VERSION: u32 = 1;

const EXAMPLES: &str = "\
Examples:
  ntux why
  ntux why $(pidof -s wineserver)
  ntux why 4711/4713
  ntux why --memory --stacks $(pidof -s game.exe)
  ntux why --json 4711 | jq '.arenas[].findings[] | select(.kind == \"deadlock\").threads'";

/// Prints what is wrong.
pub fn why(arguments: &Arguments) -> ExitCode {
    let Found { arenas, mut notes, hidden } = match find::wanted(arguments.target.as_ref()) {
        Ok(found) => found,
        Err(reason) => return say::failed(reason),
    };
    if hidden > 0 {
        let hidden = counted(hidden as u64, "process", "processes");
        notes.push(format!("left out: {hidden} that you may not inspect"));
    }
    for note in &notes {
        say::complain(format_args!("ntux: {note}"));
    }
    if let (true, Some(target)) = (arenas.is_empty(), &arguments.target) {
        if notes.is_empty() {
            say::complain(format_args!("ntux: {target} uses no objects of ntux"));
        }
        return ExitCode::from(if notes.is_empty() { NOTHING_THERE } else { NTUX_FAILED });
    }
    let mut examined = match Examined::all(&arenas, &mut PeerProcesses::default()) {
        Ok(examined) => examined,
        Err(error) => return say::failed(format_args!("cannot read the arena: {error}")),
    };
    if arguments.memory {
        // Whose memory cannot be read is told with the waits for critical sections.
        examined.iter_mut().for_each(|examined| drop(examined.scene.read_handles()));
    }
    let verdict = Verdict::of(&examined, arguments.target.as_ref(), arguments.asked());
    let status = if verdict.is_something_wrong() { ExitCode::from(NO) } else { ExitCode::SUCCESS };
    match arguments.json {
        true => say::json(VERSION, &verdict, status),
        false => say::page(&text::page(&verdict), status),
    }
}

/// What a thread waits for, and for whom, in lines.
pub fn chain_text(scene: &Scene, case: &Case<'_>, waiter: u32) -> String {
    text::chain(&Follower::new(scene, case, &Logs::default(), &[]).follow(waiter))
}
