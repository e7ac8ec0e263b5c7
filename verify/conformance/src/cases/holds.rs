// SPDX-License-Identifier: MIT OR Apache-2.0
//! The holds of an object, and how long it lives.

use crate::case::{Case, case};
use crate::check::{self, abandoned_at, at};
use crate::face::{EBADF, EINVAL, EPERM, ESRCH, Face, Object, Satisfied, any};
use crate::process::Child;

pub(super) const CASES: &[Case] = &[
    case!(Holds, a_process_holds_what_it_creates_once, "S-108", "S-109"),
    case!(Holds, each_hold_needs_a_release, "S-108"),
    case!(Holds, a_process_releases_only_what_it_holds, "S-108"),
    case!(Holds, an_object_outlives_its_creators_hold, "S-108", "S-109"),
    case!(Holds, more_processes_than_places_hold_an_object, "S-108", "S-109"),
    case!(Holds, a_close_ends_what_others_hold, "S-109"),
    case!(Holds, a_waited_for_mutex_is_abandoned_after_its_last_release, "S-110"),
    case!(Holds, an_owned_mutex_outlives_its_last_hold, "S-110"),
    case!(Holds, a_wait_outlives_the_last_hold, "S-110"),
    case!(Holds, the_holds_of_the_dead_end_with_them, "S-111"),
    case!(Holds, an_object_that_was_handed_over_outlives_the_giver, "S-116"),
    case!(Holds, only_a_living_process_that_takes_part_is_given_a_hold, "S-116"),
    case!(Holds, holds_by_oneself_and_by_others_are_counted_together, "S-116"),
];

/// Objects that a face has room for.
const ROOM: usize = 4096;

fn is_gone(face: &dyn Face, event: Object) {
    assert_eq!(face.event_set(event), Err(EBADF));
    assert_eq!(face.event_read(event), Err(EBADF));
    assert_eq!(face.wait(&any(&[event])), Err(EINVAL));
    assert_eq!(face.hold(event), Err(EBADF));
    assert_eq!(face.let_go(event), Err(EBADF));
    assert_eq!(face.close(event), Err(EBADF));
}

/// A child that holds the object, and releases it when `go` is set.
fn holder(face: &dyn Face, object: Object, ready: Object, go: Object) -> Child {
    let child = Child::start(face, |face| {
        assert_eq!(face.hold(object), Ok(()));
        assert!(face.semaphore_release(ready, 1).is_ok());
        let gone = face.wait(&any(&[go]).forever());
        assert_eq!(face.let_go(object), Ok(()));
        gone
    });
    assert_eq!(face.wait(&any(&[ready]).forever()), at(0));
    child
}

fn a_process_holds_what_it_creates_once(face: &dyn Face) {
    let event = face.event_create(1, 1).unwrap();
    let other = face.event_create(0, 0).unwrap();
    assert_eq!(face.let_go(event), Ok(()));
    is_gone(face, event);
    let successor = face.event_create(0, 0).unwrap();
    is_gone(face, event);
    check::auto(face, successor, 0);
    check::auto(face, other, 0);
}

fn each_hold_needs_a_release(face: &dyn Face) {
    for holds in [1, 2, 60, 100] {
        let event = face.event_create(0, 0).unwrap();
        (0..holds).for_each(|_| assert_eq!(face.hold(event), Ok(())));
        for _ in 0..holds {
            assert_eq!(face.let_go(event), Ok(()));
            check::auto(face, event, 0);
        }
        assert_eq!(face.let_go(event), Ok(()));
        if holds <= 60 {
            is_gone(face, event);
        }
    }
}

fn a_process_releases_only_what_it_holds(face: &dyn Face) {
    let (event, shared) = (face.event_create(0, 0).unwrap(), face.event_create(0, 0).unwrap());
    assert_eq!(face.hold(shared), Ok(()));
    let child = Child::start(face, |face| {
        assert_eq!(face.let_go(event), Err(EPERM));
        assert_eq!(face.let_go(shared), Err(EPERM));
        assert_eq!(face.hold(event), Ok(()));
        assert_eq!(face.let_go(event), Ok(()));
        assert_eq!(face.let_go(event), Err(EPERM));
        assert_eq!(face.event_set(event), Ok(0));
        face.wait(&any(&[event]))
    });
    assert_eq!(child.result(), at(0));
    check::auto(face, event, 0);
    check::auto(face, shared, 0);
}

