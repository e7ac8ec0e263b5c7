// SPDX-License-Identifier: MIT OR Apache-2.0
//! Owner ids of the arena: each is given out once, and what an owner owned that has ended is had by others.

use std::collections::HashSet;
use std::thread;

use ntux_sync::{Arena, Capacity, Deadline, Error, New, Object, Satisfied, Waiter};

const MS: u64 = 1_000_000;

fn arena() -> Arena {
    Arena::create(Capacity { objects: 64, waiters: 16 }).unwrap()
}

fn mutex(arena: &Arena) -> Object {
    arena.mutex_create(&arena.waiter(), 0, 0).unwrap()
}

fn patiently() -> Deadline {
    Deadline::after_ns(20_000 * MS)
}

fn locks(arena: &Arena, waiter: &Waiter, mutex: Object, owner: u32, deadline: Deadline) -> Result<bool, Error> {
    arena.wait_any(waiter, &[mutex], None, owner, deadline).map(|satisfied| satisfied.abandoned)
}

/// A child that owns these when it dies.
fn process_that_dies_with(arena: &Arena, mutexes: &[Object]) {
    // SAFETY: the child uses the arena, and no lock of another thread.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let waiter = arena.waiter();
        let owner = arena.owner_of_this_thread(&waiter).unwrap();
        let all = arena.wait_all(&waiter, mutexes, None, owner, Deadline::NOW);
        // SAFETY: concerns this process only.
        unsafe { if all.is_ok() { libc::kill(libc::getpid(), libc::SIGKILL) } else { libc::_exit(1) } };
    }
    let mut status = 0;
    // SAFETY: a child of ours, and a place for the answer.
    unsafe { libc::waitpid(child, &mut status, 0) };
    assert_eq!(libc::WTERMSIG(status), libc::SIGKILL);
}

/// A thread that owns these when it ends.
fn thread_that_ends_with(arena: &Arena, mutexes: &[Object]) -> u32 {
    thread::scope(|scope| {
        let ends = || {
            let waiter = arena.waiter();
            let owner = arena.owner_of_this_thread(&waiter).unwrap();
            arena.wait_all(&waiter, mutexes, None, owner, Deadline::NOW).unwrap();
            owner
        };
        scope.spawn(ends).join().unwrap()
    })
}

#[test]
fn no_id_is_given_out_twice() {
    let arena = Arena::create(Capacity { objects: 4, waiters: 4 }).unwrap();
    let waiter = arena.waiter();
    let mut seen = HashSet::new();
    for _ in 0..3 {
        let owners: Vec<u32> = (0..4).map(|_| arena.owner_create(&waiter).unwrap()).collect();
        assert_eq!(arena.owner_of_this_thread(&waiter), Err(Error::Exhausted));
        for owner in owners {
            assert!(owner >= 1 << 31 && seen.insert(owner), "{owner:#x}");
            assert_eq!(arena.owner_end(&waiter, owner), Ok(()));
            assert_eq!(arena.owner_end(&waiter, owner), Err(Error::Invalid));
        }
    }
    assert_eq!(arena.owner_end(&waiter, 7), Err(Error::Invalid));
}

#[test]
fn places_of_the_dead_are_had_again() {
    let arena = Arena::create(Capacity { objects: 4, waiters: 2 }).unwrap();
    for _ in 0..5 {
        thread_that_ends_with(&arena, &[]);
        process_that_dies_with(&arena, &[]);
    }
}

#[test]
fn who_ends_leaves_its_mutexes_abandoned() {
    let arena = arena();
    let (waiter, mutex, kept) = (arena.waiter(), mutex(&arena), mutex(&arena));
    let (one, other) = (arena.owner_of_this_thread(&waiter).unwrap(), arena.owner_create(&waiter).unwrap());
    assert_eq!(locks(&arena, &waiter, mutex, one, Deadline::NOW), Ok(false));
    assert_eq!(locks(&arena, &waiter, kept, other, Deadline::NOW), Ok(false));
    assert_eq!(locks(&arena, &waiter, mutex, other, Deadline::NOW), Err(Error::TimedOut));
    assert_eq!(arena.owner_end(&waiter, one), Ok(()));
    let state = |mutex| arena.mutex_read(&waiter, mutex).map(|state| (state.owner, state.abandoned));
    assert_eq!((state(mutex), state(kept)), (Ok((0, true)), Ok((other, false))));
    assert_eq!(locks(&arena, &waiter, mutex, other, Deadline::NOW), Ok(true));
}

