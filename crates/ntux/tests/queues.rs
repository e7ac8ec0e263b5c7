// SPDX-License-Identifier: MIT OR Apache-2.0
//! Queues, and wait sets on them: what they refuse, what they lose and what they do not, who gets a turn.

mod child;
mod watchdog;

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use ntux::{
    Acquired, Arena, Capacity, Deadline, Delivered, DetachedWait, Error, Event, MutexObject, Object, Queue, Registered,
    Registration, Reset, Satisfied, Semaphore, Timer, WaitSet, within,
};

const WAITERS: u32 = 4096;

fn arena() -> Arena {
    watchdog::start();
    Arena::create(Capacity { objects: 8192, waiters: WAITERS }).unwrap()
}

fn event(arena: &Arena) -> Event {
    Event::create(arena, Reset::Auto, false).unwrap()
}

fn satisfied(index: u32) -> Satisfied {
    Satisfied { index, abandoned: false }
}

fn acquired(key: u64) -> Result<Acquired, Error> {
    Ok(Acquired { key, abandoned: false })
}

#[track_caller]
fn waits(registered: Result<Registered, Error>) -> Registration {
    match registered {
        Ok(Registered::Waits(registration)) => registration,
        other => panic!("it waits, and not {other:?}"),
    }
}

fn patiently() -> Deadline {
    within(Duration::from_secs(20))
}

#[test]
fn a_queue_may_be_shared_between_threads_and_a_set_given_to_one() {
    fn shared<T: Send + Sync + Clone>() {}
    fn given<T: Send>() {}
    shared::<Queue>();
    given::<WaitSet>();
}

#[test]
fn wrong_registrations_wait_for_nothing() {
    let arena = arena();
    let (queue, event) = (Queue::create(&arena).unwrap(), event(&arena));
    let closed = Event::create(&arena, Reset::Auto, false).unwrap();
    arena.close(closed.object()).unwrap();
    let by = DetachedWait::by;
    for all in [false, true] {
        let register = |objects: &[Object], wait| match all {
            false => queue.register_any(objects, wait),
            true => queue.register_all(objects, wait),
        };
        assert_eq!(register(&[event.object()], by(0)), Err(Error::Invalid));
        assert_eq!(register(&[event.object(); 65], by(1)), Err(Error::Invalid));
        assert_eq!(register(&[event.object(), closed.object()], by(1)), Err(Error::NoSuchObject));
        let strange = Object::new(0x1234_5678_9abc_def0).unwrap();
        assert!(matches!(register(&[strange], by(1)), Err(Error::NoSuchObject | Error::Invalid)));
    }
    assert_eq!(queue.register_all(&[event.object(); 2], by(1)), Err(Error::Invalid));
    event.set().unwrap();
    assert_eq!(queue.next(Deadline::NOW), Err(Error::TimedOut));
    assert!(event.read().unwrap().signaled, "nothing waits");
}

#[test]
fn an_object_may_occur_twice_among_any() {
    let arena = arena();
    let (queue, event) = (Queue::create(&arena).unwrap(), event(&arena));
    let wait = waits(queue.register_any(&[event.object(); 2], DetachedWait::by(1).key(3)));
    event.set().unwrap();
    let delivered = Delivered { registration: Some(wait), key: 3, satisfied: satisfied(0) };
    assert_eq!(queue.next(Deadline::NOW), Ok(delivered));
}

#[test]
fn a_wait_for_nothing_can_be_cancelled() {
    let queue = Queue::create(&arena()).unwrap();
    let wait = waits(queue.register_any(&[], DetachedWait::by(1)));
    assert_eq!(queue.next(Deadline::NOW), Err(Error::TimedOut));
    assert_eq!(queue.cancel(wait), Ok(None));
    assert_eq!(queue.register_all(&[], DetachedWait::by(1)), Ok(Registered::Satisfied(satisfied(0))));
}

