// SPDX-License-Identifier: MIT OR Apache-2.0
//! WAIT_ANY: what it takes and what it gives.

use crate::blocked::block;
use crate::case::{Case, case};
use crate::check::{self, abandoned_at, at};
use crate::face::{Deadline, ETIMEDOUT, Face, OWNER, any};

pub(super) const CASES: &[Case] = &[
    case!(Everywhere, wait_any_takes_the_first_that_it_can_in_array_order, "S-601"),
    case!(Everywhere, wait_any_takes_one_unit_of_one_object, "S-601"),
    case!(Everywhere, wait_any_reports_every_index, "S-601"),
    case!(Everywhere, wait_any_skips_a_mutex_of_another_owner, "S-601", "S-303"),
    case!(Everywhere, wait_any_reports_an_abandoned_mutex_with_its_index, "S-603"),
    case!(Everywhere, wait_any_of_nothing_sleeps_until_the_deadline, "S-604"),
    case!(Everywhere, wait_any_of_nothing_without_a_deadline_sleeps, "S-604"),
    case!(Everywhere, wait_any_reports_the_lowest_index_of_a_duplicate_and_takes_one_unit, "S-506"),
    case!(Everywhere, a_sleeping_wait_any_reports_the_lowest_index_of_a_duplicate, "S-506"),
    case!(Everywhere, a_timed_out_wait_any_changes_nothing, "S-605"),
];

fn wait_any_takes_the_first_that_it_can_in_array_order(face: &dyn Face) {
    let semaphore = face.semaphore_create(2, 3).unwrap();
    let mutex = face.mutex_create(0, 0).unwrap();
    let both = any(&[semaphore, mutex]);
    assert_eq!(face.wait(&both), at(0));
    check::semaphore(face, semaphore, 1, 3);
    check::mutex(face, mutex, 0, 0);
    assert_eq!(face.wait(&both), at(0));
    check::semaphore(face, semaphore, 0, 3);
    check::mutex(face, mutex, 0, 0);
    assert_eq!(face.wait(&both), at(1));
    check::semaphore(face, semaphore, 0, 3);
    check::mutex(face, mutex, OWNER, 1);
    assert_eq!(face.semaphore_release(semaphore, 1), Ok(0));
    assert_eq!(face.wait(&both), at(0));
    check::semaphore(face, semaphore, 0, 3);
    assert_eq!(face.wait(&both), at(1));
    check::mutex(face, mutex, OWNER, 2);
}

fn wait_any_takes_one_unit_of_one_object(face: &dyn Face) {
    let semaphore = face.semaphore_create(3, 3).unwrap();
    let auto = face.event_create(0, 1).unwrap();
    let mutex = face.mutex_create(0, 0).unwrap();
    assert_eq!(face.wait(&any(&[auto, semaphore, mutex])), at(0));
    check::auto(face, auto, 0);
    check::semaphore(face, semaphore, 3, 3);
    check::mutex(face, mutex, 0, 0);
    assert_eq!(face.wait(&any(&[auto, semaphore, mutex])), at(1));
    check::semaphore(face, semaphore, 2, 3);
    check::mutex(face, mutex, 0, 0);
}

fn wait_any_reports_every_index(face: &dyn Face) {
    let events: Vec<_> = (0..64).map(|_| face.event_create(0, 0).unwrap()).collect();
    for (index, event) in (0..).zip(&events) {
        assert_eq!(face.event_set(*event), Ok(0));
        assert_eq!(face.wait(&any(&events)), at(index));
        check::auto(face, *event, 0);
    }
    for event in &events {
        face.event_set(*event).unwrap();
    }
    for index in 0..64 {
        assert_eq!(face.wait(&any(&events)), at(index));
    }
    assert_eq!(face.wait(&any(&events)), Err(ETIMEDOUT));
}

fn wait_any_skips_a_mutex_of_another_owner(face: &dyn Face) {
    let taken = face.mutex_create(OWNER + 1, 1).unwrap();
    let saturated = face.mutex_create(OWNER, u32::MAX).unwrap();
    let free = face.mutex_create(0, 0).unwrap();
    assert_eq!(face.wait(&any(&[taken, saturated, free])), at(2));
    check::mutex(face, taken, OWNER + 1, 1);
    check::mutex(face, saturated, OWNER, u32::MAX);
    check::mutex(face, free, OWNER, 1);
}

