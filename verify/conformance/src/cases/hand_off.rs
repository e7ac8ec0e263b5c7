// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hand-off: a signaling operation acquires on behalf of the sleepers, before it returns.

use crate::blocked::block;
use crate::case::{Case, case};
use crate::check::{self, abandoned_at, at};
use crate::face::{EOVERFLOW, EPERM, Face, OWNER, Object, all, any};

pub(super) const CASES: &[Case] = &[
    case!(Everywhere, a_released_token_is_gone_at_once, "S-801"),
    case!(Everywhere, an_unlocked_mutex_belongs_to_the_waiter_at_once, "S-801"),
    case!(Everywhere, a_killed_mutex_belongs_to_the_waiter_at_once, "S-801", "S-310"),
    case!(Everywhere, a_set_auto_event_is_clear_at_once, "S-801", "S-403"),
    case!(Everywhere, a_set_manual_event_satisfies_everybody, "S-807", "S-403"),
    case!(Everywhere, a_pulsed_manual_event_satisfies_everybody_and_is_clear, "S-807", "S-405"),
    case!(Everywhere, a_pulsed_auto_event_satisfies_one, "S-405"),
    case!(Everywhere, a_set_and_reset_in_a_row_satisfy_who_waited, "S-801", "S-406"),
    case!(Everywhere, a_release_of_n_satisfies_n, "S-808"),
    case!(Everywhere, a_release_of_more_than_wait_leaves_the_rest, "S-808"),
    case!(Everywhere, one_release_satisfies_a_crowd, "S-808", "S-802"),
    case!(Everywhere, one_set_satisfies_a_crowd, "S-807"),
    case!(Everywhere, a_refused_release_satisfies_nobody, "S-808", "S-205"),
    case!(Everywhere, a_partial_unlock_satisfies_nobody_else, "S-803", "S-305"),
    case!(Everywhere, one_unlock_satisfies_all_waiters_of_the_same_owner, "S-809"),
    case!(Everywhere, one_kill_satisfies_all_waiters_of_the_same_owner_and_tells_one, "S-809", "S-310"),
    case!(Everywhere, the_owner_of_a_saturated_mutex_waits_for_an_unlock, "S-812", "S-304"),
    case!(Everywhere, an_unlocked_saturated_mutex_admits_one, "S-812"),
    case!(Everywhere, the_new_owner_may_unlock_before_it_has_run, "S-801"),
    case!(Everywhere, each_of_64_objects_and_the_alert_wakes, "S-801", "S-701"),
    case!(Everywhere, one_operation_completes_several_waits_for_all, "S-801", "S-807", "S-808"),
    case!(Everywhere, waiting_for_two_kinds_each_can_wake, "S-810", "S-801"),
];

fn a_released_token_is_gone_at_once(face: &dyn Face) {
    let semaphore = face.semaphore_create(0, 3).unwrap();
    std::thread::scope(|scope| {
        let sleeper = block(scope, face, any(&[semaphore]).forever());
        check::semaphore(face, semaphore, 0, 3);
        assert_eq!(face.semaphore_release(semaphore, 0), Ok(0));
        sleeper.still_sleeps();
        assert_eq!(face.semaphore_release(semaphore, 1), Ok(0));
        check::semaphore(face, semaphore, 0, 3);
        assert_eq!(sleeper.result(), at(0));
        check::semaphore(face, semaphore, 0, 3);
    });
}

fn an_unlocked_mutex_belongs_to_the_waiter_at_once(face: &dyn Face) {
    for wait in [any, all] {
        let mutex = face.mutex_create(OWNER + 1, 1).unwrap();
        std::thread::scope(|scope| {
            let sleeper = block(scope, face, wait(&[mutex]).forever());
            check::mutex(face, mutex, OWNER + 1, 1);
            assert_eq!(face.mutex_unlock(mutex, OWNER + 1), Ok(1));
            check::mutex(face, mutex, OWNER, 1);
            assert_eq!(face.mutex_unlock(mutex, OWNER + 1), Err(EPERM));
            check::mutex(face, mutex, OWNER, 1);
            assert_eq!(sleeper.result(), at(0));
            check::mutex(face, mutex, OWNER, 1);
        });
    }
}

