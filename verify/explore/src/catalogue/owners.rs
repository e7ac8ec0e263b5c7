// SPDX-License-Identifier: MIT OR Apache-2.0
//! Owners that die, and others who wait for what they owned, or are about to.

use ntux_sync::spec::OWNERS;

use crate::program::{Call, Program, all, any, auto, kill, mutex, pass, read, set, unlock};

/// Longer than a thread sleeps before it asks whether an owner lives.
const LONG: u64 = 2_000_000;

pub(super) fn deaths() -> Vec<Program> {
    let id = |thread: u32| OWNERS + thread;
    let take = |object, thread| any(&[object]).by(id(thread));
    let give = |object, thread| unlock(object, id(thread));
    let (free, owned) = (mutex(0, 0), mutex(id(0), 1));
    let ends = |name: &str, objects: &[_], threads: &[&[Call]]| {
        Program::new(&format!("owner-{name}"), objects, threads).mortal(0).with_owners()
    };
    let programs = vec![
        ends("waited", &[owned.clone()], &[&[give(0, 0)], &[take(0, 1)]]),
        ends("taking", &[free.clone()], &[&[take(0, 0), give(0, 0)], &[take(0, 1), give(0, 1)]]),
        ends("two", &[owned.clone()], &[&[give(0, 0)], &[take(0, 1), give(0, 1)], &[take(0, 2)]]),
        ends("in-time", &[owned.clone()], &[&[give(0, 0)], &[take(0, 1)], &[pass(LONG), pass(LONG)]]),
        ends("timed", &[owned.clone()], &[&[give(0, 0)], &[take(0, 1).timed()], &[pass(LONG)]]),
        ends("polled", &[owned.clone()], &[&[give(0, 0)], &[take(0, 1).polled(), read(0, &free)], &[take(0, 2).polled()]]),
        ends("any", &[auto(false), owned.clone()], &[&[give(1, 0)], &[any(&[0, 1]).by(id(1))], &[set(0)]]),
        ends("all", &[auto(false), owned.clone()], &[&[give(1, 0)], &[all(&[0, 1]).by(id(1))], &[set(0)]]),
        ends("all-two", &[owned.clone(), owned.clone()], &[&[give(1, 0)], &[all(&[0, 1]).by(id(1))]]),
        ends("all-polled", &[owned.clone(), free.clone()], &[&[give(0, 0)], &[all(&[0, 1]).by(id(1)).polled()]]),
        ends("killed", &[owned.clone()], &[&[give(0, 0)], &[take(0, 1)], &[pass(LONG), kill(0, id(0)), take(0, 2).polled()]]),
        // The next owner dies, too.
        ends("heirs", &[owned.clone()], &[&[give(0, 0)], &[take(0, 1), give(0, 1)], &[take(0, 2)]]).mortal(1),
        ends("process", &[owned.clone()], &[&[give(0, 0)], &[take(0, 1)]]).mortal_process(0),
        // An id of the program belongs to nobody whose death could be noticed.
        ends("stranger", &[mutex(7, 1)], &[&[unlock(0, 7)], &[take(0, 1).timed()]]),
    ];
    programs
}
