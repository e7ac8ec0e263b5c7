// SPDX-License-Identifier: MIT OR Apache-2.0
//! WAIT_ALL: what it takes and what it gives.

use crate::blocked::block;
use crate::case::{Case, case};
use crate::check::{self, ALL, abandoned_at};
use crate::face::{Deadline, ETIMEDOUT, Face, OWNER, all, any};

pub(super) const CASES: &[Case] = &[
    case!(Everywhere, wait_all_takes_all_or_nothing, "S-602"),
    case!(Everywhere, wait_all_of_every_kind, "S-602"),
    case!(Everywhere, wait_all_of_64_objects_takes_all_or_nothing, "S-602"),
    case!(Everywhere, wait_all_of_one_object_is_like_wait_any, "S-602"),
    case!(Everywhere, wait_all_leaves_a_manual_event_signaled, "S-602", "S-403"),
    case!(Everywhere, wait_all_reports_that_some_mutex_was_abandoned, "S-603"),
    case!(Everywhere, wait_all_of_nothing_succeeds_at_once, "S-604"),
    case!(Everywhere, a_timed_out_wait_all_changes_nothing, "S-605"),
    case!(Everywhere, a_sleeping_wait_all_completes_with_its_last_object, "S-602", "S-805", "S-801"),
    case!(Everywhere, a_sleeping_wait_all_reports_that_some_mutex_was_abandoned, "S-603"),
    case!(Everywhere, a_sleeping_wait_all_takes_only_what_is_there_at_one_moment, "S-602", "S-805"),
];

fn wait_all_takes_all_or_nothing(face: &dyn Face) {
    let semaphore = face.semaphore_create(2, 3).unwrap();
    let mutex = face.mutex_create(0, 0).unwrap();
    let both = all(&[semaphore, mutex]);
    assert_eq!(face.wait(&both), ALL);
    check::semaphore(face, semaphore, 1, 3);
    check::mutex(face, mutex, OWNER, 1);
    assert_eq!(face.wait(&both.clone().owner(OWNER + 1)), Err(ETIMEDOUT));
    check::semaphore(face, semaphore, 1, 3);
    check::mutex(face, mutex, OWNER, 1);
    assert_eq!(face.wait(&both), ALL);
    check::semaphore(face, semaphore, 0, 3);
    check::mutex(face, mutex, OWNER, 2);
    assert_eq!(face.wait(&both), Err(ETIMEDOUT));
    check::semaphore(face, semaphore, 0, 3);
    check::mutex(face, mutex, OWNER, 2);
    assert_eq!(face.semaphore_release(semaphore, 3), Ok(0));
    assert_eq!(face.wait(&both), ALL);
    check::semaphore(face, semaphore, 2, 3);
    check::mutex(face, mutex, OWNER, 3);
}

fn wait_all_of_every_kind(face: &dyn Face) {
    let semaphore = face.semaphore_create(1, 1).unwrap();
    let mutex = face.mutex_create(0, 0).unwrap();
    let manual = face.event_create(1, 1).unwrap();
    let auto = face.event_create(0, 0).unwrap();
    let mut objects = [semaphore, mutex, manual, auto];
    for _ in 0..4 {
        objects.rotate_left(1);
        assert_eq!(face.wait(&all(&objects)), Err(ETIMEDOUT));
        check::semaphore(face, semaphore, 1, 1);
        check::mutex(face, mutex, 0, 0);
        check::manual(face, manual, 1);
        check::auto(face, auto, 0);

        assert_eq!(face.event_set(auto), Ok(0));
        assert_eq!(face.wait(&all(&objects)), ALL);
        check::semaphore(face, semaphore, 0, 1);
        check::mutex(face, mutex, OWNER, 1);
        check::manual(face, manual, 1);
        check::auto(face, auto, 0);

        assert_eq!(face.semaphore_release(semaphore, 1), Ok(0));
        assert_eq!(face.mutex_unlock(mutex, OWNER), Ok(1));
    }
}

fn wait_all_of_64_objects_takes_all_or_nothing(face: &dyn Face) {
    let semaphores: Vec<_> = (0..64).map(|_| face.semaphore_create(1, 1).unwrap()).collect();
    for missing in [0, 31, 63] {
        assert_eq!(face.wait(&any(&[semaphores[missing]])), check::at(0));
        assert_eq!(face.wait(&all(&semaphores)), Err(ETIMEDOUT));
        for (index, semaphore) in semaphores.iter().enumerate() {
            check::semaphore(face, *semaphore, u32::from(index != missing), 1);
        }
        assert_eq!(face.semaphore_release(semaphores[missing], 1), Ok(0));
    }
    assert_eq!(face.wait(&all(&semaphores)), ALL);
    for semaphore in &semaphores {
        check::semaphore(face, *semaphore, 0, 1);
    }
}

fn wait_all_of_one_object_is_like_wait_any(face: &dyn Face) {
    let semaphore = face.semaphore_create(1, 1).unwrap();
    assert_eq!(face.wait(&all(&[semaphore])), ALL);
    check::semaphore(face, semaphore, 0, 1);
    assert_eq!(face.wait(&all(&[semaphore])), Err(ETIMEDOUT));
    check::semaphore(face, semaphore, 0, 1);
}

fn wait_all_leaves_a_manual_event_signaled(face: &dyn Face) {
    let manual = face.event_create(1, 1).unwrap();
    let auto = face.event_create(0, 1).unwrap();
    assert_eq!(face.wait(&all(&[manual, auto])), ALL);
    check::manual(face, manual, 1);
    check::auto(face, auto, 0);
}