fn a_killed_mutex_belongs_to_the_waiter_at_once(face: &dyn Face) {
    let mutex = face.mutex_create(OWNER + 1, 7).unwrap();
    std::thread::scope(|scope| {
        let sleeper = block(scope, face, any(&[mutex]).forever());
        assert_eq!(face.mutex_kill(mutex, OWNER + 1), Ok(()));
        check::mutex(face, mutex, OWNER, 1);
        assert_eq!(sleeper.result(), abandoned_at(0));
        check::mutex(face, mutex, OWNER, 1);
        assert_eq!(face.wait(&any(&[mutex])), at(0));
    });
}

fn a_set_auto_event_is_clear_at_once(face: &dyn Face) {
    let event = face.event_create(0, 0).unwrap();
    std::thread::scope(|scope| {
        let sleeper = block(scope, face, any(&[event]).forever());
        assert_eq!(face.event_set(event), Ok(0));
        check::auto(face, event, 0);
        assert_eq!(face.event_set(event), Ok(0));
        check::auto(face, event, 1);
        assert_eq!(sleeper.result(), at(0));
        check::auto(face, event, 1);
    });
}

fn block_three<'s, 'e>(
    scope: &'s std::thread::Scope<'s, 'e>,
    face: &'e dyn Face,
    object: Object,
) -> [crate::blocked::Blocked<'s>; 3] {
    [(); 3].map(|()| block(scope, face, any(&[object]).forever()))
}

fn a_set_manual_event_satisfies_everybody(face: &dyn Face) {
    let event = face.event_create(1, 0).unwrap();
    std::thread::scope(|scope| {
        let sleepers = block_three(scope, face, event);
        let of_all = block(scope, face, all(&[event]).forever());
        assert_eq!(face.event_set(event), Ok(0));
        check::manual(face, event, 1);
        assert_eq!(face.event_reset(event), Ok(1));
        assert_eq!(sleepers.map(|sleeper| sleeper.result()), [at(0); 3]);
        assert_eq!(of_all.result(), at(0));
        check::manual(face, event, 0);
    });
}

fn a_pulsed_manual_event_satisfies_everybody_and_is_clear(face: &dyn Face) {
    let event = face.event_create(1, 0).unwrap();
    std::thread::scope(|scope| {
        let sleepers = block_three(scope, face, event);
        let of_all = block(scope, face, all(&[event]).forever());
        assert_eq!(face.event_pulse(event), Ok(0));
        check::manual(face, event, 0);
        assert_eq!(sleepers.map(|sleeper| sleeper.result()), [at(0); 3]);
        assert_eq!(of_all.result(), at(0));
        check::manual(face, event, 0);
    });
}

fn a_pulsed_auto_event_satisfies_one(face: &dyn Face) {
    let event = face.event_create(0, 0).unwrap();
    std::thread::scope(|scope| {
        let [first, second, third] = block_three(scope, face, event);
        assert_eq!(face.event_pulse(event), Ok(0));
        check::auto(face, event, 0);
        assert_eq!(first.result(), at(0));
        second.still_sleeps();
        third.still_sleeps();
        assert_eq!(face.event_pulse(event), Ok(0));
        assert_eq!(second.result(), at(0));
        assert_eq!(face.event_pulse(event), Ok(0));
        assert_eq!(third.result(), at(0));
        assert_eq!(face.event_pulse(event), Ok(0));
        check::auto(face, event, 0);
    });
}

fn a_set_and_reset_in_a_row_satisfy_who_waited(face: &dyn Face) {
    for manual in [0, 1] {
        let event = face.event_create(manual, 0).unwrap();
        std::thread::scope(|scope| {
            let sleeper = block(scope, face, any(&[event]).forever());
            assert_eq!(face.event_set(event), Ok(0));
            assert_eq!(face.event_reset(event), Ok(manual));
            assert_eq!(sleeper.result(), at(0));
            assert_eq!(face.event_read(event).unwrap().signaled, 0);
        });
    }
}

