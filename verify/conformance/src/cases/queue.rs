// SPDX-License-Identifier: MIT OR Apache-2.0
//! Queues: registered waits, their results, packets. They are on the faces whose objects are numbers: the driver has none.

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use crate::blocked::{block, block_at_queue};
use crate::case::{Case, case};
use crate::check::{self, ALL, at};
use crate::face::{
    Clock, Deadline, Delivered, EBADF, EINVAL, ENOMEM, ETIMEDOUT, Face, Object, Outcome, Queue, Registered,
    Registration, Satisfied, Wait, all, any,
};
use crate::process::Child;

pub(super) const CASES: &[Case] = &[
    case!(Holds, a_registered_wait_that_can_be_satisfied_is_at_once, "S-1201"),
    case!(Holds, a_wait_for_nothing_is_registered, "S-1201"),
    case!(Holds, a_registration_refuses_what_a_wait_refuses, "S-1202"),
    case!(Holds, a_signal_is_delivered_before_it_returns, "S-1203"),
    case!(Holds, a_result_says_what_was_acquired, "S-1203"),
    case!(Holds, registered_waits_and_threads_are_served_in_the_order_of_their_arrival, "S-1204"),
    case!(Holds, a_registered_wait_for_all_comes_before_waits_for_any, "S-1204"),
    case!(Holds, a_registered_wait_for_all_reserves_nothing, "S-1204"),
    case!(Holds, a_pulse_satisfies_every_registered_wait, "S-1204"),
    case!(Holds, who_waits_at_a_queue_sleeps_until_something_is_delivered, "S-1205"),
    case!(Holds, threads_take_each_result_once, "S-1205"),
    case!(Holds, no_result_is_passed_over_for_ever, "S-1205"),
    case!(Holds, packets_and_results_have_their_turns, "S-1205"),
    case!(Holds, packets_are_taken_in_their_order, "S-1206"),
    case!(Holds, a_queue_has_room_for_1024_packets, "S-1206"),
    case!(Holds, a_cancellation_is_exact, "S-1207"),
    case!(Holds, a_signal_and_a_cancellation_have_one_winner, "S-1207"),
    case!(Holds, a_closed_queue_is_none, "S-1208"),
    case!(Holds, a_closed_queue_cancels_its_waits, "S-1208"),
    case!(Holds, who_waits_at_a_queue_is_told_that_it_was_closed, "S-1208"),
    case!(Holds, a_queue_is_none_to_other_processes, "S-1209"),
    case!(Holds, a_signal_elsewhere_is_delivered_here, "S-1209"),
    case!(Holds, what_the_dead_have_registered_acquires_nothing, "S-1210"),
    case!(Holds, a_timer_is_delivered_when_it_is_due, "S-1211"),
    case!(Holds, a_timer_that_is_armed_later_is_delivered, "S-1211"),
    case!(Holds, a_timer_is_one_object_of_a_registered_wait_for_all, "S-1211"),
];

/// Registers a wait that cannot be satisfied at once.
#[track_caller]
fn register(face: &dyn Face, queue: Queue, wait: &Wait, key: u64) -> Registration {
    match face.queue_wait(queue, wait, key) {
        Ok(Registered::Waits(registration)) => registration,
        other => panic!("it waits, and not {other:?}"),
    }
}

fn result(registration: Registration, key: u64, index: u32) -> Outcome<Delivered> {
    let satisfied = Satisfied { index, abandoned: false };
    Ok(Delivered { registration: Some(registration), key, satisfied })
}

fn packet(key: u64) -> Outcome<Delivered> {
    Ok(Delivered { registration: None, key, satisfied: Satisfied { index: 0, abandoned: false } })
}

/// What is there now.
fn get(face: &dyn Face, queue: Queue) -> Outcome<Delivered> {
    face.queue_get(queue, Deadline::Monotonic(0))
}

#[track_caller]
fn nothing(face: &dyn Face, queue: Queue) {
    assert_eq!(get(face, queue), Err(ETIMEDOUT));
}

