// SPDX-License-Identifier: MIT OR Apache-2.0
//! The other kinds of waits: for all, polls, with alerts, interrupts and deadlines.

use ntux_sync::spec::Value;

use super::{poll, query, timed};
use crate::program::{
    Call, Program, all, any, auto, close, kill, manual, mutex, pulse, read, rel, reset, sem, set, unlock,
};

pub(super) fn wait_alls() -> Vec<Program> {
    let (no, yes) = (auto(false), auto(true));
    let both = || all(&[0, 1]).timed();
    let three = [no.clone(), no.clone(), yes.clone()];
    let program =
        |name: &str, objects: [&Value; 2], threads: &[&[Call]]| Program::new(name, &objects.map(Clone::clone), threads);
    let (hand, on, free) = (&manual(false), &manual(true), &mutex(0, 0));
    vec![
        program("w-sets", [&no, &no], &[&[all(&[0, 1])], &[set(0)], &[set(1)]]),
        program("w-tmo", [&yes, &no], &[&[both()], &[set(1)], &[poll(&[0])]]),
        program("w-any", [&no, &no], &[&[both()], &[timed(&[0])], &[set(0), set(1)]]),
        program("w-any1", [&no, &yes], &[&[both()], &[timed(&[0])], &[set(0)]]),
        program("w-two", [&no, &yes], &[&[both()], &[both()], &[set(0)]]),
        program("w-pulse", [&yes, &no], &[&[both()], &[pulse(1)], &[set(0), reset(0)]]),
        program("w-rewait", [&no, &yes], &[&[both(), both()], &[set(0)], &[set(1)]]),
        program("w-sem", [&sem(0), &yes], &[&[both()], &[timed(&[0])], &[rel(0, 2)]]),
        program("w-mutex", [free, &no], &[&[any(&[0]), unlock(0, 1)], &[both().by(2)], &[set(1)]]),
        program("w-kill", [&mutex(1, 1), &yes], &[&[both().by(2)], &[timed(&[0]).by(3)], &[kill(0, 1)]]),
        program("w-self", [&yes, &yes], &[&[both()], &[poll(&[0])], &[set(0)]]),
        program("w-man", [hand, &yes], &[&[both()], &[timed(&[0])], &[set(0)]]),
        program("w-manp", [hand, &yes], &[&[both()], &[timed(&[0])], &[pulse(0)]]),
        program("w-poll", [&no, &yes], &[&[all(&[0, 1]).polled()], &[set(0)], &[poll(&[1]), set(1)]]),
        // Everything is there at once, and somebody interferes.
        program("w-cross", [&yes, &yes], &[&[all(&[0, 1]).polled()], &[all(&[1, 0]).polled()], &[query(0), query(1)]]),
        program("w-apart", [on, hand], &[&[all(&[0, 1]).polled()], &[reset(0), set(1), reset(1)]]),
        program("w-partly", [on, &sem(1)], &[&[all(&[0, 1]).polled()], &[reset(0), poll(&[1]), set(0)]]),
        program("w-seen", [on, &yes], &[&[all(&[0, 1]).polled()], &[reset(0), query(1)]]),
        program("w-unit", [&sem(1), &yes], &[&[all(&[0, 1]).polled(), rel(0, 1)], &[poll(&[0]), query(1)]]),
        program("w-owned", [free, &yes], &[&[all(&[0, 1]).polled(), unlock(0, 1)], &[poll(&[0]).by(2), poll(&[1])]]),
        program("w2-duo", [&no, &no], &[&[both(), both()], &[set(0), set(1), reset(0)]]),
        program("w2-mutex", [free, &yes], &[&[both(), unlock(0, 1)], &[timed(&[0]).by(2), unlock(0, 2)]]),
        program("w2-try", [&sem(1), &no], &[&[both(), read(0, &sem(0))], &[poll(&[0]), set(1), rel(0, 1)]]),
        program("w2-both", [&yes, &no], &[&[both()], &[both(), set(1)]]),
        program("w2-again", [&no, &no], &[&[both(), timed(&[1]), both()], &[set(0), set(1), query(0)]]),
        program("w2-pulse", [&yes, &no], &[&[both(), both()], &[pulse(1), set(1), pulse(0)]]),
        program("w2-man", [hand, &no], &[&[both(), both()], &[set(0), set(1), reset(0), pulse(0)]]),
        program("w2-manp", [hand, on], &[&[both(), both()], &[pulse(0), pulse(1), set(1)]]),
        Program::new("x3-orphan", &three, &[&[all(&[0, 1, 2])], &[set(0), query(2)], &[set(1), query(0)]]),
        Program::new(
            "x3-again",
            &three,
            &[&[both(), all(&[1, 2]).timed()], &[set(0), query(2)], &[set(1), poll(&[2])]],
        ),
        Program::new("x3-duo", &three, &[&[all(&[0, 1, 2]).timed()], &[set(0), set(1), poll(&[2])]]),
    ]
}