fn a_release_of_n_satisfies_n(face: &dyn Face) {
    let semaphore = face.semaphore_create(0, 5).unwrap();
    std::thread::scope(|scope| {
        let [first, second, third] = block_three(scope, face, semaphore);
        assert_eq!(face.semaphore_release(semaphore, 2), Ok(0));
        check::semaphore(face, semaphore, 0, 5);
        assert_eq!(first.result(), at(0));
        assert_eq!(second.result(), at(0));
        third.still_sleeps();
        assert_eq!(face.semaphore_release(semaphore, 1), Ok(0));
        check::semaphore(face, semaphore, 0, 5);
        assert_eq!(third.result(), at(0));
    });
}

fn a_release_of_more_than_wait_leaves_the_rest(face: &dyn Face) {
    let semaphore = face.semaphore_create(0, 5).unwrap();
    std::thread::scope(|scope| {
        let sleepers = block_three(scope, face, semaphore);
        assert_eq!(face.semaphore_release(semaphore, 5), Ok(0));
        check::semaphore(face, semaphore, 2, 5);
        assert_eq!(sleepers.map(|sleeper| sleeper.result()), [at(0); 3]);
        check::semaphore(face, semaphore, 2, 5);
    });
}

/// More than fit wherever an implementation keeps its first few waiters.
const CROWD: u32 = 60;

fn one_release_satisfies_a_crowd(face: &dyn Face) {
    const SERVED: u32 = 50;
    let semaphore = face.semaphore_create(0, CROWD).unwrap();
    std::thread::scope(|scope| {
        let mut crowd: Vec<_> = (0..CROWD).map(|_| block(scope, face, any(&[semaphore]).forever())).collect();
        assert_eq!(face.semaphore_release(semaphore, SERVED), Ok(0));
        check::semaphore(face, semaphore, 0, CROWD);
        let rest = crowd.split_off(SERVED as usize);
        for sleeper in crowd {
            assert_eq!(sleeper.result(), at(0));
        }
        for sleeper in &rest {
            sleeper.still_sleeps();
        }
        assert_eq!(face.semaphore_release(semaphore, CROWD), Ok(0));
        check::semaphore(face, semaphore, SERVED, CROWD);
        for sleeper in rest {
            assert_eq!(sleeper.result(), at(0));
        }
        check::semaphore(face, semaphore, SERVED, CROWD);
    });
}

fn one_set_satisfies_a_crowd(face: &dyn Face) {
    let event = face.event_create(1, 0).unwrap();
    let never = face.event_create(0, 0).unwrap();
    for pulse in [false, true] {
        std::thread::scope(|scope| {
            let crowd: Vec<_> = (0..CROWD)
                .map(|place| match place % 3 {
                    0 => block(scope, face, any(&[event]).forever()),
                    1 => block(scope, face, any(&[never, event]).forever()),
                    _ => block(scope, face, all(&[event]).forever()),
                })
                .collect();
            if pulse {
                assert_eq!(face.event_pulse(event), Ok(0));
            } else {
                assert_eq!(face.event_set(event), Ok(0));
                assert_eq!(face.event_reset(event), Ok(1));
            }
            check::manual(face, event, 0);
            for (place, sleeper) in (0..).zip(crowd) {
                assert_eq!(sleeper.result(), at(u32::from(place % 3 == 1)));
            }
        });
    }
}

fn each_of_64_objects_and_the_alert_wakes(face: &dyn Face) {
    let mut events: Vec<_> = (0..65).map(|_| face.event_create(0, 0).unwrap()).collect();
    let alert = events.pop().unwrap();
    let forward = any(&events).alert(alert).forever();
    events.reverse();
    let backward = any(&events).alert(alert).forever();
    for index in [0, 1, 7, 31, 32, 62, 63, 64] {
        let event = forward.objects.get(index).copied().unwrap_or(alert);
        std::thread::scope(|scope| {
            let first = block(scope, face, forward.clone());
            let second = block(scope, face, backward.clone());
            assert_eq!(face.event_set(event), Ok(0));
            check::auto(face, event, 0);
            assert_eq!(first.result(), at(index as u32));
            second.still_sleeps();
            assert_eq!(face.event_set(event), Ok(0));
            check::auto(face, event, 0);
            assert_eq!(second.result(), at(if event == alert { 64 } else { 63 - index as u32 }));
        });
    }
}