#[test]
fn an_abandoned_mutex_says_so() {
    let arena = arena();
    let (queue, mutex) = (Queue::create(&arena).unwrap(), MutexObject::create_with(&arena, 7, 1).unwrap());
    let wait = waits(queue.register_any(&[mutex.object()], DetachedWait::by(8)));
    mutex.kill(7).unwrap();
    let abandoned = Satisfied { index: 0, abandoned: true };
    let delivered = Delivered { registration: Some(wait), key: 0, satisfied: abandoned };
    assert_eq!(queue.next(Deadline::NOW), Ok(delivered));
    mutex.kill(8).unwrap();
    assert_eq!(queue.register_any(&[mutex.object()], DetachedWait::by(9)), Ok(Registered::Satisfied(abandoned)));
}

#[test]
fn packets_come_in_their_order_and_have_a_limit() {
    const ROOM: u64 = 1024;
    let queue = Queue::create(&arena()).unwrap();
    (0..ROOM).for_each(|key| queue.post(key).unwrap());
    assert_eq!(queue.post(ROOM), Err(Error::Exhausted));
    assert_eq!(queue.next(Deadline::NOW), Ok(Delivered { registration: None, key: 0, satisfied: satisfied(0) }));
    assert_eq!(queue.post(u64::MAX), Ok(()));
    let mut batch = Vec::new();
    assert_eq!(queue.next_batch(&mut batch, 0, Deadline::Never), Ok(0));
    assert_eq!(queue.next_batch(&mut batch, 5000, Deadline::Never), Ok(ROOM as usize));
    assert!(batch.iter().map(|packet| packet.key).eq((1..ROOM).chain([u64::MAX])));
    assert_eq!(queue.next_batch(&mut batch, 1, Deadline::NOW), Err(Error::TimedOut));
    assert_eq!(batch.len(), ROOM as usize, "what fails appends nothing");
}

#[test]
fn a_thread_that_sleeps_is_woken_by_a_packet_and_by_a_signal() {
    let arena = arena();
    let (queue, event) = (Queue::create(&arena).unwrap(), event(&arena));
    waits(queue.register_any(&[event.object()], DetachedWait::by(1).key(2)));
    let sleeper = queue.clone();
    let takes = thread::spawn(move || [sleeper.next(patiently()), sleeper.next(patiently())]);
    thread::sleep(Duration::from_millis(50));
    queue.post(1).unwrap();
    thread::sleep(Duration::from_millis(50));
    event.set().unwrap();
    assert_eq!(takes.join().unwrap().map(|taken| taken.map(|taken| taken.key)), [Ok(1), Ok(2)]);
}

#[test]
fn the_last_clone_closes_the_queue() {
    let arena = arena();
    let (kept, lost) = (event(&arena), event(&arena));
    // Its waiters and itself are given back each time.
    for _ in 0..WAITERS {
        let queue = Queue::create(&arena).unwrap();
        let copy = queue.clone();
        waits(queue.register_any(&[kept.object()], DetachedWait::by(1)));
        waits(queue.register_any(&[lost.object()], DetachedWait::by(1)));
        drop(queue);
        lost.set().unwrap();
        drop(copy);
    }
    kept.set().unwrap();
    assert!(kept.read().unwrap().signaled, "its waits are cancelled");
    assert!(!lost.read().unwrap().signaled, "what was delivered is dropped with the queue");
}

