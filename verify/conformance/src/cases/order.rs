// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which of several sleepers is served first, and that a wait that has ended gets nothing.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::blocked::{Blocked, block, block_for_a_while};
use crate::case::{Case, case};
use crate::check::{self, ALL, at};
use crate::face::{Deadline, ETIMEDOUT, Face, OWNER, all, any};

pub(super) const CASES: &[Case] = &[
    case!(Everywhere, waiters_are_served_in_the_order_of_their_arrival, "S-802"),
    case!(Everywhere, waiters_of_a_mutex_are_served_in_the_order_of_their_arrival, "S-802"),
    case!(Everywhere, arrival_counts_across_different_waits, "S-802"),
    case!(Everywhere, many_waiters_are_served_in_the_order_of_their_arrival, "S-802"),
    case!(Everywhere, who_waits_again_stands_at_the_end, "S-802"),
    case!(Everywhere, who_leaves_the_queue_leaves_the_others_in_their_order, "S-802", "S-814"),
    case!(Everywhere, a_mutex_waiter_that_cannot_own_is_skipped, "S-803"),
    case!(Everywhere, wait_all_comes_before_wait_any, "S-804"),
    case!(Everywhere, wait_all_comes_before_wait_any_for_every_kind, "S-804"),
    case!(Everywhere, wait_all_comes_before_an_alert, "S-804", "S-703"),
    case!(Everywhere, a_wait_all_that_cannot_complete_delays_nobody, "S-804", "S-805"),
    case!(Everywhere, a_sleeping_wait_all_reserves_nothing, "S-805"),
    case!(Everywhere, wait_all_waiters_are_served_in_the_order_of_their_arrival, "S-813"),
    case!(Everywhere, a_later_wait_all_that_can_complete_passes_one_that_cannot, "S-813", "S-805"),
    case!(Everywhere, a_release_serves_wait_all_first_and_the_rest_to_wait_any, "S-804", "S-808"),
    case!(Everywhere, a_newcomer_does_not_overtake, "S-806"),
    case!(Everywhere, a_newcomer_wait_all_takes_what_is_there, "S-806", "S-805"),
    case!(Everywhere, asleep_the_first_signaled_wins_whatever_its_index, "S-810"),
    case!(Everywhere, who_was_satisfied_elsewhere_has_left_the_queue, "S-814"),
    case!(Everywhere, who_timed_out_has_left_the_queue, "S-814", "S-605"),
    case!(Everywhere, closing_an_object_does_not_end_a_wait_for_it, "S-811"),
    case!(Everywhere, closing_all_objects_leaves_the_wait_to_its_deadline, "S-811"),
    case!(Everywhere, a_mutex_excludes, "S-815"),
    case!(Everywhere, a_semaphore_loses_and_invents_no_token, "S-815"),
    case!(Everywhere, an_auto_event_wakes_one_for_one, "S-815"),
    case!(Everywhere, wait_all_never_deadlocks_or_takes_a_part, "S-815", "S-805"),
    case!(Everywhere, tokens_survive_waits_that_time_out, "S-815", "S-814"),
];

fn waiters_are_served_in_the_order_of_their_arrival(face: &dyn Face) {
    let semaphore = face.semaphore_create(0, 9).unwrap();
    let event = face.event_create(0, 0).unwrap();
    for object in [semaphore, event] {
        std::thread::scope(|scope| {
            let mut sleepers: Vec<Blocked> = (0..4).map(|_| block(scope, face, any(&[object]).forever())).collect();
            while !sleepers.is_empty() {
                let first = sleepers.remove(0);
                let released =
                    if object == semaphore { face.semaphore_release(object, 1) } else { face.event_set(object) };
                assert_eq!(released, Ok(0));
                assert_eq!(first.result(), at(0));
                sleepers.iter().for_each(Blocked::still_sleeps);
            }
        });
    }
}

