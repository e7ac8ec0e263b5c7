// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lifetimes: objects that are closed, slots that change hands, threads that die.

use super::{poll, query, timed};
use crate::program::{
    Call, Program, adopt, all, any, auto, bury_process, bury_thread, close, create_auto, create_sem, hold, hold_for,
    holds, kill, manual, mutex, pulse, read, rel, release, release_from_owner, reset, sem, set, unlock,
};
use crate::subject::ArenaSubject;

/// Slots that change their holders: of objects, and of threads.
pub(super) fn places() -> Vec<Program> {
    let no = auto(false);
    let again = || [close(0), create_auto(false), set(1), query(1)];
    vec![
        Program::new("o-set", &[no.clone()], &[&[set(0)], &again(), &[reset(0)]]),
        Program::new("o-wait", &[no.clone()], &[&[timed(&[0])], &again(), &[set(0)]]),
        Program::new("o-poll", &[auto(true)], &[&[poll(&[0])], &again(), &[timed(&[0])]]),
        Program::new("o-kind", &[no.clone()], &[&[timed(&[0])], &[close(0), create_sem(2), rel(1, 1)], &[pulse(0)]]),
        // What lies beside the word is the next object's.
        Program::new("o-release", &[sem(0)], &[&[rel(0, 1)], &[close(0), create_auto(false)], &[rel(0, 1)]]),
        Program::new("o-read", &[sem(1)], &[&[read(0, &sem(1))], &[close(0), create_auto(false)]]),
        Program::new("o-twice", &[no.clone()], &[&[close(0), create_auto(true)], &[close(0)], &[set(0)]]),
        Program::new("o-enroll", &[no.clone()], &[&[any(&[0])], &[any(&[0])], &[set(0), set(0)]])
            .over(ArenaSubject::unenrolled),
        Program::new("o-enroll-w", &[no, auto(true)], &[&[all(&[0, 1]).timed()], &[timed(&[0])], &[set(0)]])
            .over(ArenaSubject::unenrolled),
    ]
}

/// Chunks that change their wait sets: one place, which is the first object's at the start.
pub(super) fn chunks() -> Vec<Program> {
    let (one, two) = (sem(0), [sem(0), sem(0)]);
    let three = [one.clone(), one.clone(), one.clone()];
    let both = [rel(0, 1), rel(1, 1)];
    let programs = vec![
        Program::new("k-take", &two, &[&[any(&[0])], &[timed(&[1])], &both]),
        Program::new("k-back", &two, &[&[any(&[0])], &[timed(&[1]), timed(&[0])], &both]),
        Program::new("k-two", &two, &[&[any(&[0])], &[timed(&[1])], &[timed(&[1])], &both]),
        Program::new("k-turns", &two, &[&[timed(&[1]), any(&[0])], &[timed(&[1]), timed(&[0])], &both]),
        Program::new("k-three", &three, &[&[any(&[0])], &[timed(&[1])], &[timed(&[2])], &[rel(0, 1), rel(1, 1)]]),
        Program::new("k-all", &[one.clone(), auto(true)], &[&[all(&[0])], &[timed(&[1])], &[rel(0, 1), pulse(1)]]),
        Program::new(
            "k-pulse",
            &[manual(false), one.clone()],
            &[&[timed(&[0])], &[timed(&[1])], &[pulse(0), rel(1, 1)]],
        ),
        Program::new("k-close", &two, &[&[timed(&[0])], &[any(&[1])], &[close(0), create_auto(false), rel(1, 1)]]),
        Program::new("k-died", &two, &[&[timed(&[1])], &[any(&[0])], &[timed(&[1])], &both]).mortal(0),
        Program::new("k-waiter-died", &two, &[&[any(&[0])], &[any(&[1])], &[any(&[0])], &both]).mortal(0),
    ];
    programs.into_iter().map(Program::with_one_chunk).collect()
}

/// Objects that are closed while somebody waits for all of several.
pub(super) fn closings() -> Vec<Program> {
    let no = auto(false);
    let one_closed = [manual(true), no.clone()];
    let both = || all(&[0, 1]);
    vec![
        // Random histories found that a wait-all was never satisfied when one of its objects was closed.
        Program::new("c-all", &one_closed, &[&[both()], &[close(0), set(1)]]),
        Program::new("c-all-2", &one_closed, &[&[both()], &[both().timed()], &[close(0), set(1), set(1)]]),
        Program::new("c-all-reuse", &one_closed, &[&[both()], &[close(0), create_auto(true)], &[set(1), query(1)]]),
        Program::new("c-all-set", &[no.clone(), no.clone()], &[&[both()], &[set(0), set(1)], &[close(0)]]),
        Program::new("c-origin", &[no.clone(), no.clone()], &[&[both()], &[set(1), close(1)], &[set(0), query(0)]]),
        Program::new("c-mutex", &[mutex(1, 1), no], &[&[both().by(2)], &[unlock(0, 1), close(0)], &[set(1)]]),
    ]
}

