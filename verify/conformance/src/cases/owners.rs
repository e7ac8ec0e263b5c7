// SPDX-License-Identifier: MIT OR Apache-2.0
//! Owner ids that an arena gives out.

use std::thread;

use crate::blocked::{block, block_at_queue};
use crate::case::{Case, case};
use crate::check::{self, abandoned_at, at};
use crate::face::{
    Deadline, Delivered, EALREADY, EBADF, EINVAL, ETIMEDOUT, Face, Object, Registered, Satisfied, all, any,
};
use crate::process::Child;

pub(super) const CASES: &[Case] = &[
    case!(Holds, no_owner_id_is_given_out_twice, "S-1301"),
    case!(Holds, a_thread_has_one_owner_id_and_a_child_another, "S-1301"),
    case!(Holds, what_the_dead_owned_is_abandoned, "S-1302"),
    case!(Holds, who_sleeps_for_the_mutex_of_a_process_that_is_killed_gets_it, "S-1302"),
    case!(Holds, who_waits_for_all_gets_the_mutexes_of_the_dead, "S-1302"),
    case!(Holds, the_next_in_line_is_told_of_a_death, "S-1302"),
    case!(Holds, the_mutex_of_the_dead_is_delivered, "S-1302"),
    case!(Holds, what_a_thread_owns_that_returns_is_abandoned, "S-1302"),
    case!(Holds, an_owner_that_is_ended_owns_nothing, "S-1303"),
    case!(Holds, who_sleeps_is_told_that_an_owner_was_ended, "S-1303"),
    case!(Holds, an_owner_is_ended_by_those_whose_it_is, "S-1303"),
    case!(Holds, other_ids_do_not_end, "S-1304"),
    case!(Holds, an_end_is_signaled_once_its_owner_has_ended, "S-1305"),
    case!(Holds, who_sleeps_for_the_end_of_a_process_that_is_killed_is_told, "S-1305"),
    case!(Holds, an_end_is_one_object_of_a_wait_for_all, "S-1305"),
    case!(Holds, an_end_is_delivered, "S-1305"),
    case!(Holds, an_end_has_the_code_that_was_reported_last, "S-1306"),
    case!(Holds, an_end_is_of_an_owner_of_the_arena, "S-1306"),
];

const ABANDONED: Satisfied = Satisfied { index: 0, abandoned: true };

fn mine(face: &dyn Face) -> u32 {
    face.owner_of_thread().expect("there are more than these")
}

fn created(face: &dyn Face) -> u32 {
    face.owner_create().expect("there are more than these")
}

/// A child that owns these until it is killed.
fn child_with(face: &dyn Face, mutexes: &[Object]) -> Child {
    let (ready, never) = (face.semaphore_create(0, 1).unwrap(), face.event_create(0, 0).unwrap());
    let child = Child::start(face, |face| {
        assert_eq!(face.wait(&all(mutexes).owner(mine(face))), at(0));
        assert!(face.semaphore_release(ready, 1).is_ok());
        face.wait(&any(&[never]).forever())
    });
    assert_eq!(face.wait(&any(&[ready]).forever()), at(0));
    child
}

fn no_owner_id_is_given_out_twice(face: &dyn Face) {
    let mut seen = vec![mine(face)];
    for _ in 0..3 {
        let owners = [(); 3].map(|()| created(face));
        for owner in owners {
            assert!(owner >= 1 << 31 && !seen.contains(&owner), "{owner:#x}");
            seen.push(owner);
            assert_eq!(face.owner_end(owner), Ok(()));
        }
    }
}

fn a_thread_has_one_owner_id_and_a_child_another(face: &dyn Face) {
    let own = mine(face);
    assert_eq!(mine(face), own);
    let theirs = thread::scope(|scope| scope.spawn(|| mine(face)).join().unwrap());
    let child = Child::start(face, |face| Ok(Satisfied { index: mine(face), abandoned: false }));
    let childs = child.result().expect("its owner id").index;
    assert!(own != theirs && theirs != childs && childs != own);
    assert!(mine(face) == own && own >> 31 == 1);
}

