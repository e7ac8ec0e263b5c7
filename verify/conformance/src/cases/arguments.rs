// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arguments of waits that are refused.

use crate::case::{Case, case};
use crate::check;
use crate::face::{Deadline, EINVAL, ETIMEDOUT, Face, all, any};

pub(super) const CASES: &[Case] = &[
    case!(Everywhere, a_wait_needs_an_owner, "S-501", "S-507"),
    case!(Everywhere, a_wait_takes_64_objects_and_an_alert, "S-502"),
    case!(Everywhere, a_wait_of_65_objects_is_refused, "S-502", "S-507"),
    case!(Everywhere, a_wait_refuses_an_object_that_was_closed, "S-503", "S-507"),
    case!(Everywhere, wait_all_refuses_the_same_object_twice, "S-505", "S-507"),
    case!(Everywhere, wait_all_refuses_an_object_that_is_also_the_alert, "S-505", "S-507"),
    case!(Everywhere, wait_all_refuses_duplicates_even_if_it_could_not_be_satisfied, "S-505"),
    case!(Everywhere, a_bad_argument_is_refused_before_the_deadline_counts, "S-507"),
];

fn a_wait_needs_an_owner(face: &dyn Face) {
    let semaphore = face.semaphore_create(1, 1).unwrap();
    let mutex = face.mutex_create(0, 0).unwrap();
    for wait in [any(&[semaphore]), all(&[semaphore]), any(&[mutex]), all(&[semaphore, mutex]), any(&[]), all(&[])] {
        assert_eq!(face.wait(&wait.owner(0)), Err(EINVAL));
        check::semaphore(face, semaphore, 1, 1);
        check::mutex(face, mutex, 0, 0);
    }
}

fn a_wait_takes_64_objects_and_an_alert(face: &dyn Face) {
    let mut events: Vec<_> = (0..64).map(|_| face.event_create(0, 0).unwrap()).collect();
    let alert = face.event_create(0, 0).unwrap();
    assert_eq!(face.wait(&any(&events).alert(alert)), Err(ETIMEDOUT));
    assert_eq!(face.wait(&all(&events).alert(alert)), Err(ETIMEDOUT));
    face.event_set(alert).unwrap();
    assert_eq!(face.wait(&any(&events).alert(alert)), check::at(64));
    face.event_set(alert).unwrap();
    assert_eq!(face.wait(&all(&events).alert(alert)), check::at(64));
    check::auto(face, alert, 0);
    for event in &events {
        face.event_set(*event).unwrap();
    }
    assert_eq!(face.wait(&all(&events)), check::ALL);
    for event in &events {
        check::auto(face, *event, 0);
    }
    face.event_set(events[63]).unwrap();
    assert_eq!(face.wait(&any(&events)), check::at(63));
    events.reverse();
    face.event_set(events[63]).unwrap();
    assert_eq!(face.wait(&any(&events)), check::at(63));
}

fn a_wait_of_65_objects_is_refused(face: &dyn Face) {
    let events: Vec<_> = (0..65).map(|_| face.event_create(0, 1).unwrap()).collect();
    assert_eq!(face.wait(&any(&events)), Err(EINVAL));
    assert_eq!(face.wait(&all(&events)), Err(EINVAL));
    assert_eq!(face.wait(&any(&events.repeat(4))), Err(EINVAL));
    for event in &events {
        check::auto(face, *event, 1);
    }
}

fn a_wait_refuses_an_object_that_was_closed(face: &dyn Face) {
    let good = face.semaphore_create(1, 1).unwrap();
    let closed = face.event_create(1, 1).unwrap();
    assert_eq!(face.close(closed), Ok(()));
    for wait in [any(&[closed]), any(&[good, closed]), all(&[good, closed]), any(&[good]).alert(closed)] {
        assert_eq!(face.wait(&wait), Err(EINVAL), "{wait:?}");
        check::semaphore(face, good, 1, 1);
    }
    assert_eq!(face.wait(&all(&[]).alert(closed)), Err(EINVAL));
}

fn wait_all_refuses_the_same_object_twice(face: &dyn Face) {
    let semaphore = face.semaphore_create(2, 2).unwrap();
    let event = face.event_create(1, 1).unwrap();
    let mutex = face.mutex_create(0, 0).unwrap();
    for objects in [
        vec![semaphore, semaphore],
        vec![event, event],
        vec![mutex, mutex],
        vec![semaphore, event, semaphore],
        vec![event, mutex, semaphore, mutex],
    ] {
        assert_eq!(face.wait(&all(&objects)), Err(EINVAL), "{objects:?}");
        check::semaphore(face, semaphore, 2, 2);
        check::manual(face, event, 1);
        check::mutex(face, mutex, 0, 0);
    }
}

fn wait_all_refuses_an_object_that_is_also_the_alert(face: &dyn Face) {
    let semaphore = face.semaphore_create(2, 2).unwrap();
    let event = face.event_create(0, 1).unwrap();
    assert_eq!(face.wait(&all(&[semaphore, event]).alert(event)), Err(EINVAL));
    assert_eq!(face.wait(&all(&[event]).alert(event)), Err(EINVAL));
    assert_eq!(face.wait(&all(&[semaphore]).alert(semaphore)), Err(EINVAL));
    check::semaphore(face, semaphore, 2, 2);
    check::auto(face, event, 1);
}

fn wait_all_refuses_duplicates_even_if_it_could_not_be_satisfied(face: &dyn Face) {
    let event = face.event_create(0, 0).unwrap();
    assert_eq!(face.wait(&all(&[event, event])), Err(EINVAL));
    check::auto(face, event, 0);
}

fn a_bad_argument_is_refused_before_the_deadline_counts(face: &dyn Face) {
    let event = face.event_create(0, 0).unwrap();
    for deadline in [Deadline::Monotonic(0), Deadline::Realtime(0), Deadline::Never] {
        assert_eq!(face.wait(&any(&[event]).owner(0).until(deadline)), Err(EINVAL));
        assert_eq!(face.wait(&all(&[event, event]).until(deadline)), Err(EINVAL));
        assert_eq!(face.wait(&any(&[event; 65]).until(deadline)), Err(EINVAL));
    }
    check::auto(face, event, 0);
}