fn one_operation_completes_several_waits_for_all(face: &dyn Face) {
    let gate = face.event_create(1, 0).unwrap();
    let tokens = face.semaphore_create(3, 9).unwrap();
    std::thread::scope(|scope| {
        let sleepers = [(); 4].map(|()| block(scope, face, all(&[tokens, gate]).forever()));
        assert_eq!(face.event_set(gate), Ok(0));
        check::semaphore(face, tokens, 0, 9);
        let [first, second, third, last] = sleepers;
        assert_eq!([first, second, third].map(|sleeper| sleeper.result()), [at(0); 3]);
        last.still_sleeps();
        let another = block(scope, face, all(&[gate, tokens]).forever());
        assert_eq!(face.semaphore_release(tokens, 3), Ok(0));
        check::semaphore(face, tokens, 1, 9);
        assert_eq!([last, another].map(|sleeper| sleeper.result()), [at(0); 2]);
    });
}

fn a_refused_release_satisfies_nobody(face: &dyn Face) {
    let semaphore = face.semaphore_create(0, 1).unwrap();
    std::thread::scope(|scope| {
        let sleepers = block_three(scope, face, semaphore);
        // Three waiters could take three tokens, but the semaphore may never hold them.
        assert_eq!(face.semaphore_release(semaphore, 3), Err(EOVERFLOW));
        check::semaphore(face, semaphore, 0, 1);
        for sleeper in sleepers {
            sleeper.still_sleeps();
            assert_eq!(face.semaphore_release(semaphore, 1), Ok(0));
            assert_eq!(sleeper.result(), at(0));
        }
        check::semaphore(face, semaphore, 0, 1);
    });
}

fn a_partial_unlock_satisfies_nobody_else(face: &dyn Face) {
    let mutex = face.mutex_create(OWNER + 1, 3).unwrap();
    std::thread::scope(|scope| {
        let sleeper = block(scope, face, any(&[mutex]).forever());
        for count in [3, 2] {
            assert_eq!(face.mutex_unlock(mutex, OWNER + 1), Ok(count));
            check::mutex(face, mutex, OWNER + 1, count - 1);
            sleeper.still_sleeps();
        }
        assert_eq!(face.wait(&any(&[mutex]).owner(OWNER + 1)), at(0));
        check::mutex(face, mutex, OWNER + 1, 2);
        assert_eq!(face.mutex_unlock(mutex, OWNER + 1), Ok(2));
        assert_eq!(face.mutex_unlock(mutex, OWNER + 1), Ok(1));
        check::mutex(face, mutex, OWNER, 1);
        assert_eq!(sleeper.result(), at(0));
    });
}

fn one_unlock_satisfies_all_waiters_of_the_same_owner(face: &dyn Face) {
    let mutex = face.mutex_create(1, 1).unwrap();
    std::thread::scope(|scope| {
        let first = block(scope, face, any(&[mutex]).owner(2).forever());
        let between = block(scope, face, any(&[mutex]).owner(3).forever());
        let second = block(scope, face, any(&[mutex]).owner(2).forever());
        assert_eq!(face.mutex_unlock(mutex, 1), Ok(1));
        check::mutex(face, mutex, 2, 2);
        assert_eq!(first.result(), at(0));
        assert_eq!(second.result(), at(0));
        between.still_sleeps();
        assert_eq!(face.mutex_unlock(mutex, 2), Ok(2));
        check::mutex(face, mutex, 2, 1);
        between.still_sleeps();
        assert_eq!(face.mutex_unlock(mutex, 2), Ok(1));
        check::mutex(face, mutex, 3, 1);
        assert_eq!(between.result(), at(0));
    });
}

