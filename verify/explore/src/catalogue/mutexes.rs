// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mutexes: recursion, carries, abandoned ones, and threads that share an owner id.

use crate::program::{Call, Program, abandoned, all, any, auto, kill, mutex, read, set, unlock};

pub(super) fn mutexes() -> Vec<Program> {
    let free = mutex(0, 0);
    let by = |owner| any(&[0]).by(owner);
    // Carries up at once, and down after sixteen unlocks.
    let there_and_back: Vec<Call> = [by(1)].into_iter().chain((0..18).map(|_| unlock(0, 1))).collect();
    let near = |count| vec![mutex(1, count)];
    let mut programs = vec![
        Program::new("m-pair", &[free.clone()], &[&[by(1), unlock(0, 1)], &[by(2), unlock(0, 2)]]),
        Program::new("m-recurse", &[free.clone()], &[&[by(1), by(1), unlock(0, 1), unlock(0, 1)], &[by(2).timed()]]),
        Program::new("m-try", &[free.clone()], &[&[by(1), unlock(0, 1)], &[by(2).timed()], &[by(3).polled()]]),
        Program::new(
            "m-event",
            &[free.clone(), auto(false)],
            &[&[by(1), unlock(0, 1)], &[any(&[0, 1]).by(2)], &[set(1)]],
        ),
        Program::new(
            "m-rewait",
            &[free.clone()],
            &[&[by(1), unlock(0, 1), by(1), unlock(0, 1)], &[by(2).timed(), unlock(0, 2)]],
        ),
        Program::new(
            "m-two",
            &[free.clone(), free.clone()],
            &[
                &[by(1), unlock(0, 1), unlock(0, 1)],
                &[any(&[0, 1]).by(2), unlock(0, 2), unlock(1, 2)],
                &[any(&[1, 0]).by(3), read(0, &free)],
            ],
        ),
        // One owner id for several threads.
        Program::new(
            "m-shared",
            &[mutex(1, 1)],
            &[&[by(2).timed()], &[by(2).timed()], &[unlock(0, 1), by(2).polled()]],
        ),
        Program::new(
            "m-shared-un",
            &[mutex(2, 2)],
            &[&[by(2), unlock(0, 2)], &[unlock(0, 2)], &[unlock(0, 2), by(3).timed()]],
        ),
        Program::new("m-carry", &[mutex(1, 31)], &[&[by(1)], &[by(1)], &[by(1), unlock(0, 1)]]),
        Program::new("m-carry-back", &[mutex(1, 47)], &[&there_and_back, &[by(1)]]),
        Program::new("m-carry-2", &[mutex(1, 32)], &[&[by(1), unlock(0, 1)], &[unlock(0, 1)], &[unlock(0, 1), by(1)]]),
        Program::new(
            "m-carry-w",
            &[mutex(2, 1)],
            &[&[by(1)], &[by(1).timed()], &[unlock(0, 2), read(0, &mutex(0, 0))]],
        ),
        Program::new("m-skip", &[mutex(1, 1)], &[&[by(2).timed()], &[by(1)], &[unlock(0, 1), read(0, &free)]]),
        // Abandoned.
        Program::new("m-kill", &[mutex(1, 2)], &[&[by(2)], &[by(3).timed()], &[kill(0, 1), read(0, &free)]]),
        Program::new("m-kill-un", &[mutex(1, 1)], &[&[by(2).timed()], &[unlock(0, 1)], &[kill(0, 1), kill(0, 1)]]),
        Program::new("m-dead", &[abandoned()], &[&[by(1), unlock(0, 1)], &[by(2), kill(0, 2)], &[read(0, &free)]]),
        Program::new("m-dead-any", &[auto(false), abandoned()], &[&[any(&[0, 1])], &[set(0)], &[by(2).polled()]]),
    ];
    for count in [30, 31, 32, 33, u32::MAX - 2, u32::MAX - 1] {
        programs.push(Program::new(
            &format!("m-deep-{count:x}"),
            &near(count),
            &[&[by(1), unlock(0, 1)], &[by(1).timed(), unlock(0, 1), read(0, &free)]],
        ));
    }
    programs.push(Program::new(
        "m-full",
        &near(u32::MAX),
        &[&[by(1).timed()], &[by(2).timed()], &[unlock(0, 1), unlock(0, 1)]],
    ));
    programs
}

/// Threads that use one owner id, with recursion, and mutexes whose owner is dead.
pub(super) fn shared_owners() -> Vec<Program> {
    let free = mutex(0, 0);
    let again = || any(&[0]).timed();
    vec![
        Program::new("n-deep", &[mutex(1, 30)], &[&[again(), unlock(0, 1)], &[again(), again()], &[unlock(0, 1)]]),
        Program::new("n-all", &[mutex(1, 1), auto(false)], &[&[all(&[0, 1])], &[unlock(0, 1), set(1)], &[again()]]),
        Program::new("n-kill", &[mutex(1, 32)], &[&[again()], &[kill(0, 1), read(0, &free)], &[any(&[0]).polled()]]),
        Program::new(
            "n-dead-all",
            &[abandoned(), auto(false)],
            &[&[all(&[0, 1])], &[set(1), read(0, &free)], &[any(&[0]).by(2).polled(), kill(0, 2)]],
        ),
        Program::new(
            "n-dead-pair",
            &[mutex(9, 1), auto(false)],
            &[&[any(&[1, 0])], &[any(&[0]).by(2)], &[kill(0, 9), unlock(0, 1)]],
        ),
    ]
}