fn what_the_dead_owned_is_abandoned(face: &dyn Face) {
    let mutexes = [(); 2].map(|()| face.mutex_create(0, 0).unwrap());
    let child = child_with(face, &mutexes);
    assert_eq!(face.wait(&any(&mutexes[..1]).owner(mine(face))), Err(ETIMEDOUT));
    child.kill(face);
    check::abandoned(face, mutexes[1]);
    assert_eq!(face.wait(&any(&mutexes[..1]).owner(mine(face))), abandoned_at(0));
    check::mutex(face, mutexes[0], mine(face), 1);
    assert_eq!(face.wait(&any(&mutexes[1..]).owner(mine(face))), abandoned_at(0));
    assert_eq!(face.mutex_unlock(mutexes[1], mine(face)), Ok(1));
    assert_eq!(face.wait(&any(&mutexes[1..]).owner(mine(face))), at(0));
}

fn who_sleeps_for_the_mutex_of_a_process_that_is_killed_gets_it(face: &dyn Face) {
    let (mutex, event) = (face.mutex_create(0, 0).unwrap(), face.event_create(0, 0).unwrap());
    for objects in [vec![mutex], vec![event, mutex]] {
        let child = child_with(face, &[mutex]);
        let last = objects.len() as u32 - 1;
        thread::scope(|scope| {
            let owner = created(face);
            let wait = block(scope, face, any(&objects).owner(owner).forever());
            child.kill(face);
            assert_eq!(wait.result(), abandoned_at(last));
            check::mutex(face, mutex, owner, 1);
            assert_eq!(face.mutex_unlock(mutex, owner), Ok(1));
        });
    }
}

fn who_waits_for_all_gets_the_mutexes_of_the_dead(face: &dyn Face) {
    let mutexes = [(); 2].map(|()| face.mutex_create(0, 0).unwrap());
    let children = mutexes.map(|mutex| child_with(face, &[mutex]));
    thread::scope(|scope| {
        let wait = block(scope, face, all(&mutexes).owner(created(face)).forever());
        let [first, second] = children;
        second.kill(face);
        wait.still_sleeps();
        first.kill(face);
        assert_eq!(wait.result(), abandoned_at(0));
    });
}

fn the_next_in_line_is_told_of_a_death(face: &dyn Face) {
    let mutex = face.mutex_create(0, 0).unwrap();
    let (owner, never) = (mine(face), face.event_create(0, 0).unwrap());
    assert_eq!(face.wait(&any(&[mutex]).owner(owner)), at(0));
    let first = Child::start(face, |face| {
        assert_eq!(face.wait(&any(&[mutex]).owner(mine(face)).forever()), at(0));
        face.wait(&any(&[never]).forever())
    });
    first.still_sleeps();
    thread::scope(|scope| {
        let second = created(face);
        let wait = block(scope, face, any(&[mutex]).owner(second).forever());
        assert_eq!(face.mutex_unlock(mutex, owner), Ok(1));
        wait.still_sleeps();
        first.kill(face);
        assert_eq!(wait.result(), abandoned_at(0));
        check::mutex(face, mutex, second, 1);
    });
}

fn the_mutex_of_the_dead_is_delivered(face: &dyn Face) {
    let (mutex, queue, owner) = (face.mutex_create(0, 0).unwrap(), face.queue_create().unwrap(), created(face));
    for polls in [false, true] {
        let child = child_with(face, &[mutex]);
        let wait = face.queue_wait(queue, &any(&[mutex]).owner(owner), 5).expect("a legal wait");
        let Registered::Waits(registration) = wait else { panic!("it waits, and not {wait:?}") };
        let expected = Ok(Delivered { registration: Some(registration), key: 5, satisfied: ABANDONED });
        if polls {
            assert_eq!(face.queue_get(queue, Deadline::Monotonic(0)), Err(ETIMEDOUT));
            child.kill(face);
            assert_eq!(face.queue_get(queue, Deadline::Monotonic(0)), expected);
        } else {
            thread::scope(|scope| {
                let gets = block_at_queue(scope, face, queue);
                child.kill(face);
                assert_eq!(gets.result(), expected);
            });
        }
        assert_eq!(face.mutex_unlock(mutex, owner), Ok(1));
    }
}

fn what_a_thread_owns_that_returns_is_abandoned(face: &dyn Face) {
    let mutex = face.mutex_create(0, 0).unwrap();
    thread::scope(|scope| {
        let owns = || face.wait(&any(&[mutex]).owner(mine(face)));
        assert_eq!(scope.spawn(owns).join().unwrap(), at(0));
    });
    assert_eq!(face.wait(&any(&[mutex]).owner(mine(face))), abandoned_at(0));
}