fn one_kill_satisfies_all_waiters_of_the_same_owner_and_tells_one(face: &dyn Face) {
    let mutex = face.mutex_create(1, 4).unwrap();
    std::thread::scope(|scope| {
        let first = block(scope, face, any(&[mutex]).owner(2).forever());
        let second = block(scope, face, any(&[mutex]).owner(2).forever());
        assert_eq!(face.mutex_kill(mutex, 1), Ok(()));
        check::mutex(face, mutex, 2, 2);
        assert_eq!(first.result(), abandoned_at(0));
        assert_eq!(second.result(), at(0));
    });
}

fn the_owner_of_a_saturated_mutex_waits_for_an_unlock(face: &dyn Face) {
    for wait in [any, all] {
        let mutex = face.mutex_create(OWNER, u32::MAX).unwrap();
        std::thread::scope(|scope| {
            let sleeper = block(scope, face, wait(&[mutex]).forever());
            check::mutex(face, mutex, OWNER, u32::MAX);
            assert_eq!(face.mutex_unlock(mutex, OWNER), Ok(u32::MAX));
            check::mutex(face, mutex, OWNER, u32::MAX);
            assert_eq!(sleeper.result(), at(0));
            check::mutex(face, mutex, OWNER, u32::MAX);
        });
    }
}

fn an_unlocked_saturated_mutex_admits_one(face: &dyn Face) {
    let mutex = face.mutex_create(OWNER, u32::MAX).unwrap();
    std::thread::scope(|scope| {
        let other = block(scope, face, any(&[mutex]).owner(OWNER + 1).forever());
        let first = block(scope, face, any(&[mutex]).forever());
        let second = block(scope, face, any(&[mutex]).forever());
        assert_eq!(face.mutex_unlock(mutex, OWNER), Ok(u32::MAX));
        check::mutex(face, mutex, OWNER, u32::MAX);
        assert_eq!(first.result(), at(0));
        second.still_sleeps();
        assert_eq!(face.mutex_unlock(mutex, OWNER), Ok(u32::MAX));
        check::mutex(face, mutex, OWNER, u32::MAX);
        assert_eq!(second.result(), at(0));
        assert_eq!(face.mutex_unlock(mutex, OWNER), Ok(u32::MAX));
        check::mutex(face, mutex, OWNER, u32::MAX - 1);
        other.still_sleeps();
        assert_eq!(face.mutex_kill(mutex, OWNER), Ok(()));
        check::mutex(face, mutex, OWNER + 1, 1);
        assert_eq!(other.result(), abandoned_at(0));
    });
}

fn the_new_owner_may_unlock_before_it_has_run(face: &dyn Face) {
    let mutex = face.mutex_create(1, 1).unwrap();
    std::thread::scope(|scope| {
        let second = block(scope, face, any(&[mutex]).owner(2).forever());
        let third = block(scope, face, any(&[mutex]).owner(3).forever());
        assert_eq!(face.mutex_unlock(mutex, 1), Ok(1));
        assert_eq!(face.mutex_unlock(mutex, 2), Ok(1));
        assert_eq!(face.mutex_unlock(mutex, 3), Ok(1));
        check::mutex(face, mutex, 0, 0);
        assert_eq!(second.result(), at(0));
        assert_eq!(third.result(), at(0));
        check::mutex(face, mutex, 0, 0);
    });
}

fn waiting_for_two_kinds_each_can_wake(face: &dyn Face) {
    let semaphore = face.semaphore_create(0, 1).unwrap();
    let mutex = face.mutex_create(OWNER + 1, 1).unwrap();
    let event = face.event_create(0, 0).unwrap();
    let wait = any(&[event, semaphore, mutex]).forever();
    std::thread::scope(|scope| {
        let sleeper = block(scope, face, wait.clone());
        assert_eq!(face.mutex_unlock(mutex, OWNER + 1), Ok(1));
        check::mutex(face, mutex, OWNER, 1);
        assert_eq!(face.event_set(event), Ok(0));
        check::auto(face, event, 1);
        assert_eq!(face.semaphore_release(semaphore, 1), Ok(0));
        check::semaphore(face, semaphore, 1, 1);
        assert_eq!(sleeper.result(), at(2));
    });
}