/// Three of what other programs have two of.
pub(super) fn three_at_once() -> Vec<Program> {
    let (no, yes) = (auto(false), auto(true));
    let three = [no.clone(), no.clone(), no.clone()];
    let last = [yes.clone(), yes.clone(), no.clone()];
    let every = || all(&[0, 1, 2]);
    vec![
        // Waits for all of three, and three waits for all.
        Program::new("3-all-set", &last, &[&[every()], &[set(2)], &[poll(&[1]), set(1)]]),
        Program::new("3-all-sets", &three, &[&[every().timed()], &[set(0), set(2)], &[set(1), query(0)]]),
        Program::new("3-all-order", &last, &[&[all(&[2, 0, 1])], &[timed(&[1, 0])], &[set(2), set(0)]]),
        Program::new("3-all-mutex", &[mutex(2, 1), sem(1), no.clone()], &[&[every()], &[unlock(0, 2)], &[set(2)]]),
        Program::new(
            "3-waiters",
            &[no.clone(), yes.clone()],
            &[&[all(&[0, 1])], &[all(&[0])], &[all(&[1, 0]).timed()], &[set(0), set(0)]],
        ),
        Program::new("3-waiters-s", &[sem(0)], &[&[all(&[0])], &[all(&[0])], &[all(&[0])], &[rel(0, 3)]]),
        // The alert of a wait-all comes while an attempt is open.
        // Random histories found that such a wait timed out, having looked at the alert after its last unit was gone, and at
        // the event before it was set.
        Program::new(
            "3-alert-late",
            &[sem(1), manual(false)],
            &[&[all(&[1]).alert(0).polled()], &[all(&[0, 1])], &[set(1)]],
        ),
        Program::new("3-alert", &three, &[&[all(&[0, 1]).alert(2)], &[set(0), set(1)], &[set(2)]]),
        Program::new(
            "3-alert-sem",
            &[sem(0), yes.clone(), sem(0)],
            &[&[all(&[0, 1]).alert(2)], &[rel(0, 1), read(0, &sem(0))], &[rel(2, 1), read(2, &sem(0))]],
        ),
        Program::new(
            "3-alert-own",
            &[sem(0), sem(0)],
            &[&[all(&[0]).alert(1)], &[all(&[1]).alert(0).timed()], &[rel(0, 1), rel(1, 1)]],
        ),
        // Waits for one of three or four, and the same object twice.
        Program::new("3-any", &three, &[&[any(&[0, 1, 2])], &[any(&[2, 1]).timed()], &[set(1), set(2)]]),
        Program::new("3-any-twice", &three, &[&[any(&[0, 1, 0, 2, 1])], &[set(1)], &[set(2), query(1)]]),
        Program::new("3-any-alert", &[sem(0), no.clone()], &[&[any(&[0, 1, 0]).alert(0)], &[rel(0, 2)], &[set(1)]]),
        // Polls of three, with mutexes, and for all.
        Program::new(
            "3-poll",
            &[no.clone(), sem(0), yes.clone()],
            &[&[poll(&[0, 1, 2])], &[set(0), query(2)], &[rel(1, 1), poll(&[2])]],
        ),
        Program::new(
            "3-poll-mutex",
            &[mutex(2, 1), mutex(0, 0), yes.clone()],
            &[&[any(&[0, 1, 2]).polled()], &[unlock(0, 2), query(2)], &[any(&[1]).by(3).polled(), unlock(1, 3)]],
        ),
        Program::new(
            "3-poll-all",
            &[yes.clone(), mutex(2, 1), yes],
            &[&[every().polled()], &[unlock(1, 2), query(0)], &[poll(&[2]), set(2)]],
        ),
    ]
}