#[test]
fn a_poll_finds_the_mutex_of_a_thread_or_process_that_has_ended() {
    let arena = arena();
    let (waiter, mutexes) = (arena.waiter(), [mutex(&arena), mutex(&arena)]);
    let owner = arena.owner_of_this_thread(&waiter).unwrap();
    let thread = |arena: &Arena, with: &[Object]| {
        thread_that_ends_with(arena, with);
    };
    for end in [thread, process_that_dies_with] {
        end(&arena, &mutexes);
        assert_eq!(locks(&arena, &waiter, mutexes[0], owner, Deadline::NOW), Ok(true));
        let any = arena.wait_any(&waiter, &mutexes[1..], None, owner, Deadline::NOW);
        assert_eq!(any, Ok(Satisfied { index: 0, abandoned: true }));
        mutexes.iter().for_each(|&mutex| assert_eq!(arena.mutex_unlock(&waiter, mutex, owner), Ok(1)));
        end(&arena, &mutexes);
        let all = arena.wait_all(&waiter, &mutexes, None, owner, Deadline::NOW);
        assert_eq!(all, Ok(Satisfied { index: 0, abandoned: true }));
        mutexes.iter().for_each(|&mutex| assert_eq!(arena.mutex_unlock(&waiter, mutex, owner), Ok(1)));
    }
}

#[test]
fn who_sleeps_is_told_that_the_owner_was_killed() {
    let arena = arena();
    let event = arena.event_create(&arena.waiter(), false, false).unwrap();
    let mutexes = [mutex(&arena), mutex(&arena), mutex(&arena)];
    let [one, any, all] = mutexes;
    let ready = std::sync::Barrier::new(4);
    thread::scope(|scope| {
        let (arena, ready) = (&arena, &ready);
        let wait = |objects: Vec<Object>, for_all: bool| {
            scope.spawn(move || {
                let waiter = arena.waiter();
                let owner = arena.owner_of_this_thread(&waiter).unwrap();
                ready.wait();
                match for_all {
                    false => arena.wait_any(&waiter, &objects, None, owner, patiently()),
                    true => arena.wait_all(&waiter, &objects, None, owner, patiently()),
                }
            })
        };
        let other = mutex(arena);
        let waits = [wait(vec![one], false), wait(vec![event, any], false), wait(vec![all, other], true)];
        process_that_dies_with_when(arena, &mutexes, ready);
        let results = waits.map(|wait| wait.join().unwrap());
        let abandoned = |index| Ok(Satisfied { index, abandoned: true });
        assert_eq!(results, [abandoned(0), abandoned(1), abandoned(0)]);
    });
}

/// The same, once all are `ready` to wait, and some time after they sleep.
fn process_that_dies_with_when(arena: &Arena, mutexes: &[Object], ready: &std::sync::Barrier) {
    let mut pipe = [0; 2];
    // SAFETY: a place for two descriptors; then a child that uses the arena, and no lock of another thread.
    let child = unsafe {
        assert_eq!(libc::pipe(pipe.as_mut_ptr()), 0);
        libc::fork()
    };
    let mut byte = [0u8];
    if child == 0 {
        let waiter = arena.waiter();
        let owner = arena.owner_of_this_thread(&waiter).unwrap();
        let all = arena.wait_all(&waiter, mutexes, None, owner, Deadline::NOW);
        // SAFETY: descriptors and memory of this process.
        unsafe {
            if all.is_ok() {
                libc::write(pipe[1], byte.as_ptr().cast(), 1);
                libc::pause();
            }
            libc::_exit(1);
        }
    }
    // SAFETY: as above.
    assert_eq!(unsafe { libc::read(pipe[0], byte.as_mut_ptr().cast(), 1) }, 1);
    ready.wait();
    thread::sleep(std::time::Duration::from_millis(20));
    // SAFETY: a child of ours.
    unsafe {
        libc::kill(child, libc::SIGKILL);
        libc::waitpid(child, std::ptr::null_mut(), 0);
        libc::close(pipe[0]);
        libc::close(pipe[1]);
    }
}

