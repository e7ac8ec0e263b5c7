// SPDX-License-Identifier: MIT OR Apache-2.0
//! From the kill of a process that owns a mutex until the thread that waits for it has it: owners of an arena, and a robust mutex of
//! pthread, whose death the kernel tells.

use std::io::{self, Read, Write};
use std::thread;
use std::time::Duration;

use ntux_platform::clock::monotonic_ns;
use ntux_sync::{Arena, Capacity, Deadline, Object, Waiter};
use ntux_testkit::child::{Child, shared};

use crate::bench::Bench;
use crate::measure::{Effort, Sample, per_iteration};
use crate::record::Group;
use crate::report::{ROBUST, RUST};

/// The waiter has slept for so long when the owner is killed.
const SLEPT: [(&str, Duration); 2] = [
    ("an owner is killed 2 ms after the waiter fell asleep: until it has the mutex", Duration::from_millis(2)),
    ("an owner is killed 50 ms after the waiter fell asleep: until it has the mutex", Duration::from_millis(50)),
];

pub(crate) fn run(bench: &mut Bench) {
    for (scenario, slept) in SLEPT {
        bench.peer(RUST).time(Group::Contended, scenario, |effort| killed(effort, slept, &Ours::new()?));
        bench.peer(ROBUST).time(Group::Contended, scenario, |effort| killed(effort, slept, &Robust::new()?));
    }
}

/// A mutex that tells of its owner's death.
trait Owned {
    /// Acquires it. Returns false if not, or not as it should be.
    fn lock(&self, after_a_death: bool) -> bool;
    fn unlock(&self) -> bool;
}

/// `iterations` owners are killed, one after the other; the time between kills and waits that return.
fn killed(effort: Effort, slept: Duration, mutex: &impl Owned) -> io::Result<Sample> {
    per_iteration(effort, |iterations| (0..iterations).try_fold(0, |sum, _| Ok(sum + one_killed(slept, mutex)?)))
}

fn one_killed(slept: Duration, mutex: &impl Owned) -> io::Result<u64> {
    let (mut owned, mut says_so) = io::pipe()?;
    let owner = Child::fork(|| {
        if mutex.lock(false) && says_so.write_all(&[1]).is_ok() {
            loop {
                thread::park();
            }
        }
    })?;
    drop(says_so);
    owned.read_exact(&mut [0])?;
    thread::scope(|scope| {
        let kills = scope.spawn(|| {
            thread::sleep(slept);
            let start = monotonic_ns();
            owner.signal(libc::SIGKILL);
            start
        });
        let has_it = mutex.lock(true);
        let end = monotonic_ns();
        let start = kills.join().map_err(|_| io::Error::other("the thread that kills panicked"))?;
        match has_it && mutex.unlock() {
            true => Ok(end.saturating_sub(start)),
            false => Err(io::Error::other("the mutex was not abandoned")),
        }
    })
}

struct Ours {
    arena: Arena,
    /// That of the thread that measures; a forked child has another owner in it.
    waiter: Waiter,
    mutex: Object,
}

impl Ours {
    fn new() -> io::Result<Ours> {
        let arena = Arena::create(Capacity::default()).map_err(io::Error::other)?;
        let waiter = arena.waiter();
        let mutex = arena.mutex_create(&waiter, 0, 0).map_err(io::Error::other)?;
        Ok(Ours { arena, waiter, mutex })
    }

    fn owner(&self) -> ntux_sync::Result<u32> {
        self.arena.owner_of_this_thread(&self.waiter)
    }
}

impl Owned for Ours {
    fn lock(&self, after_a_death: bool) -> bool {
        let wait = |owner| self.arena.wait_any(&self.waiter, &[self.mutex], None, owner, Deadline::Never);
        self.owner().and_then(wait).is_ok_and(|satisfied| satisfied.abandoned == after_a_death)
    }

    fn unlock(&self) -> bool {
        self.owner().and_then(|owner| self.arena.mutex_unlock(&self.waiter, self.mutex, owner)).is_ok()
    }
}

/// A robust, process-shared mutex.
struct Robust(*mut libc::pthread_mutex_t);

impl Robust {
    fn new() -> io::Result<Robust> {
        // SAFETY: only the C library looks at these bytes, once it has initialized them; zero is a value of bytes.
        let place: &'static [std::sync::atomic::AtomicU64; 32] = unsafe { shared() }?;
        let mutex = place.as_ptr().cast_mut().cast();
        // SAFETY: the memory is shared, larger than a mutex, aligned for one, never unmapped, and nobody else's yet.
        let failed = unsafe {
            let mut attributes = core::mem::zeroed();
            libc::pthread_mutexattr_init(&mut attributes) != 0
                || libc::pthread_mutexattr_setpshared(&mut attributes, libc::PTHREAD_PROCESS_SHARED) != 0
                || libc::pthread_mutexattr_setrobust(&mut attributes, libc::PTHREAD_MUTEX_ROBUST) != 0
                || libc::pthread_mutex_init(mutex, &attributes) != 0
        };
        if failed { Err(io::Error::other("no robust mutex")) } else { Ok(Robust(mutex)) }
    }
}

impl Owned for Robust {
    fn lock(&self, after_a_death: bool) -> bool {
        // SAFETY: initialized by `new`.
        let locked = unsafe { libc::pthread_mutex_lock(self.0) };
        let expected = if after_a_death { libc::EOWNERDEAD } else { 0 };
        // SAFETY: this thread has it.
        locked == expected && (locked == 0 || unsafe { libc::pthread_mutex_consistent(self.0) } == 0)
    }

    fn unlock(&self) -> bool {
        // SAFETY: this thread has it.
        unsafe { libc::pthread_mutex_unlock(self.0) == 0 }
    }
}
