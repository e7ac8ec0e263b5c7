//! Short histories of real threads: what they return must be linearizable.
//!
//! Threads run freely; each notes the time of a shared counter before and after every call. The order of these times
//! is a history that the monitor checks.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use ntux_platform::clock::monotonic_ns;
use ntux_sync::spec::{Id, Outcome, ThreadId, Value};
use ntux_sync::{Arena, Capacity, Deadline, Object};

use crate::monitor::{Event, Monitor};
use crate::program::{Call, Program, all, any, auto, kill, manual, mutex, pulse, read, rel, reset, sem, set, unlock};
use crate::random::Random;
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
    let mut report = format!("replay history/{seed} (a race: repeat it)\n{program:?}");
    for Record { thread, call, begun, ended, outcome, .. } in records {
        report += &format!("  T{thread} call {call} [{begun}, {ended}] {outcome:?}\n");
    }
    report + what
}

/// A program with two to four threads and one to three objects.
fn program(seed: u64) -> Program {
    let mut random = Random::new(seed);
    let objects: Vec<Value> = (0..1 + random.below(3)).map(|_| object(&mut random)).collect();
    let threads: Vec<Vec<Call>> = (0..2 + random.below(3))
        .map(|thread| (0..2 + random.below(4)).map(|_| call(&mut random, &objects, thread as u32 + 1)).collect())
        .collect();
    let threads: Vec<&[Call]> = threads.iter().map(Vec::as_slice).collect();
    Program::new(&format!("history/{seed}"), &objects, &threads)
}

fn object(random: &mut Random) -> Value {
    match random.below(4) {
        0 => auto(random.one_in(2)),
        1 => manual(random.one_in(2)),
        2 => sem(random.below(3) as u32),
        _ => mutex(0, 0),
    }
}

fn call(random: &mut Random, objects: &[Value], owner: u32) -> Call {
    let object = random.below(objects.len());
    if random.one_in(2) {
        return wait(random, objects.len(), owner);
    }
    if random.one_in(4) {
        return read(object, &objects[object]);
    }
    match objects[object] {
        Value::Semaphore(_) => rel(object, 1 + random.below(2) as u32),
        Value::Mutex(_) if random.one_in(4) => kill(object, owner),
        Value::Mutex(_) => unlock(object, owner),
        Value::Event(_) => match random.below(4) {
            0 => reset(object),
            1 => pulse(object),
            _ => set(object),
        },
    }
}

fn wait(random: &mut Random, objects: usize, owner: u32) -> Call {
    let mut order: Vec<Id> = (0..objects).collect();
    (1..objects).for_each(|last| order.swap(last, random.below(last + 1)));
    let count = 1 + random.below(objects);
    let wait = if random.one_in(3) { all(&order[..count]) } else { any(&order[..count]) };
    let wait = if count < objects && random.one_in(3) { wait.alert(order[count]) } else { wait };
    if random.one_in(4) { wait.by(owner).polled() } else { wait.by(owner).timed() }
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
                let deadline = Deadline::Monotonic(monotonic_ns() + PATIENCE.as_nanos() as u64);
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
