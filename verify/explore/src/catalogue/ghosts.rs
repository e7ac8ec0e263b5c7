// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ghost operations: what a thread does that goes on when the world has changed without it, and what others do for one that
//! is dead. And processes that have the number and the memory of another one.

use super::{poll, query, timed};
use crate::program::{
    Call, Program, all, any, auto, bury_thread, close, create_auto, create_mutex, create_sem, kill, manual, mutex,
    pulse, read, rel, sem, set, unlock,
};

/// Heirs and supervisors that go on when a new thread has the dead one's number, and its place.
pub(super) fn resumed() -> Vec<Program> {
    let no = auto(false);
    let (one, two) = ([no.clone()], [no.clone(), no.clone()]);
    let twice = |name, objects: &[_], dead: &[Call], ghost: &[Call], other: &[Call]| {
        Program::new(name, objects, &[dead, &[bury_thread(0)], &[bury_thread(0)], ghost, other])
            .after(0, 1)
            .after(0, 2)
            .reborn(0, 3)
    };
    vec![
        twice("r-bury", &one, &[any(&[0])], &[any(&[0])], &[set(0)]),
        twice("r-bury-pair", &two, &[any(&[0])], &[any(&[0, 1])], &[set(1)]),
        twice("r-bury-all", &two, &[any(&[0])], &[all(&[0, 1])], &[set(0), set(1)]),
        twice("r-bury-probe", &[no.clone(), auto(true)], &[any(&[0])], &[poll(&[0, 1])], &[query(1)]),
        Program::new("r-heir", &two, &[&[any(&[0])], &[timed(&[1])], &[bury_thread(0)], &[any(&[0])], &[set(0)]])
            .after(0, 2)
            .inherited(0, 1)
            .inherited(0, 3)
            .reborn(0, 3)
            .with_few_places(),
        Program::new(
            "r-heir-all",
            &[no.clone(), no.clone(), no],
            &[&[any(&[0])], &[timed(&[2])], &[bury_thread(0)], &[all(&[0, 1])], &[set(0), set(1)]],
        )
        .after(0, 2)
        .inherited(0, 1)
        .inherited(0, 3)
        .reborn(0, 3)
        .with_few_places(),
    ]
}

/// Processes that have the number of another one, and a copy of its memory: of one that is dead, or of one in another namespace.
pub(super) fn namesakes() -> Vec<Program> {
    let no = auto(false);
    let two = [no.clone(), no.clone()];
    let dead = |name, dead: &[Call], heir: &[Call], ghost: &[Call], other: &[Call]| {
        Program::new(name, &two, &[dead, heir, ghost, other]).reborn_process(0, 2).with_few_places()
    };
    let child = |name, parent: &[Call], child: &[Call], other: &[Call]| {
        Program::new(name, &two, &[parent, child, other]).forked_elsewhere(0, 1)
    };
    vec![
        // Somebody inherits the place of the dead one before its namesake uses it.
        dead("z-heir", &[any(&[0])], &[any(&[0])], &[timed(&[1])], &[set(0)]).inherited(0, 1).without_place(2),
        dead("z-heir-pair", &[any(&[0])], &[any(&[0, 1])], &[timed(&[1])], &[set(0)]).inherited(0, 1).without_place(2),
        dead("z-heir-all", &[any(&[0])], &[all(&[0, 1])], &[poll(&[1])], &[set(0), set(1)])
            .inherited(0, 1)
            .without_place(2),
        // The same of its process, which somebody is about to bury while its namesake begins.
        dead("z-burial", &[any(&[0])], &[timed(&[0])], &[any(&[1])], &[set(1)]).buried(0, 1),
        dead("z-burial-all", &[any(&[0])], &[timed(&[0])], &[all(&[0, 1])], &[set(0), set(1)]).buried(0, 1),
        // The other one lives, and waits.
        child("z-child", &[any(&[0])], &[timed(&[1])], &[set(0)]),
        child("z-child-all", &[all(&[0, 1])], &[timed(&[1])], &[set(0), set(1)]),
        Program::new("z-child-heir", &two, &[&[set(0)], &[timed(&[1])], &[any(&[0])]])
            .forked_elsewhere(0, 1)
            .without_place(1),
        child("z-child-signals", &[any(&[0])], &[timed(&[1]), set(0)], &[set(1)]),
    ]
}

