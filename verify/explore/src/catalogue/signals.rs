// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which waiter gets a signal: waits for one object or for one of two.

use super::{poll, query, timed};
use crate::program::{Program, all, any, auto, manual, mutex, pulse, read, rel, reset, sem, set, unlock};

pub(super) fn events() -> Vec<Program> {
    let (no, yes) = (auto(false), auto(true));
    vec![
        Program::new("a-set-2w", &[no.clone()], &[&[any(&[0])], &[timed(&[0])], &[set(0)]]),
        Program::new("a-set2-w", &[no.clone()], &[&[timed(&[0])], &[set(0)], &[set(0)]]),
        Program::new("a-setreset", &[no.clone()], &[&[timed(&[0])], &[timed(&[0])], &[set(0), reset(0)]]),
        Program::new("a-pulse", &[no.clone()], &[&[timed(&[0])], &[timed(&[0])], &[pulse(0)]]),
        Program::new("a-pulse-late", &[no.clone()], &[&[timed(&[0]), any(&[0])], &[pulse(0)], &[any(&[0])]]),
        Program::new("a-pulse-hole", &[no.clone()], &[&[timed(&[0]), any(&[0])], &[timed(&[0])], &[pulse(0)]]),
        Program::new("a-rewait", &[no.clone()], &[&[any(&[0]), any(&[0])], &[set(0)], &[set(0)]]),
        Program::new("a-rewait-t", &[no], &[&[timed(&[0]), any(&[0])], &[set(0), poll(&[0])], &[set(0)]]),
        Program::new("a-selfclaim", &[yes.clone()], &[&[any(&[0])], &[timed(&[0])], &[set(0)]]),
        Program::new("a-try", &[yes], &[&[timed(&[0])], &[poll(&[0])], &[set(0)]]),
    ]
}

pub(super) fn pairs() -> Vec<Program> {
    let two = [auto(false), auto(false)];
    vec![
        Program::new("ab-sets", &two, &[&[any(&[0, 1])], &[set(0)], &[set(1)]]),
        Program::new("ab-sets-2w", &two, &[&[any(&[0, 1])], &[timed(&[0])], &[set(0), set(1)]]),
        Program::new("ab-cross", &two, &[&[any(&[0, 1])], &[any(&[1, 0])], &[set(0), set(1)]]),
        Program::new("ab-selfclaim", &[auto(false), auto(true)], &[&[any(&[0, 1])], &[timed(&[1])], &[set(0)]]),
        Program::new("ab-pulse", &two, &[&[timed(&[0, 1])], &[pulse(0)], &[pulse(1)]]),
        Program::new("ab-rewait", &two, &[&[any(&[0, 1]), any(&[1, 0])], &[set(0)], &[set(1)]]),
        Program::new(
            "ab-rewait-t",
            &two,
            &[&[timed(&[0, 1]), timed(&[0])], &[set(0), query(0)], &[set(1), poll(&[1])]],
        ),
        Program::new(
            "ab-pulse-re",
            &two,
            &[&[timed(&[0, 1]), timed(&[0, 1])], &[pulse(0), pulse(0)], &[set(1), query(1)]],
        ),
        Program::new("ab-reader", &[auto(false), auto(true)], &[&[any(&[0, 1])], &[set(0), query(1)]]),
        Program::new("ab-twice", &[sem(0)], &[&[any(&[0, 0])], &[rel(0, 2), read(0, &sem(0))]]),
        Program::new("ab-three", &[auto(false), auto(false), auto(true)], &[&[any(&[0, 1, 2])], &[set(1)], &[set(0)]]),
    ]
}

pub(super) fn semaphores() -> Vec<Program> {
    let query = read(0, &sem(0));
    vec![
        Program::new("s-rel-2w", &[sem(0)], &[&[timed(&[0])], &[timed(&[0])], &[rel(0, 1)]]),
        Program::new("s-rel2-2w", &[sem(0)], &[&[timed(&[0])], &[timed(&[0])], &[rel(0, 2)]]),
        Program::new("s-rel-rel", &[sem(0)], &[&[any(&[0]), any(&[0])], &[rel(0, 1)], &[rel(0, 1)]]),
        Program::new("s-try", &[sem(1)], &[&[timed(&[0])], &[poll(&[0])], &[rel(0, 2)]]),
        Program::new("s-rel2-re", &[sem(0)], &[&[any(&[0]), timed(&[0])], &[timed(&[0])], &[rel(0, 2), query]]),
        Program::new(
            "s-a",
            &[sem(1), auto(false)],
            &[&[any(&[0, 1]), timed(&[0, 1])], &[rel(0, 1), set(1)], &[poll(&[0])]],
        ),
        Program::new("s-over", &[sem(2)], &[&[rel(0, 2)], &[timed(&[0])], &[rel(0, 1), rel(0, 3)]]),
        Program::new("s-zero", &[sem(0)], &[&[timed(&[0])], &[rel(0, 0), rel(0, 1)]]),
    ]
}

