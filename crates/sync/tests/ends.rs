// SPDX-License-Identifier: MIT OR Apache-2.0
//! The end of an owner is an object: signaled once the owner has ended, and from then on, to everybody.

use std::sync::Barrier;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use ntux_sync::{Arena, Capacity, Deadline, Detached, EndState, Error, Object, Registered, Satisfied, Waiter};

const MS: u64 = 1_000_000;
/// Owner ids of the program: whose the wait is does not matter.
const ME: u32 = 7;

fn arena() -> Arena {
    Arena::create(Capacity { objects: 64, waiters: 16 }).unwrap()
}

fn patiently() -> Deadline {
    Deadline::after_ns(20_000 * MS)
}

fn wait(arena: &Arena, waiter: &Waiter, end: Object, deadline: Deadline) -> Result<Satisfied, Error> {
    arena.wait_any(waiter, &[end], None, ME, deadline)
}

const SATISFIED: Result<Satisfied, Error> = Ok(Satisfied { index: 0, abandoned: false });
const NOT_YET: Result<Satisfied, Error> = Err(Error::TimedOut);

#[test]
fn it_is_signaled_from_the_end_of_the_owner_on() {
    let arena = arena();
    let waiter = arena.waiter();
    let owner = arena.owner_create(&waiter).unwrap();
    let (end, other) = (arena.end_create(&waiter, owner).unwrap(), arena.end_create(&waiter, owner).unwrap());
    assert_eq!(wait(&arena, &waiter, end, Deadline::NOW), NOT_YET);
    assert_eq!(wait(&arena, &waiter, end, Deadline::after_ns(5 * MS)), NOT_YET);
    assert_eq!(arena.wait_all(&waiter, &[end, other], None, ME, Deadline::NOW), NOT_YET);
    assert_eq!(arena.end_read(&waiter, end), Ok(EndState { owner, ended: false, code: None }));
    assert_eq!((arena.end_report(&waiter, end, 3), arena.end_report(&waiter, end, 4)), (Ok(true), Ok(true)));
    assert_eq!(arena.owner_end(&waiter, owner), Ok(()));
    for _ in 0..3 {
        assert_eq!(wait(&arena, &waiter, end, Deadline::NOW), SATISFIED);
        assert_eq!(arena.wait_any(&waiter, &[], Some(end), ME, Deadline::NOW), SATISFIED);
        assert_eq!(arena.wait_all(&waiter, &[end, other], None, ME, Deadline::NOW), SATISFIED);
    }
    assert_eq!(arena.end_report(&waiter, end, 5), Ok(false), "it is too late");
    assert_eq!(arena.end_read(&waiter, end), Ok(EndState { owner, ended: true, code: Some(4) }));
    assert_eq!(arena.end_read(&waiter, other), Ok(EndState { owner, ended: true, code: None }));
}

#[test]
fn who_has_ended_before_has_an_end_all_the_same_and_who_never_was_has_none() {
    let arena = arena();
    let waiter = arena.waiter();
    let owner = arena.owner_create(&waiter).unwrap();
    assert_eq!(arena.owner_end(&waiter, owner), Ok(()));
    let end = arena.end_create(&waiter, owner).unwrap();
    assert_eq!(wait(&arena, &waiter, end, patiently()), SATISFIED);
    for nobody in [0, ME, owner + 1] {
        assert_eq!(arena.end_create(&waiter, nobody), Err(Error::Invalid), "{nobody:#x}");
    }
}

#[test]
fn other_operations_are_not_for_ends() {
    let arena = arena();
    let waiter = arena.waiter();
    let owner = arena.owner_create(&waiter).unwrap();
    let (end, event) = (arena.end_create(&waiter, owner).unwrap(), arena.event_create(&waiter, true, true).unwrap());
    assert_eq!(arena.event_set(&waiter, end), Err(Error::Invalid));
    assert_eq!(arena.event_read(&waiter, end), Err(Error::Invalid));
    assert_eq!(arena.mutex_kill(&waiter, end, owner), Err(Error::Invalid));
    assert_eq!(arena.timer_cancel(&waiter, end), Err(Error::Invalid));
    assert_eq!(arena.signal_and_wait(&waiter, end, event, None, ME, Deadline::NOW), Err(Error::Invalid));
    assert_eq!(arena.signal_and_wait(&waiter, event, end, None, ME, Deadline::NOW), NOT_YET);
    assert_eq!(arena.end_report(&waiter, event, 1), Err(Error::Invalid));
    assert_eq!(arena.end_read(&waiter, event), Err(Error::Invalid));
    assert_eq!(arena.close(end), Ok(()));
    assert_eq!(arena.end_read(&waiter, end), Err(Error::NoSuchObject));
    assert_eq!(arena.end_report(&waiter, end, 1), Err(Error::NoSuchObject));
}