fn waiters_of_a_mutex_are_served_in_the_order_of_their_arrival(face: &dyn Face) {
    let mutex = face.mutex_create(1, 1).unwrap();
    std::thread::scope(|scope| {
        let owners = [5, 3, 4, 2];
        let sleepers = owners.map(|owner| block(scope, face, any(&[mutex]).owner(owner).forever()));
        let mut before = 1;
        for (owner, sleeper) in owners.into_iter().zip(sleepers) {
            assert_eq!(face.mutex_unlock(mutex, before), Ok(1));
            check::mutex(face, mutex, owner, 1);
            assert_eq!(sleeper.result(), at(0));
            before = owner;
        }
        assert_eq!(face.mutex_unlock(mutex, before), Ok(1));
        check::mutex(face, mutex, 0, 0);
    });
}

fn arrival_counts_across_different_waits(face: &dyn Face) {
    let wanted = face.semaphore_create(0, 9).unwrap();
    let never = face.event_create(0, 0).unwrap();
    std::thread::scope(|scope| {
        let first = block(scope, face, any(&[never, never, wanted]).forever());
        let second = block(scope, face, any(&[wanted]).forever());
        let third = block(scope, face, any(&[never]).alert(wanted).forever());
        let fourth = block(scope, face, any(&[wanted, never]).forever());
        for (sleeper, index) in [(first, 2), (second, 0), (third, 1), (fourth, 0)] {
            assert_eq!(face.semaphore_release(wanted, 1), Ok(0));
            assert_eq!(sleeper.result(), at(index));
        }
        check::semaphore(face, wanted, 0, 9);
    });
}

fn many_waiters_are_served_in_the_order_of_their_arrival(face: &dyn Face) {
    const WAITERS: u32 = 40;
    let mutex = face.mutex_create(u32::MAX, 1).unwrap();
    std::thread::scope(|scope| {
        let sleepers: Vec<Blocked> =
            (1..=WAITERS).map(|owner| block(scope, face, any(&[mutex]).owner(owner).forever())).collect();
        assert_eq!(face.mutex_unlock(mutex, u32::MAX), Ok(1));
        for owner in 1..=WAITERS {
            check::mutex(face, mutex, owner, 1);
            assert_eq!(face.mutex_unlock(mutex, owner), Ok(1));
        }
        check::mutex(face, mutex, 0, 0);
        for sleeper in sleepers {
            assert_eq!(sleeper.result(), at(0));
        }
    });
}

fn who_waits_again_stands_at_the_end(face: &dyn Face) {
    let mutex = face.mutex_create(1, 1).unwrap();
    std::thread::scope(|scope| {
        let (second, _) = block_for_a_while(scope, face, |deadline| any(&[mutex]).owner(2).until(deadline));
        let third = block(scope, face, any(&[mutex]).owner(3).forever());
        assert_eq!(second.result(), Err(ETIMEDOUT));
        let again = block(scope, face, any(&[mutex]).owner(2).forever());
        assert_eq!(face.mutex_unlock(mutex, 1), Ok(1));
        check::mutex(face, mutex, 3, 1);
        assert_eq!(third.result(), at(0));
        assert_eq!(face.mutex_unlock(mutex, 3), Ok(1));
        check::mutex(face, mutex, 2, 1);
        assert_eq!(again.result(), at(0));
    });
}

/// The thread that comes next does not take the place of the one that left.
fn who_leaves_the_queue_leaves_the_others_in_their_order(face: &dyn Face) {
    let mutex = face.mutex_create(u32::MAX, 1).unwrap();
    let leave = face.event_create(0, 0).unwrap();
    std::thread::scope(|scope| {
        let stay = |owner: u32| block(scope, face, any(&[mutex]).owner(owner).forever());
        let pass = |owner: u32| block(scope, face, any(&[mutex]).owner(owner).alert(leave).forever());
        let (one, gone_early, two, gone_late, three) = (stay(1), pass(101), stay(2), pass(102), stay(3));
        for gone in [gone_early, gone_late] {
            assert_eq!(face.event_set(leave), Ok(0));
            assert_eq!(gone.result(), at(1));
        }
        let (four, five) = (stay(4), stay(5));
        assert_eq!(face.mutex_unlock(mutex, u32::MAX), Ok(1));
        for (owner, sleeper) in (1..).zip([one, two, three, four, five]) {
            check::mutex(face, mutex, owner, 1);
            assert_eq!(sleeper.result(), at(0));
            assert_eq!(face.mutex_unlock(mutex, owner), Ok(1));
        }
        check::mutex(face, mutex, 0, 0);
    });
}

