// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waits without a thread: registered, delivered, taken, called off; beside waits of threads, and deaths in the middle of all that.

use super::poll;
use crate::program::{
    Call, Program, all, any, arm, armed, auto, bury_process, call_off, cancel, close, close_queue, collect,
    collect_now, detached, kill, manual, mutex, open_queue, pass, post, pulse, rel, sem, set, timer, unlock,
};
use crate::subject::ArenaSubject;

/// When the timers of these programs are due.
const SOON: u64 = 10_000;

/// A wait without a thread for the first object.
fn wait() -> Call {
    detached(0, any(&[0]))
}

pub(super) fn waits() -> Vec<Program> {
    let (no, yes) = (auto(false), auto(true));
    let second = || detached(1, any(&[0]));
    let programs = vec![
        Program::new("detached-one", &[no.clone()], &[&[wait(), collect()], &[set(0)]]),
        Program::new("detached-there", &[yes.clone()], &[&[wait(), collect_now()], &[poll(&[0])]]),
        Program::new("detached-taken-there", &[no.clone()], &[&[wait()], &[set(0)], &[collect()]]),
        Program::new("detached-two-take", &[sem(0)], &[&[wait(), second()], &[rel(0, 2)], &[collect()], &[collect()]]),
        Program::new("detached-take-both", &[sem(0)], &[&[wait(), second()], &[rel(0, 2), collect()], &[collect()]]),
        Program::new(
            "detached-three-take",
            &[sem(0)],
            &[&[wait(), second(), detached(2, any(&[0])), rel(0, 3), collect()], &[collect()], &[collect()]],
        ),
        Program::new("detached-now", &[no.clone()], &[&[wait(), collect_now(), collect_now()], &[set(0)]]),
        Program::new("detached-off", &[no.clone()], &[&[wait(), call_off(0), poll(&[0])], &[set(0)]]),
        Program::new("detached-off-there", &[no.clone()], &[&[wait()], &[call_off(0)], &[set(0)]]),
        Program::new("detached-off-taken", &[no.clone()], &[&[wait(), call_off(0)], &[set(0)], &[collect_now()]]),
        Program::new("detached-off-twice", &[no.clone()], &[&[wait(), call_off(0)], &[call_off(0)], &[set(0)]]),
        Program::new("detached-order", &[no.clone()], &[&[wait(), collect()], &[any(&[0])], &[set(0), set(0)]]),
        Program::new("detached-pulse", &[no.clone()], &[&[wait(), collect_now()], &[pulse(0)]]),
        Program::new("detached-manual", &[manual(false)], &[&[wait(), second(), collect(), collect()], &[set(0)]]),
        Program::new(
            "detached-any",
            &[no.clone(), no.clone()],
            &[&[detached(0, any(&[0, 1])), collect()], &[set(0)], &[set(1)]],
        ),
        Program::new(
            "detached-any-poll",
            &[no.clone(), no.clone()],
            &[&[detached(0, any(&[0, 1])), collect()], &[set(0)], &[poll(&[0])]],
        ),
        Program::new(
            "detached-all",
            &[no.clone(), no.clone()],
            &[&[detached(0, all(&[0, 1])), collect()], &[set(0)], &[set(1)]],
        ),
        Program::new(
            "detached-all-off",
            &[no.clone(), no.clone()],
            &[&[detached(0, all(&[0, 1])), call_off(0)], &[set(0), set(1)]],
        ),
        Program::new(
            "detached-all-other",
            &[no.clone(), no.clone()],
            &[&[detached(0, all(&[0, 1])), collect_now()], &[set(0), set(1)], &[poll(&[1])]],
        ),
        Program::new("detached-mutex", &[mutex(2, 1)], &[&[wait(), collect()], &[unlock(0, 2)]]),
        Program::new("detached-killed", &[mutex(2, 1)], &[&[wait(), collect()], &[kill(0, 2)]]),
        Program::new("detached-close", &[no.clone()], &[&[wait(), collect_now()], &[close(0)], &[set(0)]]),
        Program::new(
            "detached-there-again",
            &[no.clone()],
            &[&[wait(), second()], &[set(0), collect(), set(0), collect()]],
        ),
        Program::new("detached-again", &[no.clone()], &[&[wait(), collect(), wait(), collect()], &[set(0), set(0)]]),
    ];
    programs.into_iter().map(|program| program.with_detached(3)).collect()
}

