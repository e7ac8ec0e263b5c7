// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that wait, and how to know that they are asleep.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::Duration;

use ntux_futex::{Deadline, Expected, MATCH_ANY, Mechanism, Result};
use ntux_platform::liveness::thread_id;

use crate::asleep::is_asleep;
use crate::kind::domain;

/// Ends a test process that hangs, loudly: with `SIGALRM` unless it is over in ten minutes. (A busy emulator of a kernel takes several.)
pub fn watchdog() {
    // SAFETY: sets a timer and nothing else.
    unsafe { libc::alarm(600) };
}

/// A deadline far enough away to fail loudly instead of hanging, near enough to end.
pub fn soon() -> Deadline {
    after(Duration::from_secs(60))
}

pub fn after(time: Duration) -> Deadline {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a valid place for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    Deadline::Monotonic(now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64 + time.as_nanos() as u64)
}

/// The number of a thread, and how its wait ended.
type Ended = (usize, Result<usize>);

/// Threads that wait, each known by a number, in the order in which they end.
pub struct Sleepers<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    ended: (Sender<Ended>, Receiver<Ended>),
    threads: Vec<ScopedJoinHandle<'scope, ()>>,
}

impl<'scope, 'env> Sleepers<'scope, 'env> {
    pub fn new(scope: &'scope Scope<'scope, 'env>) -> Self {
        watchdog();
        // Made at the first use, while others sleep on a lock: now, and not when a thread is taken for asleep in its wait.
        let _ = (Mechanism::of(ntux_futex::Scope::Private), domain());
        Self { scope, ended: channel(), threads: Vec::new() }
    }

    /// A thread that waits; returns when it sleeps.
    pub fn wait(&mut self, expected: Expected<'env>, mask: u32) {
        self.start(move || ntux_futex::wait(expected, mask, soon()).map(|()| 0));
    }

    /// A thread that waits for any; returns when it sleeps.
    pub fn wait_any(&mut self, entries: Vec<Expected<'env>>) {
        self.start(move || ntux_futex::wait_any(&entries, soon()));
    }

    /// A thread that waits for any, with a bitset for each; returns when it sleeps.
    pub fn wait_multiple(&mut self, blocks: Vec<(Expected<'env>, u32)>) {
        self.start(move || ntux_futex::wait_multiple(&blocks, soon()));
    }

    /// A thread that waits in this way; returns when it sleeps.
    pub fn start(&mut self, wait: impl FnOnce() -> Result<usize> + Send + 'scope) {
        let (number, ended) = (self.threads.len(), self.ended.0.clone());
        let thread: &'static AtomicU64 = Box::leak(Box::default());
        self.threads.push(self.scope.spawn(move || {
            thread.store(thread_id(), Ordering::SeqCst);
            let result = wait();
            ended.send((number, result)).expect("the test listens");
        }));
        while thread.load(Ordering::SeqCst) == 0 {
            thread::yield_now();
        }
        let started = self.threads.last().expect("started just now");
        until_asleep_unless(thread.load(Ordering::SeqCst), || {
            assert!(!started.is_finished(), "thread {number} did not sleep: {:?}", self.ended.1.try_recv());
        });
    }

    /// The next one that ended, and how.
    pub fn next(&self) -> Ended {
        self.ended.1.recv_timeout(Duration::from_secs(60)).expect("a thread that was woken ends")
    }

    /// The numbers of the next so many that ended, each woken, in the order of their numbers.
    pub fn woken(&self, count: usize) -> Vec<usize> {
        let mut woken: Vec<usize> = (0..count)
            .map(|_| {
                let (number, result) = self.next();
                assert!(result.is_ok(), "thread {number}: {result:?}");
                number
            })
            .collect();
        woken.sort_unstable();
        woken
    }

    /// Nobody else has ended.
    pub fn nobody(&self) {
        assert_eq!(self.ended.1.recv_timeout(Duration::from_millis(2)).ok(), None);
    }
}

/// Returns when the thread sleeps in the kernel, twice in a row: once might be a lock on its way.
pub fn until_asleep(thread: u64) {
    until_asleep_unless(thread, || ());
}

/// Does what [`until_asleep`] does, but `check` fails if the thread never will.
fn until_asleep_unless(thread: u64, check: impl Fn()) {
    let mut asleep = 0;
    while asleep < 2 {
        asleep = if is_asleep(thread) { asleep + 1 } else { 0 };
        check();
        thread::sleep(Duration::from_micros(200));
    }
}

/// Wakes everybody.
pub const ANY: u32 = MATCH_ANY;

/// How a wait ended that nobody wakes: one that ended by itself is repeated, as every user of the kernel's futexes must.
pub fn until_ended(wait: impl Fn() -> Result<()>) -> Result<()> {
    (0..1000).map(|_| wait()).find(Result::is_err).unwrap_or(Ok(()))
}