#[test]
fn a_closed_queue_is_refused_by_every_clone() {
    let arena = arena();
    let (queue, event) = (Queue::create(&arena).unwrap(), event(&arena));
    let copy = queue.clone();
    let wait = waits(queue.register_any(&[event.object()], DetachedWait::by(1)));
    queue.close().unwrap();
    let successor = Queue::create(&arena).unwrap();
    assert_eq!(copy.close(), Err(Error::Invalid));
    assert_eq!(copy.post(1), Err(Error::Invalid));
    assert_eq!(copy.next(Deadline::Never), Err(Error::Invalid));
    assert_eq!(copy.next_batch(&mut Vec::new(), 3, Deadline::Never), Err(Error::Invalid));
    assert_eq!(copy.register_any(&[event.object()], DetachedWait::by(1)), Err(Error::Invalid));
    assert_eq!(copy.cancel(wait), Err(Error::NoSuchObject));
    drop((queue, copy));
    successor.post(2).unwrap();
    assert_eq!(successor.next(Deadline::NOW).unwrap().key, 2, "it has the place of the other one");
}

#[test]
fn a_queue_outlives_the_callers_arena() {
    let arena = arena();
    let queue = Queue::create(&arena).unwrap();
    drop(arena);
    queue.post(5).unwrap();
    assert_eq!(queue.next(Deadline::NOW).unwrap().key, 5);
    assert!(Event::create(queue.arena(), Reset::Auto, false).is_ok());
}

#[test]
fn a_child_has_no_part_in_a_queue() {
    let arena = arena();
    let (queue, event) = (Queue::create(&arena).unwrap(), event(&arena));
    let wait = waits(queue.register_any(&[event.object()], DetachedWait::by(1)));
    let (mut set, other) = (WaitSet::create(&arena).unwrap(), Event::create(&arena, Reset::Auto, false).unwrap());
    set.add(1, other.object(), 1).unwrap();
    let (inherited, mut inherited_set) = (queue.clone(), set);
    let refused = child::says(move || {
        let refused = inherited.next(Deadline::NOW) == Err(Error::Invalid)
            && inherited.post(1) == Err(Error::Invalid)
            && inherited.register_any(&[event.object()], DetachedWait::by(1)) == Err(Error::Invalid)
            && inherited.cancel(wait) == Err(Error::NoSuchObject)
            && inherited_set.next(Deadline::NOW) == Err(Error::Invalid)
            && inherited_set.add(2, event.object(), 1) == Err(Error::Invalid);
        // What it drops is its parent's.
        drop((inherited, inherited_set));
        refused && event.set() == Ok(false) && other.set() == Ok(false) && !other.read().unwrap().signaled
    });
    assert!(refused);
    assert_eq!(queue.next(Deadline::NOW).unwrap().registration, Some(wait), "the child has signaled it");
}

/// What it has acquired, and not returned, is the parent's alone.
#[test]
fn a_child_has_no_part_in_what_a_set_has_acquired() {
    let arena = arena();
    let events: Vec<Event> = (0..3).map(|_| Event::create(&arena, Reset::Auto, true).unwrap()).collect();
    let unset = event(&arena);
    let mut set = WaitSet::create(&arena).unwrap();
    (0..).zip(&events).for_each(|(key, event)| set.add(key, event.object(), 1).unwrap());
    set.add(3, unset.object(), 1).unwrap();
    assert_eq!(set.next(Deadline::NOW).unwrap().key, 0);
    let refused = child::says(|| {
        set.next(Deadline::NOW) == Err(Error::Invalid)
            && (0..5).all(|key| set.remove(key) == Err(Error::Invalid))
            && std::mem::replace(&mut set, WaitSet::create(&arena).unwrap()).close().is_empty()
    });
    assert!(refused);
    assert_eq!([1, 2].map(|_| set.next(Deadline::NOW).unwrap().key), [1, 2]);
}

#[test]
fn no_result_of_a_queue_starves_the_others() {
    let arena = arena();
    let queue = Queue::create(&arena).unwrap();
    let events: Vec<Event> = (0..300).map(|_| event(&arena)).collect();
    let register = |key: usize| {
        waits(queue.register_any(&[events[key].object()], DetachedWait::by(1).key(key as u64)));
        events[key].set().unwrap();
    };
    (0..events.len()).for_each(register);
    let mut seen = BTreeSet::new();
    // Each is signaled anew as soon as it was taken.
    for _ in 0..4 * events.len() {
        let key = queue.next(Deadline::NOW).unwrap().key as usize;
        seen.insert(key);
        register(key);
    }
    assert_eq!(seen.len(), events.len());
}