pub(super) fn broadcasts() -> Vec<Program> {
    let no = manual(false);
    let both = [no.clone(), auto(false)];
    vec![
        Program::new("e-set-2w", &[no.clone()], &[&[timed(&[0])], &[any(&[0])], &[set(0)]]),
        Program::new("e-setreset", &[no.clone()], &[&[timed(&[0])], &[timed(&[0])], &[set(0), reset(0)]]),
        Program::new("e-pulse", &[no.clone()], &[&[timed(&[0])], &[timed(&[0])], &[pulse(0)]]),
        Program::new("e-pulse-re", &[no.clone()], &[&[any(&[0]), any(&[0])], &[any(&[0])], &[pulse(0)]]),
        Program::new("e-auto", &both, &[&[any(&[0, 1])], &[pulse(0)], &[set(1)]]),
        Program::new("e-set-pulse", &[no.clone()], &[&[any(&[0])], &[set(0)], &[pulse(0)]]),
        Program::new("e-drain", &[no.clone()], &[&[any(&[0]), timed(&[0])], &[timed(&[0])], &[set(0), reset(0)]]),
        Program::new("e-pulse-2", &[no.clone()], &[&[timed(&[0]), timed(&[0])], &[pulse(0), query(0)], &[pulse(0)]]),
        Program::new("e-mix", &both, &[&[any(&[0, 1]), timed(&[1, 0])], &[timed(&[0])], &[pulse(0), set(1)]]),
        Program::new("e-late", &[no], &[&[timed(&[0])], &[pulse(0)], &[set(0), reset(0), timed(&[0])]]),
    ]
}

pub(super) fn larger() -> Vec<Program> {
    let no = auto(false);
    let forever = || any(&[0]);
    let two = [no.clone(), no.clone()];
    let hand = manual(false);
    let (both, either) = (|| all(&[0, 1]), || any(&[0, 1]));
    vec![
        // Three waiters of one object: its wait set grows by two at once.
        Program::new("g-sem", &[sem(0)], &[&[forever()], &[forever()], &[forever()], &[rel(0, 3)]]),
        Program::new("g-event", &[manual(false)], &[&[forever()], &[timed(&[0])], &[timed(&[0])], &[pulse(0)]]),
        Program::new("g-mutex", &[mutex(1, 1)], &[&[forever()], &[forever()], &[forever()], &[unlock(0, 1)]]),
        Program::new("4-a-chain", &[no], &[&[timed(&[0])], &[any(&[0])], &[set(0)], &[set(0)]]),
        Program::new("4-ab", &two, &[&[any(&[0, 1])], &[any(&[0])], &[set(0)], &[set(1)]]),
        Program::new("4-s", &[sem(0)], &[&[timed(&[0])], &[any(&[0])], &[rel(0, 1)], &[rel(0, 1)]]),
        // Operations that satisfy several waiters, of which each waits for several objects: random histories and these
        // programs found that one waiter was satisfied, and another one of the same operation timed out, or went with
        // another operation.
        Program::new("4-ee", &[hand.clone(), hand.clone()], &[&[either()], &[either()], &[set(0)], &[set(1)]]),
        Program::new("4-ss", &[sem(0), sem(0)], &[&[either()], &[either()], &[rel(0, 2)], &[rel(1, 2)]]),
        Program::new("4-se", &[sem(0), hand.clone()], &[&[either()], &[timed(&[0])], &[rel(0, 2)], &[set(1)]]),
        Program::new("4-wo", &[sem(0), auto(true)], &[&[both()], &[timed(&[0])], &[rel(0, 2)], &[query(1)]]),
        Program::new(
            "4-wi",
            &[sem(0), auto(true)],
            &[&[both()], &[timed(&[0]).interruptible()], &[rel(0, 2)], &[query(1)]],
        ),
        Program::new("4-wp", &[hand, auto(true)], &[&[both()], &[timed(&[0])], &[pulse(0)], &[poll(&[1])]]),
        Program::new("4-w", &two, &[&[all(&[0, 1]).timed()], &[all(&[1, 0]).timed()], &[set(0)], &[set(1)]]),
    ]
}