fn a_mutex_waiter_that_cannot_own_is_skipped(face: &dyn Face) {
    let mutex = face.mutex_create(OWNER, u32::MAX).unwrap();
    std::thread::scope(|scope| {
        let other = block(scope, face, any(&[mutex]).owner(OWNER + 1).forever());
        let owner = block(scope, face, any(&[mutex]).forever());
        assert_eq!(face.mutex_unlock(mutex, OWNER), Ok(u32::MAX));
        check::mutex(face, mutex, OWNER, u32::MAX);
        assert_eq!(owner.result(), at(0));
        other.still_sleeps();
        // A newcomer with the owner's id passes who cannot own.
        assert_eq!(face.mutex_unlock(mutex, OWNER), Ok(u32::MAX));
        assert_eq!(face.wait(&any(&[mutex])), at(0));
        check::mutex(face, mutex, OWNER, u32::MAX);
        assert_eq!(face.mutex_kill(mutex, OWNER), Ok(()));
        check::mutex(face, mutex, OWNER + 1, 1);
        assert_eq!(other.result(), check::abandoned_at(0));
    });
}

fn wait_all_comes_before_wait_any(face: &dyn Face) {
    let event = face.event_create(0, 0).unwrap();
    let ready = face.semaphore_create(1, 1).unwrap();
    std::thread::scope(|scope| {
        let of_any = block(scope, face, any(&[event]).forever());
        let of_all = block(scope, face, all(&[ready, event]).forever());
        assert_eq!(face.event_set(event), Ok(0));
        check::auto(face, event, 0);
        check::semaphore(face, ready, 0, 1);
        assert_eq!(of_all.result(), ALL);
        of_any.still_sleeps();
        assert_eq!(face.event_set(event), Ok(0));
        assert_eq!(of_any.result(), at(0));
    });
}

fn wait_all_comes_before_wait_any_for_every_kind(face: &dyn Face) {
    let ready = face.semaphore_create(9, 9).unwrap();
    let semaphore = face.semaphore_create(0, 1).unwrap();
    std::thread::scope(|scope| {
        let of_any = block(scope, face, any(&[semaphore]).forever());
        let of_all = block(scope, face, all(&[semaphore, ready]).forever());
        assert_eq!(face.semaphore_release(semaphore, 1), Ok(0));
        check::semaphore(face, ready, 8, 9);
        assert_eq!(of_all.result(), ALL);
        of_any.still_sleeps();
        assert_eq!(face.semaphore_release(semaphore, 1), Ok(0));
        assert_eq!(of_any.result(), at(0));
    });
    let mutex = face.mutex_create(1, 1).unwrap();
    std::thread::scope(|scope| {
        let of_any = block(scope, face, any(&[mutex]).owner(2).forever());
        let of_all = block(scope, face, all(&[mutex, ready]).owner(3).forever());
        assert_eq!(face.mutex_unlock(mutex, 1), Ok(1));
        check::mutex(face, mutex, 3, 1);
        check::semaphore(face, ready, 7, 9);
        assert_eq!(of_all.result(), ALL);
        of_any.still_sleeps();
        assert_eq!(face.mutex_unlock(mutex, 3), Ok(1));
        check::mutex(face, mutex, 2, 1);
        assert_eq!(of_any.result(), at(0));
    });
    let pulsed = face.event_create(0, 0).unwrap();
    std::thread::scope(|scope| {
        let of_any = block(scope, face, any(&[pulsed]).forever());
        let of_all = block(scope, face, all(&[ready, pulsed]).forever());
        assert_eq!(face.event_pulse(pulsed), Ok(0));
        check::semaphore(face, ready, 6, 9);
        assert_eq!(of_all.result(), ALL);
        of_any.still_sleeps();
        assert_eq!(face.event_pulse(pulsed), Ok(0));
        assert_eq!(of_any.result(), at(0));
    });
}