/// Threads that die, and others who take their places.
pub(super) fn deaths() -> Vec<Program> {
    let (no, yes) = (auto(false), auto(true));
    let two = [no.clone(), no.clone()];
    let both = || all(&[0, 1]);
    vec![
        // Waiters that die: nobody is given anything after that.
        Program::new("d-wait", &[no.clone()], &[&[any(&[0])], &[any(&[0])], &[set(0), set(0)]]).mortal(0),
        Program::new("d-pulse", &[manual(false)], &[&[any(&[0])], &[timed(&[0])], &[pulse(0)]]).mortal(0),
        Program::new("d-sem", &[sem(0)], &[&[any(&[0])], &[any(&[0])], &[rel(0, 1), rel(0, 1)]]).mortal(0),
        Program::new("d-mutex", &[mutex(1, 1)], &[&[any(&[0]).by(2)], &[any(&[0]).by(3)], &[unlock(0, 1), kill(0, 2)]])
            .mortal(0),
        Program::new("d-pair", &two, &[&[any(&[0, 1])], &[any(&[1])], &[set(0), set(1)]]).mortal(0),
        Program::new("d-poll", &[no.clone(), yes.clone()], &[&[poll(&[0, 1])], &[timed(&[1])], &[set(0)]]).mortal(0),
        Program::new("d-all", &[no.clone(), yes.clone()], &[&[both()], &[timed(&[1]), timed(&[0])], &[set(0)]])
            .mortal(0),
        Program::new("d-at-once", &[yes.clone(), yes.clone()], &[&[both()], &[poll(&[0]), poll(&[1])], &[query(1)]])
            .mortal(0),
        Program::new("d-alert", &[no.clone(), no.clone()], &[&[any(&[0]).alert(1)], &[any(&[1])], &[set(1), set(0)]])
            .mortal(0),
        // Signalers that die: the operation happens or not, and who is satisfied wakes.
        Program::new("d-setter", &[no.clone()], &[&[set(0)], &[any(&[0])], &[any(&[0])]]).mortal(0),
        Program::new("d-release", &[sem(0)], &[&[rel(0, 2)], &[any(&[0])], &[any(&[0])]]).mortal(0),
        Program::new("d-pulser", &[manual(false)], &[&[pulse(0)], &[any(&[0])], &[any(&[0])]]).mortal(0),
        Program::new("d-owner", &[mutex(1, 1)], &[&[unlock(0, 1)], &[any(&[0]).by(2)], &[kill(0, 1)]]).mortal(0),
        Program::new("d-origin", &two, &[&[set(0)], &[both()], &[set(1), query(0)]]).mortal(0),
        Program::new("d-helper", &[no.clone()], &[&[query(0)], &[any(&[0])], &[set(0)]]).mortal(0),
        Program::new("d-close", &[no.clone()], &[&[close(0)], &[timed(&[0])], &[set(0)]]).mortal(0),
        // The place of the dead one is taken.
        Program::new("h-wait", &[no.clone()], &[&[any(&[0])], &[set(0)], &[any(&[0])]]).inherited(0, 2),
        Program::new("h-pair", &two, &[&[any(&[0, 1])], &[set(0), set(1)], &[timed(&[1, 0])]]).inherited(0, 2),
        Program::new("h-sem", &[sem(0)], &[&[any(&[0])], &[rel(0, 2)], &[any(&[0]), poll(&[0])]]).inherited(0, 2),
        Program::new("h-all", &[no.clone(), yes.clone()], &[&[both()], &[set(0), query(1)], &[both().timed()]])
            .inherited(0, 2),
        Program::new(
            "h-try",
            &[yes.clone(), yes.clone(), no.clone()],
            &[&[both()], &[query(0), query(1)], &[timed(&[2])]],
        )
        .inherited(0, 2),
        Program::new("h-set", &two, &[&[set(0), any(&[1])], &[both()], &[set(1), any(&[0]).timed()]]).inherited(0, 2),
        Program::new("h-mutex", &[mutex(1, 1)], &[&[any(&[0]).by(2)], &[unlock(0, 1)], &[any(&[0]).by(3).timed()]])
            .inherited(0, 2),
        Program::new("h-poll", &[no.clone(), yes.clone()], &[&[poll(&[0, 1])], &[set(0)], &[timed(&[1])]])
            .inherited(0, 2),
        Program::new(
            "h-alert",
            &[no.clone(), no.clone(), no.clone()],
            &[&[both().alert(2)], &[set(2), set(0)], &[any(&[0]).timed().alert(2)]],
        )
        .inherited(0, 2),
        // Its whole process is gone: whoever needs its entry buries everything that was its own.
        Program::new("b-wait", &[no.clone()], &[&[any(&[0])], &[set(0)], &[any(&[0])]]).buried(0, 2),
        Program::new("b-all", &[no, yes], &[&[both()], &[set(0), query(1)], &[both().timed()]]).buried(0, 2),
        Program::new("b-set", &two, &[&[set(0), any(&[1])], &[both()], &[set(1), any(&[0]).timed()]]).buried(0, 2),
    ]
}