/// The keys of all that is there now, sorted.
fn keys(face: &dyn Face, queue: Queue) -> Vec<u64> {
    let mut keys: Vec<u64> = std::iter::from_fn(|| get(face, queue).ok()).map(|delivered| delivered.key).collect();
    keys.sort();
    keys
}

fn events(face: &dyn Face, count: usize) -> Vec<Object> {
    (0..count).map(|_| face.event_create(0, 0).unwrap()).collect()
}

fn a_registered_wait_that_can_be_satisfied_is_at_once(face: &dyn Face) {
    let (queue, event) = (face.queue_create().unwrap(), face.event_create(0, 1).unwrap());
    let (semaphore, mutex) = (face.semaphore_create(2, 2).unwrap(), face.mutex_create(7, 1).unwrap());
    let at_once = |index, abandoned| Ok(Registered::Satisfied(Satisfied { index, abandoned }));
    assert_eq!(face.queue_wait(queue, &any(&[mutex, semaphore, event]), 1), at_once(1, false));
    check::semaphore(face, semaphore, 1, 2);
    assert_eq!(face.queue_wait(queue, &all(&[semaphore, event]), 1), at_once(0, false));
    check::semaphore(face, semaphore, 0, 2);
    check::auto(face, event, 0);
    assert_eq!(face.mutex_kill(mutex, 7), Ok(()));
    assert_eq!(face.queue_wait(queue, &any(&[semaphore, mutex]).owner(8), 1), at_once(1, true));
    check::mutex(face, mutex, 8, 1);
    assert_eq!(face.queue_wait(queue, &all(&[]), 1), at_once(0, false));
    nothing(face, queue);
}

fn a_wait_for_nothing_is_registered(face: &dyn Face) {
    let queue = face.queue_create().unwrap();
    let wait = register(face, queue, &any(&[]), 1);
    nothing(face, queue);
    assert_eq!(face.queue_cancel(wait), Ok(None));
}

fn a_registration_refuses_what_a_wait_refuses(face: &dyn Face) {
    let (queue, event) = (face.queue_create().unwrap(), face.event_create(0, 0).unwrap());
    let closed = face.event_create(0, 1).unwrap();
    assert_eq!(face.close(closed), Ok(()));
    let refuses = |wait: &Wait| assert_eq!(face.queue_wait(queue, wait, 1), Err(EINVAL), "{wait:?}");
    for wait in [any, all] {
        refuses(&wait(&[event]).owner(0));
        refuses(&wait(&[event; 65]));
        refuses(&wait(&[event, closed]));
        refuses(&wait(&[Object(0)]));
    }
    refuses(&all(&[event, event]));
    assert_eq!(face.event_set(event), Ok(0));
    check::auto(face, event, 1);
    nothing(face, queue);
}

fn a_signal_is_delivered_before_it_returns(face: &dyn Face) {
    let (queue, event) = (face.queue_create().unwrap(), face.event_create(0, 0).unwrap());
    let (semaphore, mutex) = (face.semaphore_create(0, 9).unwrap(), face.mutex_create(7, 1).unwrap());
    for _ in 0..3 {
        let wait = register(face, queue, &any(&[event]), u64::MAX);
        nothing(face, queue);
        assert_eq!(face.event_set(event), Ok(0));
        check::auto(face, event, 0);
        assert_eq!(get(face, queue), result(wait, u64::MAX, 0));
        nothing(face, queue);
    }
    let waits = [0, 1].map(|key| register(face, queue, &any(&[semaphore]), key));
    assert_eq!(face.semaphore_release(semaphore, 3), Ok(0));
    check::semaphore(face, semaphore, 1, 9);
    assert_eq!(keys(face, queue), [0, 1]);
    assert_ne!(waits[0], waits[1]);
    let wait = register(face, queue, &any(&[mutex]).owner(8), 5);
    assert_eq!(face.mutex_unlock(mutex, 7), Ok(1));
    check::mutex(face, mutex, 8, 1);
    assert_eq!(get(face, queue), result(wait, 5, 0));
}