fn an_owner_that_is_ended_owns_nothing(face: &dyn Face) {
    let mutexes = [(); 2].map(|()| face.mutex_create(0, 0).unwrap());
    let (one, other) = (created(face), created(face));
    assert_eq!(face.wait(&any(&mutexes[..1]).owner(one)), at(0));
    assert_eq!(face.wait(&any(&mutexes[1..]).owner(other)), at(0));
    assert_eq!(face.owner_end(one), Ok(()));
    check::abandoned(face, mutexes[0]);
    check::mutex(face, mutexes[1], other, 1);
    assert_eq!(face.wait(&any(&mutexes[..1]).owner(other)), abandoned_at(0));
    // Also one that is made owned.
    let mutex = face.mutex_create(other, 3).unwrap();
    assert_eq!(face.owner_end(other), Ok(()));
    for mutex in [mutexes[0], mutexes[1], mutex] {
        check::abandoned(face, mutex);
    }
}

fn who_sleeps_is_told_that_an_owner_was_ended(face: &dyn Face) {
    let mutex = face.mutex_create(0, 0).unwrap();
    let owner = created(face);
    assert_eq!(face.wait(&any(&[mutex]).owner(owner)), at(0));
    thread::scope(|scope| {
        let next = created(face);
        let wait = block(scope, face, any(&[mutex]).owner(next).forever());
        assert_eq!(face.owner_end(owner), Ok(()));
        assert_eq!(wait.result(), abandoned_at(0));
        check::mutex(face, mutex, next, 1);
    });
}

fn an_owner_is_ended_by_those_whose_it_is(face: &dyn Face) {
    let (owner, mutex) = (created(face), face.mutex_create(0, 0).unwrap());
    assert_eq!(face.wait(&any(&[mutex]).owner(owner)), at(0));
    for none in [0, 7, 1 << 31 | 0x7fff] {
        assert_eq!(face.owner_end(none), Err(EINVAL), "{none:#x}");
    }
    let child = Child::start(face, |face| face.owner_end(owner).map(|()| Satisfied { index: 0, abandoned: false }));
    assert_eq!(child.result(), Err(EINVAL), "it is another process's");
    let own = mine(face);
    thread::scope(|scope| {
        assert_eq!(scope.spawn(|| face.owner_end(own)).join().unwrap(), Err(EINVAL), "it is another thread's");
        check::mutex(face, mutex, owner, 1);
        assert_eq!(scope.spawn(|| face.owner_end(owner)).join().unwrap(), Ok(()));
    });
    assert_eq!(face.owner_end(owner), Err(EINVAL), "it has ended");
    check::abandoned(face, mutex);
    assert_eq!(face.owner_end(own), Ok(()));
    assert_ne!(mine(face), own);
}

fn other_ids_do_not_end(face: &dyn Face) {
    let mutexes = [(); 2].map(|()| face.mutex_create(0, 0).unwrap());
    assert_eq!(face.wait(&any(&mutexes[..1]).owner(7)), at(0));
    child_with(face, &mutexes[1..]).kill(face);
    assert_eq!(face.wait(&any(&mutexes[..1]).owner(mine(face))), Err(ETIMEDOUT), "who knows whose 7 is");
    check::mutex(face, mutexes[0], 7, 1);
    // Once somebody has looked, it is abandoned for all.
    check::abandoned(face, mutexes[1]);
    assert_eq!(face.wait(&any(&mutexes[1..]).owner(7)), abandoned_at(0));
}

fn an_end_is_signaled_once_its_owner_has_ended(face: &dyn Face) {
    let end = thread::scope(|scope| {
        let ends = || {
            let end = face.end_create(mine(face)).unwrap();
            assert_eq!(face.wait(&any(&[end])), Err(ETIMEDOUT));
            end
        };
        scope.spawn(ends).join().unwrap()
    });
    for owner in [7, created(face)] {
        assert_eq!(face.wait(&any(&[end]).owner(owner)), at(0));
        assert_eq!(face.wait(&any(&[end, end]).owner(owner).forever()), at(0));
    }
    // Also if it has ended before.
    let owner = created(face);
    assert_eq!(face.owner_end(owner), Ok(()));
    assert_eq!(face.wait(&any(&[face.end_create(owner).unwrap()])), at(0));
}

