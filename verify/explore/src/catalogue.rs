// SPDX-License-Identifier: MIT OR Apache-2.0
//! The catalogue of explored programs, by subject.

#![allow(clippy::cloned_ref_to_slice_refs, reason = "lists of one object look like the others")]

mod detached;
mod ghosts;
mod lives;
mod meetings;
mod mutexes;
mod names;
mod owners;
mod signals;
mod timers;
mod waits;

use crate::histories::generator;
use crate::program::{Call, Program, all, any, auto, kill, manual, mutex, pulse, read, rel, reset, sem, set, unlock};
use crate::subject::ArenaSubject;

/// Every program over an arena.
pub fn all_programs() -> Vec<Program> {
    [
        signals::events(),
        signals::pairs(),
        signals::semaphores(),
        mutexes::mutexes(),
        signals::broadcasts(),
        waits::wait_alls(),
        waits::polls(),
        waits::alerts(),
        waits::interrupts(),
        lives::places(),
        lives::chunks(),
        signals::larger(),
        waits::three_at_once(),
        mutexes::shared_owners(),
        torn(),
        waits::deadlines(),
        waits::slow_to_queue(),
        lives::closings(),
        lives::deaths(),
        lives::burials(),
        lives::creators(),
        lives::held(),
        names::names(),
        timers::timers(),
        timers::deaths(),
        owners::deaths(),
        owners::ends(),
        detached::waits(),
        detached::deaths(),
        detached::packets(),
        detached::closed(),
        detached::anew(),
        detached::dead_processes(),
        detached::timers(),
        detached::descriptors(),
        ghosts::resumed(),
        ghosts::namesakes(),
        ghosts::closed(),
        ghosts::died(),
    ]
    .concat()
}

/// Every program over a meeting place.
pub fn meetings() -> Vec<Program> {
    meetings::meetings()
}

/// Programs that hold if each thread runs until it sleeps.
pub fn orderly_programs() -> Vec<Program> {
    owners::heirs()
}

/// The programs over an arena while its counters wrap, which is soon.
pub fn aged_programs() -> Vec<Program> {
    let aged = |program: Program| Program { name: format!("old-{}", program.name), ..program.over(ArenaSubject::aged) };
    all_programs().into_iter().map(aged).collect()
}

/// Programs about single objects, in which each call first tries what can be done by one exchange.
pub fn at_once_programs() -> Vec<Program> {
    let single = [
        signals::events(),
        signals::semaphores(),
        signals::broadcasts(),
        mutexes::mutexes(),
        torn(),
        lives::closings(),
    ];
    let first = |program: Program| Program {
        name: format!("at-once-{}", program.name),
        ..program.over(ArenaSubject::at_once_first)
    };
    single.concat().into_iter().map(first).collect()
}

/// The program of this name; also one that a seed makes.
pub fn find(name: &str) -> Option<Program> {
    let named = |program: &Program| program.name == name;
    all_programs()
        .into_iter()
        .chain(aged_programs())
        .chain(at_once_programs())
        .chain(meetings())
        .chain(orderly_programs())
        .chain(known())
        .find(named)
        .or_else(|| generator::find(name))
}

/// A wait for one auto-reset or manual-reset event, or semaphore, and so on: by owner 1, with a deadline.
fn timed(objects: &[usize]) -> Call {
    any(objects).timed()
}

fn poll(objects: &[usize]) -> Call {
    any(objects).polled()
}

fn query(object: usize) -> Call {
    read(object, &auto(false))
}

/// Loads between whose halves others step (L1).
fn torn() -> Vec<Program> {
    let (no, yes, free) = (auto(false), auto(true), mutex(0, 0));
    let programs = vec![
        Program::new("l1-set", &[no.clone()], &[&[any(&[0])], &[set(0), reset(0)]]),
        Program::new("l1-sem", &[sem(0)], &[&[any(&[0]), timed(&[0])], &[rel(0, 1), rel(0, 1)]]),
        Program::new("l1-mutex", &[mutex(0, 0)], &[&[any(&[0]), unlock(0, 1)], &[any(&[0]).by(2), unlock(0, 2)]]),
        Program::new("l1-carry", &[mutex(1, 31)], &[&[any(&[0]), unlock(0, 1)], &[any(&[0]), unlock(0, 1)]]),
        Program::new("l1-query", &[free.clone()], &[&[any(&[0]), unlock(0, 1)], &[read(0, &free)]]),
        Program::new("l1-killed", &[mutex(1, 1)], &[&[kill(0, 1)], &[read(0, &free), any(&[0]).by(2).polled()]]),
        Program::new("l1-unlock", &[free], &[&[any(&[0]), unlock(0, 1)], &[unlock(0, 1)]]),
        Program::new("l1-pair", &[no.clone(), yes.clone()], &[&[timed(&[0, 1])], &[set(0), poll(&[1])]]),
        Program::new("l1-probe", &[no.clone(), yes.clone()], &[&[poll(&[0, 1])], &[set(0), query(1)]]),
        Program::new("l1-all", &[no, yes], &[&[all(&[0, 1]).timed()], &[set(0), poll(&[1])]]),
        Program::new("l1-pulse", &[manual(false)], &[&[timed(&[0])], &[pulse(0), pulse(0)]]),
    ];
    programs.into_iter().map(Program::torn).collect()
}

/// What is known to differ from the model, see *Limits* in `docs/internals/protocol.md`.
pub fn known() -> Vec<Program> {
    let mut known = vec![
        // Two threads with one owner id, beside a third with another.
        Program::new(
            "known-one-owner",
            &[mutex(1, 1)],
            &[&[unlock(0, 1), any(&[0]).by(2).polled(), unlock(0, 2)], &[any(&[0]).by(3)], &[any(&[0]).by(2)]],
        ),
        // Each release satisfies one of the two, though both of them wait for both.
        Program::new(
            "known-alert",
            &[sem(0), sem(0)],
            &[&[any(&[0, 1])], &[all(&[0]).alert(1)], &[rel(0, 2)], &[rel(1, 2)]],
        ),
    ];
    known.extend(ghosts::unfinished());
    known
}