pub(super) fn polls() -> Vec<Program> {
    let (no, yes) = (auto(false), auto(true));
    let either = || poll(&[0, 1]);
    vec![
        Program::new("p-poll", &[no.clone(), yes.clone()], &[&[either()], &[set(0), poll(&[1])], &[set(1)]]),
        Program::new(
            "p-poll-0",
            &[no.clone(), no.clone()],
            &[&[either()], &[set(1), poll(&[1])], &[set(0), poll(&[0])]],
        ),
        Program::new("p-mixed", &[no.clone(), sem(1)], &[&[either()], &[set(0), read(1, &sem(0))], &[timed(&[1, 0])]]),
        Program::new(
            "p-man",
            &[manual(false), yes.clone()],
            &[&[either()], &[set(0), reset(0)], &[poll(&[1]), set(1)]],
        ),
        Program::new("p-reader", &[no.clone(), yes.clone()], &[&[either()], &[set(0), query(1)]]),
        Program::new("p-pulse", &[no.clone(), yes.clone()], &[&[either()], &[pulse(0), query(1)], &[poll(&[1])]]),
        Program::new(
            "p-mutex",
            &[mutex(2, 1), mutex(3, 1)],
            &[&[either()], &[unlock(1, 3), unlock(0, 2)], &[any(&[1]).by(4).polled()]],
        ),
        Program::new("p-three", &[no.clone(), no, yes], &[&[poll(&[0, 1, 2])], &[set(0), query(2)], &[set(1)]]),
    ]
}

pub(super) fn alerts() -> Vec<Program> {
    let (no, yes) = (auto(false), auto(true));
    let two = [no.clone(), no.clone()];
    let three = [no.clone(), no.clone(), no.clone()];
    vec![
        Program::new("l-any", &two, &[&[any(&[0]).alert(1)], &[set(0)], &[set(1)]]),
        Program::new("l-only", &[no.clone()], &[&[any(&[]).alert(0), timed(&[])], &[set(0), query(0)]]),
        Program::new("l-same", &[sem(0)], &[&[any(&[0]).alert(0)], &[rel(0, 2), read(0, &sem(0))]]),
        Program::new("l-first", &[yes.clone(), yes.clone()], &[&[any(&[0]).alert(1)], &[poll(&[0])], &[query(1)]]),
        Program::new("l-poll", &two, &[&[poll(&[0]).alert(1)], &[set(0), query(1)], &[set(1)]]),
        Program::new("l-all", &three, &[&[all(&[0, 1]).alert(2)], &[set(0), set(1)], &[set(2), query(2)]]),
        Program::new("l-all-2", &[no.clone(), yes, no], &[&[all(&[0, 1]).alert(2).timed()], &[set(0)], &[pulse(2)]]),
        Program::new("l-all-t", &two, &[&[all(&[0]).alert(1).timed(), timed(&[1])], &[set(0), set(1)]]),
    ]
}