#[test]
fn the_end_of_a_thread_is_noticed_by_all_who_sleep_for_it() {
    let arena = arena();
    let event = arena.event_create(&arena.waiter(), false, false).unwrap();
    let ready = Barrier::new(5);
    thread::scope(|scope| {
        let (arena, ready) = (&arena, &ready);
        let (tells, told) = channel();
        let worker = scope.spawn(move || {
            let waiter = arena.waiter();
            let end = arena.end_create(&waiter, arena.owner_of_this_thread(&waiter).unwrap()).unwrap();
            tells.send(end).unwrap();
            ready.wait();
            thread::sleep(Duration::from_millis(20));
            arena.end_report(&waiter, end, 9).unwrap()
        });
        let end = told.recv().unwrap();
        let other = arena.event_create(&arena.waiter(), true, true).unwrap();
        let sleeps = |objects: Vec<Object>, alert: Option<Object>, all: bool| {
            scope.spawn(move || {
                let waiter = arena.waiter();
                ready.wait();
                match all {
                    false => arena.wait_any(&waiter, &objects, alert, ME, patiently()),
                    true => arena.wait_all(&waiter, &objects, alert, ME, patiently()),
                }
            })
        };
        let waits = [
            sleeps(vec![end], None, false),
            sleeps(vec![event, end], None, false),
            sleeps(vec![event], Some(end), false),
            sleeps(vec![other, end], None, true),
        ];
        let results = waits.map(|wait| wait.join().unwrap());
        let at = |index| Ok(Satisfied { index, abandoned: false });
        assert_eq!(results, [at(0), at(1), at(1), at(0)]);
        assert!(worker.join().unwrap());
        assert_eq!(arena.end_read(&arena.waiter(), end).map(|state| state.code), Ok(Some(9)));
    });
}

/// A child that creates the end of an owner, tells its number, and is killed some time later. The parent has held the end by then.
fn killed(arena: &Arena, owner: fn(&Arena, &Waiter) -> u32) -> Object {
    let mut pipes = [[0; 2]; 2];
    // SAFETY: places for two descriptors each; then a child that uses the arena, and no lock of another thread.
    let child = unsafe {
        pipes.iter_mut().for_each(|pipe| assert_eq!(libc::pipe(pipe.as_mut_ptr()), 0));
        libc::fork()
    };
    let [[reads, writes], [goes, go]] = pipes;
    let (mut number, mut byte) = ([0u8; 8], [0u8]);
    if child == 0 {
        let waiter = arena.waiter();
        number = arena.end_create(&waiter, owner(arena, &waiter)).unwrap().0.to_ne_bytes();
        // SAFETY: descriptors and memory of this process.
        unsafe {
            libc::write(writes, number.as_ptr().cast(), 8);
            libc::read(goes, byte.as_mut_ptr().cast(), 1);
            libc::usleep(20_000);
            libc::kill(libc::getpid(), libc::SIGKILL);
            libc::_exit(1)
        }
    }
    // SAFETY: as above.
    assert_eq!(unsafe { libc::read(reads, number.as_mut_ptr().cast(), 8) }, 8);
    let end = Object(u64::from_ne_bytes(number));
    arena.hold(end).unwrap();
    // SAFETY: as above.
    unsafe {
        libc::write(go, byte.as_ptr().cast(), 1);
        pipes.as_flattened().iter().for_each(|&fd| assert_eq!(libc::close(fd), 0));
    }
    thread::spawn(move || {
        let mut status = 0;
        // SAFETY: a child of ours, and a place for the answer.
        unsafe { libc::waitpid(child, &mut status, 0) };
    });
    end
}

#[test]
fn a_process_that_is_killed_ends_without_a_code() {
    let arena = arena();
    let waiter = arena.waiter();
    let owners: [fn(&Arena, &Waiter) -> u32; 2] = [
        |arena, waiter| arena.owner_of_this_thread(waiter).unwrap(),
        |arena, waiter| arena.owner_create(waiter).unwrap(),
    ];
    for owner in owners {
        let end = killed(&arena, owner);
        assert_eq!(wait(&arena, &waiter, end, patiently()), SATISFIED);
        let state = arena.end_read(&waiter, end).unwrap();
        assert_eq!((state.ended, state.code), (true, None));
        assert_eq!(arena.release(end), Ok(()));
    }
}

#[test]
fn a_wait_without_a_thread_gets_it_too() {
    let arena = arena();
    let (waiter, queue) = (arena.waiter(), arena.queue_create().unwrap());
    let end = killed(&arena, |arena, waiter| arena.owner_create(waiter).unwrap());
    let wanted = Detached { objects: &[end], all: false, owner: ME, key: 5 };
    assert!(matches!(arena.wait_detached(&waiter, queue, wanted), Ok(Registered::Waits(_))));
    let delivered = arena.collect(&waiter, queue, patiently()).unwrap();
    assert!(format!("{delivered:?}").contains("key: 5"), "{delivered:?}");
}

#[test]
fn a_place_that_another_owner_has_later_does_not_keep_the_end_away() {
    let arena = Arena::create(Capacity { objects: 4, waiters: 1 }).unwrap();
    let waiter = arena.waiter();
    let first = arena.owner_create(&waiter).unwrap();
    let end = arena.end_create(&waiter, first).unwrap();
    arena.owner_end(&waiter, first).unwrap();
    let again = (0..=u16::MAX).map(|_| {
        let owner = arena.owner_create(&waiter).unwrap();
        arena.owner_end(&waiter, owner).unwrap();
        owner
    });
    assert!(again.collect::<Vec<_>>().contains(&first), "its turn comes again");
    let owner = arena.owner_create(&waiter).unwrap();
    assert_eq!(arena.end_read(&waiter, end).map(|state| state.ended), Ok(true));
    assert_eq!(wait(&arena, &waiter, end, Deadline::NOW), SATISFIED);
    arena.owner_end(&waiter, owner).unwrap();
}
