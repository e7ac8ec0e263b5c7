// SPDX-License-Identifier: MIT OR Apache-2.0
//! Handles: what they refuse, how they share an object, how they release it.

mod watchdog;

use ntux::{
    Arena, Capacity, Deadline, Error, Event, EventState, MutexObject, Name, Object, Reset, Semaphore, Wait, within,
};
use std::time::Duration;

fn arena() -> Arena {
    watchdog::start();
    Arena::create(Capacity { objects: 64, waiters: 8 }).unwrap()
}

#[test]
fn everything_may_be_shared_between_threads() {
    fn shared<T: Send + Sync + Clone>() {}
    shared::<Arena>();
    shared::<Semaphore>();
    shared::<MutexObject>();
    shared::<Event>();
}

#[test]
fn a_handle_is_not_made_from_another_kind_of_object() {
    let arena = arena();
    let semaphore = Semaphore::create(&arena, 1, 1).unwrap().keep();
    let mutex = MutexObject::create(&arena).unwrap().keep();
    let event = Event::create(&arena, Reset::Auto, true).unwrap().keep();
    for object in [mutex, event] {
        assert_eq!(Semaphore::from_object(&arena, object).err(), Some(Error::Invalid));
    }
    for object in [semaphore, event] {
        assert_eq!(MutexObject::from_object(&arena, object).err(), Some(Error::Invalid));
    }
    for object in [semaphore, mutex] {
        assert_eq!(Event::from_object(&arena, object).err(), Some(Error::Invalid));
    }
    assert_eq!(Object::new(0), None);
    for number in [u64::MAX, 0x1234_5678_9abc_def0] {
        let object = Object::new(number).unwrap();
        assert_eq!(Event::from_object(&arena, object).err(), Some(Error::NoSuchObject), "{number:#x}");
    }
}

#[test]
fn handles_of_one_object_share_its_state_in_every_attachment() {
    let arena = arena();
    let event = Event::create(&arena, Reset::Manual, false).unwrap();
    let attached = Arena::attach(arena.fd()).unwrap();
    let other = Event::from_object(&attached, event.object()).unwrap();
    other.set().unwrap();
    assert_eq!(event.read(), Ok(EventState { reset: Reset::Manual, signaled: true }));
    event.keep();
    drop((arena, event));
    assert_eq!(other.read(), Ok(EventState { reset: Reset::Manual, signaled: true }));
}

#[test]
fn a_closed_object_is_refused_by_every_handle_and_wait() {
    let arena = arena();
    let semaphore = Semaphore::create(&arena, 1, 2).unwrap();
    let copy = semaphore.clone();
    arena.close(semaphore.object()).unwrap();
    assert_eq!(copy.read(), Err(Error::NoSuchObject));
    assert_eq!(copy.release(1), Err(Error::NoSuchObject));
    assert_eq!(copy.wait(Deadline::NOW), Err(Error::NoSuchObject));
    assert_eq!(arena.wait_all(&[copy.object()], Wait::by(1).until(Deadline::NOW)), Err(Error::NoSuchObject));
    assert_eq!(arena.close(copy.object()), Err(Error::NoSuchObject));
    assert_eq!(arena.adopt(copy.object()), Err(Error::NoSuchObject));
}

#[test]
fn the_last_clone_of_the_creators_handle_releases_the_object() {
    let arena = arena();
    let mutex = MutexObject::create_with(&arena, 7, 1).unwrap();
    let (copy, number) = (mutex.clone(), mutex.object());
    drop(mutex);
    let borrowed = MutexObject::from_object(&arena, number).unwrap();
    drop(borrowed.clone());
    assert_eq!(copy.unlock(7), Ok(1));
    drop(copy);
    assert_eq!(borrowed.read(), Err(Error::NoSuchObject));
    assert_eq!(MutexObject::from_object(&arena, number).err(), Some(Error::NoSuchObject));
}

#[test]
fn a_handle_that_holds_the_object_keeps_it_alive() {
    let arena = arena();
    let creator = Event::create(&arena, Reset::Auto, false).unwrap();
    let number = creator.object();
    let attached = Arena::attach(arena.fd()).unwrap();
    let holder = Event::hold(&attached, number).unwrap();
    assert_eq!(Semaphore::hold(&attached, number).err(), Some(Error::Invalid));
    drop(creator);
    let copy = holder.clone();
    drop(holder);
    assert_eq!(copy.set(), Ok(false));
    drop(copy);
    assert_eq!(Event::hold(&arena, number).err(), Some(Error::NoSuchObject));
}

#[test]
fn a_mutex_that_is_dropped_while_somebody_owns_it_can_be_abandoned() {
    let arena = arena();
    let mutex = MutexObject::create_with(&arena, 7, 2).unwrap();
    let number = mutex.object();
    drop(mutex);
    let borrowed = MutexObject::from_object(&arena, number).unwrap();
    assert_eq!(arena.release(number), Err(Error::NotHeld));
    let held = MutexObject::hold(&arena, number).unwrap();
    borrowed.kill(7).unwrap();
    assert!(held.lock(8, Deadline::NOW).unwrap().abandoned);
    assert_eq!(held.unlock(8), Ok(1));
    drop(held);
    assert_eq!(borrowed.read(), Err(Error::NoSuchObject));
}

