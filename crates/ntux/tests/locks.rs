// SPDX-License-Identifier: MIT OR Apache-2.0
//! The locks with data: one thread at a time, nobody starves, poison and abandonment.

mod watchdog;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use ntux::{Arena, Capacity, Deadline, FairMutex, FairMutexGuard, LockError, Mutex, MutexObject, RawMutex, within};

fn arena() -> Arena {
    watchdog::start();
    Arena::create_private(Capacity { objects: 64, waiters: 64 }).unwrap()
}

#[test]
fn threads_count_in_both() {
    const THREADS: u64 = 8;
    const ROUNDS: u64 = 20_000;
    let (unfair, fair) = (Mutex::new(0u64), FairMutex::new(&arena(), 0u64).unwrap());
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for round in 0..ROUNDS {
                    *unfair.lock().unwrap() += 1;
                    // Convoys: a part is enough.
                    if round % 100 == 0 {
                        *fair.lock().unwrap() += 1;
                    }
                }
            });
        }
    });
    assert_eq!(unfair.into_inner(), THREADS * ROUNDS);
    assert_eq!(fair.into_inner(), THREADS * ROUNDS / 100);
}

#[test]
fn deadlines_and_attempts() {
    let (unfair, fair) = (Mutex::new(()), FairMutex::new(&arena(), ()).unwrap());
    let (held, fairly_held) = (unfair.lock().unwrap(), fair.lock().unwrap());
    thread::scope(|scope| {
        scope.spawn(|| {
            let begin = Instant::now();
            for deadline in [Deadline::NOW, within(Duration::from_millis(20))] {
                assert!(matches!(unfair.lock_until(deadline), Err(LockError::TimedOut)));
                assert!(matches!(fair.lock_until(deadline), Err(LockError::TimedOut)));
                assert!(deadline == Deadline::NOW || begin.elapsed() >= Duration::from_millis(20));
            }
            assert!(matches!(unfair.try_lock(), Err(LockError::TimedOut)));
        });
    });
    assert!(matches!(fair.lock(), Err(LockError::Held)), "the owner itself");
    drop((held, fairly_held));
    assert!(unfair.try_lock().is_ok() && fair.try_lock().is_ok());
}

#[test]
fn a_panic_poisons_and_a_death_abandons() {
    let (unfair, fair) = (Mutex::new(1), FairMutex::new(&arena(), 1).unwrap());
    let panics = catch_unwind(AssertUnwindSafe(|| {
        let (_one, _other) = (unfair.lock().unwrap(), fair.lock().unwrap());
        panic!("planted, to be caught");
    }));
    assert!(panics.is_err() && unfair.is_poisoned() && fair.is_poisoned());
    for _ in 0..2 {
        assert!(matches!(unfair.lock(), Err(LockError::Poisoned(guard)) if *guard == 1));
        assert!(matches!(fair.lock(), Err(LockError::Poisoned(guard)) if *guard == 1));
    }
    unfair.clear_poison();
    fair.clear_poison();
    assert!(unfair.lock().is_ok() && fair.lock().is_ok());

    // A thread ends without giving the lock back.
    let owner = thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let guard = std::mem::ManuallyDrop::new(fair.lock().unwrap());
            FairMutexGuard::owner(&guard)
        });
        thread.join().unwrap()
    });
    assert!(matches!(fair.try_lock(), Err(LockError::TimedOut)));
    fair.object().kill(owner).unwrap();
    assert!(matches!(fair.lock(), Err(LockError::Abandoned(_))));
    let Err(LockError::Abandoned(abandoned)) = fair.lock() else { panic!("nobody has taken it over") };
    // SAFETY: the thread that had the last guard has ended, and took no reference from it.
    assert_eq!(*unsafe { abandoned.take_over() }, 1);
    assert!(fair.lock().is_ok(), "it is reported until it is taken over");
}

/// Everybody can name the mutex's object. That must not make two references to the data.
#[test]
fn an_object_that_is_unlocked_by_its_number_gives_no_second_guard() {
    let arena = arena();
    let fair = FairMutex::new(&arena, 1).unwrap();
    let guard = fair.lock().unwrap();
    let anybody = MutexObject::from_object(&arena, fair.object().object()).unwrap();
    anybody.unlock(FairMutexGuard::owner(&guard)).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| assert!(matches!(fair.lock(), Err(LockError::Abandoned(_)))));
    });
    assert!(matches!(fair.lock(), Err(LockError::Held)));
    drop(guard);
    assert!(fair.lock().is_ok(), "the guard was dropped after all");
}

/// Two threads take the lock again as soon as they have freed it. A third one gets it all the same.
#[test]
fn nobody_starves() {
    watchdog::start();
    let (lock, stop) = (&RawMutex::new(), &Mutex::new(false));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(move || {
                while !*stop.lock().unwrap() {
                    assert!(lock.lock(Deadline::Never));
                    let begin = Instant::now();
                    while begin.elapsed() < Duration::from_micros(50) {}
                    lock.unlock();
                }
            });
        }
        for _ in 0..50 {
            assert!(lock.lock(Deadline::Never));
            lock.unlock();
        }
        *stop.lock().unwrap() = true;
    });
}

/// Those who give up leave the lock to others.
#[test]
fn deadlines_that_pass_under_contention_lose_no_wake() {
    watchdog::start();
    let (lock, count) = (&Mutex::new(0u64), 4000);
    thread::scope(|scope| {
        for thread in 0..6 {
            scope.spawn(move || {
                let mut taken = 0;
                while taken < count {
                    let soon = within(Duration::from_micros(20 * thread));
                    let deadline = if thread == 0 { Deadline::Never } else { soon };
                    if let Ok(mut guard) = lock.lock_until(deadline) {
                        *guard += 1;
                        taken += 1;
                    }
                }
            });
        }
    });
    assert_eq!(*lock.lock().unwrap(), 6 * count);
}

#[test]
fn a_guard_may_be_shared_and_a_lock_sent() {
    fn sent<T: Send + Sync>(_: &T) {}
    let (unfair, fair) = (Mutex::new(1), FairMutex::new(&arena(), 1).unwrap());
    sent(&unfair);
    sent(&fair);
    let (guard, other) = (unfair.lock().unwrap(), fair.lock().unwrap());
    let (guard, other) = (&guard, &other);
    let (tell, told) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(move || tell.send(**guard + **other).unwrap());
    });
    assert_eq!(told.recv(), Ok(2));
}
