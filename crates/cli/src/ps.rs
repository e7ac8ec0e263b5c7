// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ntux ps`: the arenas on this machine, and who takes part in them.

use std::process::ExitCode;
use std::time::SystemTime;

use clap::Args;
use ntux_sync::Result;
use ntux_sync::inspect::{Snapshot, Value};
use serde::Serialize;

use crate::arenas::find::{self, Found, Opened};
use crate::arenas::proc;
use crate::arenas::processes::PeerProcesses;
use crate::arenas::scene::Names;
use crate::counted::counted;
use crate::page::paragraph;
use crate::printable::printable;
use crate::say;

/// List the arenas on this machine: who shares each, and what is in it.
///
/// An arena is the shared memory in which objects of ntux lie. Each program that opens the device creates one, unless
/// another process passes it an open one: all programs of a Wine prefix share one. Arenas are found through /proc, also
/// in other containers if you may inspect their processes.
///
/// INODE names an arena; `ntux inspect PID`, with any of its processes, shows its objects. AGE is the time since it was
/// created, WAIT the number of waiting threads. Below the processes stand the name by which they open the arena, if it has
/// one, and the names of objects that have some.
///
/// The exit status is 0, or 125 if /proc could not be read.
#[derive(Args)]
pub struct Arguments {
    /// Print JSON instead of text.
    #[arg(long)]
    json: bool,
}

/// The version of the JSON document.
const VERSION: u32 = 1;

/// Everything.
#[derive(Serialize)]
struct List {
    arenas: Vec<Line>,
    /// Processes that could not be inspected.
    hidden: usize,
}

/// An arena.
#[derive(Serialize)]
struct Line {
    device: u64,
    inode: u64,
    /// The name by which processes open it.
    name: Option<String>,
    age_s: Option<u64>,
    objects: Objects,
    waiting: usize,
    /// The names of objects, in order.
    names: Vec<String>,
    /// Places that threads have.
    threads: usize,
    processes: Vec<Process>,
    /// Processes that took part and have ended, or cannot be seen from here.
    others: usize,
}

/// How many there are of each kind.
#[derive(Default, Serialize)]
struct Objects {
    semaphores: usize,
    mutexes: usize,
    events: usize,
    timers: usize,
    ends: usize,
    /// Being made, or rubbish.
    other: usize,
}

#[derive(Serialize)]
struct Process {
    pid: u32,
    name: String,
}

/// Prints the list.
pub fn ps(arguments: &Arguments) -> ExitCode {
    let Found { arenas, notes, hidden } = find::everywhere();
    for note in &notes {
        say::complain(format_args!("ntux: {note}"));
    }
    let mut peer_processes = PeerProcesses::default();
    let lines: Result<Vec<Line>> = arenas.iter().map(|arena| Line::of(arena, &mut peer_processes)).collect();
    let list = match lines {
        Ok(arenas) => List { arenas, hidden },
        Err(error) => return say::failed(format_args!("cannot look at an arena: {error}")),
    };
    match arguments.json {
        true => say::json(VERSION, &list, ExitCode::SUCCESS),
        false => say::page(&list.render(), ExitCode::SUCCESS),
    }
}

impl Line {
    fn of(arena: &Opened, peer_processes: &mut PeerProcesses) -> Result<Line> {
        let (snapshot, file) = (arena.view.snapshot()?, arena.view.file());
        let names = Names::of(&snapshot.peers, peer_processes);
        let seen = snapshot.peers.iter().filter_map(|peer| names.process(peer.index));
        let mut processes: Vec<Process> =
            seen.map(|process| Process { pid: process.pid, name: process.name.clone() }).collect();
        processes.sort_by_key(|process| process.pid);
        processes.dedup_by_key(|process| process.pid);
        Ok(Line {
            device: file.device,
            inode: file.inode,
            name: arena.name.clone(),
            age_s: age_s(arena, &processes),
            objects: Objects::of(&snapshot),
            waiting: snapshot.waiting().count(),
            names: names_of_objects(&snapshot),
            threads: snapshot.waiters.iter().filter(|waiter| waiter.thread.is_some()).count(),
            others: snapshot.peers.len() - processes.len().min(snapshot.peers.len()),
            processes,
        })
    }