/// Operations that go on when their object was closed, and its slot has another one.
pub(super) fn closed() -> Vec<Program> {
    let (no, yes) = (auto(false), auto(true));
    let two = [no.clone(), no.clone()];
    let both = || all(&[0, 1]).timed();
    let full = mutex(1, 31);
    let free = mutex(0, 0);
    vec![
        Program::new(
            "c-release",
            &[sem(0)],
            &[&[rel(0, 2)], &[timed(&[0])], &[close(0), create_auto(false), query(1)]],
        ),
        Program::new(
            "c-broadcast",
            &[manual(false)],
            &[&[set(0)], &[timed(&[0])], &[timed(&[0])], &[close(0), create_sem(0), rel(1, 1), timed(&[1])]],
        ),
        Program::new(
            "c-pulse",
            &[manual(false)],
            &[&[pulse(0)], &[timed(&[0])], &[close(0), create_auto(false), timed(&[1])]],
        ),
        Program::new("c-carry", &[full.clone()], &[&[any(&[0])], &[close(0), create_mutex(1, 31), read(1, &full)]]),
        Program::new(
            "c-unlock",
            &[mutex(1, 1)],
            &[&[unlock(0, 1)], &[timed(&[0]).by(2)], &[close(0), create_mutex(1, 1), read(1, &free)]],
        ),
        Program::new(
            "c-pair",
            &two,
            &[&[timed(&[0, 1])], &[close(0), create_auto(false), set(2), query(2)], &[set(1)]],
        ),
        Program::new(
            "c-probe",
            &[no.clone(), yes.clone()],
            &[&[poll(&[0, 1])], &[close(1), create_auto(true), query(2)]],
        ),
        Program::new(
            "c-probe-all",
            &[yes.clone(), yes.clone()],
            &[&[both()], &[close(1), create_auto(true), query(2)], &[poll(&[0])]],
        ),
        Program::new("c-all-one", &two, &[&[both()], &[close(0), create_auto(true), query(2)], &[set(1)]]),
        // The same beside a claim of a dead thread.
        Program::new("c-died", &[no.clone()], &[&[set(0)], &[timed(&[0])], &[close(0), create_auto(false), query(1)]])
            .mortal(0),
        Program::new(
            "c-died-release",
            &[sem(0)],
            &[&[rel(0, 2)], &[timed(&[0])], &[close(0), create_sem(1), rel(1, 1), poll(&[1])]],
        )
        .mortal(0),
    ]
}

/// Signalers that die, and nobody does anything for them afterwards: if a claim and its decision were one step.
pub(super) fn died() -> Vec<Program> {
    signalers("f").into_iter().map(Program::deciding_at_once).collect()
}

/// The same as it is: a signaler that dies between its claim and its decision leaves an operation that happens later. And an
/// admitted operation is unfinished to its end.
pub(super) fn unfinished() -> Vec<Program> {
    let admitted =
        Program::new("known-ghost-all", &[auto(false), auto(false)], &[&[set(0)], &[all(&[0]).alert(1)], &[set(1)]])
            .after(0, 2);
    signalers("known-ghost").into_iter().chain([admitted.final_death(0).deciding_at_once()]).collect()
}

/// The waiter is given something else after the death; then it is seen whether the dead one's operation has happened.
fn signalers(prefix: &str) -> Vec<Program> {
    let no = auto(false);
    let named = |name: &str, object, operation, wait| {
        Program::new(&format!("{prefix}-{name}"), &[object, no.clone()], &[&[operation], &[wait], &[set(1)]])
            .after(0, 2)
            .final_death(0)
    };
    let either = || any(&[0, 1]);
    vec![
        named("set", no.clone(), set(0), either()),
        named("broadcast", manual(false), set(0), either()),
        named("release", sem(0), rel(0, 1), either()),
        named("release-2", sem(0), rel(0, 2), either()),
        named("unlock", mutex(1, 1), unlock(0, 1), either().by(2)),
        named("kill", mutex(1, 1), kill(0, 1), either().by(2)),
    ]
}