fn a_result_says_what_was_acquired(face: &dyn Face) {
    let (queue, events) = (face.queue_create().unwrap(), events(face, 64));
    for index in [0, 1, 63] {
        let wait = register(face, queue, &any(&events), 9);
        assert_eq!(face.event_set(events[index as usize]), Ok(0));
        assert_eq!(get(face, queue), result(wait, 9, index));
    }
    let mutex = face.mutex_create(7, 2).unwrap();
    for (wait, index) in [(any(&[events[0], mutex]), 1), (all(&[events[0], mutex]), 0)] {
        let registration = register(face, queue, &wait.owner(7 + index), 3);
        assert_eq!(face.mutex_kill(mutex, 8 - index), Ok(()));
        if index == 0 {
            assert_eq!(face.event_set(events[0]), Ok(0));
        }
        let satisfied = Satisfied { index, abandoned: true };
        assert_eq!(get(face, queue), Ok(Delivered { registration: Some(registration), key: 3, satisfied }));
    }
    check::mutex(face, mutex, 7, 1);
}

fn registered_waits_and_threads_are_served_in_the_order_of_their_arrival(face: &dyn Face) {
    let (queue, other) = (face.queue_create().unwrap(), face.queue_create().unwrap());
    let semaphore = face.semaphore_create(0, 9).unwrap();
    thread::scope(|scope| {
        let first = register(face, queue, &any(&[semaphore]), 1);
        let second = block(scope, face, any(&[semaphore]).forever());
        let third = register(face, other, &any(&[semaphore]), 3);
        let fourth = register(face, queue, &any(&[semaphore]), 4);
        let release = || assert_eq!(face.semaphore_release(semaphore, 1), Ok(0));
        release();
        assert_eq!(get(face, queue), result(first, 1, 0));
        second.still_sleeps();
        release();
        assert_eq!(second.result(), at(0));
        nothing(face, other);
        release();
        assert_eq!(get(face, other), result(third, 3, 0));
        nothing(face, queue);
        release();
        assert_eq!(get(face, queue), result(fourth, 4, 0));
        check::semaphore(face, semaphore, 0, 9);
    });
}

fn a_registered_wait_for_all_comes_before_waits_for_any(face: &dyn Face) {
    let (queue, event) = (face.queue_create().unwrap(), face.event_create(0, 0).unwrap());
    let open = face.event_create(1, 1).unwrap();
    thread::scope(|scope| {
        let any_of = register(face, queue, &any(&[event]), 1);
        let thread = block(scope, face, any(&[event]).forever());
        let all_of = register(face, queue, &all(&[event, open]), 2);
        assert_eq!(face.event_set(event), Ok(0));
        assert_eq!(get(face, queue), result(all_of, 2, 0));
        nothing(face, queue);
        assert_eq!(face.event_set(event), Ok(0));
        assert_eq!(get(face, queue), result(any_of, 1, 0));
        thread.still_sleeps();
        assert_eq!(face.event_set(event), Ok(0));
        assert_eq!(thread.result(), at(0));
    });
}

fn a_registered_wait_for_all_reserves_nothing(face: &dyn Face) {
    let queue = face.queue_create().unwrap();
    let (event, semaphore) = (face.event_create(0, 0).unwrap(), face.semaphore_create(0, 9).unwrap());
    let wait = register(face, queue, &all(&[event, semaphore]), 1);
    assert_eq!(face.event_set(event), Ok(0));
    nothing(face, queue);
    check::auto(face, event, 1);
    assert_eq!(face.wait(&any(&[event])), at(0));
    assert_eq!(face.semaphore_release(semaphore, 2), Ok(0));
    nothing(face, queue);
    assert_eq!(face.event_set(event), Ok(0));
    assert_eq!(get(face, queue), result(wait, 1, 0));
    check::auto(face, event, 0);
    check::semaphore(face, semaphore, 1, 9);
    assert_eq!(face.wait(&all(&[semaphore])), ALL);
}

