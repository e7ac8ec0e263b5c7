// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads over one arena: hand-off, counters, wait-all, alerts. Each test ends by itself or by the watchdog.
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "a test is no part of the model")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use ntux_sync::{Arena, Capacity, Deadline, Error, Object, Satisfied, Waiter};

const OWNER: u32 = 1;

fn arena() -> Arc<Arena> {
    Arc::new(Arena::create(Capacity { objects: 4096, waiters: 1024 }).unwrap())
}

/// Fails the whole test program if `body` hangs.
fn watched<T>(body: impl FnOnce() -> T) -> T {
    let done = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&done);
    std::thread::spawn(move || {
        for _ in 0..600 {
            std::thread::sleep(Duration::from_millis(100));
            if seen.load(Ordering::SeqCst) {
                return;
            }
        }
        eprintln!("watchdog: a test hangs");
        std::process::abort();
    });
    let result = body();
    done.store(true, Ordering::SeqCst);
    result
}

fn poll(arena: &Arena, waiter: &Waiter, objects: &[Object]) -> Result<Satisfied, Error> {
    arena.wait_any(waiter, objects, None, OWNER, Deadline::NOW)
}

/// Runs all tests of this program once more, without what not every kernel has.
#[test]
fn everything_holds_without_what_old_kernels_lack() {
    const FEATURES: &str = "robust_list,wipe_on_fork,memfd_noexec_seal";
    if std::env::var_os("NTUX_WITHOUT").is_some() {
        return;
    }
    let program = std::env::current_exe().unwrap();
    let again = std::process::Command::new(program).env("NTUX_WITHOUT", FEATURES).output().unwrap();
    assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stdout));
}

#[test]
fn a_mutex_counts_exactly_between_threads() {
    watched(|| {
        let arena = arena();
        let mutex = arena.mutex_create(&arena.waiter(), 0, 0).unwrap();
        let counter = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for owner in 1..=4 {
                let (arena, counter) = (&arena, &counter);
                scope.spawn(move || {
                    let waiter = arena.waiter();
                    for _ in 0..20_000 {
                        arena.wait_any(&waiter, &[mutex], None, owner, Deadline::Never).unwrap();
                        let seen = counter.load(Ordering::Relaxed);
                        counter.store(seen + 1, Ordering::Relaxed);
                        assert_eq!(arena.mutex_unlock(&waiter, mutex, owner), Ok(1));
                    }
                    arena.retire(&waiter);
                });
            }
        });
        assert_eq!(counter.into_inner(), 80_000);
    });
}

#[test]
fn two_threads_take_turns_with_auto_reset_events() {
    watched(|| {
        let arena = arena();
        let waiter = arena.waiter();
        let events = [0, 1].map(|_| arena.event_create(&waiter, false, false).unwrap());
        std::thread::scope(|scope| {
            for side in 0..2 {
                let arena = &arena;
                scope.spawn(move || {
                    let waiter = arena.waiter();
                    for _ in 0..20_000 {
                        arena.wait_any(&waiter, &[events[side]], None, OWNER, Deadline::Never).unwrap();
                        assert_eq!(arena.event_set(&waiter, events[1 - side]), Ok(false));
                    }
                });
            }
            arena.event_set(&waiter, events[0]).unwrap();
        });
        assert_eq!(arena.event_read(&waiter, events[0]), Ok((false, true)));
    });
}

#[test]
fn tokens_of_a_semaphore_are_conserved_under_wait_any_and_wait_all() {
    watched(|| {
        let arena = arena();
        let waiter = arena.waiter();
        let semaphores = [0, 1, 2].map(|_| arena.semaphore_create(&waiter, 2, 100).unwrap());
        std::thread::scope(|scope| {
            for thread in 0..4u32 {
                let arena = &arena;
                scope.spawn(move || {
                    let waiter = arena.waiter();
                    for round in 0..5_000 {
                        if (round + thread) % 3 == 0 {
                            let taken = arena.wait_all(&waiter, &semaphores[..2], None, OWNER, Deadline::Never);
                            assert_eq!(taken.unwrap().index, 0);
                            arena.semaphore_release(&waiter, semaphores[0], 1).unwrap();
                            arena.semaphore_release(&waiter, semaphores[1], 1).unwrap();
                        } else {
                            let taken = arena.wait_any(&waiter, &semaphores, None, OWNER, Deadline::Never).unwrap();
                            arena.semaphore_release(&waiter, semaphores[taken.index as usize], 1).unwrap();
                        }
                    }
                });
            }
        });
        for semaphore in semaphores {
            assert_eq!(arena.semaphore_read(&waiter, semaphore), Ok((2, 100)));
        }
    });
}

