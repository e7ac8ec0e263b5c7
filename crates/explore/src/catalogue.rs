//! The programs that are explored.

#![allow(clippy::cloned_ref_to_slice_refs, reason = "lists of one object look like the others")]

use ntux_sync::spec::Value;

use crate::histories::generator;
use crate::program::{
    Call, Program, abandoned, all, any, auto, close, create_auto, create_sem, kill, manual, mutex, pulse, read, rel,
    reset, sem, set, unlock,
};
use crate::subject::ArenaSubject;

/// Every program over an arena.
pub fn all_programs() -> Vec<Program> {
    [
        events(),
        pairs(),
        semaphores(),
        mutexes(),
        broadcasts(),
        wait_alls(),
        polls(),
        alerts(),
        interrupts(),
        places(),
        larger(),
        three_at_once(),
        shared_owners(),
        torn(),
        deadlines(),
        closings(),
        deaths(),
    ]
    .concat()
}

/// The same programs while the counters of the arena wrap, which is soon.
pub fn aged_programs() -> Vec<Program> {
    let aged = |program: Program| Program { name: format!("old-{}", program.name), ..program.over(ArenaSubject::aged) };
    all_programs().into_iter().map(aged).collect()
}

/// The program of this name; also one that a seed makes.
pub fn find(name: &str) -> Option<Program> {
    let named = |program: &Program| program.name == name;
    all_programs()
        .into_iter()
        .chain(aged_programs())
        .chain([one_owner_id()])
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

fn events() -> Vec<Program> {
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

fn pairs() -> Vec<Program> {
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

fn semaphores() -> Vec<Program> {
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

fn mutexes() -> Vec<Program> {
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

fn broadcasts() -> Vec<Program> {
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

fn wait_alls() -> Vec<Program> {
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

fn polls() -> Vec<Program> {
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

fn alerts() -> Vec<Program> {
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

fn interrupts() -> Vec<Program> {
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

/// Slots that change their holders: of objects, and of threads.
fn places() -> Vec<Program> {
    let no = auto(false);
    let again = || [close(0), create_auto(false), set(1), query(1)];
    vec![
        Program::new("o-set", &[no.clone()], &[&[set(0)], &again(), &[reset(0)]]),
        Program::new("o-wait", &[no.clone()], &[&[timed(&[0])], &again(), &[set(0)]]),
        Program::new("o-poll", &[auto(true)], &[&[poll(&[0])], &again(), &[timed(&[0])]]),
        Program::new("o-kind", &[no.clone()], &[&[timed(&[0])], &[close(0), create_sem(2), rel(1, 1)], &[pulse(0)]]),
        Program::new("o-twice", &[no.clone()], &[&[close(0), create_auto(true)], &[close(0)], &[set(0)]]),
        Program::new("o-enroll", &[no.clone()], &[&[any(&[0])], &[any(&[0])], &[set(0), set(0)]])
            .over(ArenaSubject::unenrolled),
        Program::new("o-enroll-w", &[no, auto(true)], &[&[all(&[0, 1]).timed()], &[timed(&[0])], &[set(0)]])
            .over(ArenaSubject::unenrolled),
    ]
}

/// Three of what other programs have two of.
fn three_at_once() -> Vec<Program> {
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

/// Threads that use one owner id, with recursion, and mutexes whose owner is dead.
fn shared_owners() -> Vec<Program> {
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

/// What is known to differ from the model: two threads with one owner id, beside a third with another. See "One owner
/// id" in `docs/protocol.md`.
pub fn one_owner_id() -> Program {
    let threads: &[&[Call]] =
        &[&[unlock(0, 1), any(&[0]).by(2).polled(), unlock(0, 2)], &[any(&[0]).by(3)], &[any(&[0]).by(2)]];
    Program::new("known-one-owner", &[mutex(1, 1)], threads)
}

/// Deadlines that pass while their thread is busy.
fn deadlines() -> Vec<Program> {
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

/// Objects that are closed while somebody waits for all of several.
fn closings() -> Vec<Program> {
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
fn deaths() -> Vec<Program> {
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

fn larger() -> Vec<Program> {
    let no = auto(false);
    let forever = || any(&[0]);
    let two = [no.clone(), no.clone()];
    vec![
        // Three waiters of one object: its bag grows by two at once.
        Program::new("g-sem", &[sem(0)], &[&[forever()], &[forever()], &[forever()], &[rel(0, 3)]]),
        Program::new("g-event", &[manual(false)], &[&[forever()], &[timed(&[0])], &[timed(&[0])], &[pulse(0)]]),
        Program::new("g-mutex", &[mutex(1, 1)], &[&[forever()], &[forever()], &[forever()], &[unlock(0, 1)]]),
        Program::new("4-a-chain", &[no], &[&[timed(&[0])], &[any(&[0])], &[set(0)], &[set(0)]]),
        Program::new("4-ab", &two, &[&[any(&[0, 1])], &[any(&[0])], &[set(0)], &[set(1)]]),
        Program::new("4-s", &[sem(0)], &[&[timed(&[0])], &[any(&[0])], &[rel(0, 1)], &[rel(0, 1)]]),
        Program::new("4-w", &two, &[&[all(&[0, 1]).timed()], &[all(&[1, 0]).timed()], &[set(0)], &[set(1)]]),
    ]
}