fn an_object_outlives_its_creators_hold(face: &dyn Face) {
    let (ready, go) = (face.semaphore_create(0, 1).unwrap(), face.event_create(1, 0).unwrap());
    let event = face.event_create(0, 0).unwrap();
    let child = holder(face, event, ready, go);
    assert_eq!(face.let_go(event), Ok(()));
    assert_eq!(face.let_go(event), Err(EPERM));
    check::auto(face, event, 0);
    assert_eq!(face.event_set(go), Ok(0));
    assert_eq!(child.result(), at(0));
    is_gone(face, event);
}

fn more_processes_than_places_hold_an_object(face: &dyn Face) {
    let (ready, go) = (face.semaphore_create(0, 1).unwrap(), face.event_create(1, 0).unwrap());
    let event = face.event_create(0, 0).unwrap();
    let children: Vec<Child> = (0..9).map(|_| holder(face, event, ready, go)).collect();
    assert_eq!(face.let_go(event), Ok(()));
    check::auto(face, event, 0);
    assert_eq!(face.event_set(go), Ok(0));
    children.into_iter().for_each(|child| assert_eq!(child.result(), at(0)));
    is_gone(face, event);
}

fn a_close_ends_what_others_hold(face: &dyn Face) {
    let event = face.event_create(0, 0).unwrap();
    assert_eq!(face.hold(event), Ok(()));
    assert_eq!(Child::start(face, |face| face.close(event).map(|()| at(0))?).result(), at(0));
    is_gone(face, event);
}

fn a_waited_for_mutex_is_abandoned_after_its_last_release(face: &dyn Face) {
    for holds in [0, 1] {
        let mutex = face.mutex_create(7, 2).unwrap();
        (0..holds).for_each(|_| assert_eq!(face.hold(mutex), Ok(())));
        let child = Child::block(face, any(&[mutex]).owner(8).forever());
        (0..=holds).for_each(|_| assert_eq!(face.let_go(mutex), Ok(())));
        child.still_sleeps();
        assert_eq!(face.mutex_kill(mutex, 7), Ok(()));
        assert_eq!(child.result(), abandoned_at(0));
    }
}

fn an_owned_mutex_outlives_its_last_hold(face: &dyn Face) {
    let mutex = face.mutex_create(7, 1).unwrap();
    assert_eq!(face.let_go(mutex), Ok(()));
    assert_eq!(face.let_go(mutex), Err(EPERM));
    check::mutex(face, mutex, 7, 1);
    assert_eq!(face.hold(mutex), Ok(()));
    assert_eq!(face.mutex_kill(mutex, 7), Ok(()));
    assert_eq!(face.let_go(mutex), Ok(()));
    assert_eq!(face.mutex_read(mutex), Err(EBADF));
}

fn a_wait_outlives_the_last_hold(face: &dyn Face) {
    let event = face.event_create(0, 0).unwrap();
    let child = Child::block(face, any(&[event]).forever());
    assert_eq!(face.let_go(event), Ok(()));
    child.still_sleeps();
    assert_eq!(face.hold(event), Ok(()));
    assert_eq!(face.event_set(event), Ok(0));
    assert_eq!(child.result(), at(0));
    assert_eq!(face.let_go(event), Ok(()));
    is_gone(face, event);
}

fn the_holds_of_the_dead_end_with_them(face: &dyn Face) {
    let ready = face.semaphore_create(0, 1).unwrap();
    let never = face.event_create(0, 0).unwrap();
    let events: Vec<Object> = (0..ROOM - 2).map(|_| face.event_create(0, 0).unwrap()).collect();
    let child = Child::start(face, |face| {
        events.iter().for_each(|event| assert_eq!(face.hold(*event), Ok(())));
        assert!(face.semaphore_release(ready, 1).is_ok());
        face.wait(&any(&[never]).forever())
    });
    assert_eq!(face.wait(&any(&[ready]).forever()), at(0));
    events.iter().for_each(|event| assert_eq!(face.let_go(*event), Ok(())));
    check::auto(face, events[0], 0);
    child.kill(face);
    let successors: Vec<Object> = (0..events.len()).map(|_| face.event_create(0, 0).unwrap()).collect();
    successors.iter().for_each(|event| check::auto(face, *event, 0));
    is_gone(face, events[0]);
}