pub(super) fn closed() -> Vec<Program> {
    let no = auto(false);
    let programs = vec![
        Program::new("queue-closed", &[no.clone()], &[&[wait(), close_queue(), super::poll(&[0])], &[set(0)]]),
        Program::new("queue-closed-there", &[no.clone()], &[&[wait()], &[close_queue()], &[set(0)]]),
        Program::new("queue-closed-taken", &[no.clone()], &[&[wait()], &[close_queue()], &[set(0)], &[collect()]]),
        Program::new("queue-closed-off", &[no.clone()], &[&[wait(), call_off(0)], &[close_queue()]]),
        Program::new("queue-closed-post", &[], &[&[post(5)], &[close_queue()], &[collect()]]),
        Program::new("queue-closed-sleeps", &[], &[&[collect()], &[collect()], &[close_queue()]]),
        Program::new("dead-queue-closes", &[], &[&[collect()], &[collect()], &[close_queue()], &[post(5)]]).mortal(2),
        Program::new("dead-queue-closes-wait", &[no], &[&[wait(), close_queue()], &[close_queue()], &[set(0)]])
            .mortal(1),
    ];
    programs.into_iter().map(|program| program.with_detached(2)).collect()
}

/// A queue that is opened in the place of another one, beside threads that are late.
pub(super) fn anew() -> Vec<Program> {
    let no = auto(false);
    let second = || detached(1, any(&[0]));
    let programs = vec![
        Program::new(
            "queue-anew-packet",
            &[],
            &[&[close_queue(), open_queue(), post(5), collect_now()], &[collect_now()]],
        ),
        Program::new("queue-anew-post", &[], &[&[close_queue(), open_queue(), collect_now()], &[post(5)]]),
        Program::new("queue-anew-posts", &[], &[&[close_queue(), open_queue(), collect()], &[post(5)], &[post(6)]]),
        Program::new(
            "queue-anew-result",
            &[no.clone()],
            &[&[close_queue(), open_queue(), wait(), collect()], &[collect_now()], &[set(0)]],
        ),
        Program::new(
            "queue-anew-sleeps",
            &[no.clone()],
            &[&[close_queue(), open_queue(), wait(), collect()], &[collect()], &[set(0)]],
        ),
        Program::new(
            "queue-anew-close",
            &[no.clone()],
            &[&[close_queue(), open_queue(), post(5), collect_now()], &[close_queue()]],
        ),
        Program::new(
            "queue-anew-off",
            &[no.clone()],
            &[&[wait(), close_queue(), open_queue(), second()], &[call_off(0)], &[set(0)]],
        ),
        Program::new(
            "queue-anew-registers",
            &[no],
            &[&[close_queue(), open_queue(), wait(), set(0), collect_now()], &[second()]],
        ),
    ];
    programs.into_iter().map(|program| program.with_detached(2)).collect()
}

/// The process whose queue it is dies.
pub(super) fn dead_processes() -> Vec<Program> {
    let no = auto(false);
    let set_twice = || [set(0), set(1)];
    let waits_for_second = || [open_queue(), detached(1, any(&[1])), collect()];
    let opens = || [open_queue(), detached(1, any(&[0])), collect_now()];
    let programs = vec![
        Program::new("dead-queue-waits", &[no.clone()], &[&[wait()], &[set(0), poll(&[0])]]).mortal_process(0),
        Program::new("dead-queue-takes", &[no.clone()], &[&[wait(), collect()], &[set(0), poll(&[0])]])
            .mortal_process(0),
        Program::new(
            "dead-queue-all",
            &[no.clone(), no.clone()],
            &[&[detached(0, all(&[0, 1]))], &[set(0), set(1)], &[poll(&[0])]],
        )
        .mortal_process(0),
        Program::new(
            "dead-queue-heir",
            &[no.clone(), no.clone()],
            &[&[wait()], &set_twice(), &[bury_process(0)], &[any(&[1])]],
        )
        .supervised(0, 2)
        .after(0, 3)
        .without_place(3),
        Program::new("dead-queue-heirs", &[no.clone(), no.clone()], &[&[wait()], &set_twice(), &waits_for_second()])
            .buried(0, 2),
        Program::new("dead-queue-heir-same", &[no.clone()], &[&[wait()], &[set(0)], &[any(&[0])]]).buried(0, 2),
        Program::new("dead-queue-buried", &[no.clone()], &[&[wait()], &[set(0), poll(&[0])], &[bury_process(0)]])
            .supervised(0, 2),
        Program::new(
            "dead-queue-result",
            &[no.clone(), no.clone()],
            &[
                &[wait()],
                &[set(0), collect_now()],
                &[open_queue(), detached(1, any(&[1])), set(1), detached(2, any(&[0]))],
            ],
        )
        .of_own_process(0)
        .inherited(0, 2),
        Program::new("dead-queue-anew", &[no], &[&[wait(), post(5)], &[set(0)], &opens()]).buried(0, 2),
    ];
    programs.into_iter().map(|program| program.with_detached(3)).collect()
}

