// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arenas by name: processes that open one name, close what they have, and die.

use ntux_sync::spec::{BY_NAME, Name};

use crate::program::{Call, Program, auto, create_named, release, set};
use crate::subject::Meetings;

/// Processes that meet.
pub(super) fn meetings() -> Vec<Program> {
    let meet = || create_named(Name::exactly("a"), &auto(false));
    let make = [meet(), set(BY_NAME)];
    let leave = || release(BY_NAME);
    // Each thread is a process of its own.
    let apart = |name: &str, threads: &[&[Call]]| {
        let program = Program::new(name, &[], threads).over(Meetings::subject);
        (0..threads.len()).fold(program, Program::of_own_process)
    };
    // The threads are those of one process, but for the last one.
    let beside = |name: &str, threads: &[&[Call]]| {
        Program::new(name, &[], threads).over(Meetings::subject).of_own_process(threads.len() - 1)
    };
    vec![
        apart("meet-two", &[&make, &make]),
        apart("meet-three", &[&[meet()], &[meet()], &make]),
        // The last one that has it closes it, or dies, while another one comes.
        apart("meet-closed", &[&[meet(), leave()], &make]),
        apart("meet-again", &[&[meet(), leave(), meet()], &make]),
        apart("meet-both-leave", &[&[meet(), leave()], &[meet(), leave()], &make]),
        apart("meet-dead", &[&make, &make]).mortal(0),
        apart("meet-dead-both", &[&make, &make]).mortal(0).mortal(1),
        // It hands on what it has, and dies, while a third one finds nobody.
        apart("meet-handed", &[&[meet()], &[meet()], &[meet()]]).mortal(0),
        // It may have handed on what it had before it had arrived.
        apart("meet-dead-between", &[&[meet(), leave()], &[meet()], &make]).mortal(1),
        // Seats of the dead.
        apart("meet-after", &[&[meet()], &make, &make]).after(0, 1).after(0, 2),
        apart("meet-reborn", &[&[meet()], &[meet()], &[meet()]]).reborn_process(0, 1),
        // Threads of one process, which get each other's descriptors, beside another process.
        beside("meet-threads", &[&make, &[meet(), leave()], &make]),
        beside("meet-threads-again", &[&[meet(), leave(), meet()], &[meet(), leave()], &[meet()]]),
        beside("meet-threads-first", &[&[meet(), leave()], &[meet()], &[meet(), leave()]]),
        // The last thread gets the descriptor that the second one had; then only that process lives.
        beside("meet-threads-there", &[&[meet(), leave()], &[meet(), leave()], &[meet()], &[meet()]]).mortal(3),
        // Two libraries in one process.
        apart("meet-libraries", &[&make, &[meet(), leave()], &make]).of_same_process(0, 1),
    ]
}