fn wait_all_comes_before_an_alert(face: &dyn Face) {
    let event = face.event_create(0, 0).unwrap();
    let never = face.event_create(0, 0).unwrap();
    std::thread::scope(|scope| {
        let alerted = block(scope, face, any(&[never]).alert(event).forever());
        let alerted_all = block(scope, face, all(&[never]).alert(event).forever());
        let of_all = block(scope, face, all(&[event]).forever());
        assert_eq!(face.event_set(event), Ok(0));
        assert_eq!(of_all.result(), ALL);
        for sleeper in [alerted, alerted_all] {
            sleeper.still_sleeps();
            assert_eq!(face.event_set(event), Ok(0));
            check::auto(face, event, 0);
            assert_eq!(sleeper.result(), at(1));
        }
    });
}

fn a_wait_all_that_cannot_complete_delays_nobody(face: &dyn Face) {
    let event = face.event_create(0, 0).unwrap();
    let never = face.semaphore_create(0, 1).unwrap();
    std::thread::scope(|scope| {
        let of_all = block(scope, face, all(&[event, never]).forever());
        let of_any = block(scope, face, any(&[event]).forever());
        assert_eq!(face.event_set(event), Ok(0));
        check::auto(face, event, 0);
        assert_eq!(of_any.result(), at(0));
        of_all.still_sleeps();
        assert_eq!(face.semaphore_release(never, 1), Ok(0));
        check::semaphore(face, never, 1, 1);
        of_all.still_sleeps();
        assert_eq!(face.event_set(event), Ok(0));
        check::semaphore(face, never, 0, 1);
        assert_eq!(of_all.result(), ALL);
    });
}

fn a_sleeping_wait_all_reserves_nothing(face: &dyn Face) {
    let first = face.semaphore_create(1, 1).unwrap();
    let second = face.mutex_create(OWNER + 1, 1).unwrap();
    std::thread::scope(|scope| {
        let sleeper = block(scope, face, all(&[first, second]).forever());
        check::semaphore(face, first, 1, 1);
        assert_eq!(face.wait(&any(&[first])), at(0));
        check::semaphore(face, first, 0, 1);
        assert_eq!(face.mutex_unlock(second, OWNER + 1), Ok(1));
        check::mutex(face, second, 0, 0);
        assert_eq!(face.wait(&any(&[second]).owner(OWNER + 1)), at(0));
        assert_eq!(face.semaphore_release(first, 1), Ok(0));
        check::semaphore(face, first, 1, 1);
        sleeper.still_sleeps();
        assert_eq!(face.mutex_unlock(second, OWNER + 1), Ok(1));
        check::semaphore(face, first, 0, 1);
        check::mutex(face, second, OWNER, 1);
        assert_eq!(sleeper.result(), ALL);
    });
}

fn wait_all_waiters_are_served_in_the_order_of_their_arrival(face: &dyn Face) {
    let shared = face.event_create(0, 0).unwrap();
    let ready = face.event_create(1, 1).unwrap();
    std::thread::scope(|scope| {
        let first = block(scope, face, all(&[shared, ready]).forever());
        let second = block(scope, face, all(&[ready, shared]).forever());
        let third = block(scope, face, all(&[shared]).forever());
        assert_eq!(face.event_set(shared), Ok(0));
        assert_eq!(first.result(), ALL);
        second.still_sleeps();
        third.still_sleeps();
        assert_eq!(face.event_set(shared), Ok(0));
        assert_eq!(second.result(), ALL);
        third.still_sleeps();
        assert_eq!(face.event_set(shared), Ok(0));
        assert_eq!(third.result(), ALL);
        check::auto(face, shared, 0);
    });
}