#[test]
fn a_wait_all_takes_everything_or_nothing() {
    let arena = arena();
    let waiter = arena.waiter();
    let auto = arena.event_create(&waiter, false, true).unwrap();
    let mutex = arena.mutex_create(&waiter, 0, 0).unwrap();
    let empty = arena.semaphore_create(&waiter, 0, 1).unwrap();
    let all = |objects: &[Object]| arena.wait_all(&waiter, objects, None, OWNER, Deadline::NOW);
    assert_eq!(all(&[auto, mutex, empty]), Err(Error::TimedOut));
    assert_eq!(arena.event_read(&waiter, auto), Ok((false, true)));
    arena.semaphore_release(&waiter, empty, 1).unwrap();
    assert_eq!(all(&[auto, mutex, empty]), Ok(Satisfied { index: 0, abandoned: false }));
    assert_eq!(arena.event_read(&waiter, auto), Ok((false, false)));
    assert_eq!(arena.mutex_read(&waiter, mutex).unwrap().owner, OWNER);
    assert_eq!(all(&[mutex, mutex]), Err(Error::Invalid));
    arena.mutex_kill(&waiter, mutex, OWNER).unwrap();
    assert_eq!(all(&[mutex]), Ok(Satisfied { index: 0, abandoned: true }));
}

#[test]
fn a_later_object_is_taken_while_the_earlier_ones_are_unavailable() {
    let arena = arena();
    let waiter = arena.waiter();
    let objects: Vec<_> = (0..64).map(|_| arena.event_create(&waiter, false, false).unwrap()).collect();
    for index in [63, 1, 32] {
        arena.event_set(&waiter, objects[index]).unwrap();
        assert_eq!(poll(&arena, &waiter, &objects).unwrap().index, index as u32);
        assert_eq!(poll(&arena, &waiter, &objects), Err(Error::TimedOut));
    }
    let manual = arena.event_create(&waiter, true, true).unwrap();
    assert_eq!(poll(&arena, &waiter, &[objects[0], manual]).unwrap().index, 1);
    let alert = arena.wait_any(&waiter, &objects[..3], Some(manual), OWNER, Deadline::NOW).unwrap();
    assert_eq!(alert.index, 3);
}

#[test]
fn recursion_is_counted_far_beyond_the_word() {
    let arena = arena();
    let waiter = arena.waiter();
    let mutex = arena.mutex_create(&waiter, 0, 0).unwrap();
    for depth in 1..=200 {
        poll(&arena, &waiter, &[mutex]).unwrap();
        assert_eq!(arena.mutex_read(&waiter, mutex).unwrap().count, depth);
    }
    for depth in (1..=200).rev() {
        assert_eq!(arena.mutex_unlock(&waiter, mutex, OWNER), Ok(depth));
    }
    assert_eq!(arena.mutex_unlock(&waiter, mutex, OWNER), Err(Error::NotOwner));
    let full = arena.mutex_create(&waiter, OWNER, u32::MAX).unwrap();
    assert_eq!(poll(&arena, &waiter, &[full]), Err(Error::TimedOut));
    for count in 0..40 {
        assert_eq!(arena.mutex_unlock(&waiter, full, OWNER), Ok(u32::MAX - count));
    }
}