/// An object whose creator is dead, and which another process has: who gets the creator's place is not taken for it.
pub(super) fn creators() -> Vec<Program> {
    let one = [auto(false)];
    let heir = || [adopt(0), query(0)];
    let inherited = |name: &str, calls: &[Call], keeps: bool| {
        Program::new(name, &one, &[&[query(0)], calls, &heir()]).buried(0, 2).created_by(0, keeps)
    };
    vec![
        inherited("y-look", &[query(0)], false),
        inherited("y-close", &[close(0)], false),
        inherited("y-set", &[adopt(0), set(0), close(0)], false),
        // The dead process has it still: whoever adopts it in time keeps it.
        inherited("y-adopt", &[adopt(0), query(0)], true),
        inherited("y-adopt-close", &[adopt(0), close(0)], true),
        Program::new("y-told", &one, &[&[query(0)], &[adopt(0), query(0)], &[bury_process(0), query(0)]])
            .supervised(0, 2)
            .created_by(0, true),
    ]
}

/// Threads and processes that die, and supervisors who say so.
pub(super) fn burials() -> Vec<Program> {
    let (no, yes) = (auto(false), auto(true));
    let one = [no.clone()];
    let two = [no.clone(), no.clone()];
    let mixed = [no.clone(), yes];
    let both = || all(&[0, 1]);
    vec![
        // It says so at any time: while the thread lives it is refused.
        Program::new("u-early", &one, &[&[any(&[0])], &[set(0)], &[bury_thread(0)]]).mortal(0),
        Program::new("u-all", &mixed, &[&[both()], &[set(0), query(1)], &[bury_thread(0), poll(&[1])]]).mortal(0),
        // Somebody else needs the place.
        Program::new("u-heir", &one, &[&[any(&[0])], &[set(0)], &[bury_thread(0)], &[any(&[0])]]).inherited(0, 3),
        Program::new("u-heir-all", &mixed, &[&[both()], &[set(0)], &[bury_thread(0)], &[both().timed()]])
            .inherited(0, 3),
        Program::new(
            "u-try",
            &[auto(true), auto(true), no.clone()],
            &[&[both()], &[query(0), query(1)], &[bury_thread(0)], &[timed(&[2])]],
        )
        .inherited(0, 3),
        // Without a robust list a dead thread is given things until it is buried, and not afterwards.
        Program::new("x-set", &one, &[&[any(&[0])], &[set(0)], &[bury_thread(0), set(0), poll(&[0])]])
            .after(0, 2)
            .without_wills(),
        Program::new("x-all", &mixed, &[&[both()], &[set(0)], &[bury_thread(0), set(0), both().polled()]])
            .after(0, 2)
            .without_wills(),
        Program::new("x-sem", &[sem(0)], &[&[any(&[0])], &[any(&[0])], &[bury_thread(0), rel(0, 2), poll(&[0])]])
            .after(0, 2)
            .without_wills(),
        // Two say so.
        Program::new("u-both", &one, &[&[any(&[0])], &[bury_thread(0), set(0)], &[bury_thread(0), any(&[0])]])
            .mortal(0),
        // A process: it has its entry again when the burial is over, and then somebody else may have it.
        Program::new("v-wait", &one, &[&[any(&[0])], &[set(0), timed(&[0])], &[bury_process(0)]]).supervised(0, 2),
        Program::new("v-set", &two, &[&[set(0), any(&[1])], &[both()], &[bury_process(0)], &[set(1)]]).supervised(0, 2),
        Program::new("v-heir", &one, &[&[any(&[0])], &[set(0)], &[bury_process(0)], &[any(&[0])]])
            .supervised(0, 2)
            .buried(0, 3),
        Program::new("v-heir-all", &mixed, &[&[both()], &[set(0)], &[bury_process(0)], &[both().timed()]])
            .supervised(0, 2)
            .buried(0, 3),
        // The supervisor dies over it: an heir of both goes on, or another supervisor.
        Program::new("v-died", &one, &[&[any(&[0])], &[set(0)], &[bury_process(0)], &[any(&[0])]])
            .supervised(0, 2)
            .buried(2, 3),
        Program::new("v-again", &one, &[&[any(&[0])], &[set(0), timed(&[0])], &[bury_process(0)], &[bury_process(2)]])
            .supervised(0, 2)
            .supervised(2, 3),
    ]
}

