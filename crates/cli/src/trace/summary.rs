// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where time was spent waiting: by object, and by pair of threads.

use std::collections::HashMap;
use std::fmt::Write;

use serde::Serialize;

use super::attach::LEASE;
use super::waits::{End, NO_OBJECT, Signal, Wait};
use crate::counted::counted;

/// Rows of each table.
const ROWS: usize = 12;
/// One signal that satisfies so many is called a herd.
const HERD: u32 = 4;
/// An object whose queue is at least so long on the average is called a convoy.
const CONVOY: f64 = 2.0;

/// How threads waited for an object.
#[derive(Clone, Default, Debug, Serialize)]
pub struct Waited {
    pub waits: u64,
    pub total_ns: u64,
    pub longest_ns: u64,
    pub signals: u64,
    /// Waiters that one signal has satisfied, at most.
    pub largest_herd: u32,
    /// How often a thread woke and had to sleep again.
    pub woken_for_nothing: u64,
    pub in_vain: u64,
    pub still_waiting: u64,
    /// Waits whose end was lost, so that nobody knows how long they took.
    pub end_lost: u64,
    /// Beginnings (1) and ends (-1) of waits, for the longest queue.
    #[serde(skip)]
    turns: Vec<(u64, i32)>,
}

/// From the grant to the moment when the waiter runs.
#[derive(Clone, Default, Debug, Serialize)]
pub struct Handed {
    pub times: u64,
    #[serde(skip)]
    total_ns: u64,
    pub longest_ns: u64,
}

/// Everything that is summed up. Objects are named by their arena and slot.
#[derive(Default)]
pub struct Summary {
    objects: HashMap<(usize, u32), Waited>,
    pairs: HashMap<(u32, u32), Handed>,
    /// How often each thread has waited, and how long in all.
    waiters: HashMap<u32, (u64, u64)>,
}

impl Summary {
    pub fn add_wait(&mut self, arena: usize, wait: &Wait) {
        let object = match wait.end {
            End::Object(given) => given,
            End::Everything | End::Nothing | End::Open | End::Unknown => wait.object,
        };
        let took = wait.to_ns.saturating_sub(wait.from_ns);
        let waited = self.objects.entry((arena, object)).or_default();
        waited.waits += 1;
        // Times that a program wrote itself may add up to anything.
        waited.total_ns = waited.total_ns.saturating_add(took);
        waited.longest_ns = waited.longest_ns.max(took);
        waited.woken_for_nothing += u64::from(wait.stirs);
        waited.in_vain += u64::from(wait.end == End::Nothing);
        waited.still_waiting += u64::from(wait.end == End::Open);
        waited.end_lost += u64::from(wait.end == End::Unknown);
        waited.turns.extend([(wait.from_ns, 1), (wait.to_ns, -1)]);
        let (waits, total_ns) = self.waiters.entry(wait.thread).or_default();
        *waits += 1;
        *total_ns = total_ns.saturating_add(took);
        if let Some(grant) = wait.by {
            let late = wait.to_ns.saturating_sub(grant.at_ns);
            let handed = self.pairs.entry((grant.thread, wait.thread)).or_default();
            handed.times += 1;
            handed.total_ns = handed.total_ns.saturating_add(late);
            handed.longest_ns = handed.longest_ns.max(late);
        }
    }

    pub fn add_signal(&mut self, arena: usize, signal: &Signal) {
        let waited = self.objects.entry((arena, signal.object)).or_default();
        waited.signals += 1;
        waited.largest_herd = waited.largest_herd.max(signal.granted);
    }

    /// Puts names to all of it. `elapsed_ns`: how long was traced; `lost`: events that were lost; `process`: the number and the name of a
    /// thread's process.
    pub fn account(
        &self,
        elapsed_ns: u64,
        lost: u64,
        object: impl Fn(usize, u32) -> String,
        thread: impl Fn(u32) -> String,
        process: impl Fn(u32) -> (u32, String),
    ) -> Account {
        let waited_for = self.objects.iter().filter(|(_, waited)| waited.waits > 0);
        let mut objects: Vec<_> = waited_for
            .map(|(&(arena, slot), waited)| Object::of(object(arena, slot), arena, slot, waited, elapsed_ns))
            .collect();
        objects.sort_by_key(|object| (u64::MAX - object.waited.total_ns, object.arena, object.slot));
        let pair = |(&(by, woken), handed): (&(u32, u32), &Handed)| Pair {
            by: thread(by),
            by_thread: by,
            woken: thread(woken),
            woken_thread: woken,
            pid: process(woken).0,
            mean_ns: handed.total_ns / handed.times,
            handed: handed.clone(),
        };
        let mut pairs: Vec<_> = self.pairs.iter().map(pair).collect();
        pairs.sort_by_key(|pair| (u64::MAX - pair.handed.times, pair.by_thread, pair.woken_thread));
        let waits = objects.iter().map(|object| object.waited.waits).sum();
        let processes = self.processes(process);
        Account { elapsed_ns, lost_events: lost, waits, processes, objects, pairs, ..Account::default() }
    }