fn a_pulse_satisfies_every_registered_wait(face: &dyn Face) {
    const WAITS: u64 = 40;
    let (queue, event) = (face.queue_create().unwrap(), face.event_create(1, 0).unwrap());
    for key in 0..WAITS {
        register(face, queue, &any(&[event]), key);
    }
    assert_eq!(face.event_pulse(event), Ok(0));
    check::manual(face, event, 0);
    assert!(keys(face, queue).into_iter().eq(0..WAITS));
    let auto = face.event_create(0, 0).unwrap();
    for key in 0..2 {
        register(face, queue, &any(&[auto]), key);
    }
    assert_eq!(face.event_pulse(auto), Ok(0));
    assert_eq!(keys(face, queue), [0]);
}

fn who_waits_at_a_queue_sleeps_until_something_is_delivered(face: &dyn Face) {
    let (queue, event) = (face.queue_create().unwrap(), face.event_create(0, 0).unwrap());
    let deadline = Deadline::in_ms(30);
    assert_eq!(face.queue_get(queue, deadline), Err(ETIMEDOUT));
    assert!(deadline.passed(), "too early");
    thread::scope(|scope| {
        let wait = register(face, queue, &any(&[event]), 2);
        let gets = block_at_queue(scope, face, queue);
        assert_eq!(face.event_set(event), Ok(0));
        assert_eq!(gets.result(), result(wait, 2, 0));
        let gets = block_at_queue(scope, face, queue);
        assert_eq!(face.queue_post(queue, 3), Ok(()));
        assert_eq!(gets.result(), packet(3));
        // What was registered after it has fallen asleep wakes it as well.
        let gets = block_at_queue(scope, face, queue);
        let wait = register(face, queue, &any(&[event]), 4);
        gets.still_sleeps();
        assert_eq!(face.event_set(event), Ok(0));
        assert_eq!(gets.result(), result(wait, 4, 0));
    });
}

fn threads_take_each_result_once(face: &dyn Face) {
    const WAITS: u64 = 200;
    const LAST: u64 = u64::MAX;
    let (queue, semaphore) = (face.queue_create().unwrap(), face.semaphore_create(0, 1000).unwrap());
    for key in 0..WAITS {
        register(face, queue, &any(&[semaphore]), key);
    }
    let take = || {
        let mut taken = Vec::new();
        loop {
            match face.queue_get(queue, Deadline::Never).unwrap().key {
                LAST => return taken,
                key => taken.push(key),
            }
        }
    };
    let mut taken = thread::scope(|scope| {
        let takers: Vec<_> = (0..3).map(|_| scope.spawn(take)).collect();
        for _ in 0..WAITS {
            assert_eq!(face.semaphore_release(semaphore, 1), Ok(0));
        }
        (0..takers.len()).for_each(|_| assert_eq!(face.queue_post(queue, LAST), Ok(())));
        takers.into_iter().flat_map(|taker| taker.join().unwrap()).collect::<Vec<_>>()
    });
    taken.extend(keys(face, queue));
    taken.sort();
    assert!(taken.into_iter().eq(0..WAITS), "each once");
    check::semaphore(face, semaphore, 0, 1000);
}

fn no_result_is_passed_over_for_ever(face: &dyn Face) {
    const WAITS: usize = 200;
    let (queue, events) = (face.queue_create().unwrap(), events(face, WAITS));
    let deliver = |key: usize| {
        register(face, queue, &any(&[events[key]]), key as u64);
        assert_eq!(face.event_set(events[key]), Ok(0));
    };
    (0..WAITS).for_each(deliver);
    let mut seen = BTreeSet::new();
    for _ in 0..10 * WAITS {
        let key = get(face, queue).unwrap().key as usize;
        seen.insert(key);
        deliver(key);
    }
    assert_eq!(seen.len(), WAITS);
}

fn packets_and_results_have_their_turns(face: &dyn Face) {
    let (queue, event) = (face.queue_create().unwrap(), face.event_create(0, 0).unwrap());
    let deliver = |is_packet: bool| match is_packet {
        true => assert_eq!(face.queue_post(queue, 1), Ok(())),
        false => {
            register(face, queue, &any(&[event]), 2);
            assert_eq!(face.event_set(event), Ok(0));
        }
    };
    [true, true, false].into_iter().for_each(deliver);
    let (mut packets, mut results) = (0, 0);
    for _ in 0..40 {
        let is_packet = get(face, queue).unwrap().registration.is_none();
        *(if is_packet { &mut packets } else { &mut results }) += 1;
        deliver(is_packet);
    }
    assert!(packets >= 10 && results >= 10, "{packets} packets and {results} results");
}

