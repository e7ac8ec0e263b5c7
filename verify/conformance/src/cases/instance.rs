// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kinds of objects, and instances.

use crate::case::{Case, case};
use crate::check;
use crate::face::{EINVAL, ETIMEDOUT, Face, any};

pub(super) const CASES: &[Case] = &[
    case!(Everywhere, a_new_object_is_a_new_object, "S-101"),
    case!(Everywhere, many_objects_keep_their_own_state, "S-101"),
    case!(Everywhere, a_semaphore_refuses_operations_of_other_kinds, "S-102"),
    case!(Everywhere, a_mutex_refuses_operations_of_other_kinds, "S-102"),
    case!(Everywhere, an_event_refuses_operations_of_other_kinds, "S-102"),
];

fn a_new_object_is_a_new_object(face: &dyn Face) {
    let first = face.event_create(0, 0).unwrap();
    let second = face.event_create(0, 0).unwrap();
    assert_ne!(first, second);
    assert_eq!(face.event_set(first), Ok(0));
    check::auto(face, first, 1);
    check::auto(face, second, 0);
    assert_eq!(face.wait(&any(&[second])), Err(ETIMEDOUT));
    check::auto(face, first, 1);
    assert_eq!(face.wait(&any(&[first])), check::at(0));
    check::auto(face, first, 0);
}

fn many_objects_keep_their_own_state(face: &dyn Face) {
    let semaphores: Vec<_> = (0..300).map(|count| face.semaphore_create(count, 1000).unwrap()).collect();
    for (count, semaphore) in (0..).zip(&semaphores) {
        assert_eq!(face.semaphore_release(*semaphore, count), Ok(count));
    }
    for (count, semaphore) in (0..).zip(&semaphores) {
        check::semaphore(face, *semaphore, 2 * count, 1000);
    }
}

fn a_semaphore_refuses_operations_of_other_kinds(face: &dyn Face) {
    let semaphore = face.semaphore_create(1, 2).unwrap();
    assert_eq!(face.mutex_unlock(semaphore, 1), Err(EINVAL));
    assert_eq!(face.mutex_unlock(semaphore, 0), Err(EINVAL));
    assert_eq!(face.mutex_kill(semaphore, 1), Err(EINVAL));
    assert_eq!(face.mutex_kill(semaphore, 0), Err(EINVAL));
    assert_eq!(face.mutex_read(semaphore), Err(EINVAL));
    assert_eq!(face.event_set(semaphore), Err(EINVAL));
    assert_eq!(face.event_reset(semaphore), Err(EINVAL));
    assert_eq!(face.event_pulse(semaphore), Err(EINVAL));
    assert_eq!(face.event_read(semaphore), Err(EINVAL));
    check::semaphore(face, semaphore, 1, 2);
}

fn a_mutex_refuses_operations_of_other_kinds(face: &dyn Face) {
    let mutex = face.mutex_create(1, 2).unwrap();
    assert_eq!(face.semaphore_release(mutex, 1), Err(EINVAL));
    assert_eq!(face.semaphore_release(mutex, u32::MAX), Err(EINVAL));
    assert_eq!(face.semaphore_read(mutex), Err(EINVAL));
    assert_eq!(face.event_set(mutex), Err(EINVAL));
    assert_eq!(face.event_reset(mutex), Err(EINVAL));
    assert_eq!(face.event_pulse(mutex), Err(EINVAL));
    assert_eq!(face.event_read(mutex), Err(EINVAL));
    check::mutex(face, mutex, 1, 2);
}

fn an_event_refuses_operations_of_other_kinds(face: &dyn Face) {
    for signaled in [0, 1] {
        let event = face.event_create(1, signaled).unwrap();
        assert_eq!(face.semaphore_release(event, 1), Err(EINVAL));
        assert_eq!(face.semaphore_release(event, 0), Err(EINVAL));
        assert_eq!(face.semaphore_read(event), Err(EINVAL));
        assert_eq!(face.mutex_unlock(event, 1), Err(EINVAL));
        assert_eq!(face.mutex_kill(event, 1), Err(EINVAL));
        assert_eq!(face.mutex_read(event), Err(EINVAL));
        check::manual(face, event, signaled);
    }
}