pub(super) fn packets() -> Vec<Program> {
    let no = auto(false);
    let programs = vec![
        Program::new("packet-one", &[], &[&[collect()], &[post(5)]]),
        Program::new("packet-now", &[], &[&[collect_now(), collect_now()], &[post(5)]]),
        Program::new("packet-two-post", &[], &[&[collect(), collect()], &[post(5)], &[post(6)]]),
        Program::new("packet-two-take", &[], &[&[collect()], &[collect()], &[post(5), post(6)]]),
        Program::new("packet-order", &[], &[&[post(5), post(6), collect()], &[collect_now()]]),
        Program::new("packet-full", &[], &[&[post(5), post(6), post(7)], &[collect_now(), collect_now()]]),
        Program::new("packet-full-two", &[], &[&[post(5), post(6)], &[post(7)], &[collect_now(), collect_now()]]),
        Program::new("packet-round", &[], &[&[post(5), collect(), post(6), post(7)], &[collect(), collect_now()]]),
        Program::new("packet-beside", &[no.clone()], &[&[wait(), collect(), collect()], &[set(0)], &[post(5)]]),
        Program::new("packet-beside-take", &[no.clone()], &[&[wait(), set(0)], &[collect()], &[collect()], &[post(5)]]),
        Program::new("dead-packet-posts", &[], &[&[collect()], &[post(5)], &[post(6)]]).mortal(1),
        Program::new("dead-packet-posts-2t", &[], &[&[collect()], &[collect()], &[post(5)], &[post(6), post(7)]])
            .mortal(2),
        Program::new("dead-packet-takes", &[], &[&[collect()], &[collect()], &[post(5), post(6)]]).mortal(0),
        Program::new("dead-packet-beside", &[no], &[&[wait(), collect()], &[post(5)], &[set(0)]]).mortal(1),
    ];
    programs.into_iter().map(|program| program.with_detached(1)).collect()
}

pub(super) fn timers() -> Vec<Program> {
    let once = || armed(SOON, 0);
    let (no, never) = (auto(false), timer());
    let programs = vec![
        Program::new("detached-due", &[once()], &[&[wait(), collect()], &[pass(SOON)]]),
        Program::new("detached-due-there", &[once()], &[&[wait()], &[collect()], &[pass(SOON)]]),
        Program::new("detached-due-now", &[once()], &[&[wait(), collect_now()], &[pass(SOON)]]),
        Program::new("detached-due-poll", &[once()], &[&[wait(), collect_now()], &[pass(SOON), super::poll(&[0])]]),
        Program::new("detached-due-wait", &[once()], &[&[wait(), collect_now()], &[any(&[0]).timed()], &[pass(SOON)]]),
        Program::new("detached-arm", &[never.clone()], &[&[wait(), collect()], &[arm(0, SOON, 0), pass(SOON)]]),
        Program::new("detached-arm-there", &[never], &[&[wait()], &[collect()], &[arm(0, SOON, 0), pass(SOON)]]),
        Program::new("detached-sooner", &[armed(3 * SOON, 0)], &[&[wait(), collect()], &[arm(0, SOON, 0), pass(SOON)]]),
        Program::new("detached-due-cancel", &[once()], &[&[wait(), collect_now()], &[cancel(0), pass(SOON)]]),
        Program::new(
            "detached-due-2t",
            &[once(), armed(2 * SOON, 0)],
            &[&[wait(), detached(1, any(&[1]))], &[collect()], &[collect()], &[pass(2 * SOON)]],
        ),
        Program::new(
            "detached-due-any",
            &[no.clone(), once()],
            &[&[detached(0, any(&[0, 1])), collect()], &[set(0)], &[pass(SOON)]],
        ),
        Program::new(
            "detached-due-all",
            &[no, once()],
            &[&[detached(0, all(&[0, 1])), collect()], &[set(0), pass(SOON)]],
        ),
        Program::new(
            "dead-detached-arm",
            &[timer()],
            &[&[wait(), collect()], &[arm(0, SOON, 0)], &[arm(0, SOON, 0), pass(SOON)]],
        )
        .mortal(1),
        Program::new("dead-detached-due", &[once()], &[&[wait()], &[collect()], &[collect()], &[pass(SOON)]]).mortal(1),
        Program::new(
            "dead-detached-due-registers",
            &[once()],
            &[&[wait()], &[collect_now(), pass(SOON), collect_now()]],
        )
        .mortal(0),
    ];
    programs.into_iter().map(|program| program.with_detached(2)).collect()
}