#[test]
fn a_set_returns_what_was_acquired_and_waits_for_it_again() {
    let arena = arena();
    let events: Vec<Event> = (0..1000).map(|_| event(&arena)).collect();
    let mut set = WaitSet::create(&arena).unwrap();
    for (key, event) in (0..).zip(&events) {
        set.add(key, event.object(), 1).unwrap();
    }
    assert_eq!(set.len(), 1000);
    for round in 0..3 {
        assert_eq!(set.next(Deadline::NOW), Err(Error::TimedOut), "round {round}");
        events.iter().for_each(|event| assert_eq!(event.set(), Ok(false)));
        let returned: BTreeSet<u64> = events.iter().map(|_| set.next(Deadline::NOW).unwrap().key).collect();
        assert!(returned.into_iter().eq(0..1000));
    }
}

#[test]
fn a_set_sleeps_until_an_object_is_signaled() {
    let arena = arena();
    let (one, other) = (event(&arena), event(&arena));
    let mut set = WaitSet::create(&arena).unwrap();
    set.add(1, one.object(), 1).unwrap();
    set.add(2, other.object(), 1).unwrap();
    assert_eq!(set.next(within(Duration::from_millis(5))), Err(Error::TimedOut));
    let signaler = thread::spawn(move || {
        thread::sleep(Duration::from_millis(50));
        other.set().unwrap();
    });
    assert_eq!(set.next(patiently()), acquired(2));
    signaler.join().unwrap();
}

#[test]
fn a_timer_in_a_set_ticks() {
    let arena = arena();
    let tick = Timer::create(&arena, Reset::Auto).unwrap();
    let mut set = WaitSet::create(&arena).unwrap();
    set.add(1, tick.object(), 1).unwrap();
    let start = Instant::now();
    tick.set_after(Duration::from_millis(5), Duration::from_millis(5)).unwrap();
    for ticks in 1..5 {
        assert_eq!(set.next(Deadline::Never), acquired(1));
        assert!(start.elapsed() >= ticks * Duration::from_millis(5), "too early");
    }
    tick.cancel().unwrap();
}

#[test]
fn what_stays_signaled_starves_nobody_in_a_set() {
    let arena = arena();
    let open = Event::create(&arena, Reset::Manual, true).unwrap();
    let (tokens, bell) = (Semaphore::create(&arena, 1000, 1000).unwrap(), event(&arena));
    let mut set = WaitSet::create(&arena).unwrap();
    for (key, object) in [(1, open.object()), (2, tokens.object()), (3, bell.object())] {
        set.add(key, object, 1).unwrap();
    }
    for _ in 0..10 {
        bell.set().unwrap();
        let mut keys: Vec<u64> = (0..6).map(|_| set.next(Deadline::Never).unwrap().key).collect();
        keys.sort();
        assert!(keys.ends_with(&[3]), "{keys:?}");
        assert!([1, 2].iter().all(|key| keys.iter().filter(|one| *one == key).count() >= 2), "{keys:?}");
    }
}

#[test]
fn each_round_of_a_set_returns_all_that_was_acquired() {
    const EACH: usize = 20;
    let arena = arena();
    let open: Vec<Event> = (0..EACH).map(|_| Event::create(&arena, Reset::Manual, true).unwrap()).collect();
    let bells: Vec<Event> = (0..EACH).map(|_| event(&arena)).collect();
    let mut set = WaitSet::create(&arena).unwrap();
    for (key, event) in (0..).zip(open.iter().chain(&bells)) {
        set.add(key, event.object(), 1).unwrap();
    }
    let mut returned = [0; 2 * EACH];
    for _ in 0..10 * returned.len() {
        // However many of the others are always there.
        for bell in &bells {
            bell.set().unwrap();
        }
        returned[set.next(Deadline::Never).unwrap().key as usize] += 1;
    }
    assert!(returned.iter().all(|times| (9..=11).contains(times)), "{returned:?}");
}

