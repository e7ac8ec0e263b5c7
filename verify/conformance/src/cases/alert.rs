// SPDX-License-Identifier: MIT OR Apache-2.0
//! The alert: one more object, which ends the wait without being one of its objects.

use crate::blocked::block;
use crate::case::{Case, case};
use crate::check::{self, ALL, abandoned_at, at};
use crate::face::{ETIMEDOUT, Face, OWNER, all, any};

pub(super) const CASES: &[Case] = &[
    case!(Everywhere, an_alert_event_ends_a_wait_with_the_count_as_index, "S-701"),
    case!(Everywhere, an_alert_can_be_an_object_of_any_kind, "S-701"),
    case!(Everywhere, an_unsignaled_alert_changes_nothing, "S-701", "S-605"),
    case!(Everywhere, objects_come_before_the_alert, "S-702"),
    case!(Everywhere, a_satisfied_wait_all_leaves_the_alert, "S-702", "S-706"),
    case!(Everywhere, asleep_the_alert_wins_if_it_is_signaled_first, "S-703"),
    case!(Everywhere, asleep_an_object_wins_if_it_is_signaled_first, "S-703"),
    case!(Everywhere, asleep_in_wait_all_the_alert_takes_nothing_else, "S-703", "S-706"),
    case!(Everywhere, an_alert_that_is_also_an_object_reports_the_objects_index, "S-704"),
    case!(Everywhere, an_abandoned_mutex_as_alert_is_reported, "S-705"),
    case!(Everywhere, an_abandoned_mutex_wakes_as_alert, "S-705", "S-703"),
    case!(Everywhere, a_pulsed_alert_wakes, "S-703", "S-405"),
    case!(Everywhere, two_waits_with_one_auto_reset_alert_are_ended_one_by_one, "S-701", "S-802"),
];

fn an_alert_event_ends_a_wait_with_the_count_as_index(face: &dyn Face) {
    let auto = face.event_create(0, 0).unwrap();
    let manual = face.event_create(1, 1).unwrap();
    let never = face.semaphore_create(0, 1).unwrap();
    let second = face.event_create(0, 0).unwrap();
    for (wait, index) in [(any(&[]), 0), (any(&[never]), 1), (all(&[never]), 1), (all(&[never, second]), 2)] {
        assert_eq!(face.wait(&wait.clone().alert(manual)), at(index));
        check::manual(face, manual, 1);
        assert_eq!(face.event_set(auto), Ok(0));
        assert_eq!(face.wait(&wait.clone().alert(auto)), at(index));
        check::auto(face, auto, 0);
        assert_eq!(face.wait(&wait.clone().alert(auto)), Err(ETIMEDOUT));
        check::semaphore(face, never, 0, 1);
    }
}

fn an_alert_can_be_an_object_of_any_kind(face: &dyn Face) {
    let never = face.event_create(0, 0).unwrap();
    let semaphore = face.semaphore_create(4, 4).unwrap();
    let mutex = face.mutex_create(0, 0).unwrap();
    for (round, wait) in (1..).zip([any(&[never]), all(&[never])]) {
        assert_eq!(face.wait(&wait.clone().alert(semaphore)), at(1));
        check::semaphore(face, semaphore, 4 - round, 4);
        assert_eq!(face.wait(&wait.clone().alert(mutex)), at(1));
        check::mutex(face, mutex, OWNER, round);
        assert_eq!(face.wait(&wait.alert(mutex).owner(OWNER + 1)), Err(ETIMEDOUT));
        check::mutex(face, mutex, OWNER, round);
    }
}

fn an_unsignaled_alert_changes_nothing(face: &dyn Face) {
    let never = face.event_create(0, 0).unwrap();
    let semaphore = face.semaphore_create(0, 1).unwrap();
    assert_eq!(face.wait(&any(&[never]).alert(semaphore)), Err(ETIMEDOUT));
    assert_eq!(face.wait(&all(&[never]).alert(semaphore)), Err(ETIMEDOUT));
    check::semaphore(face, semaphore, 0, 1);
    check::auto(face, never, 0);
}

fn objects_come_before_the_alert(face: &dyn Face) {
    let never = face.event_create(0, 0).unwrap();
    let semaphore = face.semaphore_create(1, 1).unwrap();
    let alert = face.event_create(0, 1).unwrap();
    assert_eq!(face.wait(&any(&[never, semaphore]).alert(alert)), at(1));
    check::semaphore(face, semaphore, 0, 1);
    check::auto(face, alert, 1);
    assert_eq!(face.wait(&any(&[never, semaphore]).alert(alert)), at(2));
    check::semaphore(face, semaphore, 0, 1);
    check::auto(face, alert, 0);
}

fn a_satisfied_wait_all_leaves_the_alert(face: &dyn Face) {
    let first = face.semaphore_create(1, 1).unwrap();
    let second = face.event_create(0, 1).unwrap();
    let alert = face.event_create(0, 1).unwrap();
    assert_eq!(face.wait(&all(&[first, second]).alert(alert)), ALL);
    check::semaphore(face, first, 0, 1);
    check::auto(face, second, 0);
    check::auto(face, alert, 1);
    assert_eq!(face.event_set(second), Ok(0));
    assert_eq!(face.wait(&all(&[first, second]).alert(alert)), at(2));
    check::semaphore(face, first, 0, 1);
    check::auto(face, second, 1);
    check::auto(face, alert, 0);
}