    /// The processes whose threads have waited, the one that waited longest in all first.
    fn processes(&self, process: impl Fn(u32) -> (u32, String)) -> Vec<Process> {
        let mut processes: Vec<Process> = Vec::new();
        for (&thread, &(waits, total_ns)) in &self.waiters {
            let (pid, name) = process(thread);
            match processes.iter_mut().find(|known| known.pid == pid) {
                Some(known) => {
                    known.waits += waits;
                    known.total_ns = known.total_ns.saturating_add(total_ns);
                }
                None => processes.push(Process { pid, name, waits, total_ns }),
            }
        }
        processes.sort_by_key(|process| (u64::MAX - process.total_ns, process.pid));
        processes
    }
}

/// What a trace came to; the JSON has this shape.
#[derive(Default, Serialize)]
pub struct Account {
    pub elapsed_ns: u64,
    pub lost_events: u64,
    /// Waits that slept.
    pub waits: u64,
    /// The process whose threads waited longest in all comes first.
    pub processes: Vec<Process>,
    /// The object with the longest waits in all comes first.
    pub objects: Vec<Object>,
    /// The threads that have woken another one, the most frequent first.
    pub pairs: Vec<Pair>,
    /// The tracer was so late that threads had stopped reporting.
    pub late: bool,
    /// Threads that have waited since before the trace began: they report nothing.
    pub waiting_since_before: usize,
    /// Why nothing could be traced.
    pub problem: Option<String>,
}

/// A process whose threads slept.
#[derive(Serialize)]
pub struct Process {
    pub pid: u32,
    pub name: String,
    pub waits: u64,
    pub total_ns: u64,
}

/// An object for which threads slept.
#[derive(Serialize)]
pub struct Object {
    pub name: String,
    /// Counted from 0, in the order in which they were found.
    pub arena: usize,
    /// None: the waits were for no object.
    pub slot: Option<u32>,
    #[serde(flatten)]
    pub waited: Waited,
    pub mean_ns: u64,
    pub average_queue: f64,
    pub longest_queue: i32,
}

/// A thread that has woken another one.
#[derive(Serialize)]
pub struct Pair {
    pub by: String,
    pub by_thread: u32,
    pub woken: String,
    pub woken_thread: u32,
    /// The process of the woken thread.
    pub pid: u32,
    #[serde(flatten)]
    pub handed: Handed,
    /// From the grant until the woken thread ran.
    pub mean_ns: u64,
}

impl Object {
    fn of(name: String, arena: usize, slot: u32, waited: &Waited, elapsed_ns: u64) -> Object {
        let mean_ns = waited.total_ns / (waited.waits - waited.end_lost).max(1);
        let average_queue = waited.total_ns as f64 / elapsed_ns.max(1) as f64;
        let longest_queue = longest_queue(&waited.turns);
        let slot = Some(slot).filter(|&slot| slot != NO_OBJECT);
        Object { name, arena, slot, waited: waited.clone(), mean_ns, average_queue, longest_queue }
    }

    fn remarks(&self) -> String {
        let counted = [
            (self.waited.woken_for_nothing, "woke for nothing"),
            (self.waited.in_vain, "in vain"),
            (self.waited.still_waiting, "still wait"),
        ];
        let convoy = (self.slot.is_some() && self.average_queue >= CONVOY).then(|| "a convoy".to_owned());
        let herd = (self.waited.largest_herd >= HERD).then(|| format!("{} woken at once", self.waited.largest_herd));
        let counted =
            counted.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
        let lost = (self.waited.end_lost > 0).then(|| format!("of {} the end was lost", self.waited.end_lost));
        let remarks: Vec<String> = convoy.into_iter().chain(herd).chain(counted).chain(lost).collect();
        if remarks.is_empty() { String::new() } else { format!("  {}", remarks.join(", ")) }
    }
}