#[test]
fn a_set_takes_one_unit_and_no_second_one_meanwhile() {
    let arena = arena();
    let tokens = Semaphore::create(&arena, 0, 9).unwrap();
    let mut set = WaitSet::create(&arena).unwrap();
    set.add(1, tokens.object(), 1).unwrap();
    tokens.release(5).unwrap();
    assert_eq!(tokens.read().unwrap().count, 4);
    assert_eq!(set.next(Deadline::NOW), acquired(1));
    assert_eq!(tokens.read().unwrap().count, 4, "the caller has one");
    assert_eq!(set.next(Deadline::NOW), acquired(1));
    assert_eq!(tokens.read().unwrap().count, 3);
}

#[test]
fn a_mutex_in_a_set_is_unlocked_between_two_calls() {
    let arena = arena();
    let mutex = MutexObject::create_with(&arena, 7, 1).unwrap();
    let mut set = WaitSet::create(&arena).unwrap();
    set.add(1, mutex.object(), 8).unwrap();
    mutex.unlock(7).unwrap();
    assert_eq!(set.next(Deadline::NOW), acquired(1));
    assert_eq!(mutex.unlock(8), Ok(1));
    mutex.lock(7, Deadline::NOW).unwrap();
    assert_eq!(set.next(Deadline::NOW), Err(Error::TimedOut));
    mutex.kill(7).unwrap();
    assert_eq!(set.next(Deadline::NOW), Ok(Acquired { key: 1, abandoned: true }));
}

#[test]
fn a_removal_is_exact() {
    let arena = arena();
    let (waiting, signaled, found, returned) = (event(&arena), event(&arena), event(&arena), event(&arena));
    let mut set = WaitSet::create(&arena).unwrap();
    for (key, event) in [(2, &signaled), (3, &found), (4, &returned), (1, &waiting)] {
        set.add(key, event.object(), 1).unwrap();
    }
    found.set().unwrap();
    returned.set().unwrap();
    // Both are found in one round, and one of them is returned.
    let first = set.next(Deadline::NOW).unwrap().key;
    signaled.set().unwrap();
    assert_eq!(set.remove(first), Ok(None), "it was returned");
    assert_eq!(set.remove(7 - first).map(|one| one.map(|one| one.key)), Ok(Some(7 - first)));
    assert_eq!(set.remove(2), Ok(Some(Acquired { key: 2, abandoned: false })));
    assert_eq!(set.remove(1), Ok(None));
    (1..5).for_each(|key| assert_eq!(set.remove(key), Err(Error::NoSuchObject)));
    assert!(set.is_empty());
    for event in [&waiting, &signaled, &found, &returned] {
        assert_eq!(event.set(), Ok(false));
        assert!(event.read().unwrap().signaled, "nobody waits");
    }
    assert_eq!(set.next(Deadline::NOW), Err(Error::TimedOut));
}

#[test]
fn a_key_that_was_removed_may_come_again() {
    let arena = arena();
    let (first, second) = (event(&arena), event(&arena));
    let mut set = WaitSet::create(&arena).unwrap();
    set.add(1, first.object(), 1).unwrap();
    assert_eq!(set.add(1, second.object(), 1), Err(Error::Invalid));
    first.set().unwrap();
    assert_eq!(set.next(Deadline::NOW), acquired(1));
    set.remove(1).unwrap();
    second.set().unwrap();
    set.add(1, second.object(), 1).unwrap();
    assert_eq!(set.next(Deadline::NOW), acquired(1));
    assert_eq!(set.next(Deadline::NOW), Err(Error::TimedOut));
    first.set().unwrap();
    assert!(first.read().unwrap().signaled, "it is no member any more");
}