fn who_sleeps_for_the_end_of_a_process_that_is_killed_is_told(face: &dyn Face) {
    let (ready, never) = (face.semaphore_create(0, 1).unwrap(), face.event_create(0, 0).unwrap());
    let owner_of: [fn(&dyn Face) -> u32; 2] = [mine, created];
    for owner_of in owner_of {
        let numbers = face.semaphore_create(0, u32::MAX).unwrap();
        let child = Child::start(face, |face| {
            // Its number, for the parent.
            assert!(
                face.semaphore_release(numbers, owner_of(face)).is_ok() && face.semaphore_release(ready, 1).is_ok()
            );
            face.wait(&any(&[never]).forever())
        });
        assert_eq!(face.wait(&any(&[ready]).forever()), at(0));
        let end = face.end_create(face.semaphore_read(numbers).unwrap().count).unwrap();
        thread::scope(|scope| {
            let waits = [any(&[end]).forever(), any(&[never, end]).forever()].map(|wait| block(scope, face, wait));
            child.kill(face);
            let [one, other] = waits;
            assert_eq!((one.result(), other.result()), (at(0), at(1)));
        });
        assert_eq!(face.end_read(end).map(|(_, ended, code)| (ended, code)), Ok((true, None)));
    }
}

fn an_end_is_one_object_of_a_wait_for_all(face: &dyn Face) {
    let (owner, event) = (created(face), face.event_create(0, 0).unwrap());
    let end = face.end_create(owner).unwrap();
    thread::scope(|scope| {
        let wait = block(scope, face, all(&[end, event]).forever());
        assert_eq!(face.owner_end(owner), Ok(()));
        wait.still_sleeps();
        assert_eq!(face.event_set(event), Ok(0));
        assert_eq!(wait.result(), at(0));
    });
}

fn an_end_is_delivered(face: &dyn Face) {
    let (owner, queue) = (created(face), face.queue_create().unwrap());
    let end = face.end_create(owner).unwrap();
    let wait = face.queue_wait(queue, &any(&[end]), 6).expect("a legal wait");
    let Registered::Waits(registration) = wait else { panic!("it waits, and not {wait:?}") };
    let satisfied = Satisfied { index: 0, abandoned: false };
    thread::scope(|scope| {
        let gets = block_at_queue(scope, face, queue);
        assert_eq!(face.owner_end(owner), Ok(()));
        assert_eq!(gets.result(), Ok(Delivered { registration: Some(registration), key: 6, satisfied }));
    });
}

fn an_end_has_the_code_that_was_reported_last(face: &dyn Face) {
    let owner = created(face);
    let (end, other) = (face.end_create(owner).unwrap(), face.end_create(owner).unwrap());
    assert_eq!(face.end_read(end), Ok((owner, false, None)));
    assert_eq!((face.end_report(end, 3), face.end_report(end, u32::MAX)), (Ok(()), Ok(())));
    assert_eq!(face.end_read(end), Ok((owner, false, Some(u32::MAX))));
    assert_eq!(face.owner_end(owner), Ok(()));
    assert_eq!(face.end_read(end), Ok((owner, true, Some(u32::MAX))));
    assert_eq!(face.end_report(end, 4), Err(EALREADY));
    assert_eq!(face.end_read(end), Ok((owner, true, Some(u32::MAX))));
    assert_eq!(face.end_read(other), Ok((owner, true, None)));
}

fn an_end_is_of_an_owner_of_the_arena(face: &dyn Face) {
    for nobody in [0, 7, 1 << 31 | 0x7fff] {
        assert_eq!(face.end_create(nobody), Err(EINVAL), "{nobody:#x}");
    }
    let (end, event) = (face.end_create(created(face)).unwrap(), face.event_create(1, 1).unwrap());
    assert_eq!(face.event_set(end), Err(EINVAL));
    assert_eq!(face.end_report(event, 1), Err(EINVAL));
    assert_eq!(face.end_read(event), Err(EINVAL));
    assert_eq!(face.close(end), Ok(()));
    assert_eq!(face.end_report(end, 1), Err(EBADF));
    assert_eq!(face.end_read(end), Err(EBADF));
}
