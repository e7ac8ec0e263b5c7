// SPDX-License-Identifier: MIT OR Apache-2.0
//! Short random histories of real threads, for every kind of futex: some order of steps must explain what they return.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use ntux_futex::{Error, Exactness, Expected, Operation, Result, Size};

use crate::kind::{Bytes, Kind, ability, exact};
use crate::model::{Model, Monitor, Outcome, Request, Rules, Thread};
use crate::random::Random;
use crate::sleepers::{ANY, after, watchdog};

const FUTEXES: usize = 2;
/// Histories of each kind.
const COUNT: u64 = 25;

/// What the mechanisms can do with futexes of one kind.
#[derive(Clone, Copy)]
struct Abilities {
    vectors: bool,
    /// With the kernel's vectors one wait can use up several wakes.
    late: bool,
    moves: bool,
}

impl Abilities {
    fn of(kind: Kind) -> Abilities {
        let vectors = ability(Operation::WaitAny(&[kind; FUTEXES]));
        Abilities {
            vectors: !matches!(vectors, Exactness::Refused(_)),
            late: vectors != Exactness::Exact,
            moves: ability(Operation::Requeue(kind, kind)) == Exactness::Exact,
        }
    }
}

fn request(random: &mut Random, abilities: Abilities) -> Request {
    let futex = random.below(FUTEXES);
    match random.below(8) {
        0 | 1 => Request::Store(futex, random.below(2) as u64),
        2 | 3 => Request::Wake(futex, 1 + random.below(2) as u32, ANY),
        4 if abilities.moves => {
            let (wake, moved) = (random.below(2) as u32, 1 + random.below(2) as u32);
            Request::Requeue { from: futex, to: 1 - futex, expected: random.below(2) as u64, wake, moved }
        }
        5 if abilities.vectors => {
            let entries = (0..FUTEXES).map(|futex| (futex, random.below(2) as u64)).collect();
            Request::Wait { entries, mask: ANY, timed: true }
        }
        _ => Request::Wait { entries: vec![(futex, random.below(2) as u64)], mask: ANY, timed: true },
    }
}

fn perform(words: &[Bytes], kind: Kind, request: &Request) -> Outcome {
    let expect = |futex: usize, value| words[futex].expect(kind, value);
    match *request {
        Request::Store(futex, value) => {
            words[futex].store(kind.0, 0, value);
            Outcome::Stored
        }
        Request::Wait { ref entries, mask, .. } => {
            let deadline = after(Duration::from_micros(300));
            let ended = match entries[..] {
                [(futex, value)] => ntux_futex::wait(expect(futex, value), mask, deadline).map(|()| 0),
                _ => {
                    let entries: Vec<Expected> = entries.iter().map(|&(futex, value)| expect(futex, value)).collect();
                    ntux_futex::wait_any(&entries, deadline)
                }
            };
            match ended {
                Ok(index) => Outcome::Woken(index),
                Err(Error::Differs) => Outcome::Differs,
                Err(Error::TimedOut) => Outcome::TimedOut,
                Err(error) => panic!("{request:?} of {kind:?}: {error:?}"),
            }
        }
        Request::Wake(futex, count, mask) => served(ntux_futex::wake(words[futex].futex(kind, 0), count, mask)),
        Request::Requeue { from, to, expected, wake, moved } => {
            served(ntux_futex::requeue(expect(from, expected), words[to].futex(kind, 0), wake, moved))
        }
    }
}

fn served(result: Result<u32>) -> Outcome {
    match result {
        Ok(count) => Outcome::Served(count),
        Err(Error::Differs) => Outcome::Differs,
        Err(error) => panic!("{error:?}"),
    }
}

/// A request that was made: when it began and ended, in ticks of a shared counter, and how.
#[derive(Debug)]
struct Record {
    thread: Thread,
    begun: u64,
    ended: u64,
    request: Request,
    outcome: Outcome,
}

fn record(seed: u64, kind: Kind) -> Vec<Record> {
    let mut random = Random(seed);
    let abilities = Abilities::of(kind);
    let threads = 2 + random.below(3);
    let programs: Vec<Vec<Request>> =
        (0..threads).map(|_| (0..2 + random.below(3)).map(|_| request(&mut random, abilities)).collect()).collect();
    let (words, time, start): ([Bytes; FUTEXES], _, _) = (Default::default(), AtomicU64::new(0), Barrier::new(threads));
    thread::scope(|scope| {
        let running: Vec<_> = programs
            .into_iter()
            .enumerate()
            .map(|(thread, program)| {
                let (words, time, start) = (&words, &time, &start);
                scope.spawn(move || {
                    start.wait();
                    let make = |request| {
                        let begun = time.fetch_add(1, Ordering::SeqCst);
                        let outcome = perform(words, kind, &request);
                        let ended = time.fetch_add(1, Ordering::SeqCst);
                        Record { thread, begun, ended, request, outcome }
                    };
                    program.into_iter().map(make).collect::<Vec<Record>>()
                })
            })
            .collect();
        running.into_iter().flat_map(|thread| thread.join().expect("no request panics")).collect()
    })
}

/// Returns whether some order of steps explains a history.
fn explained(records: &[Record], rules: Rules) -> bool {
    let threads = records.iter().map(|record| record.thread + 1).max().unwrap_or(0);
    let mut monitor = Monitor::new(Model::new(&[0; FUTEXES], threads, rules));
    let mut moments: Vec<(u64, &Record)> =
        records.iter().flat_map(|record| [(record.begun, record), (record.ended, record)]).collect();
    moments.sort_by_key(|&(time, _)| time);
    moments.into_iter().all(|(time, record)| {
        if time == record.begun {
            monitor.invoke(record.thread, record.request.clone());
            return true;
        }
        monitor.returns(record.thread, record.outcome)
    })
}

#[test]
fn random_histories_are_explained_by_the_model() {
    for kind in exact() {
        let rules = match Abilities::of(kind).late {
            true if kind.0 == Size::Bits64 => Rules::Halves,
            true => Rules::Kernel,
            false => Rules::Exact,
        };
        for seed in 0..COUNT {
            watchdog();
            let records = record(seed, kind);
            assert!(explained(&records, rules), "{kind:?}, seed {seed} (a race: repeat it)\n{records:#?}");
        }
    }
}

/// The checker's own check: histories as they would be if a wake were lost, or counted twice.
#[test]
fn a_history_with_a_lost_or_a_doubled_wake_is_refused() {
    let wait = || Request::Wait { entries: vec![(0, 0)], mask: ANY, timed: true };
    let history = |first: u32, second: u32| {
        vec![
            Record { thread: 0, begun: 0, ended: 9, request: wait(), outcome: Outcome::Woken(0) },
            Record {
                thread: 1,
                begun: 1,
                ended: 2,
                request: Request::Wake(0, 1, ANY),
                outcome: Outcome::Served(first),
            },
            Record {
                thread: 1,
                begun: 3,
                ended: 4,
                request: Request::Wake(0, 1, ANY),
                outcome: Outcome::Served(second),
            },
        ]
    };
    let explained = |first, second| explained(&history(first, second), Rules::Exact);
    assert!(explained(1, 0) && explained(0, 1));
    assert!(!explained(1, 1), "one waiter, two wakes");
    assert!(!explained(0, 0), "woken by nobody");
}
