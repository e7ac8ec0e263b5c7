// SPDX-License-Identifier: MIT OR Apache-2.0
//! Owners that die, and others who wait for what they owned, or are about to.

use ntux_sync::spec::{OWNERS, Value};

use crate::program::{
    Call, Program, all, any, auto, call_off, close, collect, create_end, detached, end, end_owner, kill, mutex, pass,
    read, report, set, unlock,
};

/// Longer than a thread sleeps before it asks whether an owner lives.
const LONG: u64 = 2_000_000;

fn id(thread: u32) -> u32 {
    OWNERS + thread
}

fn take(object: usize, thread: u32) -> Call {
    any(&[object]).by(id(thread))
}

fn give(object: usize, thread: u32) -> Call {
    unlock(object, id(thread))
}

/// Owners that end, or die, while somebody has slept for some time.
fn told(name: &str, objects: &[Value], threads: &[&[Call]]) -> Program {
    Program::new(&format!("owner-told-{name}"), objects, threads).with_owners_told()
}

/// The next in line gets the mutex, and dies. If it joins the queue after the other one has begun to watch who is before it, the other
/// one finds out at its next look, which is too late here; this takes a preemption.
pub(super) fn heirs() -> Vec<Program> {
    vec![told("heir", &[mutex(id(0), 1)], &[&[give(0, 0)], &[take(0, 1)], &[take(0, 2)], &[pass(LONG)]]).mortal(1)]
}

pub(super) fn deaths() -> Vec<Program> {
    let (free, owned) = (mutex(0, 0), mutex(id(0), 1));
    let ends = |name: &str, objects: &[_], threads: &[&[Call]]| {
        Program::new(&format!("owner-{name}"), objects, threads).mortal(0).with_owners()
    };
    let two = [owned.clone(), owned.clone()];
    let programs = vec![
        told("death", &[owned.clone()], &[&[give(0, 0)], &[take(0, 1)], &[pass(LONG)]]).mortal(0),
        told("end", &[owned.clone()], &[&[end_owner(id(0))], &[take(0, 1)], &[pass(LONG)]]),
        told("two", &two, &[&[pass(LONG), end_owner(id(0))], &[take(0, 1)], &[take(1, 2)]]),
        told("two-die", &two, &[&[pass(LONG)], &[take(0, 1)], &[take(1, 2)]]).mortal(0),
        told("all", &[auto(true), owned.clone()], &[&[pass(LONG), end_owner(id(0))], &[all(&[0, 1]).by(id(1))]]),
        ends("end", &[owned.clone()], &[&[end_owner(id(0)), end_owner(id(0))], &[take(0, 1), read(0, &free)]]),
        ends("end-other", &[owned.clone()], &[&[give(0, 0)], &[end_owner(id(0)), take(0, 1).polled()]]),
        ends("waited", &[owned.clone()], &[&[give(0, 0)], &[take(0, 1)]]),
        ends("taking", &[free.clone()], &[&[take(0, 0), give(0, 0)], &[take(0, 1), give(0, 1)]]),
        ends("two", &[owned.clone()], &[&[give(0, 0)], &[take(0, 1), give(0, 1)], &[take(0, 2)]]),
        ends("in-time", &[owned.clone()], &[&[give(0, 0)], &[take(0, 1)], &[pass(LONG), pass(LONG)]]),
        ends("timed", &[owned.clone()], &[&[give(0, 0)], &[take(0, 1).timed()], &[pass(LONG)]]),
        ends(
            "polled",
            &[owned.clone()],
            &[&[give(0, 0)], &[take(0, 1).polled(), read(0, &free)], &[take(0, 2).polled()]],
        ),
        ends("any", &[auto(false), owned.clone()], &[&[give(1, 0)], &[any(&[0, 1]).by(id(1))], &[set(0)]]),
        ends("all", &[auto(false), owned.clone()], &[&[give(1, 0)], &[all(&[0, 1]).by(id(1))], &[set(0)]]),
        ends("all-two", &[owned.clone(), owned.clone()], &[&[give(1, 0)], &[all(&[0, 1]).by(id(1))]]),
        ends("all-polled", &[owned.clone(), free.clone()], &[&[give(0, 0)], &[all(&[0, 1]).by(id(1)).polled()]]),
        ends(
            "killed",
            &[owned.clone()],
            &[&[give(0, 0)], &[take(0, 1)], &[pass(LONG), kill(0, id(0)), take(0, 2).polled()]],
        ),
        // The next owner dies, too.
        ends("heirs", &[owned.clone()], &[&[give(0, 0)], &[take(0, 1), give(0, 1)], &[take(0, 2)]]).mortal(1),
        // The kernel marks nothing: who sleeps has to look.
        ends("unmarked", &[owned.clone()], &[&[give(0, 0)], &[take(0, 1)]]).without_wills(),
        ends("process", &[owned.clone()], &[&[give(0, 0)], &[take(0, 1)]]).mortal_process(0),
        // An id of the program belongs to nobody whose death could be noticed.
        ends("stranger", &[mutex(7, 1)], &[&[unlock(0, 7)], &[take(0, 1).timed()]]),
    ];
    programs
}