#[test]
fn another_mutex_and_ids_of_the_program_are_left_alone() {
    let arena = arena();
    let (waiter, mutexes) = (arena.waiter(), [mutex(&arena), mutex(&arena)]);
    assert_eq!(locks(&arena, &waiter, mutexes[0], 7, Deadline::NOW), Ok(false));
    thread_that_ends_with(&arena, &mutexes[1..]);
    let owner = arena.owner_of_this_thread(&waiter).unwrap();
    assert_eq!(locks(&arena, &waiter, mutexes[0], owner, Deadline::after_ns(5 * MS)), Err(Error::TimedOut));
    assert_eq!(
        locks(&arena, &waiter, mutexes[1], 8, Deadline::NOW),
        Err(Error::TimedOut),
        "an id of the program asks nobody"
    );
    assert_eq!(locks(&arena, &waiter, mutexes[1], owner, Deadline::NOW), Ok(true));
}

#[test]
fn a_mutex_that_is_made_owned_belongs_to_an_owner_too() {
    let arena = arena();
    let waiter = arena.waiter();
    let owner = arena.owner_of_this_thread(&waiter).unwrap();
    let mutex = arena.create_new(&waiter, New::Mutex { owner, count: 2 }).unwrap();
    assert_eq!(arena.owner_end(&waiter, owner), Ok(()));
    let next = arena.owner_of_this_thread(&waiter).unwrap();
    assert_eq!(locks(&arena, &waiter, mutex, next, Deadline::NOW), Ok(true));
}

#[test]
fn a_thread_has_one_owner_until_it_ends() {
    let arena = arena();
    let (waiter, mutex) = (arena.waiter(), mutex(&arena));
    let mine = arena.owner_of_this_thread(&waiter).unwrap();
    assert_eq!(arena.owner_of_this_thread(&waiter), Ok(mine));
    assert_eq!(locks(&arena, &waiter, mutex, mine, Deadline::NOW), Ok(false));
    let theirs = thread::scope(|scope| {
        let other = || {
            let waiter = arena.waiter();
            let owner = arena.owner_of_this_thread(&waiter).unwrap();
            assert_eq!(locks(&arena, &waiter, mutex, owner, Deadline::NOW), Err(Error::TimedOut));
            arena.retire(&waiter);
            owner
        };
        scope.spawn(other).join().unwrap()
    });
    assert_ne!(mine, theirs);
    arena.retire(&waiter);
    let next = arena.owner_of_this_thread(&waiter).unwrap();
    assert!(next != mine && next != theirs);
    assert_eq!(locks(&arena, &waiter, mutex, next, Deadline::NOW), Ok(true));
}

#[test]
fn an_id_that_comes_again_owns_nothing() {
    let arena = Arena::create(Capacity { objects: 4, waiters: 1 }).unwrap();
    let (waiter, mutex) = (arena.waiter(), mutex(&arena));
    let first = thread_that_ends_with(&arena, &[mutex]);
    let again = (0..=u16::MAX).map(|_| {
        let owner = arena.owner_create(&waiter).unwrap();
        assert_eq!(arena.mutex_unlock(&waiter, mutex, owner), Err(Error::NotOwner));
        assert_eq!(arena.owner_end(&waiter, owner), Ok(()));
        owner
    });
    assert!(again.collect::<Vec<_>>().contains(&first), "its turn comes again");
    assert_eq!(arena.mutex_read(&waiter, mutex).map(|state| (state.owner, state.abandoned)), Ok((0, true)));
}
