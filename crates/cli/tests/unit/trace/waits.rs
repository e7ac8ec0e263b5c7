// SPDX-License-Identifier: MIT OR Apache-2.0
//! The unit tests of `src/trace/waits.rs`.

use super::*;

fn story(events: &[(u32, What)]) -> (Vec<Completed>, Waits) {
    let mut waits = Waits::default();
    let event = |(number, &(thread, what)): (usize, &(u32, What))| {
        waits.take(Event { number: number as u64, time_ns: number as u64 * 10, thread, what })
    };
    let told = events.iter().enumerate().filter_map(event).collect();
    (told, waits)
}

#[test]
fn a_wait_ends_by_the_one_who_granted_it() {
    let (told, _) = story(&[
        (1, What::Sleeps { object: 5, count: 2 }),
        (1, What::Stirs),
        (2, What::Grants { object: 5, thread: 1 }),
        (2, What::Signals { object: 5, operation: Operation::Set }),
        (1, What::Acquires { object: 5 }),
    ]);
    let by = Some(Grant { thread: 2, at_ns: 20, object: Some(5) });
    let wait = Wait { thread: 1, object: 5, count: 2, from_ns: 0, to_ns: 40, end: End::Object(5), by, stirs: 1 };
    let signal = Signal { thread: 2, object: 5, operation: Operation::Set, from_ns: 20, to_ns: 30, granted: 1 };
    assert_eq!(told, [Completed::Signal(signal), Completed::Wait(wait)]);
}

#[test]
fn a_grant_counts_that_came_before_the_thread_said_that_it_sleeps() {
    let (told, _) =
        story(&[(2, What::GrantsAll { thread: 1 }), (1, What::Sleeps { object: 5, count: 2 }), (1, What::AcquiresAll)]);
    let [Completed::Wait(wait)] = &told[..] else { panic!("{told:?}") };
    assert_eq!(wait.by.map(|grant| grant.thread), Some(2));
}

#[test]
fn a_grant_counts_that_is_told_after_the_waiter_ran() {
    let (told, waits) = story(&[
        (1, What::Sleeps { object: 5, count: 1 }),
        (1, What::Acquires { object: 5 }),
        (2, What::Grants { object: 5, thread: 1 }),
        (1, What::Sleeps { object: 5, count: 1 }),
    ]);
    let [Completed::Wait(wait)] = &told[..] else { panic!("{told:?}") };
    assert_eq!((wait.by.map(|grant| grant.thread), wait.to_ns), (Some(2), 10));
    assert_eq!(waits.finish(50, None).len(), 1);
}

#[test]
fn a_grant_of_another_object_is_not_taken_for_this_waits() {
    let (told, waits) = story(&[
        (2, What::Grants { object: 6, thread: 1 }),
        (1, What::Sleeps { object: 5, count: 1 }),
        (1, What::Acquires { object: 5 }),
    ]);
    assert_eq!(told, []);
    let rest = waits.finish(50, None);
    assert_eq!((rest[0].by, rest[0].end, rest[0].to_ns), (None, End::Object(5), 20));
}

#[test]
fn a_broadcast_counts_whom_it_satisfied() {
    let (told, _) = story(&[
        (2, What::Grants { object: 6, thread: 1 }),
        (2, What::Grants { object: 6, thread: 3 }),
        (2, What::Signals { object: 6, operation: Operation::Pulse }),
        (2, What::Signals { object: 6, operation: Operation::Pulse }),
    ]);
    let granted: Vec<_> =
        told.iter().map(|told| if let Completed::Signal(signal) = told { signal.granted } else { 99 }).collect();
    assert_eq!(granted, [2, 0]);
}

#[test]
fn what_has_not_ended_is_open_and_a_lost_end_is_seen() {
    let (told, waits) = story(&[
        (1, What::Sleeps { object: 5, count: 1 }),
        (1, What::Sleeps { object: 6, count: 1 }),
        (3, What::GivesUp),
    ]);
    let [Completed::Wait(lost)] = &told[..] else { panic!("{told:?}") };
    assert_eq!((lost.object, lost.end, lost.to_ns), (5, End::Unknown, 0));
    let open = waits.finish(500, None);
    assert_eq!((open.len(), open[0].object, open[0].end, open[0].to_ns), (1, 6, End::Open, 500));
}

#[test]
fn what_was_not_reported_is_a_gap_without_numbers() {
    let (told, mut waits) = story(&[(1, What::Sleeps { object: 5, count: 1 })]);
    assert_eq!(told, []);
    waits.interrupt();
    let end = Event { number: 1, time_ns: 500, thread: 1, what: What::Acquires { object: 5 } };
    let Some(Completed::Wait(wait)) = waits.take(end) else { panic!("the wait has ended") };
    assert_eq!((wait.end, wait.to_ns), (End::Unknown, 0));
}

/// A wait, a grant, and after so many lost events its end.
fn across_a_gap(lost: u64) -> Wait {
    let mut waits = Waits::default();
    let mut take = |number, thread, what| waits.take(Event { number, time_ns: number * 10, thread, what });
    take(0, 1, What::Sleeps { object: 5, count: 1 });
    take(1, 2, What::Grants { object: 5, thread: 1 });
    match take(2 + lost, 1, What::Acquires { object: 5 }) {
        Some(Completed::Wait(wait)) => wait,
        told => (told.is_none().then(|| waits.finish(500, None).remove(0))).expect("the wait"),
    }
}

#[test]
fn behind_a_gap_nobody_knows_which_wait_ended() {
    let what = |lost| (across_a_gap(lost).end, across_a_gap(lost).by.is_some(), across_a_gap(lost).to_ns);
    assert_eq!(what(0), (End::Object(5), true, 20));
    // One event is not an end and a beginning; but it may have been another grant.
    assert_eq!(what(1), (End::Object(5), false, 30));
    assert_eq!(what(2), (End::Unknown, false, 0));
}

#[test]
fn where_events_were_lost_only_those_still_wait_who_were_seen_to() {
    let sleeps = |thread| (thread, What::Sleeps { object: 5, count: 1 });
    let seen = Seen { at_ns: 25, waiting: HashSet::from([2]) };
    let (_, waits) = story(&[sleeps(1), sleeps(2), sleeps(3), sleeps(4)]);
    let ends: Vec<_> = waits.finish(500, Some(&seen)).iter().map(|wait| (wait.thread, wait.end, wait.to_ns)).collect();
    // The last one began to wait afterwards.
    let expected = [(1, End::Unknown, 0), (2, End::Open, 500), (3, End::Unknown, 20), (4, End::Open, 500)];
    assert_eq!(ends, expected);
}
