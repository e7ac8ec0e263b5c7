// SPDX-License-Identifier: MIT OR Apache-2.0
//! Plain data that objects guard, for ThreadSanitizer: it reports an access that no hand-over orders (`make test-tsan`).
#![cfg(ntux_tsan)]

use std::cell::UnsafeCell;

use ntux_sync::{Arena, Capacity, Deadline, New, Object, Waiter};

const THREADS: u32 = 4;
const ROUNDS: u32 = 500;

/// A number that only its guard keeps from being accessed by two at once.
struct Guarded(UnsafeCell<u32>);

// SAFETY: the point of these tests: the guard must make it so.
unsafe impl Sync for Guarded {}

impl Guarded {
    fn increment(&self) {
        // SAFETY: whoever calls has the guard, or is the planted race.
        unsafe { *self.0.get() += 1 };
    }
}

/// Each thread increments once a round, between `enter` and `leave`.
fn count(
    new: New,
    enter: impl Fn(&Arena, &Waiter, Object, u32) + Sync,
    leave: impl Fn(&Arena, &Waiter, Object, u32) + Sync,
) -> u32 {
    let arena = Arena::create(Capacity { objects: 4, waiters: 8 }).unwrap();
    let guard = arena.create_new(&arena.waiter(), new).unwrap();
    let number = Guarded(UnsafeCell::new(0));
    std::thread::scope(|scope| {
        for owner in 1..=THREADS {
            let (arena, number, enter, leave) = (&arena, &number, &enter, &leave);
            scope.spawn(move || {
                let waiter = arena.waiter();
                for _ in 0..ROUNDS {
                    enter(arena, &waiter, guard, owner);
                    number.increment();
                    leave(arena, &waiter, guard, owner);
                }
                arena.retire(&waiter);
            });
        }
    });
    number.0.into_inner()
}

fn wait_any(arena: &Arena, waiter: &Waiter, guard: Object, owner: u32) {
    arena.wait_any(waiter, &[guard], None, owner, Deadline::Never).unwrap();
}

fn wait_all(arena: &Arena, waiter: &Waiter, guard: Object, owner: u32) {
    arena.wait_all(waiter, &[guard], None, owner, Deadline::Never).unwrap();
}

#[test]
fn a_mutex_orders_what_it_guards() {
    let leave = |arena: &Arena, waiter: &Waiter, guard, owner| {
        arena.mutex_unlock(waiter, guard, owner).unwrap();
    };
    assert_eq!(count(New::Mutex { owner: 0, count: 0 }, wait_any, leave), THREADS * ROUNDS);
    assert_eq!(count(New::Mutex { owner: 0, count: 0 }, wait_all, leave), THREADS * ROUNDS);
}

#[test]
fn a_semaphore_orders_what_it_guards() {
    let leave = |arena: &Arena, waiter: &Waiter, guard, _| {
        arena.semaphore_release(waiter, guard, 1).unwrap();
    };
    assert_eq!(count(New::Semaphore { count: 1, max: 1 }, wait_any, leave), THREADS * ROUNDS);
}

#[test]
fn an_event_orders_what_it_guards() {
    let leave = |arena: &Arena, waiter: &Waiter, guard, _| {
        arena.event_set(waiter, guard).unwrap();
    };
    let new = New::Event { manual: false, signaled: true };
    assert_eq!(count(new, wait_any, leave), THREADS * ROUNDS);
    assert_eq!(count(new, wait_all, leave), THREADS * ROUNDS);
}

/// Must be reported: `make test-tsan` fails if it is not.
#[test]
#[ignore = "make test-tsan runs it: a race on purpose"]
fn planted_nobody_orders_this() {
    count(New::Event { manual: true, signaled: true }, wait_any, |_, _, _, _| ());
}