fn packets_are_taken_in_their_order(face: &dyn Face) {
    let (queue, other) = (face.queue_create().unwrap(), face.queue_create().unwrap());
    for round in 0..3 {
        let posted: Vec<u64> = [5, 0, u64::MAX, 5].map(|key: u64| key.wrapping_sub(round)).to_vec();
        posted.iter().for_each(|key| assert_eq!(face.queue_post(queue, *key), Ok(())));
        nothing(face, other);
        posted.iter().for_each(|key| assert_eq!(get(face, queue), packet(*key)));
        nothing(face, queue);
    }
}

fn a_queue_has_room_for_1024_packets(face: &dyn Face) {
    const ROOM: u64 = 1024;
    let (queue, other) = (face.queue_create().unwrap(), face.queue_create().unwrap());
    (0..ROOM).for_each(|key| assert_eq!(face.queue_post(queue, key), Ok(())));
    assert_eq!(face.queue_post(queue, ROOM), Err(ENOMEM));
    assert_eq!(face.queue_post(other, ROOM), Ok(()), "each queue has its own room");
    assert_eq!(get(face, queue), packet(0));
    assert_eq!(face.queue_post(queue, ROOM), Ok(()));
    assert_eq!(face.queue_post(queue, ROOM), Err(ENOMEM));
    (1..=ROOM).for_each(|key| assert_eq!(get(face, queue), packet(key)));
    nothing(face, queue);
}

fn a_cancellation_is_exact(face: &dyn Face) {
    let (queue, event) = (face.queue_create().unwrap(), face.event_create(0, 0).unwrap());
    let wait = register(face, queue, &any(&[event]), 1);
    assert_eq!(face.queue_cancel(wait), Ok(None));
    assert_eq!(face.queue_cancel(wait), Err(EBADF));
    assert_eq!(face.event_set(event), Ok(0));
    check::auto(face, event, 1);
    assert_eq!(face.event_reset(event), Ok(1));

    let never = face.event_create(0, 0).unwrap();
    let wait = register(face, queue, &any(&[never, event]), 1);
    assert_eq!(face.event_set(event), Ok(0));
    assert_eq!(face.queue_cancel(wait), Ok(Some(Satisfied { index: 1, abandoned: false })));
    nothing(face, queue);
    check::auto(face, event, 0);

    let wait = register(face, queue, &any(&[event]), 1);
    assert_eq!(face.event_set(event), Ok(0));
    assert_eq!(get(face, queue), result(wait, 1, 0));
    assert_eq!(face.queue_cancel(wait), Err(EBADF));
    for none in [0, 1, u64::MAX, 0x1234_5678_9abc_def0] {
        assert_eq!(face.queue_cancel(Registration(none)), Err(EBADF));
    }
}

fn a_signal_and_a_cancellation_have_one_winner(face: &dyn Face) {
    let (queue, semaphore) = (face.queue_create().unwrap(), face.semaphore_create(0, 1).unwrap());
    thread::scope(|scope| {
        for key in 0..200 {
            let wait = register(face, queue, &any(&[semaphore]), key);
            let signals = scope.spawn(|| assert_eq!(face.semaphore_release(semaphore, 1), Ok(0)));
            let cancelled = face.queue_cancel(wait).expect("nobody else takes it");
            signals.join().unwrap();
            nothing(face, queue);
            let left = u32::from(cancelled.is_none());
            check::semaphore(face, semaphore, left, 1);
            (0..left).for_each(|_| assert_eq!(face.wait(&any(&[semaphore])), at(0)));
        }
    });
}

