// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a tracer is told of waits, grants and wakes.
#![cfg(target_os = "linux")]

use std::sync::Barrier;
use std::time::{Duration, Instant};

use ntux_platform::atomic::Word32;
use ntux_sync::trace::{Event, Operation, Tracer, What};
use ntux_sync::{Arena, Capacity, Deadline, Object};

const PATIENCE: Duration = Duration::from_secs(60);
const CAPACITY: Capacity = Capacity { objects: 64, waiters: 16 };
const FOR_LONG_NS: u64 = 1 << 40;

fn traced() -> (Arena, Tracer) {
    let arena = Arena::create(CAPACITY).unwrap();
    // What the tests wait for is told of waits that sleep.
    arena.set_spins(0);
    let tracer = Tracer::attach(arena.fd().unwrap()).unwrap();
    tracer.keep_on(FOR_LONG_NS);
    (arena, tracer)
}

fn thread() -> u32 {
    ntux_platform::liveness::thread_id() as u32
}

/// Reads until the last event is such a one.
fn read_until(tracer: &mut Tracer, is_last: impl Fn(&What) -> bool) -> Vec<Event> {
    let (start, mut events) = (Instant::now(), Vec::new());
    while !events.iter().any(|event: &Event| is_last(&event.what)) {
        assert!(start.elapsed() < PATIENCE, "{events:?}");
        tracer.read(&mut events);
        std::thread::sleep(Duration::from_millis(1));
    }
    events
}

fn sleeps_then(tracer: &mut Tracer, act: impl FnOnce()) -> Vec<Event> {
    let mut before = read_until(tracer, |what| matches!(what, What::Sleeps { .. }));
    act();
    before.extend(read_until(tracer, |what| matches!(what, What::Acquires { .. } | What::AcquiresAll | What::GivesUp)));
    before
}

/// One thread sleeps in `wait`; another one then does `act`. What was told, and who the sleeper was.
fn told(
    wait: impl Fn(&Arena, &ntux_sync::Waiter, [Object; 2]) + Sync,
    act: impl Fn(&Arena, &ntux_sync::Waiter, [Object; 2]),
) -> (Vec<Event>, u32, [u32; 2]) {
    let (arena, mut tracer) = traced();
    let waiter = arena.waiter();
    let objects = [(); 2].map(|()| arena.event_create(&waiter, false, false).unwrap());
    let sleeper = Word32::new(0);
    let events = std::thread::scope(|scope| {
        scope.spawn(|| {
            sleeper.store(thread());
            wait(&arena, &arena.waiter(), objects);
        });
        sleeps_then(&mut tracer, || act(&arena, &waiter, objects))
    });
    assert_eq!(tracer.lost(), 0);
    (events, sleeper.load(), objects.map(|object| object.0 as u32))
}

fn by(events: &[Event], thread: u32) -> Vec<What> {
    let is_its = |event: &&Event| event.thread == thread && event.what != What::Stirs;
    events.iter().filter(is_its).map(|event| event.what).collect()
}

#[test]
fn a_set_that_ends_a_wait_is_told_from_both_sides() {
    let (events, sleeper, [object, _]) = told(
        |arena, waiter, objects| {
            _ = arena.wait_any(waiter, &objects, None, 1, Deadline::after_ns(60_000_000_000)).unwrap()
        },
        |arena, waiter, objects| {
            let _ = arena.event_set(waiter, objects[0]).unwrap();
        },
    );
    assert_eq!(by(&events, sleeper), [What::Sleeps { object, count: 2 }, What::Acquires { object }]);
    let told = by(&events, thread());
    assert!(told.contains(&What::Grants { object, thread: sleeper }), "{told:?}");
    assert!(told.contains(&What::Signals { object, operation: Operation::Set }), "{told:?}");
    assert!(events.windows(2).all(|pair| pair[0].number + 1 == pair[1].number), "{events:?}");
    let (first, last) = (events.first().unwrap().time_ns, events.last().unwrap().time_ns);
    assert!(first < last && last < first + 60_000_000_000, "{events:?}");
}

#[test]
fn a_wait_for_all_is_told() {
    let (events, sleeper, [object, other]) = told(
        |arena, waiter, objects| {
            _ = arena.wait_all(waiter, &objects, None, 1, Deadline::after_ns(60_000_000_000)).unwrap()
        },
        |arena, waiter, objects| objects.iter().for_each(|&object| assert!(!arena.event_set(waiter, object).unwrap())),
    );
    assert_eq!(by(&events, sleeper), [What::Sleeps { object, count: 2 }, What::AcquiresAll]);
    let told = by(&events, thread());
    assert!(told.contains(&What::GrantsAll { thread: sleeper }), "{told:?}");
    assert!(told.contains(&What::Signals { object: other, operation: Operation::Set }), "{told:?}");
}

#[test]
fn a_deadline_is_told() {
    let (events, sleeper, [object, _]) = told(
        |arena, waiter, objects| {
            let until = Deadline::after_ns(20_000_000);
            arena.wait_any(waiter, &objects[..1], None, 1, until).unwrap_err();
        },
        |_, _, _| (),
    );
    assert_eq!(by(&events, sleeper), [What::Sleeps { object, count: 1 }, What::GivesUp]);
}

#[test]
fn nothing_is_told_of_what_does_not_sleep() {
    let (arena, mut tracer) = traced();
    let waiter = arena.waiter();
    let event = arena.event_create(&waiter, false, false).unwrap();
    for _ in 0..100 {
        arena.event_set(&waiter, event).unwrap();
        arena.wait_any(&waiter, &[event], None, 1, Deadline::NOW).unwrap();
        arena.wait_any(&waiter, &[event], None, 1, Deadline::NOW).unwrap_err();
    }
    let mut events = Vec::new();
    tracer.read(&mut events);
    assert_eq!(events, []);
}

/// Several threads hand units around; every wait that slept is told with its end, whoever reads at the same time.
#[test]
fn with_many_threads_each_sleep_has_its_end() {
    const THREADS: u32 = 4;
    let (arena, mut tracer) = traced();
    let owner = arena.waiter();
    let semaphore = arena.semaphore_create(&owner, 0, 1 << 20).unwrap();
    let barrier = Barrier::new(THREADS as usize + 1);
    let mut events = Vec::new();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let waiter = arena.waiter();
                barrier.wait();
                for _ in 0..500 {
                    arena.wait_any(&waiter, &[semaphore], None, 1, Deadline::after_ns(60_000_000_000)).unwrap();
                }
            });
        }
        barrier.wait();
        // There is nothing to acquire yet, so each of them falls asleep.
        while !events.iter().any(|event: &Event| matches!(event.what, What::Sleeps { .. })) {
            tracer.read(&mut events);
            std::thread::yield_now();
        }
        for _ in 0..THREADS * 500 {
            arena.semaphore_release(&owner, semaphore, 1).unwrap();
            tracer.read(&mut events);
        }
    });
    tracer.read(&mut events);
    let count = |is_such: fn(&What) -> bool| events.iter().filter(|event| is_such(&event.what)).count();
    let (sleeps, ends) =
        (count(|what| matches!(what, What::Sleeps { .. })), count(|what| matches!(what, What::Acquires { .. })));
    // A thread that had no processor for 0.2 s between the two steps of a report has lost it.
    let lost = tracer.lost() as usize;
    assert!(sleeps > lost && sleeps.abs_diff(ends) <= lost, "{sleeps} sleeps, {ends} ends, {lost} lost");
}
