// SPDX-License-Identifier: MIT OR Apache-2.0
//! A counter in a lock with a guard, from one thread to sixty-four: locks of which whoever comes first takes them, and locks that are
//! handed over in order of arrival.
//!
//! Each thread counts outside of the lock too, as programs do: with nothing to do there, one thread would keep most locks to itself.

use std::cell::UnsafeCell;
use std::hint::black_box;
use std::io;
use std::ops::DerefMut;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, PoisonError};
use std::thread;

use ntux::{Arena, Capacity, FairMutex, LockError};
use ntux_platform::clock::monotonic_ns;

use crate::asleep::joined;
use crate::bench::Bench;
use crate::measure::{Effort, Sample};
use crate::record::Group;
use crate::report::{PARKING, PTHREAD, RUST, STD};

const THREADS: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];
/// What a thread adds, one by one: so often with the lock, and so often without.
const INCREMENTS: u64 = 200;
/// So many rounds' time is one round here: crowds fall into convoys and out of them.
const ROUNDS_LONG: u32 = 4;

pub(crate) fn run(bench: &mut Bench) {
    for threads in THREADS {
        let name = format!("guarded Mutex<T>, {threads} threads");
        bench.peer(RUST).time(Group::Contended, &name, |effort| counted(effort, threads, &ntux::Mutex::new(0)));
        bench.peer(STD).time(Group::Contended, &name, |effort| counted(effort, threads, &std::sync::Mutex::new(0)));
        bench
            .peer(PARKING)
            .time(Group::Contended, &name, |effort| counted(effort, threads, &parking_lot::Mutex::new(0)));
        bench.peer(PTHREAD).time(Group::Contended, &name, |effort| counted(effort, threads, &Pthread::new()));
        let name = format!("guarded FairMutex<T>, {threads} threads");
        bench.peer(RUST).time(Group::Contended, &name, |effort| counted(effort, threads, &in_order()?));
        bench
            .peer(PARKING)
            .time(Group::Contended, &name, |effort| counted(effort, threads, &UnlockedFairly::default()));
    }
}

/// A lock around a counter.
trait Guarded: Sync {
    fn with(&self, change: impl FnOnce(&mut u64));
}

/// Nanoseconds for each pass of a thread through the lock and outside of it, all threads together: as many passes as fit into the time.
/// Threads with a share each would do it one after the other, and meet nobody.
fn counted(effort: Effort, threads: u32, counter: &impl Guarded) -> io::Result<Sample> {
    let (mut rounds, mut passes) = (Vec::new(), 0);
    for round in 0..=effort.rounds {
        let took;
        (took, passes) = one_round(effort, threads, counter)?;
        // The first is the warm-up.
        if round > 0 {
            rounds.push(took as f64 / passes as f64);
        }
    }
    Ok(Sample::of_rounds(rounds, passes))
}

/// How long it took, in nanoseconds, and how often a thread passed.
fn one_round(effort: Effort, threads: u32, counter: &impl Guarded) -> io::Result<(u64, u64)> {
    let (begins, is_over) = (Barrier::new(threads as usize + 1), AtomicBool::new(false));
    counter.with(|counter| *counter = 0);
    let run = || {
        begins.wait();
        let mut passes = 0;
        while !is_over.load(Ordering::Relaxed) {
            pass(counter);
            passes += 1;
        }
        passes
    };
    let (took, passes) = thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        begins.wait();
        let begin = monotonic_ns();
        thread::sleep(effort.round * ROUNDS_LONG);
        is_over.store(true, Ordering::Relaxed);
        let passes = running.into_iter().map(joined).sum::<u64>();
        (monotonic_ns() - begin, passes)
    });
    let mut found = 0;
    counter.with(|counter| found = *counter);
    match found == passes * INCREMENTS {
        true => Ok((took, passes)),
        false => Err(io::Error::other(format!("{passes} passes count to {found}: two threads were in"))),
    }
}

fn pass(counter: &impl Guarded) {
    counter.with(|counter| (0..INCREMENTS).for_each(|_| *black_box(&mut *counter) += 1));
    let mut outside = 0_u64;
    (0..INCREMENTS).for_each(|_| *black_box(&mut outside) += 1);
}

fn in_order() -> io::Result<FairMutex<u64>> {
    let arena = Arena::create_private(Capacity::default()).map_err(io::Error::other)?;
    FairMutex::new(&arena, 0).map_err(io::Error::other)
}

/// The guard, also of a lock that a panic has poisoned: the counter says what came of it.
fn guard<G>(locked: Result<G, LockError<G>>) -> G {
    match locked {
        Ok(guard) | Err(LockError::Poisoned(guard)) => guard,
        Err(error) => panic!("{error}"),
    }
}

impl Guarded for ntux::Mutex<u64> {
    fn with(&self, change: impl FnOnce(&mut u64)) {
        change(guard(self.lock()).deref_mut());
    }
}

impl Guarded for FairMutex<u64> {
    fn with(&self, change: impl FnOnce(&mut u64)) {
        change(guard(self.lock()).deref_mut());
    }
}

impl Guarded for std::sync::Mutex<u64> {
    fn with(&self, change: impl FnOnce(&mut u64)) {
        change(&mut self.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Guarded for parking_lot::Mutex<u64> {
    fn with(&self, change: impl FnOnce(&mut u64)) {
        change(&mut self.lock());
    }
}

/// Each unlock hands it to who has waited for longest.
#[derive(Default)]
struct UnlockedFairly(parking_lot::Mutex<u64>);

impl Guarded for UnlockedFairly {
    fn with(&self, change: impl FnOnce(&mut u64)) {
        let mut counter = self.0.lock();
        change(&mut counter);
        parking_lot::MutexGuard::unlock_fair(counter);
    }
}

/// The C library's mutex, of the default kind.
struct Pthread {
    /// Stays where it is: the C library may keep its address.
    mutex: Box<UnsafeCell<libc::pthread_mutex_t>>,
    counter: UnsafeCell<u64>,
}

// SAFETY: the mutex is for any threads, and `with` touches the counter with the mutex held only.
unsafe impl Sync for Pthread {}

impl Pthread {
    fn new() -> Pthread {
        Pthread { mutex: Box::new(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER)), counter: UnsafeCell::new(0) }
    }
}

impl Guarded for Pthread {
    fn with(&self, change: impl FnOnce(&mut u64)) {
        // SAFETY: the mutex was initialized statically and does not move.
        let locked = unsafe { libc::pthread_mutex_lock(self.mutex.get()) };
        assert_eq!(locked, 0, "pthread_mutex_lock");
        // SAFETY: this thread has the mutex, so it is the only one that has this reference.
        change(unsafe { &mut *self.counter.get() });
        // SAFETY: this thread has the mutex.
        let unlocked = unsafe { libc::pthread_mutex_unlock(self.mutex.get()) };
        assert_eq!(unlocked, 0, "pthread_mutex_unlock");
    }
}