pub(super) fn interrupts() -> Vec<Program> {
    let no = auto(false);
    let loose = || any(&[0]).timed().interruptible();
    vec![
        Program::new("i-any", &[no.clone()], &[&[loose(), any(&[0])], &[set(0)], &[set(0)]]),
        Program::new("i-pulse", &[no.clone()], &[&[loose()], &[timed(&[0])], &[pulse(0)]]),
        Program::new(
            "i-pair",
            &[no.clone(), no.clone()],
            &[&[any(&[0, 1]).interruptible(), timed(&[1])], &[set(0), set(1)]],
        ),
        Program::new("i-sem", &[sem(0)], &[&[loose()], &[loose()], &[rel(0, 1)]]),
        Program::new("i-mutex", &[mutex(1, 1)], &[&[loose().by(2)], &[timed(&[0]).by(3)], &[unlock(0, 1)]]),
        Program::new("i-poll", &[no.clone(), auto(true)], &[&[poll(&[0, 1]).interruptible()], &[set(0), query(1)]]),
        Program::new(
            "i-all",
            &[no.clone(), auto(true)],
            &[&[all(&[0, 1]).timed().interruptible()], &[set(0), query(1)]],
        ),
        Program::new("i-close", &[no.clone(), no], &[&[timed(&[0, 1])], &[close(0)], &[set(1)]]),
    ]
}

/// Waits for several objects that are slow to queue.
pub(super) fn slow_to_queue() -> Vec<Program> {
    let (no, yes) = (auto(false), auto(true));
    let two = [no.clone(), no.clone()];
    let three = [no.clone(), yes, no];
    vec![
        // Random histories found that a wait with an old ticket was passed by a pulse, and then served before another one that
        // had been asleep at that time.
        Program::new("q-any", &two, &[&[any(&[1, 0])], &[timed(&[0])], &[pulse(1), set(0)]]),
        Program::new("q-first", &two, &[&[any(&[0, 1])], &[timed(&[0])], &[pulse(1), set(0)]]),
        Program::new("q-alert", &two, &[&[any(&[1]).alert(0)], &[timed(&[0])], &[pulse(1), set(0)]]),
        Program::new("q-all", &three, &[&[all(&[0, 1])], &[all(&[0, 2]).timed()], &[pulse(0), set(2), set(0)]]),
        Program::new("q-all-alert", &two, &[&[all(&[1]).alert(0)], &[timed(&[0])], &[pulse(1), set(0)]]),
        Program::new("q-mutual", &two, &[&[timed(&[0, 1])], &[timed(&[1, 0])], &[pulse(1), set(0), pulse(0)]]),
        Program::new("q-all-any", &two, &[&[all(&[0, 1]).timed()], &[timed(&[1, 0])], &[set(0), pulse(1), query(0)]]),
    ]
}

/// Deadlines that pass while their thread is busy.
pub(super) fn deadlines() -> Vec<Program> {
    let (no, yes) = (auto(false), auto(true));
    let two = [no.clone(), yes.clone()];
    let both = || all(&[0, 1]).hasty();
    vec![
        Program::new("t-any", &[no.clone()], &[&[any(&[0]).hasty()], &[set(0), query(0)]]),
        Program::new("t-pair", &two, &[&[any(&[0, 1]).hasty()], &[timed(&[1])], &[set(0), query(0)]]),
        Program::new(
            "t-mutex",
            &[mutex(1, 1)],
            &[&[any(&[0]).by(2).hasty()], &[unlock(0, 1), any(&[0]).by(3).polled()]],
        ),
        Program::new("t-pulse", &[manual(false)], &[&[any(&[0]).hasty()], &[pulse(0), query(0)]]),
        // Random histories found that a look or an attempt from before the deadline answered for what came after it.
        Program::new("t-look", &[no.clone()], &[&[all(&[0]).hasty()], &[set(0)]]),
        Program::new("t-try", &[yes.clone()], &[&[all(&[0]).hasty()], &[poll(&[0]), set(0)]]),
        Program::new("t-all", &two, &[&[both()], &[set(0), query(0)], &[poll(&[1])]]),
        Program::new("t-alert", &[no.clone(), no], &[&[all(&[0]).alert(1).hasty()], &[set(1), set(0), query(1)]]),
    ]
}
