// SPDX-License-Identifier: MIT OR Apache-2.0
//! Timers by the real clocks: between threads, between processes, after the death of who armed them.
#![cfg(any(target_os = "linux", target_os = "macos"))]
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "a test is no part of the model")]

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ntux_sync::{Arena, Capacity, Clock, Deadline, Due, Error, Object, Satisfied, Waiter};

const MS: u64 = 1_000_000;
const FIRST: Satisfied = Satisfied { index: 0, abandoned: false };
/// Long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

fn arena() -> Arena {
    Arena::create(Capacity { objects: 4096, waiters: 64 }).unwrap()
}

fn soon(ms: u64) -> Due {
    Due::after_ns(Clock::Monotonic, ms * MS)
}

fn patiently() -> Deadline {
    Deadline::after_ns(PATIENCE.as_nanos() as u64)
}

fn wait(arena: &Arena, waiter: &Waiter, objects: &[Object], deadline: Deadline) -> Result<Satisfied, Error> {
    arena.wait_any(waiter, objects, None, 1, deadline)
}

#[test]
fn a_timer_is_signaled_when_it_is_due_and_not_before_by_every_clock() {
    let (arena, begin) = (arena(), Instant::now());
    let waiter = arena.waiter();
    for clock in [Clock::Monotonic, Clock::Wall, Clock::Boot] {
        let timer = arena.timer_create(&waiter, false).unwrap();
        assert_eq!(wait(&arena, &waiter, &[timer], Deadline::NOW), Err(Error::TimedOut));
        let due = Due::after_ns(clock, 30 * MS);
        arena.timer_set(&waiter, timer, due, 0).unwrap();
        assert_eq!(arena.timer_read(&waiter, timer).unwrap().due, Some(due));
        assert_eq!(wait(&arena, &waiter, &[timer], patiently()), Ok(FIRST));
        assert!(clock.now_ns() >= due.at_ns, "{clock:?}");
        assert_eq!(arena.timer_read(&waiter, timer).unwrap().due, None);
        assert_eq!(wait(&arena, &waiter, &[timer], Deadline::after_ns(MS)), Err(Error::TimedOut), "once");
    }
    assert!(begin.elapsed() >= Duration::from_millis(90));
}

#[test]
fn a_manual_timer_stays_signaled_until_it_is_set_and_a_cancellation_leaves_it_so() {
    let arena = arena();
    let waiter = arena.waiter();
    let timer = arena.timer_create(&waiter, true).unwrap();
    arena.timer_set(&waiter, timer, soon(0), 0).unwrap();
    for _ in 0..3 {
        assert_eq!(wait(&arena, &waiter, &[timer], Deadline::NOW), Ok(FIRST));
    }
    arena.timer_cancel(&waiter, timer).unwrap();
    assert_eq!(wait(&arena, &waiter, &[timer], Deadline::NOW), Ok(FIRST));
    arena.timer_set(&waiter, timer, soon(3_600_000), 0).unwrap();
    assert_eq!(wait(&arena, &waiter, &[timer], Deadline::NOW), Err(Error::TimedOut));
}

#[test]
fn a_pause_is_one_firing_and_the_rhythm_stays() {
    let arena = arena();
    let waiter = arena.waiter();
    let timer = arena.timer_create(&waiter, false).unwrap();
    let first = soon(5);
    arena.timer_set(&waiter, timer, first, 40 * MS).unwrap();
    thread::sleep(Duration::from_millis(100));
    assert_eq!(wait(&arena, &waiter, &[timer], Deadline::NOW), Ok(FIRST));
    let next = arena.timer_read(&waiter, timer).unwrap();
    assert_eq!((next.due.unwrap().at_ns - first.at_ns) % (40 * MS), 0);
    assert_eq!(next.period_ns, 40 * MS);
    assert!(!next.signaled || next.due.unwrap().at_ns > first.at_ns + 80 * MS);
}

#[test]
fn arming_and_moving_a_timer_reaches_those_who_wait_already() {
    let arena = arena();
    let waiter = arena.waiter();
    let timer = arena.timer_create(&waiter, true).unwrap();
    let begin = Instant::now();
    thread::scope(|threads| {
        for _ in 0..8 {
            threads.spawn(|| assert_eq!(wait(&arena, &arena.waiter(), &[timer], patiently()), Ok(FIRST)));
        }
        thread::sleep(Duration::from_millis(30));
        arena.timer_set(&waiter, timer, soon(3_600_000), 0).unwrap();
        thread::sleep(Duration::from_millis(30));
        arena.timer_set(&waiter, timer, soon(20), 0).unwrap();
    });
    assert!(begin.elapsed() < PATIENCE);
}

