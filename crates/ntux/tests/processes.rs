// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a child of `fork` inherits. The child must not use the parent's waiter: both work in the arena at the same
//! time.

#[path = "../../platform/tests/systems/systems.rs"]
mod systems;
mod watchdog;

use ntux::{Arena, Capacity, Deadline, Error, Event, MutexObject, Reset, Semaphore, within};
use std::time::Duration;

/// Runs `body` in a child, which exits with 0 if it returns true.
fn child(body: impl FnOnce() -> bool) -> Child {
    // SAFETY: the child only uses its own copies, makes no assumption about other threads, and leaves by `_exit`.
    match unsafe { libc::fork() } {
        -1 => panic!("fork: {}", std::io::Error::last_os_error()),
        0 => {
            watchdog::start();
            let good = body();
            // SAFETY: ends this process at once.
            unsafe { libc::_exit(if good { 0 } else { 1 }) }
        }
        pid => Child(pid),
    }
}

struct Child(libc::pid_t);

impl Child {
    /// Returns when it sleeps in the kernel, which it does in its wait only.
    fn sleeps(&self) {
        let name = format!("/proc/{}/stat", self.0);
        if !std::path::Path::new(&name).exists() {
            // Nobody says whether it sleeps: it has had the time to.
            return std::thread::sleep(Duration::from_millis(300));
        }
        while !std::fs::read_to_string(&name).unwrap().contains(") S ") {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn kill(self) {
        // SAFETY: our own child, not yet waited for.
        unsafe { libc::kill(self.0, libc::SIGKILL) };
        assert_eq!(self.end(), libc::SIGKILL);
    }

    /// Its status, as `waitpid` gives it.
    fn end(self) -> i32 {
        let mut status = 0;
        // SAFETY: `status` is a place for the answer.
        assert_eq!(unsafe { libc::waitpid(self.0, &mut status, 0) }, self.0);
        status
    }
}

fn arena() -> Arena {
    watchdog::start();
    Arena::create(Capacity { objects: 64, waiters: 16 }).unwrap()
}

#[test]
fn parent_and_child_use_what_they_share_at_the_same_time() {
    const ROUNDS: u32 = 2000;
    let arena = arena();
    let ping = Semaphore::create(&arena, 0, 1).unwrap();
    let pong = Semaphore::create(&arena, 0, 1).unwrap();
    // The parent has a waiter now, which the child inherits and must not use.
    assert_eq!(pong.wait(Deadline::Monotonic(1)), Err(Error::TimedOut));

    let child = child(|| (0..ROUNDS).all(|_| ping.wait(Deadline::Never).is_ok() && pong.release(1) == Ok(0)));
    for _ in 0..ROUNDS {
        assert_eq!(ping.release(1), Ok(0));
        pong.wait(Deadline::Never).unwrap();
    }
    assert_eq!(child.end(), 0);
}

#[test]
fn a_child_that_exits_leaves_the_parents_waiter_alone() {
    let arena = arena();
    let event = Event::create(&arena, Reset::Auto, false).unwrap();
    let mutex = MutexObject::create(&arena).unwrap();
    mutex.lock(1, Deadline::Never).unwrap();
    for _ in 0..20 {
        let child = child(|| {
            std::thread::spawn({
                let mutex = mutex.clone();
                move || mutex.lock(2, Deadline::NOW) == Err(Error::TimedOut)
            })
            .join()
            .unwrap()
                && event.set() == Ok(false)
        });
        event.wait(Deadline::Never).unwrap();
        assert_eq!(child.end(), 0);
    }
    assert_eq!(mutex.unlock(1), Ok(1));
}

#[test]
fn places_of_killed_children_are_found_again() {
    watchdog::start();
    let arena = Arena::create(Capacity { objects: 64, waiters: 4 }).unwrap();
    let event = Event::create(&arena, Reset::Auto, false).unwrap();
    for _ in 0..20 {
        let child = child(|| event.wait(Deadline::Never).is_ok());
        child.sleeps();
        child.kill();
    }
    assert_eq!(event.wait(within(Duration::from_millis(1))), Err(Error::TimedOut));
}

#[test]
fn a_child_that_is_killed_in_a_wait_takes_nothing_with_it() {
    let arena = arena();
    let event = Event::create(&arena, Reset::Auto, false).unwrap();
    let child = child(|| event.wait(Deadline::Never).is_ok());
    child.sleeps();
    let process = child.0 as u32;
    child.kill();
    if !systems::WAKES_AT_DEATH {
        arena.core().bury_process(process).unwrap();
    }
    event.set().unwrap();
    assert_eq!(event.wait(within(Duration::from_secs(5))), Ok(()));
}

#[test]
fn a_child_that_drops_what_it_inherited_closes_nothing() {
    let arena = arena();
    let event = Event::create(&arena, Reset::Auto, true).unwrap();
    let inherited = std::cell::Cell::new(Some(event.clone()));
    let child = child(|| {
        drop(inherited.take());
        // Its own it closes.
        let own = Event::create(&arena, Reset::Auto, true).unwrap();
        let number = own.object();
        drop(own);
        Event::from_object(&arena, number).is_err()
    });
    assert_eq!(child.end(), 0);
    assert_eq!(event.wait(Deadline::NOW), Ok(()));
}

#[test]
fn the_watchdog_ends_a_planted_hang() {
    let arena = arena();
    let never = Event::create(&arena, Reset::Auto, false).unwrap();
    let child = child(|| {
        watchdog::after(1);
        never.wait(Deadline::Never).is_ok()
    });
    assert_eq!(child.end(), libc::SIGALRM);
}