/// Objects that processes hold and release, and that end.
pub(super) fn held() -> Vec<Program> {
    let one = [auto(false)];
    let two = [auto(false), auto(false)];
    let owned = [mutex(1, 1)];
    // T0 is the process that created the object.
    let held =
        |name: &str, objects: &[_], threads: &[&[Call]]| Program::new(name, objects, threads).created_by(0, true);
    let is_there = || [hold(0), set(0), release(0)];
    vec![
        held("hold-one", &one, &[&[release(0)], &[hold(0), set(0)]]).mortal_process(0),
        held("hold-two", &one, &[&[release(0)], &[hold(0), set(0)], &is_there()]).mortal_process(0),
        held("hold-both", &one, &[&[hold(0), release(0), release(0)], &is_there()]).mortal_process(0),
        held("hold-stranger", &one, &[&[release(0)], &[release(0), hold(0), query(0)]]).mortal_process(0),
        held("hold-adopt", &one, &[&[release(0)], &[adopt(0), set(0)], &is_there()]).mortal_process(0),
        held("hold-close", &one, &[&[release(0)], &[hold(0), close(0)], &is_there()]).mortal_process(0),
        // Its slot is another object's.
        Program {
            room: 1,
            ..held("hold-again", &one, &[&[release(0), create_auto(true)], &[hold(0), set(0)], &[hold(0)]])
        }
        .mortal_process(0),
        // A wait runs on it, or somebody owns it.
        held("hold-wait", &one, &[&[release(0)], &[timed(&[0])], &[hold(0), set(0)]]).mortal_process(0),
        held("hold-waited", &owned, &[&[release(0)], &[timed(&[0]).by(2)], &[kill(0, 1)]]).mortal_process(0),
        held("hold-owned", &owned, &[&[release(0)], &[unlock(0, 1), hold(0)]]).mortal_process(0),
        held("hold-owned-ends", &owned, &[&[release_from_owner(0)], &[hold(0), unlock(0, 1), release_from_owner(0)]])
            .mortal_process(0),
        held("hold-killed", &owned, &[&[release(0), kill(0, 1)], &[hold(0), poll(&[0])]]).mortal_process(0),
        held(
            "hold-turns",
            &[mutex(0, 0), auto(false)],
            &[&[release(0)], &[all(&[0, 1]).by(2), unlock(0, 2)], &[set(1)]],
        )
        .mortal_process(0),
        // A creation needs its slot, or an heir its holder's number.
        held("hold-heir", &one, &[&[query(0)], &[hold(0), set(0), release(0)], &[create_auto(false)]])
            .buried(0, 2)
            .with_few_places(),
        held("hold-heir-two", &one, &[&[hold(0)], &[hold(0), set(0)], &[create_auto(false)]])
            .buried(0, 2)
            .with_few_places(),
        held("hold-heir-stranger", &one, &[&[hold(0)], &[hold(0), set(0)], &[release(0), query(0)]]).buried(0, 2),
        held("hold-heir-waited", &owned, &[&[release(0)], &[timed(&[0]).by(2)], &[adopt(0), kill(0, 1)]]).buried(0, 2),
        held("hold-told", &one, &[&[hold(0)], &[hold(0), set(0)], &[bury_process(0), query(0)]]).supervised(0, 2),
        // One process holds it for another, which may die meanwhile.
        Program::new("for-one", &one, &[&[set(0), release(0)], &[hold_for(0, 0), release(0), query(0)]])
            .mortal_process(0),
        held("for-creator", &one, &[&[release(0)], &[hold_for(0, 0), release(0), query(0)]]).mortal_process(0),
        Program::new("for-close", &one, &[&[holds(0)], &[hold_for(0, 0), set(0)], &[close(0)]]).mortal_process(0),
        // Another process gets its place: it holds what it holds itself.
        Program::new("for-heir", &two, &[&[query(0)], &[hold_for(0, 0), set(1)], &[any(&[1]), holds(0), release(0)]])
            .buried(0, 2),
        Program::new(
            "for-heir-holds",
            &two,
            &[&[query(0)], &[hold_for(0, 0), set(1)], &[hold(0), any(&[1]), release(0)]],
        )
        .buried(0, 2),
        Program::new("for-told", &one, &[&[query(0)], &[hold_for(0, 0), release(0)], &[bury_process(0), query(0)]])
            .supervised(0, 2),
        // There is room when its holder is dead, also while that is being buried.
        held("hold-room", &one, &[&[query(0)], &[create_auto(false)], &[bury_process(0)]]).supervised(0, 2).after(0, 1),
        held("hold-room-held", &one, &[&[hold(0)], &[hold(0), release(0), create_auto(false)], &[bury_process(0)]])
            .supervised(0, 2)
            .after(0, 1),
    ]
}
