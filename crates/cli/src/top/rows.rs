// SPDX-License-Identifier: MIT OR Apache-2.0
//! The lines of the two lists, and their order.

use std::cmp::Ordering;

use ntux_sync::Object;
use ntux_sync::inspect::{Mode, ObjectView, WaitState, WaitView, WaiterView};

use super::sample::{Watch, Watched};
use crate::arenas::scene::{Scene, long};
use crate::arenas::state::State;
use crate::printable::printable;

/// How many descriptors or threads a line names.
const NAMED: usize = 4;

/// An object or a thread, wherever it stands in the list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Key {
    Object { arena: u64, object: Object },
    Thread { arena: u64, waiter: u32 },
}

/// A line, before it is text.
pub struct Row<'a> {
    pub scene: &'a Scene,
    pub what: What<'a>,
    pub measure: Measure,
}

/// What a line is about.
#[derive(Clone, Copy)]
pub enum What<'a> {
    Object(&'a ObjectView),
    Thread(&'a WaiterView),
}

/// What lines are ordered by.
#[derive(Clone, Copy, Default)]
pub struct Measure {
    /// Changes per second; for a thread, the share of the time that it slept.
    pub rate: f64,
    /// How many wait now.
    pub queue: usize,
    /// On average; of a thread, for how many seconds it has slept.
    pub average: f64,
}

/// In which order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Average queue; for threads, the share of the time that they slept.
    Contention,
    Rate,
    Queue,
    Number,
    Kind,
}

impl Order {
    pub const OBJECTS: [Order; 5] = [Order::Contention, Order::Rate, Order::Queue, Order::Number, Order::Kind];
    pub const THREADS: [Order; 3] = [Order::Contention, Order::Queue, Order::Number];

    pub fn name(self, is_of_threads: bool) -> &'static str {
        match (self, is_of_threads) {
            (Order::Contention, false) => "average queue",
            (Order::Contention, true) => "time spent waiting",
            (Order::Rate, _) => "changes",
            (Order::Queue, false) => "queue",
            (Order::Queue, true) => "length of the wait",
            (Order::Number, _) => "number",
            (Order::Kind, _) => "kind",
        }
    }

    fn compare(self, one: &Row<'_>, other: &Row<'_>) -> Ordering {
        let (first, second) = (one.measure, other.measure);
        let down = |one: f64, other: f64| other.total_cmp(&one);
        let by = match (self, one.what) {
            (Order::Contention, What::Object(_)) => {
                down(first.average, second.average).then(down(first.rate, second.rate))
            }
            (Order::Contention, What::Thread(_)) => {
                down(first.rate, second.rate).then(down(first.average, second.average))
            }
            (Order::Rate, _) => down(first.rate, second.rate),
            (Order::Queue, What::Object(_)) => second.queue.cmp(&first.queue),
            (Order::Queue, What::Thread(_)) => down(first.average, second.average),
            (Order::Kind, _) => one.kind().cmp(other.kind()),
            (Order::Number, _) => Ordering::Equal,
        };
        by.then_with(|| one.number().cmp(&other.number()))
    }
}

impl<'a> Row<'a> {
    fn number(&self) -> (u64, u32) {
        let number = match self.what {
            What::Object(object) => object.object.index(),
            What::Thread(waiter) => waiter.index,
        };
        (self.scene.file.inode, number)
    }

    pub fn key(&self) -> Key {
        let arena = self.scene.file.inode;
        match self.what {
            What::Object(object) => Key::Object { arena, object: object.object },
            What::Thread(waiter) => Key::Thread { arena, waiter: waiter.index },
        }
    }