/// Each thread that waits for a result sleeps as a descriptor does.
pub(super) fn descriptors() -> Vec<Program> {
    let (no, once) = (auto(false), armed(SOON, 0));
    let second = || detached(1, any(&[0]));
    let programs = vec![
        Program::new("descriptor-one", &[no.clone()], &[&[wait(), collect()], &[set(0)]]),
        Program::new("descriptor-taken-there", &[no.clone()], &[&[wait()], &[set(0)], &[collect()]]),
        Program::new(
            "descriptor-two-take",
            &[sem(0)],
            &[&[wait(), second()], &[rel(0, 2)], &[collect()], &[collect()]],
        ),
        Program::new("descriptor-beside", &[no.clone()], &[&[wait(), collect(), collect()], &[set(0)], &[post(5)]]),
        Program::new("descriptor-packet", &[], &[&[collect()], &[post(5)]]),
        Program::new("descriptor-packet-two-take", &[], &[&[collect()], &[collect()], &[post(5), post(6)]]),
        Program::new("descriptor-due", &[once.clone()], &[&[wait(), collect()], &[pass(SOON)]]),
        Program::new("descriptor-due-there", &[once], &[&[wait()], &[collect()], &[pass(SOON)]]),
        Program::new("descriptor-arm", &[timer()], &[&[wait()], &[collect()], &[arm(0, SOON, 0), pass(SOON)]]),
        Program::new("dead-descriptor-sets", &[no.clone()], &[&[wait(), collect()], &[set(0)], &[set(0)]]).mortal(1),
        Program::new("dead-descriptor-posts", &[no], &[&[collect()], &[post(5)], &[post(6)]]).mortal(1),
    ];
    programs.into_iter().map(|program| program.with_detached(2).over(ArenaSubject::by_descriptor)).collect()
}

pub(super) fn deaths() -> Vec<Program> {
    let no = auto(false);
    let second = || detached(1, any(&[0]));
    let programs = vec![
        Program::new("dead-detached-sets", &[no.clone()], &[&[wait(), collect()], &[set(0)], &[set(0)]]).mortal(1),
        Program::new("dead-detached-one", &[no.clone()], &[&[wait(), collect()], &[set(0)]]).mortal(1),
        Program::new("dead-detached-taker", &[no.clone()], &[&[wait(), set(0)], &[collect()], &[collect()]]).mortal(1),
        Program::new(
            "dead-detached-helper",
            &[sem(0)],
            &[&[wait(), any(&[0])], &[rel(0, 2)], &[collect()], &[collect()]],
        )
        .mortal(2),
        Program::new("dead-detached-registers", &[no.clone()], &[&[wait()], &[set(0), collect_now()], &[poll(&[0])]])
            .mortal(0),
        Program::new(
            "dead-detached-takes",
            &[sem(0)],
            &[&[wait(), second()], &[rel(0, 2)], &[collect()], &[collect()]],
        )
        .mortal(2),
        Program::new("dead-detached-takes-one", &[no.clone()], &[&[wait()], &[set(0)], &[collect()], &[collect_now()]])
            .mortal(2),
        Program::new("dead-detached-off", &[no.clone()], &[&[wait()], &[call_off(0)], &[set(0)], &[collect_now()]])
            .mortal(1),
        Program::new(
            "dead-detached-all",
            &[no.clone(), no.clone()],
            &[&[detached(0, all(&[0, 1])), collect()], &[set(0), set(1)], &[set(0), set(1)]],
        )
        .mortal(1),
    ];
    programs.into_iter().map(|program| program.with_detached(3)).collect()
}