fn a_later_wait_all_that_can_complete_passes_one_that_cannot(face: &dyn Face) {
    let shared = face.semaphore_create(0, 9).unwrap();
    let never = face.event_create(0, 0).unwrap();
    let ready = face.event_create(1, 1).unwrap();
    std::thread::scope(|scope| {
        let stuck = block(scope, face, all(&[shared, never]).forever());
        let later = block(scope, face, all(&[shared, ready]).forever());
        assert_eq!(face.semaphore_release(shared, 1), Ok(0));
        check::semaphore(face, shared, 0, 9);
        assert_eq!(later.result(), ALL);
        stuck.still_sleeps();
        assert_eq!(face.semaphore_release(shared, 1), Ok(0));
        check::semaphore(face, shared, 1, 9);
        assert_eq!(face.event_set(never), Ok(0));
        check::semaphore(face, shared, 0, 9);
        check::auto(face, never, 0);
        assert_eq!(stuck.result(), ALL);
    });
}

fn a_release_serves_wait_all_first_and_the_rest_to_wait_any(face: &dyn Face) {
    let semaphore = face.semaphore_create(0, 9).unwrap();
    let ready = face.event_create(0, 1).unwrap();
    std::thread::scope(|scope| {
        let first_any = block(scope, face, any(&[semaphore]).forever());
        let second_any = block(scope, face, any(&[semaphore]).forever());
        let of_all = block(scope, face, all(&[semaphore, ready]).forever());
        let stuck = block(scope, face, all(&[ready, semaphore]).forever());
        assert_eq!(face.semaphore_release(semaphore, 2), Ok(0));
        check::semaphore(face, semaphore, 0, 9);
        check::auto(face, ready, 0);
        assert_eq!(of_all.result(), ALL);
        assert_eq!(first_any.result(), at(0));
        second_any.still_sleeps();
        stuck.still_sleeps();
        assert_eq!(face.event_set(ready), Ok(0));
        check::auto(face, ready, 1);
        assert_eq!(face.semaphore_release(semaphore, 3), Ok(0));
        check::semaphore(face, semaphore, 1, 9);
        assert_eq!(stuck.result(), ALL);
        assert_eq!(second_any.result(), at(0));
    });
}

/// A newcomer finds what is left over, never what another one waits for.
fn a_newcomer_does_not_overtake(face: &dyn Face) {
    let semaphore = face.semaphore_create(0, 9).unwrap();
    std::thread::scope(|scope| {
        let first = block(scope, face, any(&[semaphore]).forever());
        let second = block(scope, face, any(&[semaphore]).forever());
        assert_eq!(face.wait(&any(&[semaphore])), Err(ETIMEDOUT));
        assert_eq!(face.semaphore_release(semaphore, 1), Ok(0));
        assert_eq!(face.wait(&any(&[semaphore])), Err(ETIMEDOUT));
        assert_eq!(first.result(), at(0));
        second.still_sleeps();
        assert_eq!(face.semaphore_release(semaphore, 2), Ok(0));
        assert_eq!(face.wait(&any(&[semaphore])), at(0));
        check::semaphore(face, semaphore, 0, 9);
        assert_eq!(second.result(), at(0));
    });
}

fn a_newcomer_wait_all_takes_what_is_there(face: &dyn Face) {
    let first = face.semaphore_create(1, 9).unwrap();
    let never = face.event_create(0, 0).unwrap();
    std::thread::scope(|scope| {
        let stuck = block(scope, face, all(&[first, never]).forever());
        assert_eq!(face.wait(&all(&[first])), ALL);
        check::semaphore(face, first, 0, 9);
        stuck.still_sleeps();
        assert_eq!(face.semaphore_release(first, 1), Ok(0));
        assert_eq!(face.event_set(never), Ok(0));
        assert_eq!(stuck.result(), ALL);
        check::semaphore(face, first, 0, 9);
    });
}

fn asleep_the_first_signaled_wins_whatever_its_index(face: &dyn Face) {
    let events: Vec<_> = (0..5).map(|_| face.event_create(0, 0).unwrap()).collect();
    for winner in [4, 2, 0] {
        std::thread::scope(|scope| {
            let sleeper = block(scope, face, any(&events).forever());
            assert_eq!(face.event_set(events[winner]), Ok(0));
            check::auto(face, events[winner], 0);
            for (index, event) in events.iter().enumerate().filter(|(index, _)| *index != winner) {
                assert_eq!(face.event_set(*event), Ok(0), "index {index}");
                check::auto(face, *event, 1);
            }
            assert_eq!(sleeper.result(), at(winner as u32));
            for (index, event) in events.iter().enumerate() {
                assert_eq!(face.event_reset(*event), Ok(u32::from(index != winner)));
            }
        });
    }
}

