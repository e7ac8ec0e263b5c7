// SPDX-License-Identifier: MIT OR Apache-2.0
//! The same objects in several processes.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::case::{Case, case};
use crate::check::{self, ALL, abandoned_at, at};
use crate::face::{ETIMEDOUT, Face, OWNER, Object, all, any};
use crate::process::Child;

pub(super) const CASES: &[Case] = &[
    case!(Processes, an_object_is_the_same_object_in_every_process, "S-104"),
    case!(Processes, a_release_here_hands_over_to_a_waiter_there, "S-104", "S-801"),
    case!(Processes, a_release_there_wakes_a_waiter_here, "S-104", "S-801"),
    case!(Processes, processes_are_served_in_the_order_of_their_arrival, "S-802"),
    case!(Processes, wait_all_there_comes_before_wait_any_here, "S-804"),
    case!(Processes, a_pulse_satisfies_waiters_in_all_processes, "S-405", "S-807"),
    case!(Processes, an_alert_here_ends_a_wait_there, "S-703"),
    case!(Processes, a_process_with_the_owner_id_is_the_owner, "S-303", "S-302"),
    case!(Processes, a_process_that_ends_keeps_its_mutex, "S-311"),
    case!(Processes, a_process_that_is_killed_keeps_its_mutex, "S-311"),
    case!(Processes, a_killed_waiter_consumes_nothing, "S-906"),
    case!(Processes, a_killed_waiter_does_not_stand_in_the_way, "S-906", "S-802"),
    case!(Processes, a_killed_wait_all_consumes_nothing, "S-906"),
    case!(Processes, two_processes_play_ping_pong, "S-815"),
    case!(Processes, a_mutex_excludes_processes, "S-815"),
    case!(Processes, wait_all_excludes_processes, "S-815"),
];

fn an_object_is_the_same_object_in_every_process(face: &dyn Face) {
    let semaphore = face.semaphore_create(3, 5).unwrap();
    let mutex = face.mutex_create(0, 0).unwrap();
    let manual = face.event_create(1, 0).unwrap();
    let auto = face.event_create(0, 1).unwrap();
    let child = Child::start(face, |face| {
        check::semaphore(face, semaphore, 3, 5);
        assert_eq!(face.semaphore_release(semaphore, 2), Ok(3));
        check::auto(face, auto, 1);
        assert_eq!(face.event_set(manual), Ok(0));
        face.wait(&all(&[semaphore, mutex, auto]).owner(9))
    });
    assert_eq!(child.result(), ALL);
    check::semaphore(face, semaphore, 4, 5);
    check::mutex(face, mutex, 9, 1);
    check::manual(face, manual, 1);
    check::auto(face, auto, 0);
}

fn a_release_here_hands_over_to_a_waiter_there(face: &dyn Face) {
    let semaphore = face.semaphore_create(0, 1).unwrap();
    let child = Child::block(face, any(&[semaphore]).forever());
    assert_eq!(face.semaphore_release(semaphore, 1), Ok(0));
    check::semaphore(face, semaphore, 0, 1);
    assert_eq!(child.result(), at(0));

    let mutex = face.mutex_create(1, 1).unwrap();
    let child = Child::block(face, any(&[semaphore, mutex]).owner(2).forever());
    assert_eq!(face.mutex_unlock(mutex, 1), Ok(1));
    check::mutex(face, mutex, 2, 1);
    assert_eq!(child.result(), at(1));

    let child = Child::block(face, any(&[mutex]).owner(3).forever());
    assert_eq!(face.mutex_kill(mutex, 2), Ok(()));
    check::mutex(face, mutex, 3, 1);
    assert_eq!(child.result(), abandoned_at(0));

    let event = face.event_create(0, 0).unwrap();
    let child = Child::block(face, any(&[event]).forever());
    assert_eq!(face.event_set(event), Ok(0));
    check::auto(face, event, 0);
    assert_eq!(child.result(), at(0));
}

fn a_release_there_wakes_a_waiter_here(face: &dyn Face) {
    let go = face.event_create(0, 0).unwrap();
    let answer = face.event_create(0, 0).unwrap();
    let child = Child::start(face, |face| {
        let gone = face.wait(&any(&[go]).forever());
        assert_eq!(face.event_set(answer), Ok(0));
        gone
    });
    assert_eq!(face.event_set(go), Ok(0));
    assert_eq!(face.wait(&any(&[answer]).forever()), at(0));
    assert_eq!(child.result(), at(0));
    check::auto(face, go, 0);
    check::auto(face, answer, 0);
}

