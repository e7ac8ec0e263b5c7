// SPDX-License-Identifier: MIT OR Apache-2.0
//! The trace as JSON that ui.perfetto.dev and chrome://tracing open: a slice for each wait, an arrow from the grant that ended it.
//!
//! Events are written as they come, one on a line. The array is closed only if the trace ended normally. Readers of
//! this format accept an open array, so the file of a killed tracer can be opened, too.
//!
//! What the readers demand, and Perfetto does not say if it is missed: slices of a thread are nested or disjoint, or the later one is
//! left out. An arrow binds to the slice of its thread that began last, in the order of time and, for equal times, of the file; and
//! it leads from the slice that began earlier to the later one. So each arrow has two slices of its own, which are written
//! just before its ends: one for the grant, and one within the wait, from the grant until the thread runs.

use std::io::Write;

use serde_json::json;

use super::names::{Objects, Thread, verb};
use super::waits::{End, Grant, Signal, Wait};

/// Writes events. The output itself remembers whether it could be written.
pub struct Perfetto<W: Write> {
    out: W,
    arrows: u64,
}

impl<W: Write> Perfetto<W> {
    pub fn begin(mut out: W) -> Perfetto<W> {
        // Behind each event stands a comma: the last one is the name of the trace.
        let _ = writeln!(out, "[");
        Perfetto { out, arrows: 0 }
    }

    fn event(&mut self, event: &serde_json::Value) {
        let _ = writeln!(self.out, "{event},");
    }

    /// Says what a thread and its process are called.
    pub fn thread(&mut self, number: u32, thread: &Thread) {
        let Thread { pid, name, .. } = thread;
        self.event(&json!({"ph": "M", "name": "thread_name", "pid": pid, "tid": number, "args": {"name": name}}));
        if *pid == number {
            self.event(&json!({"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}}));
        }
    }

    pub fn wait(&mut self, wait: &Wait, objects: &Objects, pid: impl Fn(u32) -> u32) {
        let name = match (wait.end, wait.count) {
            (End::Object(given), _) => objects.name(given),
            (_, 0 | 1) => objects.name(wait.object),
            (_, count) => format!("{} and {} more", objects.name(wait.object), count - 1),
        };
        let end = match wait.end {
            End::Object(_) => "satisfied",
            End::Everything => "satisfied by all",
            End::Nothing => "gave up",
            End::Open => "not ended",
            End::Unknown => "lost",
        };
        let took = wait.to_ns.saturating_sub(wait.from_ns);
        self.event(&json!({
            "ph": "X", "cat": "wait", "name": name, "pid": pid(wait.thread), "tid": wait.thread,
            "ts": micros(wait.from_ns), "dur": micros(took),
            "args": {"objects": wait.count, "end": end, "woke for nothing": wait.stirs},
        }));
        if let Some(grant) = wait.by {
            self.arrow(wait, grant, pid);
        }
    }

    /// From a grant to the rest of the wait that it ended.
    fn arrow(&mut self, wait: &Wait, grant: Grant, pid: impl Fn(u32) -> u32) {
        self.arrows += 1;
        // The thread can run before the one that granted has looked at the clock.
        let granted_ns = grant.at_ns.min(wait.to_ns);
        let woken_ns = granted_ns.max(wait.from_ns);
        let took = wait.to_ns.saturating_sub(woken_ns);
        let slice = |name: &str, thread: u32, at_ns: u64, took_ns: u64| {
            json!({
                "ph": "X", "cat": "grant", "name": name, "pid": pid(thread), "tid": thread,
                "ts": micros(at_ns), "dur": micros(took_ns),
            })
        };
        let end = |ph: &str, thread: u32, at_ns: u64| {
            json!({
                "ph": ph, "bp": "e", "cat": "grant", "name": "grant", "id": self.arrows,
                "pid": pid(thread), "tid": thread, "ts": micros(at_ns),
            })
        };
        let events = [
            slice("grants", grant.thread, granted_ns, 0),
            end("s", grant.thread, granted_ns),
            slice("until it runs", wait.thread, woken_ns, took),
            end("f", wait.thread, woken_ns),
        ];
        events.iter().for_each(|event| self.event(event));
    }

    pub fn signal(&mut self, signal: &Signal, objects: &Objects, pid: impl Fn(u32) -> u32) {
        let name = format!("{} {}", verb(signal.operation), objects.name(signal.object));
        let took = signal.to_ns.saturating_sub(signal.from_ns);
        self.event(&json!({
            "ph": "X", "cat": "signal", "name": name, "pid": pid(signal.thread), "tid": signal.thread,
            "ts": micros(signal.from_ns), "dur": micros(took), "args": {"satisfied": signal.granted},
        }));
    }

    /// Flushes the output, so that others can read it.
    pub fn flush(&mut self) {
        let _ = self.out.flush();
    }

    /// Closes the array, with the number of lost events.
    pub fn finish(mut self, lost: u64) -> W {
        let _ =
            writeln!(self.out, "{}\n]", json!({"ph": "M", "name": "ntux", "pid": 0, "args": {"lost events": lost}}));
        self.out
    }
}

fn micros(ns: u64) -> f64 {
    ns as f64 / 1000.0
}

#[cfg(test)]
#[path = "../../tests/unit/trace/perfetto.rs"]
mod tests;