impl Account {
    /// For people.
    pub fn text(&self) -> String {
        if let Some(problem) = &self.problem {
            return format!("{problem}\n");
        }
        let mut text = format!("{} slept in {}", counted(self.waits, "wait", "waits"), time(self.elapsed_ns));
        if self.lost_events > 0 {
            let lost = counted(self.lost_events, "event", "events");
            let _ = write!(text, "; lost: {lost}, because the program was faster than the tracer");
        }
        text.push('\n');
        if self.waits > 0 {
            self.by_process(&mut text);
            self.by_object(&mut text);
            self.by_pair(&mut text);
        }
        if self.late {
            let seconds = LEASE.as_secs();
            let _ = writeln!(
                text,
                "\nntux trace got no processor for {seconds} seconds or more: what happened meanwhile is missing"
            );
        }
        if self.waiting_since_before > 0 {
            let have = if self.waiting_since_before == 1 { "thread has" } else { "threads have" };
            let _ = writeln!(
                text,
                "\n{} {have} waited since before the trace began: `ntux why` says for what",
                self.waiting_since_before
            );
        }
        text
    }

    fn by_object(&self, text: &mut String) {
        let _ = writeln!(
            text,
            "\n{:<20} {:>8} {:>9} {:>9} {:>9} {:>11} {:>8}",
            "waited for", "waits", "in all", "mean", "longest", "queue", "signals"
        );
        for object in self.objects.iter().take(ROWS) {
            let _ = writeln!(
                text,
                "{:<20} {:>8} {:>9} {:>9} {:>9} {:>5.1} to {:>2} {:>8}{}",
                object.name,
                object.waited.waits,
                time(object.waited.total_ns),
                time(object.mean_ns),
                time(object.waited.longest_ns),
                object.average_queue,
                object.longest_queue,
                object.waited.signals,
                object.remarks(),
            );
        }
        left_out(text, self.objects.len());
    }

    /// The processes that waited, if there are several: so the one that is meant is told from those beside it.
    fn by_process(&self, text: &mut String) {
        if self.processes.len() < 2 {
            return;
        }
        let _ = writeln!(text, "\n{:<44} {:>8} {:>9}", "process", "waits", "in all");
        for process in self.processes.iter().take(ROWS) {
            let _ = writeln!(text, "{:<44} {:>8} {:>9}", process.name, process.waits, time(process.total_ns));
        }
        left_out(text, self.processes.len());
    }

    /// The threads of each process together.
    fn by_pair(&self, text: &mut String) {
        if self.pairs.is_empty() {
            return;
        }
        let _ = writeln!(text, "\n{:<44} {:>8} {:>18} {:>9}", "woken by", "times", "until it ran: mean", "longest");
        for process in &self.processes {
            let pairs: Vec<&Pair> = self.pairs.iter().filter(|pair| pair.pid == process.pid).collect();
            if self.processes.len() > 1 && !pairs.is_empty() {
                let _ = writeln!(text, "{}:", process.name);
            }
            for pair in pairs.iter().take(ROWS) {
                let _ = writeln!(
                    text,
                    "{:<44} {:>8} {:>18} {:>9}",
                    format!("{} -> {}", pair.by, pair.woken),
                    pair.handed.times,
                    time(pair.mean_ns),
                    time(pair.handed.longest_ns),
                );
            }
            left_out(text, pairs.len());
        }
    }
}

fn left_out(text: &mut String, rows: usize) {
    if rows > ROWS {
        let _ = writeln!(text, "and {} more", rows - ROWS);
    }
}

fn longest_queue(turns: &[(u64, i32)]) -> i32 {
    let mut turns = turns.to_vec();
    turns.sort_unstable();
    let (mut now, mut longest) = (0, 0);
    for (_, turn) in turns {
        now += turn;
        longest = longest.max(now);
    }
    longest
}

/// "1.5 ms"
pub fn time(ns: u64) -> String {
    match ns {
        0..10_000 => format!("{ns} ns"),
        10_000..10_000_000 => format!("{} us", ns / 1_000),
        10_000_000..10_000_000_000 => format!("{} ms", ns / 1_000_000),
        _ => format!("{} s", ns / 1_000_000_000),
    }
}

#[cfg(test)]
#[path = "../../tests/unit/trace/summary.rs"]
mod tests;