fn processes_are_served_in_the_order_of_their_arrival(face: &dyn Face) {
    let mutex = face.mutex_create(1, 1).unwrap();
    let children = [4, 2, 3].map(|owner| Child::block(face, any(&[mutex]).owner(owner).forever()));
    assert_eq!(face.mutex_unlock(mutex, 1), Ok(1));
    for (owner, child) in [4, 2, 3].into_iter().zip(children) {
        check::mutex(face, mutex, owner, 1);
        assert_eq!(child.result(), at(0));
        assert_eq!(face.mutex_unlock(mutex, owner), Ok(1));
    }
    check::mutex(face, mutex, 0, 0);
}

fn wait_all_there_comes_before_wait_any_here(face: &dyn Face) {
    let event = face.event_create(0, 0).unwrap();
    let ready = face.semaphore_create(1, 1).unwrap();
    let of_any = Child::block(face, any(&[event]).forever());
    let of_all = Child::block(face, all(&[event, ready]).forever());
    assert_eq!(face.event_set(event), Ok(0));
    check::auto(face, event, 0);
    check::semaphore(face, ready, 0, 1);
    assert_eq!(of_all.result(), ALL);
    of_any.still_sleeps();
    assert_eq!(face.event_set(event), Ok(0));
    assert_eq!(of_any.result(), at(0));
}

fn a_pulse_satisfies_waiters_in_all_processes(face: &dyn Face) {
    let event = face.event_create(1, 0).unwrap();
    let children = [any(&[event]), all(&[event]), any(&[]).alert(event)].map(|wait| Child::block(face, wait.forever()));
    assert_eq!(face.event_pulse(event), Ok(0));
    check::manual(face, event, 0);
    assert_eq!(children.map(Child::result), [at(0), ALL, at(0)]);
}

fn an_alert_here_ends_a_wait_there(face: &dyn Face) {
    let never = face.mutex_create(1, 1).unwrap();
    let alert = face.event_create(0, 0).unwrap();
    let child = Child::block(face, any(&[never]).alert(alert).forever());
    assert_eq!(face.event_set(alert), Ok(0));
    check::auto(face, alert, 0);
    assert_eq!(child.result(), at(1));
}

fn a_process_with_the_owner_id_is_the_owner(face: &dyn Face) {
    let mutex = face.mutex_create(OWNER, 1).unwrap();
    let child = Child::start(face, |face| {
        let entered = face.wait(&any(&[mutex]));
        check::mutex(face, mutex, OWNER, 2);
        assert_eq!(face.wait(&any(&[mutex]).owner(OWNER + 1)), Err(ETIMEDOUT));
        assert_eq!(face.mutex_unlock(mutex, OWNER), Ok(2));
        assert_eq!(face.mutex_unlock(mutex, OWNER), Ok(1));
        entered
    });
    assert_eq!(child.result(), at(0));
    check::mutex(face, mutex, 0, 0);
}

fn a_process_that_ends_keeps_its_mutex(face: &dyn Face) {
    let mutex = face.mutex_create(0, 0).unwrap();
    assert_eq!(Child::start(face, |face| face.wait(&any(&[mutex]).owner(7))).result(), at(0));
    check::mutex(face, mutex, 7, 1);
    assert_eq!(face.wait(&any(&[mutex])), Err(ETIMEDOUT));
    assert_eq!(face.mutex_unlock(mutex, 7), Ok(1));
    check::mutex(face, mutex, 0, 0);
}

fn a_process_that_is_killed_keeps_its_mutex(face: &dyn Face) {
    let mutex = face.mutex_create(0, 0).unwrap();
    let never = face.event_create(0, 0).unwrap();
    let child = Child::start(face, |face| {
        assert_eq!(face.wait(&any(&[mutex]).owner(7)), at(0));
        face.wait(&any(&[never]).forever())
    });
    child.still_sleeps();
    check::mutex(face, mutex, 7, 1);
    child.kill(face);
    check::mutex(face, mutex, 7, 1);
    assert_eq!(face.wait(&any(&[mutex])), Err(ETIMEDOUT));
    assert_eq!(face.mutex_kill(mutex, 7), Ok(()));
    assert_eq!(face.wait(&any(&[mutex])), abandoned_at(0));
}

