// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ntux inspect`: the objects and waiting threads of a running program, without touching it.

mod report;
mod text;

use std::io::Write;
use std::process::ExitCode;

use clap::Args;

use crate::arenas::examine::Examined;
use crate::arenas::find::{self, Found, Target};
use crate::arenas::memory::unreadable;
use crate::arenas::processes::PeerProcesses;
use crate::status::NOTHING_THERE;
use crate::{NTUX_FAILED, say};
use report::Report;
use text::Focus;

/// Show the synchronization objects of a running program, and which of its threads wait for what.
///
/// This reads the shared memory in which the objects lie, through a read-only mapping. The program is not stopped,
/// signaled, traced or slowed down, and cannot tell that it is observed. All processes that share the memory are shown. An object
/// is listed if the process has a descriptor of it, waits for it, owns it, has created it, or was the last to signal it.
///
/// Each object is shown with its state, the owner of a mutex, how often it changes in a second, the descriptors that name it
/// (PID:FD), the threads that wait for it, and the last wake that it has sent: to which thread, by which, and when. Each thread is
/// shown with what it waits for, its owner id (in Wine the Windows thread id), for how long, and until when at most.
///
/// You need permission to inspect the process: be the same user, or root.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// A process; a descriptor of a process, which can name one object alone; or a file that is an arena, such as /dev/fd/N of
    /// your own.
    #[arg(value_name = "PID|PID:FD|FILE")]
    target: Target,
    /// Also read the memory of native programs that use ntux's Win32 face (`libntux-win`): whose end an object is, and names that a process has
    /// for itself. Nothing is changed or stopped. You must be allowed to trace them (`kernel.yama.ptrace_scope`).
    #[arg(long)]
    memory: bool,
    /// List all objects of the shared memory, not only the process's own.
    #[arg(long)]
    all: bool,
    /// Print JSON instead of text, with all objects.
    #[arg(long)]
    json: bool,
}

/// The version of the JSON document.
const VERSION: u32 = 1;

const EXAMPLES: &str = "\
Examples:
  ntux inspect $(pidof -s wineserver)
  ntux inspect --json 4711 | jq '.arenas[].threads[] | select(.state == \"waiting\")'
  ntux inspect 4711:7
  ntux inspect /dev/fd/3 3<>/proc/4711/fd/7";

/// Prints what is there.
pub fn inspect(arguments: &Arguments) -> ExitCode {
    let found = match find::find(&arguments.target) {
        Ok(found) => found,
        Err(reason) => return say::failed(reason),
    };
    let Found { arenas, notes, .. } = &found;
    for note in notes {
        say::complain(format_args!("ntux: {note}"));
    }
    let mut examined = match Examined::all(arenas, &mut PeerProcesses::default()) {
        Ok(examined) => examined,
        Err(error) => return say::failed(format_args!("cannot read the arena: {error}")),
    };
    if arguments.memory {
        let unread = examined.iter_mut().flat_map(|examined| examined.scene.read_handles());
        unread.for_each(|pid| say::complain(format_args!("ntux: {}", unreadable(pid))));
    }
    let report = Report::of(&examined, find::named_object(&arguments.target));
    let write = |out: &mut dyn Write| text::write(out, &report, Focus::on(&arguments.target, arguments.all));
    let printed = match arguments.json {
        true => say::json(VERSION, &report, ExitCode::SUCCESS),
        false => say::pages(write, ExitCode::SUCCESS),
    };
    match (arenas.is_empty(), notes.is_empty()) {
        (false, _) => printed,
        (true, true) => {
            say::complain(format_args!("ntux: {} uses no objects of ntux", arguments.target));
            ExitCode::from(NOTHING_THERE)
        }
        (true, false) => ExitCode::from(NTUX_FAILED),
    }
}