#[test]
fn a_set_says_once_that_an_object_was_closed() {
    let arena = arena();
    let (closed, other) = (event(&arena), event(&arena));
    let mut set = WaitSet::create(&arena).unwrap();
    set.add(1, closed.object(), 1).unwrap();
    set.add(2, other.object(), 1).unwrap();
    closed.set().unwrap();
    assert_eq!(set.next(Deadline::NOW), acquired(1));
    arena.close(closed.object()).unwrap();
    assert_eq!(set.next(Deadline::NOW), Err(Error::NoSuchObject));
    assert_eq!(set.remove(1), Err(Error::NoSuchObject));
    other.set().unwrap();
    assert_eq!(set.next(Deadline::NOW), acquired(2));
    assert_eq!(set.add(3, closed.object(), 1), Err(Error::NoSuchObject));
    assert_eq!(set.add(3, other.object(), 0), Err(Error::Invalid));
    assert_eq!(set.len(), 1);
}

#[test]
fn the_end_of_a_set_returns_what_it_has() {
    let arena = arena();
    let events: Vec<Event> = (0..6).map(|_| event(&arena)).collect();
    let mut set = WaitSet::create(&arena).unwrap();
    // At once; found in a round, and one of those returned; delivered and not found; not signaled.
    events[0].set().unwrap();
    for (key, event) in (0..).zip(&events) {
        set.add(key, event.object(), 1).unwrap();
    }
    events[1].set().unwrap();
    events[2].set().unwrap();
    let returned = set.next(Deadline::NOW).unwrap().key;
    events[3].set().unwrap();
    let mut rest: Vec<u64> = set.close().into_iter().map(|one| one.key).collect();
    rest.push(returned);
    rest.sort();
    assert_eq!(rest, [0, 1, 2, 3]);
    for event in &events {
        event.set().unwrap();
        assert!(event.read().unwrap().signaled, "nobody waits");
    }
}

#[test]
fn nothing_is_lost_or_invented_between_a_set_and_others() {
    const UNITS: u32 = 30_000;
    let arena = arena();
    let semaphores: Vec<Semaphore> = (0..100).map(|_| Semaphore::create(&arena, 0, UNITS).unwrap()).collect();
    let mut set = WaitSet::create(&arena).unwrap();
    for (key, semaphore) in (0..).zip(&semaphores) {
        set.add(key, semaphore.object(), 1).unwrap();
    }
    let taken = thread::scope(|scope| {
        let signaler = scope.spawn(|| {
            for unit in 0..UNITS {
                semaphores[unit as usize * 7 % 100].release(1).unwrap();
            }
        });
        let rival = scope.spawn(|| {
            let objects: Vec<Object> = semaphores[..64].iter().map(Semaphore::object).collect();
            let mut taken = 0;
            while arena.wait_any(&objects, ntux::Wait::by(2).until(within(Duration::from_millis(200)))).is_ok() {
                taken += 1;
            }
            taken
        });
        let mut taken = 0;
        for turn in 0_u64.. {
            match set.next(within(Duration::from_millis(200))) {
                Ok(_) => taken += 1,
                Err(Error::TimedOut) if signaler.is_finished() => break,
                Err(Error::TimedOut) => {}
                Err(error) => panic!("{error}"),
            }
            // Each is removed and added now and then.
            let key = turn % 100;
            if turn % 3 == 0 {
                taken += u32::from(set.remove(key).unwrap().is_some());
                set.add(key, semaphores[key as usize].object(), 1).unwrap();
            }
        }
        signaler.join().unwrap();
        taken + rival.join().unwrap()
    });
    let left: u32 = semaphores.iter().map(|semaphore| semaphore.read().unwrap().count).sum();
    assert_eq!(taken + set.close().len() as u32 + left, UNITS);
}