/// A child that takes part, and sleeps until it is killed, or until `go` is set; then it says how often it holds the object, and
/// releases it as often.
fn receiver(face: &dyn Face, object: Object, ready: Object, go: Object) -> Child {
    let child = Child::start(face, |face| {
        assert_eq!(face.holds(object), Ok(0));
        assert!(face.semaphore_release(ready, 1).is_ok());
        let gone = face.wait(&any(&[go]).forever());
        let holds = face.holds(object)?;
        (0..holds).for_each(|_| assert_eq!(face.let_go(object), Ok(())));
        gone.map(|satisfied| Satisfied { index: holds, ..satisfied })
    });
    assert_eq!(face.wait(&any(&[ready]).forever()), at(0));
    child
}

fn an_object_that_was_handed_over_outlives_the_giver(face: &dyn Face) {
    let (ready, go) = (face.semaphore_create(0, 1).unwrap(), face.event_create(1, 0).unwrap());
    for holds in [1, 2] {
        let object = face.event_create(0, 1).unwrap();
        let child = receiver(face, object, ready, go);
        (0..holds).for_each(|_| assert_eq!(face.hold_for(object, child.id()), Ok(())));
        assert_eq!(face.let_go(object), Ok(()));
        assert_eq!(face.let_go(object), Err(EPERM));
        check::auto(face, object, 1);
        assert_eq!(face.event_set(go), Ok(0));
        assert_eq!(child.result(), at(holds));
        assert_eq!(face.event_reset(go), Ok(1));
        is_gone(face, object);
    }
}

fn only_a_living_process_that_takes_part_is_given_a_hold(face: &dyn Face) {
    let (ready, never) = (face.semaphore_create(0, 1).unwrap(), face.event_create(1, 0).unwrap());
    let (event, closed) = (face.event_create(0, 0).unwrap(), face.event_create(0, 0).unwrap());
    assert_eq!(face.close(closed), Ok(()));
    for nobody in [0, u32::MAX, std::os::unix::process::parent_id()] {
        assert_eq!(face.hold_for(event, nobody), Err(ESRCH));
        assert_eq!(face.hold_for(closed, nobody), Err(EBADF));
    }
    let child = receiver(face, event, ready, never);
    let process = child.id();
    assert_eq!(face.hold_for(closed, process), Err(EBADF));
    assert_eq!(face.hold_for(event, process), Ok(()));
    child.kill(face);
    assert_eq!(face.hold_for(event, process), Err(ESRCH));
    assert_eq!(face.let_go(event), Ok(()));
    // Only the dead hold it.
    let successors: Vec<Object> = (0..ROOM - 2).map(|_| face.event_create(0, 0).unwrap()).collect();
    successors.iter().for_each(|event| check::auto(face, *event, 0));
    is_gone(face, event);
}

fn holds_by_oneself_and_by_others_are_counted_together(face: &dyn Face) {
    let (ready, go) = (face.semaphore_create(0, 1).unwrap(), face.event_create(1, 0).unwrap());
    let event = face.event_create(0, 0).unwrap();
    assert_eq!(face.holds(event), Ok(1));
    assert_eq!(face.hold_for(event, std::process::id()), Ok(()));
    assert_eq!(face.holds(event), Ok(2));
    let giver = std::process::id();
    let child = Child::start(face, |face| {
        assert_eq!(face.hold(event), Ok(()));
        assert_eq!(face.hold_for(event, giver), Ok(()));
        assert_eq!(face.holds(event), Ok(1));
        assert!(face.semaphore_release(ready, 1).is_ok());
        let gone = face.wait(&any(&[go]).forever());
        assert_eq!(face.let_go(event), Ok(()));
        gone
    });
    assert_eq!(face.wait(&any(&[ready]).forever()), at(0));
    assert_eq!(face.holds(event), Ok(3));
    (0..3).for_each(|_| assert_eq!(face.let_go(event), Ok(())));
    assert_eq!((face.holds(event), face.let_go(event)), (Ok(0), Err(EPERM)));
    check::auto(face, event, 0);
    assert_eq!(face.event_set(go), Ok(0));
    assert_eq!(child.result(), at(0));
    is_gone(face, event);
    assert_eq!(face.holds(event), Err(EBADF));
}