    fn render(&self, page: &mut String) {
        let Objects { semaphores, mutexes, events, .. } = self.objects;
        let start = format!(
            "{:>9} {:>5} {:>6} {:>6} {:>6} {:>5}  ",
            self.inode,
            self.age_s.map_or("-".to_owned(), short),
            semaphores,
            mutexes,
            events,
            self.waiting
        );
        let name = |process: &Process| format!("{} {}", process.pid, printable(&process.name));
        let mut names: Vec<String> = self.processes.iter().take(LISTED).map(name).collect();
        if self.processes.len() > LISTED {
            names.push(format!("and {} more", self.processes.len() - LISTED));
        }
        if self.others > 0 {
            names.push(format!("and {} that are gone or hidden", self.others));
        }
        let further = " ".repeat(start.len());
        page.push_str(&paragraph(PAGE_WIDTH, &start, &further, &names.join(", ")));
        if let Some(name) = &self.name {
            page.push_str(&format!("{further}opened by the name {}\n", printable(name)));
        }
        if !self.names.is_empty() {
            let mut named: Vec<String> = self.names.iter().take(LISTED).map(|name| printable(name)).collect();
            if self.names.len() > LISTED {
                named.push(format!("and {} more", self.names.len() - LISTED));
            }
            page.push_str(&paragraph(PAGE_WIDTH, &format!("{further}names: "), &further, &named.join(", ")));
        }
    }
}

fn names_of_objects(snapshot: &Snapshot) -> Vec<String> {
    let mut names: Vec<String> = snapshot.objects.iter().filter_map(|object| object.name.clone()).collect();
    names.sort();
    names
}

const PAGE_WIDTH: usize = 80;
/// Processes of an arena, and names in it, that are listed; all are in the JSON.
const LISTED: usize = 12;

impl List {
    fn render(&self) -> String {
        let mut page = "    INODE   AGE   SEM.   MUT.  EVENT  WAIT  PROCESSES\n".to_owned();
        for line in &self.arenas {
            line.render(&mut page);
        }
        if self.arenas.is_empty() {
            page = "No process that you may inspect uses objects of this version of ntux.\n".to_owned();
        }
        if self.hidden > 0 {
            let hidden = counted(self.hidden as u64, "process", "processes");
            page.push_str(&format!("Left out: {hidden} that you may not inspect.\n"));
        }
        page
    }
}

impl Objects {
    fn of(snapshot: &Snapshot) -> Objects {
        let mut objects = Objects::default();
        for object in &snapshot.objects {
            *match object.value {
                Value::Semaphore(_) => &mut objects.semaphores,
                Value::Mutex(_) => &mut objects.mutexes,
                Value::Event(_) => &mut objects.events,
                Value::Timer(_) => &mut objects.timers,
                Value::End(_) => &mut objects.ends,
                Value::Undecided | Value::Rubbish => &mut objects.other,
            } += 1;
        }
        objects
    }
}

/// When the file was made, where the system says so; else the age of the oldest process.
fn age_s(arena: &Opened, processes: &[Process]) -> Option<u64> {
    let since = |created: SystemTime| SystemTime::now().duration_since(created).ok().map(|age| age.as_secs());
    let of_file = arena.created.and_then(since);
    of_file.or_else(|| processes.iter().filter_map(|process| proc::age_s(process.pid)).max())
}

/// A time in five columns.
fn short(seconds: u64) -> String {
    match seconds {
        0..100 => format!("{seconds}s"),
        100..6_000 => format!("{}m", seconds / 60),
        6_000..360_000 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}
