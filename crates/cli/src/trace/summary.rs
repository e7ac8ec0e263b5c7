//! Where time was spent waiting: by object, and by pair of threads.

use std::collections::HashMap;
use std::fmt::Write;

use super::waits::{End, Signal, Wait};
use crate::counted::counted;

/// Rows of each table.
const ROWS: usize = 12;
/// One signal that satisfies so many is called a herd.
const HERD: u32 = 4;
/// An object whose queue is at least so long on the average is called a convoy.
const CONVOY: f64 = 2.0;

/// Time that threads waited for an object.
#[derive(Clone, Default, Debug)]
struct Waited {
    waits: u64,
    total_ns: u64,
    longest_ns: u64,
    stirs: u64,
    unsatisfied: u64,
    unended: u64,
    /// Whose end was lost, so that nobody knows how long they took.
    unknown: u64,
    signals: u64,
    largest_herd: u32,
    /// Beginnings (1) and ends (-1) of waits, for the longest queue.
    turns: Vec<(u64, i32)>,
}

/// From the grant to the moment when the waiter runs.
#[derive(Clone, Default, Debug)]
struct Handed {
    times: u64,
    total_ns: u64,
    longest_ns: u64,
}

/// Everything that is summed up. Objects are named by their arena and slot.
#[derive(Default)]
pub struct Summary {
    objects: HashMap<(usize, u32), Waited>,
    pairs: HashMap<(u32, u32), Handed>,
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
        waited.total_ns += took;
        waited.longest_ns = waited.longest_ns.max(took);
        waited.stirs += u64::from(wait.stirs);
        waited.unsatisfied += u64::from(wait.end == End::Nothing);
        waited.unended += u64::from(wait.end == End::Open);
        waited.unknown += u64::from(wait.end == End::Unknown);
        waited.turns.extend([(wait.from_ns, 1), (wait.to_ns, -1)]);
        if let Some(grant) = wait.by {
            let late = wait.to_ns.saturating_sub(grant.at_ns);
            let handed = self.pairs.entry((grant.thread, wait.thread)).or_default();
            handed.times += 1;
            handed.total_ns += late;
            handed.longest_ns = handed.longest_ns.max(late);
        }
    }

    pub fn add_signal(&mut self, arena: usize, signal: &Signal) {
        let waited = self.objects.entry((arena, signal.object)).or_default();
        waited.signals += 1;
        waited.largest_herd = waited.largest_herd.max(signal.granted);
    }

    /// The text. `elapsed_ns`: how long was traced; `lost`: events that were lost.
    pub fn text(
        &self,
        elapsed_ns: u64,
        lost: u64,
        object: impl Fn(usize, u32) -> String,
        thread: impl Fn(u32) -> String,
    ) -> String {
        let waits: u64 = self.objects.values().map(|waited| waited.waits).sum();
        let mut text = format!("{} slept in {}", counted(waits, "wait", "waits"), time(elapsed_ns));
        match lost {
            0 => text.push('\n'),
            _ => {
                let lost = counted(lost, "event", "events");
                _ = writeln!(text, "; lost: {lost}, because the program was faster than the tracer");
            }
        }
        if waits == 0 {
            return text;
        }
        self.by_object(&mut text, elapsed_ns, object);
        self.by_pair(&mut text, thread);
        text
    }

    fn by_object(&self, text: &mut String, elapsed_ns: u64, name: impl Fn(usize, u32) -> String) {
        let mut rows: Vec<_> = self.objects.iter().filter(|(_, waited)| waited.waits > 0).collect();
        rows.sort_by_key(|(object, waited)| (u64::MAX - waited.total_ns, **object));
        let _ = writeln!(
            text,
            "\n{:<20} {:>8} {:>9} {:>9} {:>9} {:>11} {:>8}",
            "waited for", "waits", "in all", "mean", "longest", "queue", "signals"
        );
        for &(&(arena, slot), waited) in rows.iter().take(ROWS) {
            let queue = waited.total_ns as f64 / elapsed_ns.max(1) as f64;
            let _ = writeln!(
                text,
                "{:<20} {:>8} {:>9} {:>9} {:>9} {:>5.1} to {:>2} {:>8}{}",
                name(arena, slot),
                waited.waits,
                time(waited.total_ns),
                time(waited.total_ns / (waited.waits - waited.unknown).max(1)),
                time(waited.longest_ns),
                queue,
                longest_queue(&waited.turns),
                waited.signals,
                remarks(waited, queue),
            );
        }
        left_out(text, rows.len());
    }

    fn by_pair(&self, text: &mut String, name: impl Fn(u32) -> String) {
        let mut rows: Vec<_> = self.pairs.iter().collect();
        rows.sort_by_key(|(pair, handed)| (u64::MAX - handed.times, **pair));
        if rows.is_empty() {
            return;
        }
        let _ = writeln!(text, "\n{:<44} {:>8} {:>18} {:>9}", "woken by", "times", "until it ran: mean", "longest");
        for &(&(from, to), handed) in rows.iter().take(ROWS) {
            let _ = writeln!(
                text,
                "{:<44} {:>8} {:>18} {:>9}",
                format!("{} -> {}", name(from), name(to)),
                handed.times,
                time(handed.total_ns / handed.times),
                time(handed.longest_ns),
            );
        }
        left_out(text, rows.len());
    }
}