/// Threads that wait for the end of an owner.
pub(super) fn ends() -> Vec<Program> {
    let of = end(id(0));
    let program = |name: &str, objects: &[_], threads: &[&[Call]]| {
        Program::new(&format!("end-{name}"), objects, threads).with_owners()
    };
    let told = |name: &str, objects: &[_], threads: &[&[Call]]| program(name, objects, threads).with_owners_told();
    let two = [of.clone(), of.clone()];
    vec![
        told("told-death", &two[..1], &[&[report(0, 5)], &[any(&[0]), read(0, &of)], &[pass(LONG)]]).mortal(0),
        told("told-end", &two[..1], &[&[report(0, 5), end_owner(id(0))], &[any(&[0]), read(0, &of)], &[pass(LONG)]]),
        told("told-two", &two[..1], &[&[pass(LONG), end_owner(id(0))], &[any(&[0])], &[any(&[0]).by(2)]]),
        told("told-all", &[auto(true), of.clone()], &[&[pass(LONG), end_owner(id(0))], &[all(&[0, 1])]]),
        program("polled", &two[..1], &[&[report(0, 5)], &[any(&[0]).polled(), read(0, &of), any(&[0]).polled()]])
            .mortal(0),
        program(
            "reported",
            &two[..1],
            &[&[end_owner(id(0))], &[report(0, 5), read(0, &of)], &[any(&[0]), read(0, &of)]],
        ),
        program("waited", &two[..1], &[&[report(0, 5)], &[any(&[0]), any(&[0])], &[any(&[0]).by(2)]]).mortal(0),
        program("any", &[auto(false), of.clone()], &[&[report(1, 5)], &[any(&[0, 1])], &[set(0)]]).mortal(0),
        program("all", &[auto(false), of.clone()], &[&[report(1, 5)], &[all(&[0, 1])], &[set(0)]]).mortal(0),
        program("all-two", &two, &[&[report(1, 5)], &[all(&[0, 1])]]).mortal(0),
        program(
            "all-two-used",
            &two,
            &[
                &[end_owner(id(0))],
                &[all(&[0, 1])],
                &[report(0, 1), read(0, &of), any(&[0]).polled(), report(1, 1), read(1, &of), any(&[1]).polled()],
            ],
        ),
        program("all-and-any", &two[..1], &[&[end_owner(id(0))], &[all(&[0])], &[any(&[0]).by(2)]]),
        program("alert", &[auto(false), of.clone()], &[&[report(1, 5)], &[any(&[0]).alert(1)], &[set(0)]]).mortal(0),
        program("with-mutex", &[mutex(id(0), 1), of.clone()], &[&[give(0, 0)], &[all(&[0, 1]).by(id(1))]]).mortal(0),
        program("timed", &two[..1], &[&[report(0, 5)], &[any(&[0]).timed()], &[pass(LONG)]]).mortal(0),
        program("closed", &two[..1], &[&[end_owner(id(0))], &[any(&[0]).timed()], &[close(0)]]),
        program("unmarked", &two[..1], &[&[report(0, 5)], &[any(&[0])]]).mortal(0).without_wills(),
        program("process", &two[..1], &[&[report(0, 5)], &[any(&[0])]]).mortal_process(0),
        Program { room: 1, ..program("created", &[], &[&[end_owner(id(0))], &[create_end(id(0)), any(&[0])]]) },
        program("stirred", &two[..1], &[&[end_owner(id(0))], &[any(&[0])], &[any(&[0]).by(2)]]).mortal(1),
        Program {
            detached: 1,
            ..program("detached", &two[..1], &[&[end_owner(id(0))], &[detached(0, any(&[0])), collect()]])
        },
        Program {
            detached: 1,
            ..program("called-off", &two[..1], &[&[end_owner(id(0))], &[detached(0, any(&[0])), call_off(0)]])
        },
    ]
}
