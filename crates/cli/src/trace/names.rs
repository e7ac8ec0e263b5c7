// SPDX-License-Identifier: MIT OR Apache-2.0
//! What people call the threads and objects of a trace.

use std::collections::HashMap;

use super::waits::NO_OBJECT;
use crate::arenas::handles::Win32Object;
use crate::arenas::{proc, processes};
use crate::printable::printable;
use ntux_sync::inspect::Snapshot;
use ntux_sync::trace::Operation;
use ntux_sync::{Kind, Object};

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

/// The objects of one arena, by slot.
#[derive(Default)]
pub struct Objects(HashMap<u32, Known>);

/// What is known of an object.
#[derive(Default)]
struct Known {
    kind: Option<&'static str>,
    /// None: it was in no snapshot.
    object: Option<Object>,
    /// Its name, or what else it is known by, as when it was looked for.
    name: Option<String>,
    /// It was looked for in a snapshot.
    is_looked_up: bool,
}

impl Objects {
    /// Learns the kinds and names of all objects that a snapshot shows.
    pub fn learn(&mut self, snapshot: &Snapshot) {
        for object in &snapshot.objects {
            let known = self.0.entry(object.object.index()).or_default();
            let is_same = known.object == Some(object.object);
            let earlier = known.name.take().filter(|_| is_same);
            *known = Known {
                kind: object.value.kind().map(Kind::word),
                object: Some(object.object),
                name: object.name.as_deref().map(printable).or(earlier),
                is_looked_up: true,
            };
        }
    }

    /// Learns what a native program has behind its handles, of objects that the last snapshot showed.
    pub fn learn_handle(&mut self, slot: u32, told: &Win32Object) {
        let Some(known) = self.0.get_mut(&slot).filter(|known| known.name.is_none()) else { return };
        let end = || Some(format!("end of thread {}", told.thread?));
        known.name = told.name.as_deref().map(printable).or_else(end);
    }

    /// Learns from what was done to an object.
    pub fn learn_from(&mut self, slot: u32, operation: Operation) {
        let known = self.0.entry(slot).or_default();
        let kind = Some(operation.kind_word());
        if known.kind != kind {
            *known = Known { kind, ..Known::default() };
        }
    }

    /// It was looked for.
    pub fn is_looked_up(&self, slot: u32) -> bool {
        self.0.get(&slot).is_some_and(|known| known.is_looked_up)
    }

    /// It is not there any more, so it need not be looked for again.
    pub fn give_up(&mut self, slot: u32) {
        self.0.entry(slot).or_default().is_looked_up = true;
    }

    /// "mutex 5 journal"
    pub fn name(&self, slot: u32) -> String {
        if slot == NO_OBJECT {
            return "no object".to_owned();
        }
        let known = self.0.get(&slot);
        let kind = known.and_then(|known| known.kind).unwrap_or("object");
        let name = known.and_then(|known| known.name.as_ref()).map_or(String::new(), |name| format!(" {name}"));
        format!("{kind} {slot}{name}")
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
        assert_eq!((objects.name(3), objects.name(NO_OBJECT)), ("object 3".to_owned(), "no object".to_owned()));
        objects.learn_from(3, Operation::Unlock);
        assert_eq!((objects.name(3), objects.is_looked_up(3)), ("mutex 3".to_owned(), false));
    }

    #[test]
    fn a_name_ends_with_the_kind_of_its_object() {
        let mut objects = Objects::default();
        let told = |name: Option<&str>, thread| Win32Object {
            pid: 1,
            kind: "thread",
            name: name.map(str::to_owned),
            thread,
            thread_text: None,
        };
        objects.learn_handle(3, &told(Some("Local\\early"), None));
        objects.give_up(3);
        objects.learn_from(3, Operation::Set);
        assert_eq!((objects.name(3), objects.is_looked_up(3)), ("event 3".to_owned(), false));
        objects.give_up(3);
        objects.learn_handle(3, &told(None, Some(7)));
        objects.learn_handle(3, &told(Some("Local\\late"), None));
        objects.learn_from(3, Operation::Set);
        assert_eq!((objects.name(3), objects.is_looked_up(3)), ("event 3 end of thread 7".to_owned(), true));
        objects.learn_from(3, Operation::Unlock);
        assert_eq!(objects.name(3), "mutex 3");
    }
}