fn who_was_satisfied_elsewhere_has_left_the_queue(face: &dyn Face) {
    let taken = face.event_create(0, 0).unwrap();
    let left = face.semaphore_create(0, 1).unwrap();
    for wait in [any(&[taken, left]), any(&[left]).alert(taken), all(&[left]).alert(taken)] {
        std::thread::scope(|scope| {
            let sleeper = block(scope, face, wait.forever());
            assert_eq!(face.event_set(taken), Ok(0));
            assert_eq!(face.semaphore_release(left, 1), Ok(0));
            check::semaphore(face, left, 1, 1);
            sleeper.result().expect("it was satisfied");
            check::semaphore(face, left, 1, 1);
            assert_eq!(face.wait(&any(&[left])), at(0));
        });
    }
}

fn who_timed_out_has_left_the_queue(face: &dyn Face) {
    let semaphore = face.semaphore_create(0, 2).unwrap();
    let never = face.event_create(0, 0).unwrap();
    for wait in [any(&[semaphore]), any(&[never, semaphore]), all(&[semaphore]), any(&[never]).alert(semaphore)] {
        assert_eq!(face.wait(&wait.until(Deadline::in_ms(10))), Err(ETIMEDOUT));
        assert_eq!(face.semaphore_release(semaphore, 1), Ok(0));
        check::semaphore(face, semaphore, 1, 2);
        assert_eq!(face.wait(&any(&[semaphore])), at(0));
        check::semaphore(face, semaphore, 0, 2);
    }
}

fn closing_an_object_does_not_end_a_wait_for_it(face: &dyn Face) {
    let kept = face.event_create(0, 0).unwrap();
    for of_all in [false, true] {
        let closed = face.event_create(1, 1).unwrap();
        assert_eq!(face.event_reset(closed), Ok(1));
        let wait = if of_all { all(&[closed]).alert(kept) } else { any(&[closed, kept]) };
        std::thread::scope(|scope| {
            let sleeper = block(scope, face, wait.forever());
            assert_eq!(face.close(closed), Ok(()));
            sleeper.still_sleeps();
            assert_eq!(face.event_set(kept), Ok(0));
            check::auto(face, kept, 0);
            assert_eq!(sleeper.result(), at(1));
        });
    }
}

fn closing_all_objects_leaves_the_wait_to_its_deadline(face: &dyn Face) {
    for wait in [any, all] {
        let first = face.semaphore_create(0, 1).unwrap();
        let second = face.event_create(1, 0).unwrap();
        std::thread::scope(|scope| {
            let (sleeper, deadline) = block_for_a_while(scope, face, |deadline| wait(&[first, second]).until(deadline));
            assert_eq!(face.close(first), Ok(()));
            assert_eq!(face.close(second), Ok(()));
            // What comes to their places now is something else, and signaling it reaches nobody.
            let others: Vec<_> = (0..64).map(|_| face.semaphore_create(0, 1).unwrap()).collect();
            for other in &others {
                assert_eq!(face.semaphore_release(*other, 1), Ok(0));
                check::semaphore(face, *other, 1, 1);
            }
            assert_eq!(sleeper.result(), Err(ETIMEDOUT));
            assert!(deadline.passed());
            for other in &others {
                check::semaphore(face, *other, 1, 1);
            }
        });
    }
}

const THREADS: u32 = 4;
const ROUNDS: u32 = 500;