fn a_closed_queue_is_none(face: &dyn Face) {
    let event = face.event_create(0, 1).unwrap();
    let is_none = |queue: Queue| {
        assert_eq!(face.queue_post(queue, 1), Err(EBADF));
        assert_eq!(get(face, queue), Err(EBADF));
        assert_eq!(face.queue_wait(queue, &any(&[event]), 1), Err(EINVAL));
        assert_eq!(face.queue_close(queue), Err(EBADF));
    };
    let queue = face.queue_create().unwrap();
    assert_eq!(face.queue_post(queue, 1), Ok(()));
    assert_eq!(face.queue_close(queue), Ok(()));
    is_none(queue);
    let successors: Vec<Queue> = (0..3).map(|_| face.queue_create().unwrap()).collect();
    is_none(queue);
    successors.into_iter().for_each(|successor| nothing(face, successor));
    is_none(Queue(0));
    is_none(Queue(u64::MAX));
    check::auto(face, event, 1);
}

fn a_closed_queue_cancels_its_waits(face: &dyn Face) {
    let (queue, events) = (face.queue_create().unwrap(), events(face, 3));
    let waits = [0, 1].map(|key| register(face, queue, &any(&[events[key as usize]]), key));
    register(face, queue, &all(&[events[1], events[2]]), 2);
    assert_eq!(face.event_set(events[0]), Ok(0));
    assert_eq!(face.queue_close(queue), Ok(()));
    check::auto(face, events[0], 0);
    for event in &events[1..] {
        assert_eq!(face.event_set(*event), Ok(0));
        check::auto(face, *event, 1);
    }
    waits.into_iter().for_each(|wait| assert_eq!(face.queue_cancel(wait), Err(EBADF)));
}

fn who_waits_at_a_queue_is_told_that_it_was_closed(face: &dyn Face) {
    let queue = face.queue_create().unwrap();
    thread::scope(|scope| {
        let gets = [0, 1].map(|_| block_at_queue(scope, face, queue));
        assert_eq!(face.queue_close(queue), Ok(()));
        gets.into_iter().for_each(|gets| assert_eq!(gets.result(), Err(EBADF)));
    });
}

fn a_queue_is_none_to_other_processes(face: &dyn Face) {
    let (queue, event) = (face.queue_create().unwrap(), face.event_create(0, 0).unwrap());
    let wait = register(face, queue, &any(&[event]), 1);
    let child = Child::start(face, |face| {
        assert_eq!(face.queue_post(queue, 1), Err(EBADF));
        assert_eq!(get(face, queue), Err(EBADF));
        assert_eq!(face.queue_wait(queue, &any(&[event]), 1), Err(EINVAL));
        assert_eq!(face.queue_cancel(wait), Err(EBADF));
        face.queue_close(queue).map(|()| at(0))?
    });
    assert_eq!(child.result(), Err(EBADF));
    nothing(face, queue);
    assert_eq!(face.event_set(event), Ok(0));
    assert_eq!(get(face, queue), result(wait, 1, 0));
}

fn a_signal_elsewhere_is_delivered_here(face: &dyn Face) {
    let (queue, semaphore) = (face.queue_create().unwrap(), face.semaphore_create(0, 9).unwrap());
    let waits = [1, 2].map(|key| register(face, queue, &any(&[semaphore]), key));
    let child = Child::start(face, |face| {
        assert_eq!(face.semaphore_release(semaphore, 1), Ok(0));
        // Its own queue is another one.
        let own = face.queue_create()?;
        let mine = register(face, own, &any(&[semaphore]), 3);
        assert_eq!(face.semaphore_release(semaphore, 2), Ok(0));
        assert_eq!(get(face, own), result(mine, 3, 0));
        nothing(face, own);
        at(0)
    });
    for (key, wait) in (1..).zip(waits) {
        assert_eq!(face.queue_get(queue, Deadline::Never), result(wait, key, 0));
    }
    assert_eq!(child.result(), at(0));
    check::semaphore(face, semaphore, 0, 9);
}

