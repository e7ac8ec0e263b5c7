//! What a releasing operation does for who sleeps: it acquires on their behalf, before it returns.

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
    case!(Everywhere, a_refused_release_satisfies_nobody, "S-808", "S-205"),
    case!(Everywhere, a_partial_unlock_satisfies_nobody_else, "S-803", "S-305"),
    case!(Everywhere, one_unlock_satisfies_all_waiters_of_the_same_owner, "S-809"),
    case!(Everywhere, one_kill_satisfies_all_waiters_of_the_same_owner_and_tells_one, "S-809", "S-310"),
    case!(Everywhere, the_owner_of_a_saturated_mutex_waits_for_an_unlock, "S-812", "S-304"),
    case!(Everywhere, an_unlocked_saturated_mutex_admits_one, "S-812"),
    case!(Everywhere, the_new_owner_may_unlock_before_it_has_run, "S-801"),
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
