// SPDX-License-Identifier: MIT OR Apache-2.0
//! What people call the threads and objects of a trace.

use std::collections::HashMap;

use crate::arenas::{proc, processes};
use crate::printable::printable;
use ntux_sync::inspect::Snapshot;
use ntux_sync::trace::Operation;

/// A thread, as /proc has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Thread {
    pub pid: u32,
    pub name: String,
    /// What its process is called.
    pub program: String,
}

/// Threads by their numbers, asked for as soon as they are met: they may end.
#[derive(Default)]
pub struct Threads(HashMap<u32, Thread>);

impl Threads {
    /// Asks /proc about a thread that was not met before; returns what is new.
    pub fn meet(&mut self, thread: u32) -> Option<&Thread> {
        if self.0.contains_key(&thread) {
            return None;
        }
        let status = proc::text(format!("/proc/{thread}/status")).unwrap_or_default();
        let value = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let pid = value("Tgid:").and_then(|number| number.parse().ok()).unwrap_or(thread);
        let name = match proc::name(thread) {
            unknown if unknown.is_empty() => "thread".to_owned(),
            name => printable(&name),
        };
        let program = printable(&processes::name(pid));
        Some(self.0.entry(thread).or_insert(Thread { pid, name, program }))
    }

    pub fn get(&self, thread: u32) -> Option<&Thread> {
        self.0.get(&thread)
    }

    /// The process of a thread: its number, and "name 4711".
    pub fn process(&self, thread: u32) -> (u32, String) {
        self.get(thread).map_or((thread, format!("process of thread {thread}")), |known| {
            (known.pid, format!("{} {}", known.program, known.pid))
        })
    }

    /// "name 4711"
    pub fn name(&self, thread: u32) -> String {
        let name = self.get(thread).map_or("thread", |thread| &thread.name);
        format!("{name} {thread}")
    }
}

/// Kinds of the objects of one arena, by slot.
#[derive(Default)]
pub struct Objects(HashMap<u32, &'static str>);

impl Objects {
    /// Learns the kinds of all objects that a snapshot shows.
    pub fn learn(&mut self, snapshot: &Snapshot) {
        for object in &snapshot.objects {
            self.0.extend(object.value.kind().map(|kind| (object.object.index(), kind.word())));
        }
    }

    /// Learns from what was done to an object.
    pub fn learn_from(&mut self, slot: u32, operation: Operation) {
        self.0.insert(slot, operation.kind_word());
    }

    pub fn is_known(&self, slot: u32) -> bool {
        self.0.contains_key(&slot)
    }

    /// "mutex 5"
    pub fn name(&self, slot: u32) -> String {
        format!("{} {slot}", self.0.get(&slot).unwrap_or(&"object"))
    }
}

/// What an operation is called.
pub fn verb(operation: Operation) -> &'static str {
    match operation {
        Operation::Set => "set",
        Operation::Reset => "reset",
        Operation::Pulse => "pulse",
        Operation::Release => "release",
        Operation::Unlock => "unlock",
        Operation::Kill => "abandon",
        Operation::Fire => "fire",
        Operation::Finish => "finish",
        Operation::Report => "report",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_asked_for_once() {
        let mut threads = Threads::default();
        let own = std::process::id();
        assert_eq!(threads.meet(own).map(|thread| thread.pid), Some(own));
        assert_eq!(threads.meet(own), None);
        assert!(threads.name(own).ends_with(&format!(" {own}")));
    }

    #[test]
    fn an_object_has_the_name_of_its_kind() {
        let mut objects = Objects::default();
        assert_eq!(objects.name(3), "object 3");
        objects.learn_from(3, Operation::Unlock);
        assert_eq!((objects.name(3), objects.is_known(4)), ("mutex 3".to_owned(), false));
    }
}