fn a_mutex_excludes(face: &dyn Face) {
    let mutex = face.mutex_create(0, 0).unwrap();
    let inside = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for owner in 1..=THREADS {
            let inside = &inside;
            scope.spawn(move || {
                for _ in 0..ROUNDS {
                    assert_eq!(face.wait(&any(&[mutex]).owner(owner).forever()), at(0));
                    assert_eq!(inside.fetch_add(1, Ordering::Relaxed), 0, "alone inside");
                    check::mutex(face, mutex, owner, 1);
                    inside.fetch_sub(1, Ordering::Relaxed);
                    assert_eq!(face.mutex_unlock(mutex, owner), Ok(1));
                }
            });
        }
    });
    check::mutex(face, mutex, 0, 0);
}

fn a_semaphore_loses_and_invents_no_token(face: &dyn Face) {
    const TOKENS: u32 = 2;
    let semaphore = face.semaphore_create(TOKENS, TOKENS).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(move || {
                for _ in 0..ROUNDS {
                    assert_eq!(face.wait(&any(&[semaphore]).forever()), at(0));
                    let before = face.semaphore_release(semaphore, 1).expect("never beyond the maximum");
                    assert!(before < TOKENS);
                }
            });
        }
    });
    check::semaphore(face, semaphore, TOKENS, TOKENS);
}

/// Two threads throw a ball back and forth: every set wakes the other one exactly once.
fn an_auto_event_wakes_one_for_one(face: &dyn Face) {
    let [there, back] = [face.event_create(0, 0).unwrap(), face.event_create(0, 0).unwrap()];
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for _ in 0..ROUNDS {
                assert_eq!(face.wait(&any(&[there]).forever()), at(0));
                assert_eq!(face.event_set(back), Ok(0));
            }
        });
        for _ in 0..ROUNDS {
            assert_eq!(face.event_set(there), Ok(0));
            assert_eq!(face.wait(&any(&[back]).forever()), at(0));
        }
    });
    check::auto(face, there, 0);
    check::auto(face, back, 0);
}

/// Each philosopher takes both forks in one wait.
fn wait_all_never_deadlocks_or_takes_a_part(face: &dyn Face) {
    let forks: Vec<_> = (0..THREADS).map(|_| face.mutex_create(0, 0).unwrap()).collect();
    std::thread::scope(|scope| {
        for owner in 1..=THREADS {
            let left = forks[owner as usize - 1];
            let right = forks[owner as usize % forks.len()];
            scope.spawn(move || {
                for _ in 0..ROUNDS {
                    assert_eq!(face.wait(&all(&[left, right]).owner(owner).forever()), ALL);
                    check::mutex(face, left, owner, 1);
                    check::mutex(face, right, owner, 1);
                    assert_eq!(face.mutex_unlock(left, owner), Ok(1));
                    assert_eq!(face.mutex_unlock(right, owner), Ok(1));
                }
            });
        }
    });
    for fork in forks {
        check::mutex(face, fork, 0, 0);
    }
}

/// Deadlines race with releases; every token is in the semaphores or was reported, none twice.
fn tokens_survive_waits_that_time_out(face: &dyn Face) {
    const RELEASED: u32 = 2000;
    // Seldom: where many threads want the processor, a yield takes a round of all of them.
    const RELEASED_IN_A_ROW: u32 = 32;
    let semaphores = [(); 2].map(|()| face.semaphore_create(0, u32::MAX).unwrap());
    let received = AtomicU32::new(0);
    let done = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while done.load(Ordering::Relaxed) == 0 {
                    let soon = Deadline::Monotonic(Deadline::in_ms(0).ns() + 20_000);
                    match face.wait(&any(&semaphores).until(soon)) {
                        Ok(_) => received.fetch_add(1, Ordering::Relaxed),
                        Err(error) => {
                            assert_eq!(error, ETIMEDOUT);
                            continue;
                        }
                    };
                }
            });
        }
        for round in 0..RELEASED {
            face.semaphore_release(semaphores[round as usize % 2], 1).expect("far from the maximum");
            if round % RELEASED_IN_A_ROW == 0 {
                std::thread::yield_now();
            }
        }
        done.store(1, Ordering::Relaxed);
    });
    let left: u32 = semaphores.map(|semaphore| face.semaphore_read(semaphore).unwrap().count).iter().sum();
    assert_eq!(received.into_inner() + left, RELEASED);
}
