// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thread's waiters: taken when needed, returned when the thread ends, one in each arena.

mod watchdog;

use std::cell::RefCell;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use ntux::{Arena, Capacity, Deadline, Error, Event, MutexObject, Reset, Semaphore, Wait, within};

fn arena(waiters: u32) -> Arena {
    watchdog::start();
    Arena::create(Capacity { objects: 1024, waiters }).unwrap()
}

#[test]
fn a_thread_that_ends_returns_its_waiter() {
    let arena = arena(4);
    let semaphore = Semaphore::create(&arena, 0, 1).unwrap();
    for _ in 0..200 {
        let semaphore = semaphore.clone();
        thread::spawn(move || {
            semaphore.release(1).unwrap();
            semaphore.wait(Deadline::Never).unwrap();
            assert_eq!(semaphore.wait(Deadline::Monotonic(1)), Err(Error::TimedOut));
        })
        .join()
        .unwrap();
    }
}

#[test]
fn a_wait_without_room_is_refused_until_a_thread_ends() {
    let arena = arena(1);
    let event = Event::create(&arena, Reset::Auto, false).unwrap();
    let (waited, has_waited) = mpsc::channel();
    let (end, may_end) = mpsc::channel();
    let in_thread = event.clone();
    let holder = thread::spawn(move || {
        // Long enough not to be over before it begins, also in an emulator: a wait that cannot sleep needs no place.
        waited.send(in_thread.wait(within(Duration::from_millis(200)))).unwrap();
        may_end.recv().unwrap();
    });
    assert_eq!(has_waited.recv().unwrap(), Err(Error::TimedOut));
    assert_eq!(event.wait(Deadline::Never), Err(Error::Exhausted));
    end.send(()).unwrap();
    holder.join().unwrap();
    assert_eq!(event.wait(within(Duration::from_millis(1))), Err(Error::TimedOut));
}

#[test]
fn one_thread_uses_many_arenas_in_turn() {
    let events: Vec<Event> = (0..20).map(|_| Event::create(&arena(2), Reset::Auto, false).unwrap()).collect();
    for round in 0..100 {
        let event = &events[round * 7 % events.len()];
        assert_eq!(event.set(), Ok(false));
        event.wait(Deadline::Never).unwrap();
    }
}

#[test]
fn an_arena_that_is_dropped_while_a_thread_has_a_waiter_in_it_leaves_the_others_usable() {
    let keep = MutexObject::create(&arena(2)).unwrap();
    for _ in 0..50 {
        let passing = MutexObject::create(&arena(2)).unwrap();
        passing.lock(1, Deadline::Never).unwrap();
        drop(passing);
        keep.lock(1, Deadline::Never).unwrap();
        keep.unlock(1).unwrap();
    }
}

#[test]
fn handles_work_while_a_thread_is_ending() {
    thread_local! {
        static LAST_WORDS: RefCell<Option<LastWords>> = const { RefCell::new(None) };
    }
    struct LastWords(Event);
    impl Drop for LastWords {
        fn drop(&mut self) {
            self.0.set().unwrap();
        }
    }

    let event = Event::create(&arena(4), Reset::Auto, false).unwrap();
    let in_thread = event.clone();
    thread::spawn(move || {
        // Registered before the list of waiters, so dropped after it.
        LAST_WORDS.with(|words| *words.borrow_mut() = Some(LastWords(in_thread.clone())));
        in_thread.reset().unwrap();
    })
    .join()
    .unwrap();
    assert_eq!(event.wait(Deadline::NOW), Ok(()));
}

#[test]
fn threads_count_under_a_mutex() {
    const THREADS: u32 = 4;
    const ROUNDS: u32 = 5000;
    let arena = arena(8);
    let mutex = MutexObject::create(&arena).unwrap();
    let counter = std::sync::Arc::new(Unguarded(0.into()));
    let threads: Vec<_> = (1..=THREADS)
        .map(|owner| {
            let (mutex, counter) = (mutex.clone(), counter.clone());
            thread::spawn(move || {
                for _ in 0..ROUNDS {
                    mutex.lock(owner, Deadline::Never).unwrap();
                    // SAFETY: the mutex is held, which is what this test is about.
                    unsafe { *counter.0.get() += 1 };
                    mutex.unlock(owner).unwrap();
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    // SAFETY: the threads have ended.
    assert_eq!(unsafe { *counter.0.get() }, THREADS * ROUNDS);
}

/// A number that only the mutex under test protects.
struct Unguarded(std::cell::UnsafeCell<u32>);

// SAFETY: every access is under the mutex or after the threads have ended.
unsafe impl Sync for Unguarded {}

#[test]
fn a_sleeping_thread_is_handed_what_another_one_signals() {
    let arena = arena(4);
    let (start, answer) = (Event::create(&arena, Reset::Auto, false), Semaphore::create(&arena, 0, 9));
    let (start, answer) = (start.unwrap(), answer.unwrap());
    let both = [start.object(), answer.object()];
    let sleeper = thread::spawn({
        let arena = arena.clone();
        move || arena.wait_all(&both, Wait::by(1))
    });
    answer.release(2).unwrap();
    start.set().unwrap();
    sleeper.join().unwrap().unwrap();
    assert_eq!(answer.read().unwrap().count, 1);
}