fn wait_all_reports_that_some_mutex_was_abandoned(face: &dyn Face) {
    let semaphore = face.semaphore_create(1, 1).unwrap();
    let first = face.mutex_create(OWNER, 1).unwrap();
    let second = face.mutex_create(OWNER, 1).unwrap();
    assert_eq!(face.mutex_kill(second, OWNER), Ok(()));
    assert_eq!(face.wait(&all(&[semaphore, first, second])), abandoned_at(0));
    check::semaphore(face, semaphore, 0, 1);
    check::mutex(face, first, OWNER, 2);
    check::mutex(face, second, OWNER, 1);
    assert_eq!(face.wait(&all(&[first, second])), ALL);
    check::mutex(face, first, OWNER, 3);
    check::mutex(face, second, OWNER, 2);

    assert_eq!(face.mutex_kill(first, OWNER), Ok(()));
    assert_eq!(face.mutex_kill(second, OWNER), Ok(()));
    assert_eq!(face.wait(&all(&[first, second])), abandoned_at(0));
    check::mutex(face, first, OWNER, 1);
    check::mutex(face, second, OWNER, 1);
}

fn wait_all_of_nothing_succeeds_at_once(face: &dyn Face) {
    assert_eq!(face.wait(&all(&[])), ALL);
    assert_eq!(face.wait(&all(&[]).forever()), ALL);
    // Even with an alert, which is not checked.
    for signaled in [0, 1] {
        let alert = face.event_create(0, signaled).unwrap();
        assert_eq!(face.wait(&all(&[]).alert(alert).forever()), ALL);
        check::auto(face, alert, signaled);
    }
}

fn a_timed_out_wait_all_changes_nothing(face: &dyn Face) {
    let semaphore = face.semaphore_create(1, 1).unwrap();
    let mutex = face.mutex_create(OWNER, 3).unwrap();
    let event = face.event_create(0, 0).unwrap();
    for deadline in [Deadline::Monotonic(0), Deadline::in_ms(10)] {
        assert_eq!(face.wait(&all(&[semaphore, mutex, event]).until(deadline)), Err(ETIMEDOUT));
        check::semaphore(face, semaphore, 1, 1);
        check::mutex(face, mutex, OWNER, 3);
        check::auto(face, event, 0);
    }
}

fn a_sleeping_wait_all_completes_with_its_last_object(face: &dyn Face) {
    let semaphore = face.semaphore_create(0, 1).unwrap();
    let mutex = face.mutex_create(OWNER + 1, 1).unwrap();
    let manual = face.event_create(1, 0).unwrap();
    let auto = face.event_create(0, 0).unwrap();
    std::thread::scope(|scope| {
        let sleeper = block(scope, face, all(&[semaphore, mutex, manual, auto]).forever());
        assert_eq!(face.event_set(auto), Ok(0));
        check::auto(face, auto, 1);
        assert_eq!(face.semaphore_release(semaphore, 1), Ok(0));
        check::semaphore(face, semaphore, 1, 1);
        assert_eq!(face.event_set(manual), Ok(0));
        check::manual(face, manual, 1);
        sleeper.still_sleeps();
        // What is there can be taken by somebody else meanwhile.
        assert_eq!(face.wait(&any(&[semaphore])), check::at(0));
        check::semaphore(face, semaphore, 0, 1);
        assert_eq!(face.mutex_unlock(mutex, OWNER + 1), Ok(1));
        check::mutex(face, mutex, 0, 0);
        sleeper.still_sleeps();

        assert_eq!(face.semaphore_release(semaphore, 1), Ok(0));
        check::semaphore(face, semaphore, 0, 1);
        check::mutex(face, mutex, OWNER, 1);
        check::manual(face, manual, 1);
        check::auto(face, auto, 0);
        assert_eq!(sleeper.result(), ALL);
    });
}

fn a_sleeping_wait_all_reports_that_some_mutex_was_abandoned(face: &dyn Face) {
    let mutex = face.mutex_create(OWNER + 1, 2).unwrap();
    let semaphore = face.semaphore_create(1, 1).unwrap();
    std::thread::scope(|scope| {
        let sleeper = block(scope, face, all(&[semaphore, mutex]).forever());
        assert_eq!(face.mutex_kill(mutex, OWNER + 1), Ok(()));
        check::semaphore(face, semaphore, 0, 1);
        check::mutex(face, mutex, OWNER, 1);
        assert_eq!(sleeper.result(), abandoned_at(0));
    });
}

fn a_sleeping_wait_all_takes_only_what_is_there_at_one_moment(face: &dyn Face) {
    let first = face.event_create(0, 0).unwrap();
    let second = face.event_create(0, 0).unwrap();
    std::thread::scope(|scope| {
        let sleeper = block(scope, face, all(&[first, second]).forever());
        for _ in 0..3 {
            assert_eq!(face.event_set(first), Ok(0));
            assert_eq!(face.event_reset(first), Ok(1));
            assert_eq!(face.event_set(second), Ok(0));
            assert_eq!(face.event_reset(second), Ok(1));
            assert_eq!(face.event_pulse(first), Ok(0));
            assert_eq!(face.event_pulse(second), Ok(0));
        }
        sleeper.still_sleeps();
        // Neither of two pulses finds the other's event signaled; a pulse onto a set event completes the wait.
        assert_eq!(face.event_set(first), Ok(0));
        assert_eq!(face.event_pulse(second), Ok(0));
        check::auto(face, first, 0);
        check::auto(face, second, 0);
        assert_eq!(sleeper.result(), ALL);
    });
}
