// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random calls of one thread with edge values: the arena and the model must agree on every result.

use ntux_sync::WAIT_MAX;
use ntux_sync::spec::{Answer, Id, NO_OBJECT, Operation, Outcome, State, Wait};
use ntux_sync::{Arena, Capacity, Deadline, Object};

use crate::random::Random;
use crate::subject::{Perform, create};

/// Objects that one sequence may create.
const OBJECTS: u32 = 12;
const COUNTS: [u32; 9] = [0, 1, 2, 3, 31, 32, 33, u32::MAX - 1, u32::MAX];
const OWNERS: [u32; 6] = [0, 1, 2, 3, 0x8000_0000, u32::MAX];

/// Runs a sequence of `length` calls; the first disagreement, with the calls before it.
pub fn run(seed: u64, length: usize, perform: Perform) -> Result<(), String> {
    let mut random = Random::new(seed);
    let mut state = State::new(1);
    let arena =
        Arena::create(Capacity { objects: OBJECTS, waiters: 2 }).map_err(|error| format!("create: {error:?}"))?;
    let waiter = arena.waiter();
    let mut objects: Vec<Object> = Vec::new();
    let mut calls: Vec<String> = Vec::new();
    for _ in 0..length {
        let operation = if state.objects() < OBJECTS as usize && random.one_in(8) {
            creation(&mut random)
        } else {
            operation(&mut random, state.objects())
        };
        let operation = without_blocking(operation, &state);
        let expected = state.run(0, operation.clone()).expect("a poll does not block");
        let found = match operation.creates() {
            None => perform(&arena, &waiter, &objects, &operation, Deadline::Never),
            Some(value) => create(&arena, &waiter, &value).map(|object| {
                objects.push(object);
                Answer::Created(objects.len() - 1)
            }),
        };
        calls.push(format!("{operation:?} -> {found:?}"));
        if found != expected {
            return Err(report(seed, length, &calls, &expected));
        }
    }
    Ok(())
}

fn report(seed: u64, length: usize, calls: &[String], expected: &Outcome) -> String {
    format!("replay seq/{seed}/{length}\n{}\nthe model says {expected:?}", calls.join("\n"))
}

/// A wait that would block forever polls instead.
fn without_blocking(operation: Operation, state: &State) -> Operation {
    match operation {
        Operation::Wait(wait) => {
            let blocks = state.clone().run(0, Operation::Wait(wait.clone())).is_none();
            Operation::Wait(Wait { poll: wait.poll || blocks, ..wait })
        }
        other => other,
    }
}

fn creation(random: &mut Random) -> Operation {
    let count = *random.pick(&COUNTS);
    match random.below(3) {
        0 => Operation::SemaphoreCreate { count, max: *random.pick(&COUNTS) },
        1 => Operation::MutexCreate { owner: *random.pick(&OWNERS), count },
        _ => Operation::EventCreate { manual: random.one_in(2), signaled: random.one_in(2) },
    }
}

/// Any other operation, now and then on an object that does not exist.
fn operation(random: &mut Random, objects: usize) -> Operation {
    let object = some_object(random, objects);
    let (owner, units) = (*random.pick(&OWNERS), *random.pick(&COUNTS));
    match random.below(40) {
        0..4 => Operation::SemaphoreRelease { object, units },
        4..6 => Operation::SemaphoreRead { object },
        6..10 => Operation::MutexUnlock { object, owner },
        10..12 => Operation::MutexKill { object, owner },
        12..14 => Operation::MutexRead { object },
        14..18 => Operation::EventSet { object },
        18..20 => Operation::EventReset { object },
        20..22 => Operation::EventPulse { object },
        22..24 => Operation::EventRead { object },
        24 if random.one_in(4) => Operation::Close { object },
        _ => Operation::Wait(wait(random, objects)),
    }
}

fn wait(random: &mut Random, objects: usize) -> Wait {
    let count = match random.below(16) {
        0 => 0,
        1 => WAIT_MAX,
        2 => WAIT_MAX + 1,
        3..8 => 1,
        _ => 1 + random.below(5),
    };
    Wait {
        all: random.one_in(2),
        objects: (0..count).map(|_| some_object(random, objects)).collect(),
        alert: random.one_in(3).then(|| some_object(random, objects)),
        owner: *random.pick(&OWNERS),
        poll: random.one_in(2),
    }
}

fn some_object(random: &mut Random, objects: usize) -> Id {
    if objects == 0 || random.one_in(100) { NO_OBJECT } else { random.below(objects) }
}