#[test]
fn a_blocked_wait_of_each_kind_is_satisfied_by_a_signal() {
    watched(|| {
        let arena = arena();
        let waiter = arena.waiter();
        let auto = arena.event_create(&waiter, false, false).unwrap();
        let manual = arena.event_create(&waiter, true, false).unwrap();
        let alert = arena.event_create(&waiter, false, false).unwrap();
        for all in [false, true] {
            for (signaled, expected) in [(auto, 0), (alert, 2)] {
                std::thread::scope(|scope| {
                    let sleeper = scope.spawn(|| {
                        let waiter = arena.waiter();
                        let objects = [auto, manual];
                        let wait = if all { Arena::wait_all } else { Arena::wait_any };
                        wait(&arena, &waiter, &objects, Some(alert), OWNER, Deadline::Never).unwrap().index
                    });
                    std::thread::sleep(Duration::from_millis(20));
                    arena.event_set(&waiter, signaled).unwrap();
                    if all {
                        arena.event_set(&waiter, manual).unwrap();
                    }
                    assert_eq!(sleeper.join().unwrap(), expected);
                    for event in [auto, manual, alert] {
                        arena.event_reset(&waiter, event).unwrap();
                    }
                });
            }
        }
    });
}

#[test]
fn an_interrupt_ends_every_wait_that_cannot_be_satisfied_and_no_other() {
    watched(|| {
        let arena = arena();
        let waiter = arena.waiter();
        let taken = arena.mutex_create(&waiter, 7, 1).unwrap();
        let free = arena.mutex_create(&waiter, 0, 0).unwrap();
        let event = arena.event_create(&waiter, false, false).unwrap();
        waiter.interrupt();
        for objects in [&[taken][..], &[event], &[taken, event], &[]] {
            let ended = arena.wait_any(&waiter, objects, None, OWNER, Deadline::Never);
            assert_eq!(ended, Err(Error::Interrupted), "any of {}", objects.len());
        }
        assert_eq!(arena.wait_all(&waiter, &[taken, event], None, OWNER, Deadline::Never), Err(Error::Interrupted));
        assert_eq!(arena.wait_any(&waiter, &[taken, free], None, OWNER, Deadline::Never).map(|done| done.index), Ok(1));
        waiter.resume();
        assert_eq!(poll(&arena, &waiter, &[taken]), Err(Error::TimedOut));
    });
}

#[test]
fn a_crowd_that_arrives_together_is_served_whole() {
    watched(|| {
        let arena = arena();
        let waiter = arena.waiter();
        for round in 0..30 {
            // A fresh object each time: its wait set has to grow while everybody registers.
            let start = arena.event_create(&waiter, true, false).unwrap();
            let gate = std::sync::Barrier::new(97);
            std::thread::scope(|scope| {
                for _ in 0..96 {
                    scope.spawn(|| {
                        let waiter = arena.waiter();
                        gate.wait();
                        arena.wait_any(&waiter, &[start], None, OWNER, Deadline::Never).unwrap();
                        arena.retire(&waiter);
                    });
                }
                gate.wait();
                if round % 2 == 0 {
                    std::thread::sleep(Duration::from_millis(5));
                }
                arena.event_set(&waiter, start).unwrap();
            });
        }
    });
}

/// Three entries lie with each object, and eight places have sixteen chunks for the others: four waits on seventeen objects
/// need one more.
#[test]
fn a_wait_that_finds_no_room_in_a_wait_set_fails_and_disturbs_nobody() {
    watched(|| {
        let arena = Arena::create(Capacity { objects: 17, waiters: 8 }).unwrap();
        let main = arena.waiter();
        let objects: Vec<Object> = (0..17).map(|_| arena.event_create(&main, false, false).unwrap()).collect();
        let (ended, ends) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let (arena, objects, ended) = (&arena, &objects, ended.clone());
                scope.spawn(move || {
                    let waiter = arena.waiter();
                    ended.send(arena.wait_any(&waiter, objects, None, OWNER, Deadline::Never)).unwrap();
                    arena.retire(&waiter);
                });
            }
            assert_eq!(ends.recv().unwrap(), Err(Error::Exhausted), "nothing was signaled");
            for _ in 1..4 {
                arena.event_set(&main, objects[16]).unwrap();
                match ends.recv().unwrap() {
                    Ok(satisfied) => assert_eq!(satisfied, Satisfied { index: 16, abandoned: false }),
                    Err(error) => assert_eq!(error, Error::Exhausted),
                }
            }
        });
        assert_eq!(poll(&arena, &main, &objects[..16]), Err(Error::TimedOut), "what was not signaled is not");
        arena.event_set(&main, objects[3]).unwrap();
        assert_eq!(poll(&arena, &main, &objects), Ok(Satisfied { index: 3, abandoned: false }));
    });
}