fn wait_any_reports_an_abandoned_mutex_with_its_index(face: &dyn Face) {
    let semaphore = face.semaphore_create(0, 1).unwrap();
    let mutex = face.mutex_create(OWNER, 2).unwrap();
    assert_eq!(face.mutex_kill(mutex, OWNER), Ok(()));
    assert_eq!(face.wait(&any(&[semaphore, mutex])), abandoned_at(1));
    check::mutex(face, mutex, OWNER, 1);
    assert_eq!(face.wait(&any(&[semaphore, mutex])), at(1));
    check::mutex(face, mutex, OWNER, 2);

    // An abandoned mutex that is not acquired is not reported and keeps its mark.
    assert_eq!(face.mutex_kill(mutex, OWNER), Ok(()));
    assert_eq!(face.semaphore_release(semaphore, 1), Ok(0));
    assert_eq!(face.wait(&any(&[semaphore, mutex])), at(0));
    check::semaphore(face, semaphore, 0, 1);
    check::abandoned(face, mutex);
}

fn wait_any_of_nothing_sleeps_until_the_deadline(face: &dyn Face) {
    assert_eq!(face.wait(&any(&[])), Err(ETIMEDOUT));
    let deadline = Deadline::in_ms(20);
    assert_eq!(face.wait(&any(&[]).until(deadline)), Err(ETIMEDOUT));
    assert!(deadline.passed());
}

fn wait_any_of_nothing_without_a_deadline_sleeps(face: &dyn Face) {
    let alert = face.event_create(0, 0).unwrap();
    std::thread::scope(|scope| {
        let sleeper = block(scope, face, any(&[]).alert(alert).forever());
        assert_eq!(face.event_set(alert), Ok(0));
        check::auto(face, alert, 0);
        assert_eq!(sleeper.result(), at(0));
    });
}

fn wait_any_reports_the_lowest_index_of_a_duplicate_and_takes_one_unit(face: &dyn Face) {
    let never = face.event_create(0, 0).unwrap();
    let semaphore = face.semaphore_create(2, 2).unwrap();
    assert_eq!(face.wait(&any(&[never, semaphore, semaphore, never])), at(1));
    check::semaphore(face, semaphore, 1, 2);
    let mutex = face.mutex_create(0, 0).unwrap();
    assert_eq!(face.wait(&any(&[never, never, mutex, mutex])), at(2));
    check::mutex(face, mutex, OWNER, 1);
    let event = face.event_create(0, 1).unwrap();
    assert_eq!(face.wait(&any(&[event; 64])), at(0));
    check::auto(face, event, 0);
    assert_eq!(face.wait(&any(&[event; 64])), Err(ETIMEDOUT));
    check::auto(face, event, 0);
}

fn a_sleeping_wait_any_reports_the_lowest_index_of_a_duplicate(face: &dyn Face) {
    let never = face.event_create(0, 0).unwrap();
    let semaphore = face.semaphore_create(0, 5).unwrap();
    std::thread::scope(|scope| {
        let sleeper = block(scope, face, any(&[never, semaphore, never, semaphore, semaphore]).forever());
        assert_eq!(face.semaphore_release(semaphore, 3), Ok(0));
        check::semaphore(face, semaphore, 2, 5);
        assert_eq!(sleeper.result(), at(1));
        check::semaphore(face, semaphore, 2, 5);
    });
}

fn a_timed_out_wait_any_changes_nothing(face: &dyn Face) {
    let semaphore = face.semaphore_create(0, 1).unwrap();
    let mutex = face.mutex_create(OWNER + 1, 3).unwrap();
    let event = face.event_create(1, 0).unwrap();
    for deadline in [Deadline::Monotonic(0), Deadline::in_ms(10)] {
        assert_eq!(face.wait(&any(&[semaphore, mutex, event]).until(deadline)), Err(ETIMEDOUT));
        check::semaphore(face, semaphore, 0, 1);
        check::mutex(face, mutex, OWNER + 1, 3);
        check::manual(face, event, 0);
    }
}