#[test]
fn each_due_time_is_one_tick_whoever_waits() {
    const TICKS: u32 = 50;
    let arena = arena();
    let waiter = arena.waiter();
    let timer = arena.timer_create(&waiter, false).unwrap();
    let ticks = AtomicU32::new(0);
    let first = soon(10);
    arena.timer_set(&waiter, timer, first, 10 * MS).unwrap();
    thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                let waiter = arena.waiter();
                while ticks.load(Ordering::SeqCst) < TICKS {
                    if wait(&arena, &waiter, &[timer], Deadline::after_ns(50 * MS)).is_ok() {
                        ticks.fetch_add(1, Ordering::SeqCst);
                    }
                }
            });
        }
    });
    let passed = (Clock::Monotonic.now_ns() - first.at_ns) / (10 * MS) + 1;
    assert!(u64::from(ticks.load(Ordering::SeqCst)) <= passed, "more ticks than due times");
}

#[test]
fn a_wait_for_all_takes_a_timer_with_the_rest() {
    let arena = arena();
    let waiter = arena.waiter();
    let timer = arena.timer_create(&waiter, false).unwrap();
    let event = arena.event_create(&waiter, false, false).unwrap();
    arena.timer_set(&waiter, timer, soon(20), 0).unwrap();
    thread::scope(|threads| {
        threads.spawn(|| {
            let waiter = arena.waiter();
            assert_eq!(arena.wait_all(&waiter, &[event, timer], None, 1, patiently()), Ok(FIRST));
        });
        thread::sleep(Duration::from_millis(60));
        arena.event_set(&waiter, event).unwrap();
    });
    assert!(!arena.timer_read(&waiter, timer).unwrap().signaled);
    assert_eq!(arena.event_read(&waiter, event), Ok((false, false)));
}

#[test]
fn a_signal_and_wait_waits_for_a_timer_and_does_not_signal_one() {
    let arena = arena();
    let waiter = arena.waiter();
    let timer = arena.timer_create(&waiter, false).unwrap();
    let event = arena.event_create(&waiter, true, false).unwrap();
    arena.timer_set(&waiter, timer, soon(10), 0).unwrap();
    assert_eq!(arena.signal_and_wait(&waiter, event, timer, None, 1, patiently()), Ok(FIRST));
    assert_eq!(arena.signal_and_wait(&waiter, timer, event, None, 1, patiently()), Err(Error::Invalid));
}

#[test]
fn what_is_no_timer_is_refused_and_a_timer_is_no_event() {
    let arena = arena();
    let waiter = arena.waiter();
    let timer = arena.timer_create(&waiter, false).unwrap();
    let event = arena.event_create(&waiter, false, false).unwrap();
    assert_eq!(arena.timer_set(&waiter, event, soon(1), 0), Err(Error::Invalid));
    assert_eq!(arena.timer_cancel(&waiter, event), Err(Error::Invalid));
    assert_eq!(arena.timer_read(&waiter, event), Err(Error::Invalid));
    assert_eq!(arena.event_set(&waiter, timer), Err(Error::Invalid));
    assert_eq!(arena.event_pulse(&waiter, timer), Err(Error::Invalid));
    assert_eq!(arena.semaphore_release(&waiter, timer, 1), Err(Error::Invalid));
    assert_eq!(arena.timer_set(&waiter, timer, soon(1), u64::MAX), Err(Error::Invalid));
    arena.close(timer).unwrap();
    assert_eq!(arena.timer_set(&waiter, timer, soon(1), 0), Err(Error::NoSuchObject));
    let next = arena.timer_create(&waiter, false).unwrap();
    assert_eq!(next.index(), timer.index(), "the slot is used again");
    assert_eq!(arena.timer_read(&waiter, next).unwrap().due, None);
}

#[test]
fn a_timer_fires_for_others_when_the_process_is_dead_that_armed_it() {
    let arena = arena();
    let waiter = arena.waiter();
    let timer = arena.timer_create(&waiter, false).unwrap();
    thread::scope(|threads| {
        let waits = threads.spawn(|| wait(&arena, &arena.waiter(), &[timer], patiently()));
        thread::sleep(Duration::from_millis(30));
        // SAFETY: the child uses only the arena, and leaves at once.
        unsafe {
            let child = libc::fork();
            assert!(child >= 0);
            if child == 0 {
                let armed = arena.timer_set(&arena.waiter(), timer, soon(100), 0).is_ok();
                libc::raise(if armed { libc::SIGKILL } else { libc::SIGABRT });
            }
            let mut status = 0;
            assert_eq!(libc::waitpid(child, &mut status, 0), child);
            assert_eq!(libc::WTERMSIG(status), libc::SIGKILL);
        }
        assert_eq!(waits.join().unwrap(), Ok(FIRST));
    });
}

#[test]
fn ten_thousand_timers_are_armed_at_once() {
    let arena = Arena::create(Capacity { objects: 16_384, waiters: 4 }).unwrap();
    let waiter = arena.waiter();
    let timers: Vec<Object> = (0..10_000).map(|_| arena.timer_create(&waiter, false).unwrap()).collect();
    for (count, &timer) in timers.iter().enumerate() {
        arena.timer_set(&waiter, timer, soon(3_600_000 + count as u64), 0).unwrap();
    }
    arena.timer_set(&waiter, timers[7_000], soon(1), 0).unwrap();
    let few = &timers[6_990..7_050];
    assert_eq!(wait(&arena, &waiter, few, patiently()), Ok(Satisfied { index: 10, abandoned: false }));
}
