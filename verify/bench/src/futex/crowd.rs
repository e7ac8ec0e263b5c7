// SPDX-License-Identifier: MIT OR Apache-2.0
//! A crowd: threads that all wait for one word, or each check their own words.
//!
//! The threads stay from one measurement to the next, so that no thread begins or ends while something is timed. They
//! wait behind a gate, which is a futex of the kernel for every contender; a round begins when `/proc` says that all
//! of them sleep. Contenders take turns in every round.

use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::thread::Scope;

use ntux_futex::{Deadline, MATCH_ANY, Scope as FutexScope};
use ntux_platform::clock::monotonic_ns;
use ntux_platform::kernel_futex;
use ntux_testkit::task::Task;

use super::contender::{ALL, Cell, Contender};
use crate::asleep::{start, until_asleep};

/// Words that each thread has for itself, as in `perf bench futex hash`.
pub(crate) const OWN_WORDS: usize = 1024;

/// What the threads do next.
#[derive(Clone, Copy)]
pub(crate) enum Order {
    /// Wait for the stage's first word.
    Wait(Contender),
    /// Wait on each word of its own, which differs, as often as the stage says.
    Differ(Contender),
    Leave,
}

/// What the crowd and its conductor share.
#[derive(Default)]
pub(crate) struct Stage {
    /// Counts the orders.
    gate: AtomicU32,
    /// [`Order`], and the position of its contender.
    order: AtomicU32,
    /// Where a crowd waits, and where it is moved to.
    pub(crate) cells: [Cell; 2],
    /// How often each thread waits on each of its own words.
    passes: AtomicU32,
    /// Threads that have done their order.
    done: AtomicU32,
    /// When the last one of them ran.
    last_ns: AtomicU64,
}

impl Stage {
    fn order(&self) -> Order {
        let order = self.order.load(Ordering::SeqCst);
        let contender = ALL[(order >> 2) as usize % ALL.len()];
        match order & 3 {
            0 => Order::Wait(contender),
            1 => Order::Differ(contender),
            _ => Order::Leave,
        }
    }

    /// What one thread of the crowd does, all its life.
    fn perform(&self) {
        let mut orders = 0;
        let words: Vec<Cell> = (0..OWN_WORDS).map(|_| Cell::new(0)).collect();
        loop {
            while self.gate.load(Ordering::SeqCst) == orders {
                let _ = kernel_futex::wait(self.gate.as_ptr(), orders, MATCH_ANY, FutexScope::Private, Deadline::Never);
            }
            orders += 1;
            match self.order() {
                Order::Wait(one) => one.wait(one.expect(&self.cells[0], 0), Deadline::Never),
                Order::Differ(one) => {
                    for _ in 0..self.passes.load(Ordering::SeqCst) {
                        words.iter().for_each(|word| one.wait(one.expect(word, 1), Deadline::Never));
                    }
                }
                Order::Leave => return,
            }
            self.last_ns.fetch_max(monotonic_ns(), Ordering::SeqCst);
            self.done.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// The threads.
pub(crate) struct Crowd<'stage> {
    pub(crate) stage: &'stage Stage,
    ids: Vec<Task>,
}

impl<'stage> Crowd<'stage> {
    /// Starts so many threads.
    ///
    /// # Errors
    /// The system does not give that many; the others have been sent away.
    pub(crate) fn gather<'scope>(
        scope: &'scope Scope<'scope, '_>,
        stage: &'stage Stage,
        threads: usize,
    ) -> io::Result<Crowd<'stage>>
    where
        'stage: 'scope,
    {
        let (report, reports) = channel();
        for started in 0..threads {
            let report = report.clone();
            let thread = start(scope, move || {
                let _ = report.send(Task::current());
                stage.perform();
            });
            if let Err(error) = thread {
                Crowd { stage, ids: Vec::new() }.order(Order::Leave);
                return Err(io::Error::new(error.kind(), format!("the system gives {started} threads: {error}")));
            }
        }
        drop(report);
        Ok(Crowd { stage, ids: reports.into_iter().take(threads).collect() })
    }

    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    fn order(&self, order: Order) {
        let position = |one| ALL.iter().position(|other| *other == one).unwrap_or(0) as u32;
        let number = match order {
            Order::Wait(one) => position(one) << 2,
            Order::Differ(one) => position(one) << 2 | 1,
            Order::Leave => 2,
        };
        self.stage.done.store(0, Ordering::SeqCst);
        self.stage.last_ns.store(0, Ordering::SeqCst);
        self.stage.order.store(number, Ordering::SeqCst);
        self.stage.gate.fetch_add(1, Ordering::SeqCst);
        let _ = kernel_futex::wake(self.stage.gate.as_ptr(), u32::MAX, MATCH_ANY, FutexScope::Private);
    }

    /// Sends everybody away.
    pub(crate) fn dismiss(self) {
        self.order(Order::Leave);
    }

    /// Does something while everybody waits for the first word. It must wake them all; when the last of them ran, in
    /// nanoseconds after it began.
    pub(crate) fn waiting<T>(&self, one: Contender, work: impl FnOnce() -> T) -> io::Result<(T, u64)> {
        until_asleep(&self.ids)?;
        self.order(Order::Wait(one));
        until_asleep(&self.ids)?;
        let begin = monotonic_ns();
        let result = work();
        self.until_done();
        Ok((result, self.stage.last_ns.load(Ordering::SeqCst).saturating_sub(begin)))
    }

    /// Lets everybody wait on words that differ; nanoseconds for each wait, all threads together.
    pub(crate) fn differing(&self, one: Contender, passes: u32) -> io::Result<f64> {
        until_asleep(&self.ids)?;
        self.stage.passes.store(passes, Ordering::SeqCst);
        let begin = monotonic_ns();
        self.order(Order::Differ(one));
        self.until_done();
        let elapsed = self.stage.last_ns.load(Ordering::SeqCst).saturating_sub(begin);
        Ok(elapsed as f64 / (self.len() * OWN_WORDS * passes as usize) as f64)
    }

    fn until_done(&self) {
        while (self.stage.done.load(Ordering::SeqCst) as usize) < self.len() {
            std::thread::sleep(std::time::Duration::from_micros(200));
        }
    }
}