fn asleep_the_alert_wins_if_it_is_signaled_first(face: &dyn Face) {
    let object = face.semaphore_create(0, 1).unwrap();
    let alert = face.event_create(0, 0).unwrap();
    std::thread::scope(|scope| {
        let sleeper = block(scope, face, any(&[object]).alert(alert).forever());
        assert_eq!(face.event_set(alert), Ok(0));
        check::auto(face, alert, 0);
        assert_eq!(face.semaphore_release(object, 1), Ok(0));
        check::semaphore(face, object, 1, 1);
        assert_eq!(sleeper.result(), at(1));
        check::semaphore(face, object, 1, 1);
    });
}

fn asleep_an_object_wins_if_it_is_signaled_first(face: &dyn Face) {
    let object = face.semaphore_create(0, 1).unwrap();
    let alert = face.event_create(0, 0).unwrap();
    std::thread::scope(|scope| {
        let sleeper = block(scope, face, any(&[object]).alert(alert).forever());
        assert_eq!(face.semaphore_release(object, 1), Ok(0));
        check::semaphore(face, object, 0, 1);
        assert_eq!(face.event_set(alert), Ok(0));
        check::auto(face, alert, 1);
        assert_eq!(sleeper.result(), at(0));
        check::auto(face, alert, 1);
    });
}

fn asleep_in_wait_all_the_alert_takes_nothing_else(face: &dyn Face) {
    let first = face.semaphore_create(0, 1).unwrap();
    let second = face.event_create(0, 1).unwrap();
    let alert = face.event_create(0, 0).unwrap();
    std::thread::scope(|scope| {
        let sleeper = block(scope, face, all(&[first, second]).alert(alert).forever());
        assert_eq!(face.event_set(alert), Ok(0));
        check::auto(face, alert, 0);
        assert_eq!(face.semaphore_release(first, 1), Ok(0));
        check::semaphore(face, first, 1, 1);
        check::auto(face, second, 1);
        assert_eq!(sleeper.result(), at(2));
    });
    std::thread::scope(|scope| {
        assert_eq!(face.event_reset(second), Ok(1));
        let sleeper = block(scope, face, all(&[first, second]).alert(alert).forever());
        assert_eq!(face.event_set(second), Ok(0));
        check::semaphore(face, first, 0, 1);
        check::auto(face, second, 0);
        assert_eq!(face.event_set(alert), Ok(0));
        assert_eq!(sleeper.result(), ALL);
        check::auto(face, alert, 1);
    });
}

fn an_alert_that_is_also_an_object_reports_the_objects_index(face: &dyn Face) {
    let never = face.event_create(0, 0).unwrap();
    let event = face.event_create(0, 1).unwrap();
    assert_eq!(face.wait(&any(&[never, event]).alert(event)), at(1));
    check::auto(face, event, 0);
    std::thread::scope(|scope| {
        let sleeper = block(scope, face, any(&[never, event]).alert(event).forever());
        assert_eq!(face.event_set(event), Ok(0));
        check::auto(face, event, 0);
        assert_eq!(sleeper.result(), at(1));
        check::auto(face, event, 0);
    });
}

fn an_abandoned_mutex_as_alert_is_reported(face: &dyn Face) {
    let never = face.event_create(0, 0).unwrap();
    let mutex = face.mutex_create(OWNER, 1).unwrap();
    for wait in [any(&[never]), all(&[never])] {
        assert_eq!(face.mutex_kill(mutex, OWNER), Ok(()));
        assert_eq!(face.wait(&wait.alert(mutex)), abandoned_at(1));
        check::mutex(face, mutex, OWNER, 1);
    }
}

fn an_abandoned_mutex_wakes_as_alert(face: &dyn Face) {
    let never = face.event_create(0, 0).unwrap();
    for wait in [any(&[never]), all(&[never])] {
        let mutex = face.mutex_create(OWNER + 1, 1).unwrap();
        std::thread::scope(|scope| {
            let sleeper = block(scope, face, wait.alert(mutex).forever());
            assert_eq!(face.mutex_kill(mutex, OWNER + 1), Ok(()));
            check::mutex(face, mutex, OWNER, 1);
            assert_eq!(sleeper.result(), abandoned_at(1));
        });
    }
}

fn a_pulsed_alert_wakes(face: &dyn Face) {
    let never = face.event_create(0, 0).unwrap();
    for wait in [any(&[never]), all(&[never]), any(&[])] {
        let index = wait.objects.len() as u32;
        let alert = face.event_create(1, 0).unwrap();
        std::thread::scope(|scope| {
            let sleeper = block(scope, face, wait.alert(alert).forever());
            assert_eq!(face.event_pulse(alert), Ok(0));
            check::manual(face, alert, 0);
            assert_eq!(sleeper.result(), at(index));
        });
    }
}

fn two_waits_with_one_auto_reset_alert_are_ended_one_by_one(face: &dyn Face) {
    let never = face.event_create(0, 0).unwrap();
    let alert = face.event_create(0, 0).unwrap();
    std::thread::scope(|scope| {
        let first = block(scope, face, all(&[never]).alert(alert).forever());
        let second = block(scope, face, any(&[never]).alert(alert).forever());
        assert_eq!(face.event_set(alert), Ok(0));
        check::auto(face, alert, 0);
        assert_eq!(first.result(), at(1));
        second.still_sleeps();
        assert_eq!(face.event_set(alert), Ok(0));
        check::auto(face, alert, 0);
        assert_eq!(second.result(), at(1));
    });
}
