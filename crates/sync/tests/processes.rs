// SPDX-License-Identifier: MIT OR Apache-2.0
//! Four processes over one arena: counting under a mutex, tokens, a wait-all, and a kill in the middle of the work.
#![cfg(any(target_os = "linux", target_os = "macos"))]
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "a test is no part of the model")]

#[path = "../../platform/tests/systems/systems.rs"]
mod systems;

use std::sync::atomic::{AtomicU32, Ordering};

use ntux_sync::{Arena, Capacity, Deadline, Error, Object, Waiter};

const PROCESSES: u32 = 4;
const ROUNDS: u32 = 3_000;

/// Memory that forked children share with their parent.
struct Shared(*const AtomicU32);

impl Shared {
    fn new() -> Shared {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
        // SAFETY: a fresh mapping; zero is a valid counter.
        let page = unsafe { libc::mmap(std::ptr::null_mut(), 4096, access, kind, -1, 0) };
        assert_ne!(page, libc::MAP_FAILED);
        Shared(page.cast())
    }

    fn counter(&self, index: usize) -> &AtomicU32 {
        assert!(index < 1024);
        // SAFETY: the page holds 1024 counters and is never unmapped.
        unsafe { &*self.0.add(index) }
    }
}

fn fork(body: impl FnOnce()) -> libc::pid_t {
    // SAFETY: the child uses only the arena and shared counters, and leaves by `_exit`; the alarm ends it if it hangs.
    unsafe {
        let child = libc::fork();
        assert!(child >= 0);
        if child == 0 {
            libc::alarm(60);
            body();
            libc::_exit(0);
        }
        child
    }
}

fn ended_well(child: libc::pid_t) {
    let mut status = 0;
    // SAFETY: a valid place for the status.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0, "a child failed or hung");
}

fn acquire(arena: &Arena, waiter: &Waiter, object: Object, owner: u32) {
    arena.wait_any(waiter, &[object], None, owner, Deadline::Never).unwrap();
}

#[test]
fn four_processes_count_under_one_mutex() {
    let arena = Arena::create(Capacity { objects: 8, waiters: 16 }).unwrap();
    let mutex = arena.mutex_create(&arena.waiter(), 0, 0).unwrap();
    let shared = Shared::new();
    let children: Vec<_> = (1..=PROCESSES)
        .map(|owner| {
            fork(|| {
                let waiter = arena.waiter();
                for _ in 0..ROUNDS {
                    acquire(&arena, &waiter, mutex, owner);
                    let seen = shared.counter(0).load(Ordering::Relaxed);
                    shared.counter(0).store(seen + 1, Ordering::Relaxed);
                    arena.mutex_unlock(&waiter, mutex, owner).unwrap();
                }
            })
        })
        .collect();
    children.into_iter().for_each(ended_well);
    assert_eq!(shared.counter(0).load(Ordering::Relaxed), PROCESSES * ROUNDS);
}

#[test]
fn four_processes_share_tokens_one_by_one_and_all_at_once() {
    let arena = Arena::create(Capacity { objects: 8, waiters: 16 }).unwrap();
    let waiter = arena.waiter();
    let pair = [0, 1].map(|_| arena.semaphore_create(&waiter, 1, 1).unwrap());
    let children: Vec<_> = (1..=PROCESSES)
        .map(|owner| {
            fork(|| {
                let waiter = arena.waiter();
                for round in 0..ROUNDS {
                    if (round + owner) % 2 == 0 {
                        arena.wait_all(&waiter, &pair, None, owner, Deadline::Never).unwrap();
                        for semaphore in pair {
                            arena.semaphore_release(&waiter, semaphore, 1).unwrap();
                        }
                    } else {
                        let taken = arena.wait_any(&waiter, &pair, None, owner, Deadline::Never).unwrap();
                        arena.semaphore_release(&waiter, pair[taken.index as usize], 1).unwrap();
                    }
                }
            })
        })
        .collect();
    children.into_iter().for_each(ended_well);
    for semaphore in pair {
        assert_eq!(arena.semaphore_read(&waiter, semaphore), Ok((1, 1)));
    }
}

/// Needs the kernel's help (a robust list), or a supervisor's: otherwise a killed waiter may still be given the mutex.
#[test]
fn processes_that_are_killed_at_work_leave_a_mutex_that_can_be_taken_over() {
    let arena = Arena::create(Capacity { objects: 8, waiters: 16 }).unwrap();
    let waiter = arena.waiter();
    let mutex = arena.mutex_create(&waiter, 0, 0).unwrap();
    for round in 0..40 {
        let children: Vec<_> = (1..=PROCESSES)
            .map(|owner| {
                fork(|| {
                    let waiter = arena.waiter();
                    loop {
                        acquire(&arena, &waiter, mutex, owner);
                        arena.mutex_unlock(&waiter, mutex, owner).unwrap();
                    }
                })
            })
            .collect();
        std::thread::sleep(std::time::Duration::from_micros(2000 + 137 * round));
        for &child in &children {
            let mut status = 0;
            // SAFETY: our own child; a valid place for the status.
            unsafe {
                assert_eq!(libc::kill(child, libc::SIGKILL), 0);
                assert_eq!(libc::waitpid(child, &mut status, 0), child);
            }
            assert!(libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGKILL, "{status:#x}");
        }
        if !systems::WAKES_AT_DEATH {
            for &child in &children {
                arena.bury_process(child as u32).unwrap();
            }
        }
        let left = arena.mutex_read(&waiter, mutex).unwrap();
        if left.owner != 0 {
            assert!((1..=PROCESSES).contains(&left.owner) && left.count == 1, "{left:?}");
            assert_eq!(arena.mutex_kill(&waiter, mutex, left.owner), Ok(()));
        }
        let taken = arena.wait_any(&waiter, &[mutex], None, 99, Deadline::NOW).unwrap();
        assert_eq!(taken.abandoned, left.owner != 0);
        assert_eq!(arena.mutex_unlock(&waiter, mutex, 99), Ok(1));
        assert_eq!(arena.mutex_unlock(&waiter, mutex, 99), Err(Error::NotOwner));
    }
}
