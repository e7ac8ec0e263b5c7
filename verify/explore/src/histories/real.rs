// SPDX-License-Identifier: MIT OR Apache-2.0
//! Short histories of real threads, whose results must be linearizable.
//!
//! Threads run freely; each records a shared counter before and after every call. The order of these times is a history
//! that the monitor checks.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use ntux_platform::clock::monotonic_ns;
use ntux_sync::spec::{Operation, Outcome, ThreadId};
use ntux_sync::{Arena, Capacity, Deadline, Object};

use super::generator;
use crate::monitor::{Event, Monitor};
use crate::program::{Call, Program, manual, set};
use crate::subject::{Perform, create};

/// How long a wait of such a history lasts at most.
const PATIENCE: Duration = Duration::from_micros(300);

/// A call that was made: when it began, when it returned, and what.
struct Record {
    thread: ThreadId,
    call: usize,
    begun: u64,
    ended: u64,
    outcome: Outcome,
    may_time_out: bool,
}

/// Runs the random program of this seed once; what is wrong with its history.
pub fn run(seed: u64, perform: Perform) -> Result<(), String> {
    let program = program(seed);
    let records = record(&program, perform);
    check(&program, &records).map_err(|what| report(seed, &program, &records, &what))
}

fn report(seed: u64, program: &Program, records: &[Record], what: &str) -> String {
    let mut report = format!("replay real/{seed} (a race: repeat it)\n{program:?}");
    for Record { thread, call, begun, ended, outcome, .. } in records {
        report += &format!("  T{thread} call {call} [{begun}, {ended}] {outcome:?}\n");
    }
    report + what
}

/// The program of this seed, as far as threads of the operating system can run it: nobody dies or is interrupted, and
/// nothing is created or got by its name. A wait without a deadline has an alert that somebody is sure to set.
fn program(seed: u64) -> Program {
    let random = generator::program(seed, &[]);
    let bell = random.objects.len();
    let objects = [random.objects.as_slice(), &[manual(false)]].concat();
    let is_named =
        |operation: &Operation| operation.creates().is_some() || matches!(operation, Operation::OpenNamed { .. });
    let exists = |call: &&Call| !is_named(&call.operation) && call.operation.objects().iter().all(|&id| id < bell);
    let ends = |call: &Call| match call.operation.wait() {
        Some(wait) if !call.deadline && !wait.poll && wait.alert.is_none() && !wait.objects.is_empty() => {
            call.clone().alert(bell)
        }
        Some(_) => call.clone().timed(),
        None => call.clone(),
    };
    let mut threads: Vec<Vec<Call>> =
        random.threads.iter().map(|calls| calls.iter().filter(exists).map(ends).collect()).collect();
    threads.push(vec![set(bell)]);
    let threads: Vec<&[Call]> = threads.iter().map(Vec::as_slice).collect();
    Program::new(&format!("real/{seed}"), &objects, &threads)
}

/// Runs a program with threads of the operating system.
fn record(program: &Program, perform: Perform) -> Vec<Record> {
    let threads = program.threads.len();
    let capacity = Capacity { objects: program.objects.len() as u32, waiters: threads as u32 + 2 };
    let arena = Arena::create(capacity).expect("a small arena");
    let creator = arena.waiter();
    let create = |value| create(&arena, &creator, value).expect("a legal object");
    let objects: Vec<Object> = program.objects.iter().map(create).collect();
    let (arena, objects) = (Arc::new(arena), Arc::new(objects));
    let (start, time) = (Arc::new(Barrier::new(threads)), Arc::new(AtomicU64::new(0)));
    let mut first = 0;
    let mut running = Vec::new();
    for (thread, calls) in program.threads.iter().cloned().enumerate() {
        let (arena, objects, start, time) = (arena.clone(), objects.clone(), start.clone(), time.clone());
        let base = first;
        first += calls.len();
        running.push(std::thread::spawn(move || {
            let waiter = arena.waiter();
            start.wait();
            let made = calls.iter().enumerate().map(|(index, call)| {
                let soon = Deadline::Monotonic(monotonic_ns() + PATIENCE.as_nanos() as u64);
                let deadline = if call.deadline { soon } else { Deadline::Never };
                let begun = time.fetch_add(1, Ordering::SeqCst);
                let outcome = perform(&arena, &waiter, &objects, &call.operation, deadline);
                let ended = time.fetch_add(1, Ordering::SeqCst);
                Record { thread, call: base + index, begun, ended, outcome, may_time_out: call.deadline }
            });
            made.collect::<Vec<Record>>()
        }));
    }
    running.into_iter().flat_map(|thread| thread.join().expect("no call panics")).collect()
}

fn check(program: &Program, records: &[Record]) -> Result<(), String> {
    let operations = program.threads.iter().flatten().map(|call| call.operation.clone()).collect();
    let mut monitor = Monitor::new(program.start(), operations);
    let mut moments: Vec<(u64, &Record)> =
        records.iter().flat_map(|record| [(record.begun, record), (record.ended, record)]).collect();
    moments.sort_by_key(|&(time, _)| time);
    let mut explained = monitor.start();
    for (time, record) in moments {
        let thread = record.thread;
        let mut events = vec![Event::Return { thread, outcome: record.outcome }];
        if time == record.begun {
            events = vec![Event::Invoke { thread, call: record.call }];
            events.extend(record.may_time_out.then_some(Event::Deadline { thread }));
        }
        for event in events {
            explained =
                monitor.event(explained, event).ok_or_else(|| format!("not linearizable at {time}: {event:?}"))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use ntux_sync::spec::Answer;

    use super::*;
    use crate::program::{rel, sem};

    fn record(thread: ThreadId, call: usize, begun: u64, ended: u64, previous: u32) -> Record {
        Record { thread, call, begun, ended, outcome: Ok(Answer::Count(previous)), may_time_out: false }
    }

    #[test]
    fn two_releases_that_both_saw_zero_are_not_linearizable() {
        let program = Program::new("toy", &[sem(0)], &[&[rel(0, 1)], &[rel(0, 1)]]);
        assert_eq!(check(&program, &[record(0, 0, 0, 2, 0), record(1, 1, 1, 3, 1)]), Ok(()));
        assert_eq!(check(&program, &[record(0, 0, 0, 2, 1), record(1, 1, 1, 3, 0)]), Ok(()));
        assert!(check(&program, &[record(0, 0, 0, 2, 0), record(1, 1, 1, 3, 0)]).is_err());
        assert!(check(&program, &[record(0, 0, 0, 1, 1), record(1, 1, 2, 3, 0)]).is_err());
    }
}