    fn kind(&self) -> &'static str {
        match self.what {
            What::Object(object) => State::of(&object.value).kind(),
            What::Thread(_) => "",
        }
    }

    /// The columns.
    pub fn cells(&self) -> Vec<String> {
        match self.what {
            What::Object(object) => self.object_cells(object),
            What::Thread(waiter) => self.thread_cells(waiter),
        }
    }

    fn object_cells(&self, object: &ObjectView) -> Vec<String> {
        let state = State::of(&object.value);
        let descriptors = self.scene.names.descriptors(object.object);
        let mut names: Vec<String> =
            descriptors.iter().take(NAMED).map(|one| format!("{}:{}", one.pid, one.fd)).collect();
        if names.is_empty() {
            let first = object.waiting().take(NAMED);
            names = first.map(|entry| self.scene.person(entry.waiter).to_string()).collect();
        }
        vec![
            object.object.index().to_string(),
            state.kind().to_owned(),
            state.text(self.scene.owners()),
            rate(self.measure.rate),
            self.measure.queue.to_string(),
            format!("{:.1}", self.measure.average),
            names.join(" "),
        ]
    }

    fn thread_cells(&self, waiter: &WaiterView) -> Vec<String> {
        let person = self.scene.person(waiter.index);
        let name = person.name.as_deref().map(printable).unwrap_or_default();
        let long = self.scene.asleep_s(waiter).map(long).unwrap_or_default();
        vec![
            person.to_string(),
            name,
            format!("{:.0} %", self.measure.rate * 100.0),
            long,
            waits_for(self.scene, waiter),
        ]
    }

    fn has(&self, words: &str) -> bool {
        self.cells().iter().any(|cell| cell.to_lowercase().contains(words))
    }
}

/// The lines of one list, in order.
pub fn rows<'a>(watch: &'a Watch, threads: bool, order: Order, reverse: bool, filter: &str) -> Vec<Row<'a>> {
    let mut rows = Vec::new();
    for (arena, scene) in watch.arenas.iter().filter_map(|arena| Some((arena, arena.scene.as_ref()?))) {
        match threads {
            true => rows.extend(thread_rows(arena, scene)),
            false => rows.extend(object_rows(arena, scene)),
        }
    }
    let words = filter.to_lowercase();
    rows.retain(|row| words.is_empty() || row.has(&words));
    rows.sort_by(|one, other| {
        let ordering = order.compare(one, other);
        if reverse { ordering.reverse() } else { ordering }
    });
    rows
}

fn object_rows<'a>(arena: &'a Watched, scene: &'a Scene) -> impl Iterator<Item = Row<'a>> {
    scene.snapshot.objects.iter().enumerate().map(move |(number, object)| {
        let rate = arena.rates.get(number).copied().unwrap_or(0.0);
        let (queue, average) = (object.waiting().count(), arena.average_queue(object.object));
        Row { scene, what: What::Object(object), measure: Measure { rate, queue, average } }
    })
}

fn thread_rows<'a>(arena: &'a Watched, scene: &'a Scene) -> impl Iterator<Item = Row<'a>> {
    let waiters = scene.snapshot.waiters.iter().filter(|waiter| waiter.thread.is_some());
    waiters.map(move |waiter| {
        let long = scene.asleep_s(waiter).unwrap_or(0.0);
        let measure = Measure { rate: arena.share_asleep(waiter), queue: 0, average: long };
        Row { scene, what: What::Thread(waiter), measure }
    })
}

fn waits_for(scene: &Scene, waiter: &WaiterView) -> String {
    let WaitView::Objects { mode, objects, alert, .. } = &waiter.wait else {
        return match waiter.state {
            WaitState::Satisfied { owed: true, .. } => "not woken yet".to_owned(),
            _ => String::new(),
        };
    };
    let name = |object: &Object| {
        let seen = scene.snapshot.object(object.index());
        let kind = seen.map_or("", |seen| State::of(&seen.value).kind());
        format!("{kind} #{}", object.index())
    };
    let names: Vec<String> = objects.iter().take(NAMED).map(name).collect();
    let more = if objects.len() > NAMED { " ..." } else { "" };
    let alert = alert.map_or(String::new(), |alert| format!(", alert #{}", alert.index()));
    let mode = match (mode, objects.len()) {
        (Mode::All, 2..) => "all of ",
        (_, 2..) => "any of ",
        _ => "",
    };
    format!("{mode}{}{more}{alert}", names.join(" "))
}

/// A number in seven columns.
fn rate(rate: f64) -> String {
    match rate {
        0.0..0.05 => "0".to_owned(),
        0.05..100.0 => format!("{rate:.1}"),
        100.0..100_000.0 => format!("{rate:.0}"),
        100_000.0..10_000_000.0 => format!("{:.0}k", rate / 1e3),
        _ => format!("{:.0}M", rate / 1e6),
    }
}