fn what_the_dead_have_registered_acquires_nothing(face: &dyn Face) {
    let (queue, event) = (face.queue_create().unwrap(), face.event_create(0, 0).unwrap());
    let (ready, never) = (face.event_create(0, 0).unwrap(), face.event_create(0, 0).unwrap());
    let child = Child::start(face, |face| {
        let own = face.queue_create()?;
        register(face, own, &any(&[event]), 1);
        assert_eq!(face.event_set(ready), Ok(0));
        face.wait(&any(&[never]).forever())
    });
    assert_eq!(face.wait(&any(&[ready]).forever()), at(0));
    let wait = register(face, queue, &any(&[event]), 2);
    child.kill(face);
    assert_eq!(face.event_set(event), Ok(0));
    assert_eq!(get(face, queue), result(wait, 2, 0));
    check::auto(face, event, 0);
    assert_eq!(face.event_set(event), Ok(0));
    check::auto(face, event, 1);
}

/// Milliseconds until a timer is due for which a wait is registered before that, in an emulator beside other work, too.
const A_WHILE: u64 = 300;

fn a_timer_is_delivered_when_it_is_due(face: &dyn Face) {
    for clock in [Clock::Monotonic, Clock::Wall, Clock::Boot] {
        let (queue, timer) = (face.queue_create().unwrap(), face.timer_create(0).unwrap());
        let due = clock.in_ms(A_WHILE);
        assert_eq!(face.timer_set(timer, clock, due, 0), Ok(()));
        let wait = register(face, queue, &any(&[timer]), 1);
        nothing(face, queue);
        assert_eq!(face.queue_get(queue, Deadline::Never), result(wait, 1, 0));
        assert!(clock.now_ns() >= due, "too early");
        assert_eq!(face.timer_read(timer).map(|timer| timer.signaled), Ok(0), "acquired");
        // Somebody looks at it before anybody is at the queue.
        assert_eq!(face.timer_set(timer, clock, clock.in_ms(A_WHILE), 0), Ok(()));
        let wait = register(face, queue, &any(&[timer]), 2);
        thread::sleep(Duration::from_millis(A_WHILE + 40));
        assert_eq!(face.timer_read(timer).map(|timer| timer.signaled), Ok(0));
        assert_eq!(face.queue_cancel(wait), Ok(Some(Satisfied { index: 0, abandoned: false })));
    }
}

fn a_timer_that_is_armed_later_is_delivered(face: &dyn Face) {
    let (queue, timer) = (face.queue_create().unwrap(), face.timer_create(0).unwrap());
    let event = face.event_create(0, 0).unwrap();
    thread::scope(|scope| {
        let wait = register(face, queue, &any(&[event, timer]), 1);
        let gets = block_at_queue(scope, face, queue);
        let due = Clock::Monotonic.in_ms(20);
        assert_eq!(face.timer_set(timer, Clock::Monotonic, due, 0), Ok(()));
        assert_eq!(gets.result(), result(wait, 1, 1));
        assert!(Clock::Monotonic.now_ns() >= due, "too early");
        // Also if it is registered while a thread sleeps at the queue.
        assert_eq!(face.timer_set(timer, Clock::Monotonic, Clock::Monotonic.in_ms(2_000), 0), Ok(()));
        let gets = block_at_queue(scope, face, queue);
        let wait = register(face, queue, &any(&[timer]), 2);
        assert_eq!(gets.result(), result(wait, 2, 0));
    });
}

fn a_timer_is_one_object_of_a_registered_wait_for_all(face: &dyn Face) {
    let (queue, timer) = (face.queue_create().unwrap(), face.timer_create(0).unwrap());
    let event = face.event_create(0, 0).unwrap();
    for event_first in [true, false] {
        let wait = register(face, queue, &all(&[timer, event]), 1);
        if event_first {
            assert_eq!(face.event_set(event), Ok(0));
        }
        assert_eq!(face.timer_set(timer, Clock::Monotonic, Clock::Monotonic.in_ms(10), 0), Ok(()));
        if !event_first {
            assert_eq!(face.queue_get(queue, Deadline::in_ms(40)), Err(ETIMEDOUT));
            assert_eq!(face.timer_read(timer).map(|timer| timer.signaled), Ok(1), "nothing is reserved");
            assert_eq!(face.event_set(event), Ok(0));
        }
        assert_eq!(face.queue_get(queue, Deadline::Never), result(wait, 1, 0));
        check::auto(face, event, 0);
        assert_eq!(face.timer_read(timer).map(|timer| timer.signaled), Ok(0));
    }
}