fn a_killed_waiter_consumes_nothing(face: &dyn Face) {
    let semaphore = face.semaphore_create(0, 2).unwrap();
    Child::block(face, any(&[semaphore]).forever()).kill(face);
    assert_eq!(face.semaphore_release(semaphore, 1), Ok(0));
    check::semaphore(face, semaphore, 1, 2);

    let mutex = face.mutex_create(1, 1).unwrap();
    Child::block(face, any(&[mutex]).owner(2).forever()).kill(face);
    assert_eq!(face.mutex_unlock(mutex, 1), Ok(1));
    check::mutex(face, mutex, 0, 0);

    let event = face.event_create(0, 0).unwrap();
    Child::block(face, any(&[]).alert(event).forever()).kill(face);
    assert_eq!(face.event_set(event), Ok(0));
    check::auto(face, event, 1);
    assert_eq!(face.wait(&any(&[event])), at(0));
}

fn a_killed_waiter_does_not_stand_in_the_way(face: &dyn Face) {
    let event = face.event_create(0, 0).unwrap();
    let killed = Child::block(face, any(&[event]).forever());
    let next = Child::block(face, any(&[event]).forever());
    killed.kill(face);
    assert_eq!(face.event_pulse(event), Ok(0));
    check::auto(face, event, 0);
    assert_eq!(next.result(), at(0));
}

fn a_killed_wait_all_consumes_nothing(face: &dyn Face) {
    let semaphore = face.semaphore_create(1, 1).unwrap();
    let event = face.event_create(0, 0).unwrap();
    let killed = Child::block(face, all(&[semaphore, event]).forever());
    let next = Child::block(face, any(&[event]).forever());
    killed.kill(face);
    assert_eq!(face.event_set(event), Ok(0));
    check::semaphore(face, semaphore, 1, 1);
    check::auto(face, event, 0);
    assert_eq!(next.result(), at(0));
}

const ROUNDS: u32 = 300;

fn two_processes_play_ping_pong(face: &dyn Face) {
    let [there, back] = [face.event_create(0, 0).unwrap(), face.event_create(0, 0).unwrap()];
    let child = Child::start(face, |face| {
        for _ in 0..ROUNDS {
            assert_eq!(face.wait(&any(&[there]).forever()), at(0));
            assert_eq!(face.event_set(back), Ok(0));
        }
        ALL
    });
    for _ in 0..ROUNDS {
        assert_eq!(face.event_set(there), Ok(0));
        assert_eq!(face.wait(&any(&[back]).forever()), at(0));
    }
    assert_eq!(child.result(), ALL);
    check::auto(face, there, 0);
    check::auto(face, back, 0);
}

/// A number that this process and its children share.
fn shared_number() -> &'static AtomicU32 {
    // SAFETY: asks for new memory, at an address of the system's choice.
    let page = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            size_of::<AtomicU32>(),
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    assert_ne!(page, libc::MAP_FAILED);
    // SAFETY: the memory is zeroed, aligned to a page, and stays until the process ends.
    unsafe { &*page.cast() }
}

fn exclusion_among_processes(face: &dyn Face, lock: impl Fn(&dyn Face, u32), objects: &[Object]) {
    let inside = shared_number();
    let children: Vec<Child> = (1..=3)
        .map(|owner| {
            Child::start(face, |face| {
                for _ in 0..ROUNDS {
                    lock(face, owner);
                    assert_eq!(inside.fetch_add(1, Ordering::Relaxed), 0, "alone inside");
                    for object in objects {
                        check::mutex(face, *object, owner, 1);
                    }
                    inside.fetch_sub(1, Ordering::Relaxed);
                    for object in objects {
                        assert_eq!(face.mutex_unlock(*object, owner), Ok(1));
                    }
                }
                ALL
            })
        })
        .collect();
    for child in children {
        assert_eq!(child.result(), ALL);
    }
    for object in objects {
        check::mutex(face, *object, 0, 0);
    }
}

fn a_mutex_excludes_processes(face: &dyn Face) {
    let mutex = face.mutex_create(0, 0).unwrap();
    let lock = |face: &dyn Face, owner| assert_eq!(face.wait(&any(&[mutex]).owner(owner).forever()), at(0));
    exclusion_among_processes(face, lock, &[mutex]);
}

fn wait_all_excludes_processes(face: &dyn Face) {
    let mutexes = [(); 3].map(|()| face.mutex_create(0, 0).unwrap());
    let lock = |face: &dyn Face, owner: u32| {
        let mut objects = mutexes;
        objects.rotate_left(owner as usize % 3);
        assert_eq!(face.wait(&all(&objects).owner(owner).forever()), ALL);
    };
    exclusion_among_processes(face, lock, &mutexes);
}
