// SPDX-License-Identifier: MIT OR Apache-2.0
//! Histories under the explorer's scheduler: deterministic, and replayed by a token.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::{generator, shrink};
use crate::planted;
use crate::random::Random;
use crate::search::{self, Bounds, Failure};
use crate::tally::Tally;

/// Schedules that are tried of each program.
pub const SCHEDULES: u64 = 8;

pub(super) const fn bounds(executions: u64) -> Bounds {
    Bounds { preemptions: None, frozen: 1, executions, time: Duration::MAX }
}

/// What to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// One program for each.
    pub seeds: Range<u64>,
    /// Schedules of each program.
    pub schedules: u64,
    /// Threads of the operating system that share the work.
    pub workers: usize,
    /// A bug to plant; see [`planted`].
    pub bug: Option<String>,
}

/// Runs the programs of all seeds, until one fails.
pub fn run_all(plan: &Plan) -> (Tally, Option<Failure>) {
    let next = AtomicU64::new(plan.seeds.start);
    let mut all = (Tally::default(), None);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..plan.workers).map(|_| scope.spawn(|| work(plan, &next))).collect();
        for worker in workers {
            let (tally, failure) = worker.join().expect("a worker does not panic");
            all.0.add(&tally);
            all.1 = all.1.take().or(failure);
        }
    });
    all
}

fn work(plan: &Plan, next: &AtomicU64) -> (Tally, Option<Failure>) {
    planted::plant(plan.bug.as_deref()).expect("a known bug");
    let mut tally = Tally::default();
    loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed >= plan.seeds.end {
            return (tally, None);
        }
        if let Err(failure) = run(seed, plan.schedules, &mut tally) {
            next.store(plan.seeds.end, Ordering::Relaxed);
            return (tally, Some(shrink::smallest(seed, failure)));
        }
    }
}

/// Runs some random schedules of the program of a seed; the first that goes wrong.
pub fn run(seed: u64, schedules: u64, tally: &mut Tally) -> Result<(), Failure> {
    let program = generator::program(seed, &[]);
    let report = search::random(&program, bounds(schedules), Random::new(seed).number());
    tally.add(&report.tally);
    report.failure.map_or(Ok(()), Err)
}
