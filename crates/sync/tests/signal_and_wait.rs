// SPDX-License-Identifier: MIT OR Apache-2.0
//! Signal-and-wait means what the model says, whatever the two objects are.

use ntux_sync::spec::{Answer, Event, Id, Mutex, Operation, Outcome, Semaphore, SignalAndWait, State, Timer, Value};
use ntux_sync::{Arena, Capacity, Deadline, Error, Kind, Object, Waiter};

const ME: u32 = 7;

fn values() -> Vec<Value> {
    let semaphore = |count| Value::Semaphore(Semaphore { count, max: 2 });
    let mutex = |owner, count| Value::Mutex(Mutex { owner, count, abandoned: false });
    let event = |manual, signaled| Value::Event(Event { manual, signaled });
    let semaphores = (0..3).map(semaphore);
    let mutexes = [(0, 0), (ME, 1), (ME, 2), (8, 1)].into_iter().map(|(owner, count)| mutex(owner, count));
    let events = [(false, false), (false, true), (true, false), (true, true)].map(|(manual, set)| event(manual, set));
    let timers = [false, true].map(|manual| Value::Timer(Timer::unarmed(manual, false)));
    semaphores.chain(mutexes).chain(events).chain(timers).collect()
}

fn create(arena: &Arena, waiter: &Waiter, value: &Value) -> Object {
    match *value {
        Value::Semaphore(Semaphore { count, max }) => arena.semaphore_create(waiter, count, max),
        Value::Mutex(Mutex { owner, count, .. }) => arena.mutex_create(waiter, owner, count),
        Value::Event(Event { manual, signaled }) => arena.event_create(waiter, manual, signaled),
        Value::Timer(Timer { manual, .. }) => arena.timer_create(waiter, manual),
        Value::End(_) => unreachable!("tests/ends.rs"),
    }
    .unwrap()
}

fn read(arena: &Arena, waiter: &Waiter, object: Object) -> Outcome {
    match arena.kind(object)? {
        Kind::Semaphore => arena.semaphore_read(waiter, object).map(|(count, max)| Answer::Semaphore(count, max)),
        Kind::Mutex => arena.mutex_read(waiter, object).map(Answer::Mutex),
        Kind::AutoEvent | Kind::ManualEvent => {
            arena.event_read(waiter, object).map(|(manual, signaled)| Answer::Event(manual, signaled))
        }
        Kind::SyncTimer | Kind::ManualTimer => {
            arena.timer_read(waiter, object).map(|timer| Answer::Timer(timer.signaled, timer.due.map(|due| due.at_ns)))
        }
        Kind::End => arena.end_read(waiter, object).map(Answer::End),
    }
}

fn read_of_model(state: &mut State, object: Id) -> Outcome {
    let operation = match state.value(object) {
        Value::Semaphore(_) => Operation::SemaphoreRead { object },
        Value::Mutex(_) => Operation::MutexRead { object },
        Value::Event(_) => Operation::EventRead { object },
        Value::Timer(_) => Operation::TimerRead { object },
        Value::End(_) => Operation::EndRead { object },
    };
    state.run(0, operation).unwrap()
}

/// What the call gives, by the model.
fn of_model(state: &mut State, call: &SignalAndWait) -> Outcome {
    let [signal, wait] = call.parts(state)?;
    state.run(0, signal).unwrap()?;
    state.run(0, wait).unwrap()
}

/// Every pair of objects, also the same one twice, each open and closed, with and without an alert, by an owner and by none.
#[test]
fn every_pair_of_objects_gives_what_the_model_gives() {
    let arena = Arena::create(Capacity { objects: 4096, waiters: 4 }).unwrap();
    let waiter = arena.waiter();
    let values = values();
    let mut tried = 0;
    for (first, second) in (0..values.len()).flat_map(|first| (0..=values.len()).map(move |second| (first, second))) {
        for closed in [None, Some(0), Some(1), Some(2)] {
            for (with_alert, owner) in [(false, ME), (true, ME), (false, 0)] {
                let mut state = State::new(1);
                // The one past the last: the same object.
                let pair = [&values[first], values.get(second).unwrap_or(&values[first])];
                let object_of_wait = if second == values.len() { 0 } else { 1 };
                let alert = Value::Event(Event { manual: false, signaled: true });
                let ids = [pair[0], pair[1], &alert].map(|value| state.add(value.clone()));
                let objects = [pair[0], pair[1], &alert].map(|value| create(&arena, &waiter, value));
                if let Some(closed) = closed {
                    assert_eq!(state.run(0, Operation::Close { object: ids[closed] }), Some(Ok(Answer::Done)));
                    arena.close(objects[closed]).unwrap();
                }
                let call = SignalAndWait {
                    signal: ids[0],
                    object: ids[object_of_wait],
                    alert: with_alert.then_some(ids[2]),
                    owner,
                    poll: true,
                };
                let alert = with_alert.then_some(objects[2]);
                let (signal, object) = (objects[0], objects[object_of_wait]);
                let given = arena.signal_and_wait(&waiter, signal, object, alert, owner, Deadline::NOW);
                let context = format!("{pair:?}, closed {closed:?}, {call:?}");
                assert_eq!(given.map(Answer::Satisfied), of_model(&mut state, &call), "{context}");
                for (id, object) in ids.into_iter().zip(objects) {
                    assert_eq!(read(&arena, &waiter, object), read_of_model(&mut state, id), "{context}");
                    let _ = arena.close(object);
                }
                tried += 1;
            }
        }
    }
    assert_eq!(tried, 13 * 14 * 4 * 3);
}

/// A thread that finds no place to wait has signaled nothing.
#[test]
fn without_a_place_to_wait_nothing_is_signaled() {
    let arena = Arena::create(Capacity { objects: 8, waiters: 1 }).unwrap();
    let (first, second) = (arena.waiter(), arena.waiter());
    let event = arena.event_create(&first, false, false).unwrap();
    let other = arena.event_create(&first, false, false).unwrap();
    // It takes the only place, and keeps it.
    assert_eq!(arena.wait_any(&first, &[other], None, ME, Deadline::after_ns(20_000_000)), Err(Error::TimedOut));
    let refused = arena.signal_and_wait(&second, event, other, None, ME, Deadline::NOW);
    assert_eq!(refused, Err(Error::Exhausted));
    assert_eq!(arena.event_read(&first, event), Ok((false, false)));
}

/// Two threads hand a turn to each other.
#[test]
fn two_threads_take_turns() {
    let arena = &Arena::create(Capacity { objects: 8, waiters: 4 }).unwrap();
    let waiter = arena.waiter();
    let turn = [false, false].map(|signaled| arena.event_create(&waiter, false, signaled).unwrap());
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let waiter = arena.waiter();
            arena.wait_any(&waiter, &turn[1..], None, 2, Deadline::Never).unwrap();
            for _ in 1..1000 {
                arena.signal_and_wait(&waiter, turn[0], turn[1], None, 2, Deadline::Never).unwrap();
            }
            arena.event_set(&waiter, turn[0]).unwrap();
        });
        for _ in 0..1000 {
            arena.signal_and_wait(&waiter, turn[1], turn[0], None, 1, Deadline::Never).unwrap();
        }
    });
    assert_eq!(turn.map(|event| arena.event_read(&waiter, event)), [Ok((false, false)); 2]);
}