fn left_out(text: &mut String, rows: usize) {
    if rows > ROWS {
        let _ = writeln!(text, "and {} more", rows - ROWS);
    }
}

fn remarks(waited: &Waited, queue: f64) -> String {
    let mut remarks = Vec::new();
    if queue >= CONVOY {
        remarks.push("a convoy".to_owned());
    }
    if waited.largest_herd >= HERD {
        remarks.push(format!("{} woken at once", waited.largest_herd));
    }
    if waited.stirs > 0 {
        remarks.push(format!("{} woke for nothing", waited.stirs));
    }
    if waited.unsatisfied > 0 {
        remarks.push(format!("{} in vain", waited.unsatisfied));
    }
    if waited.unended > 0 {
        remarks.push(format!("{} still wait", waited.unended));
    }
    if waited.unknown > 0 {
        remarks.push(format!("of {} the end was lost", waited.unknown));
    }
    if remarks.is_empty() { String::new() } else { format!("  {}", remarks.join(", ")) }
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
mod tests {
    use super::*;
    use ntux_sync::trace::Operation;

    fn wait(thread: u32, from_ns: u64, to_ns: u64) -> Wait {
        Wait { thread, object: 5, count: 1, from_ns, to_ns, end: End::Object(5), by: None, stirs: 0 }
    }

    fn text(summary: &Summary, lost: u64) -> String {
        summary.text(1_000_000, lost, |_, slot| format!("mutex {slot}"), |thread| format!("thread {thread}"))
    }

    #[test]
    fn a_lock_that_several_threads_wait_for_all_the_time_is_a_convoy() {
        let mut summary = Summary::default();
        for thread in 0..3 {
            summary.add_wait(0, &wait(thread, 0, 1_000_000));
        }
        let text = text(&summary, 0);
        assert!(text.contains("mutex 5") && text.contains("3.0 to  3") && text.contains("a convoy"), "{text}");
    }

    #[test]
    fn a_lock_that_is_waited_for_now_and_then_is_none() {
        let mut summary = Summary::default();
        for thread in 0..3 {
            summary.add_wait(0, &wait(thread, u64::from(thread) * 1000, u64::from(thread) * 1000 + 1000));
        }
        let text = text(&summary, 0);
        assert!(text.contains("0.0 to  1") && !text.contains("convoy"), "{text}");
    }

    #[test]
    fn herds_and_lost_events_are_told() {
        let mut summary = Summary::default();
        summary.add_wait(0, &wait(1, 0, 10));
        let signal = Signal { thread: 2, object: 5, operation: Operation::Set, from_ns: 0, to_ns: 1, granted: 8 };
        summary.add_signal(0, &signal);
        let text = text(&summary, 12);
        assert!(text.contains("8 woken at once") && text.contains("lost: 12 events"), "{text}");
    }

    #[test]
    fn a_wait_whose_end_was_lost_is_counted_and_its_time_is_not() {
        let mut summary = Summary::default();
        summary.add_wait(0, &wait(1, 0, 1_000_000));
        summary.add_wait(0, &Wait { end: End::Unknown, to_ns: 0, ..wait(2, 0, 0) });
        let text = text(&summary, 1);
        let row = text.lines().find(|line| line.starts_with("mutex 5")).unwrap();
        let cells: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(cells[2..8], ["2", "1000", "us", "1000", "us", "1000"], "{text}");
        assert!(row.ends_with("of 1 the end was lost") && !text.contains("still wait"), "{text}");
    }
}