#[test]
fn an_object_that_is_kept_lives_on() {
    let arena = arena();
    let number = MutexObject::create_with(&arena, 7, 2).unwrap().keep();
    assert_eq!(MutexObject::from_object(&arena, number).unwrap().unlock(7), Ok(2));
    assert_eq!(arena.close(number), Ok(()));
}

#[test]
fn an_arena_has_room_again_for_what_was_dropped() {
    let arena = Arena::create(Capacity { objects: 4, waiters: 1 }).unwrap();
    for _ in 0..10_000 {
        Event::create(&arena, Reset::Auto, false).unwrap();
    }
}

#[test]
fn a_signal_and_a_wait_in_one_call() {
    let arena = arena();
    let (event, semaphore) = (Event::create(&arena, Reset::Auto, false), Semaphore::create(&arena, 0, 1));
    let (event, semaphore) = (event.unwrap(), semaphore.unwrap());
    let now = Wait::by(7).until(Deadline::NOW);
    assert_eq!(arena.signal_and_wait(event.object(), semaphore.object(), now), Err(Error::TimedOut));
    assert!(event.read().unwrap().signaled);
    let satisfied = arena.signal_and_wait(semaphore.object(), event.object(), now).unwrap();
    assert_eq!((satisfied.index, satisfied.abandoned, semaphore.read().unwrap().count), (0, false, 1));
    assert_eq!(arena.signal_and_wait(semaphore.object(), event.object(), now), Err(Error::Overflow));
}

#[test]
fn a_private_arena_has_no_descriptor() {
    watchdog::start();
    let arena = Arena::create_private(Capacity { objects: 64, waiters: 8 }).unwrap();
    assert!(arena.core().fd().is_none());
    let event = Event::create(&arena, Reset::Auto, true).unwrap();
    assert_eq!(event.wait(Deadline::NOW), Ok(()));
}

#[test]
fn a_deadline_after_a_duration_passes_no_sooner() {
    let arena = arena();
    let event = Event::create(&arena, Reset::Auto, false).unwrap();
    let start = std::time::Instant::now();
    assert_eq!(event.wait(within(Duration::from_millis(30))), Err(Error::TimedOut));
    assert!(start.elapsed() >= Duration::from_millis(30));
}

#[test]
fn owner_zero_is_refused() {
    let arena = arena();
    let mutex = MutexObject::create(&arena).unwrap();
    assert_eq!(mutex.lock(0, Deadline::NOW), Err(Error::Invalid));
    assert_eq!(mutex.unlock(0), Err(Error::Invalid));
    assert_eq!(mutex.kill(0), Err(Error::Invalid));
}

#[test]
fn a_thread_that_attaches_and_lets_go_leaves_no_place_behind() {
    let arena = Arena::create(Capacity { objects: 4, waiters: 2 }).unwrap();
    let event = Event::create(&arena, Reset::Auto, false).unwrap();
    for _ in 0..10 {
        let again = Arena::attach(arena.fd()).unwrap();
        let soon = Wait::by(1).until(within(Duration::from_millis(1)));
        assert_eq!(again.wait_any(&[event.object()], soon), Err(Error::TimedOut));
    }
}

#[test]
fn a_name_leads_to_the_object_as_long_as_a_handle_holds_it() {
    let arena = arena();
    let name = Name::new("turns").unwrap();
    assert_eq!(Semaphore::open_named(&arena, name).err(), Some(Error::NoSuchName));
    let (first, existed) = Semaphore::create_named(&arena, name, 1, 2).unwrap();
    assert!(!existed);
    let attached = Arena::attach(arena.fd()).unwrap();
    let (second, existed) = Semaphore::create_named(&attached, name, 0, 9).unwrap();
    assert!(existed && second.object() == first.object());
    assert_eq!(second.read().map(|state| (state.count, state.max)), Ok((1, 2)));
    assert_eq!(Event::open_named(&arena, name).err(), Some(Error::OtherKind));
    assert_eq!(MutexObject::create_named(&arena, name, 0, 0).err(), Some(Error::OtherKind));
    assert_eq!(Semaphore::create_named(&arena, Name::new("none").unwrap(), 2, 1).err(), Some(Error::Invalid));
    let third = Semaphore::open_named(&arena, Name::new("TURNS").unwrap().ignoring_case()).unwrap();
    drop((first, second.clone(), second));
    assert_eq!(third.release(1), Ok(1));
    drop(third);
    assert_eq!(Semaphore::open_named(&arena, name).err(), Some(Error::NoSuchName));
    assert_eq!(Name::new("").err(), Some(Error::Invalid));
}
