// SPDX-License-Identifier: MIT OR Apache-2.0
//! The four benchmarks of `perf bench futex` that the futex2 proposal was measured with: hash, wake, wake-parallel and
//! requeue.
//!
//! Every number is nanoseconds for each thread, or for each wait. Unlike there, threads are known to sleep before
//! anything is timed, the clock has nanoseconds and does not wrap, and `hash` is a fixed number of waits, timed from the
//! call that lets the threads begin until the last of them has done its own.

use std::collections::BTreeMap;
use std::io;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use ntux_platform::clock::monotonic_ns;

use super::contender::{Contender, DOMAIN, KERNEL, KERNEL_SHARED, LANES_8, SHARED, TABLE, TABLE_8, TABLE_64};
use super::crowd::{Crowd, OWN_WORDS, Stage};
use super::{Absent, Row};
use crate::measure::{Effort, Sample};

const CONTENDERS: [Contender; 8] = [KERNEL, TABLE, TABLE_8, TABLE_64, KERNEL_SHARED, SHARED, LANES_8, DOMAIN];
/// Everybody is gathered anew for each round: few of them.
const ROUNDS_MAX: usize = 5;
/// Threads that wake in parallel, each an equal share.
const WAKERS: usize = 8;

pub(crate) fn wake_name(threads: usize) -> String {
    format!("wake {threads}, one a call")
}

pub(crate) fn requeue_name(threads: usize) -> String {
    format!("requeue {threads}, one a call")
}

/// Measures a crowd of this size, or says why it cannot be had.
pub(crate) fn run(effort: Effort, threads: usize, rows: &mut Vec<Row>, absent: &mut Vec<Absent>) -> io::Result<()> {
    let stage = Stage::default();
    thread::scope(|scope| {
        let crowd = match Crowd::gather(scope, &stage, threads) {
            Ok(crowd) => crowd,
            Err(reason) => {
                absent.push(Absent { scenario: format!("crowds of {threads} threads"), reason: reason.to_string() });
                return Ok(());
            }
        };
        let measured = rounds(effort, &crowd);
        crowd.dismiss();
        rows.extend(measured?);
        Ok(())
    })
}

fn rounds(effort: Effort, crowd: &Crowd) -> io::Result<Vec<Row>> {
    let threads = crowd.len();
    let mut results: BTreeMap<(usize, usize), Vec<f64>> = BTreeMap::new();
    let mut names = Vec::new();
    for round in 0..effort.rounds.min(ROUNDS_MAX) {
        super::progress(&format!("{threads} threads, round {}", round + 1));
        for (contender, one) in CONTENDERS.into_iter().enumerate() {
            let numbers = measure(effort, crowd, one)?;
            for (scenario, (_, number)) in numbers.iter().enumerate() {
                results.entry((scenario, contender)).or_default().extend(number);
            }
            names = numbers.into_iter().map(|(name, _)| name).collect();
        }
    }
    results.retain(|_, numbers| !numbers.is_empty());
    let row = |((scenario, contender), numbers): ((usize, usize), Vec<f64>)| Row {
        scenario: names[scenario].clone(),
        contender: CONTENDERS[contender].name,
        sample: Sample::of_rounds(numbers, threads as u64),
    };
    Ok(results.into_iter().map(row).collect())
}

/// One round of one contender: each scenario and its number, if it can do that.
fn measure(effort: Effort, crowd: &Crowd, one: Contender) -> io::Result<Vec<(String, Option<f64>)>> {
    let threads = crowd.len();
    let each = |ns: u64| ns as f64 / threads as f64;
    let [from, to] = crowd.stage.cells.each_ref().map(|cell| one.futex(cell));
    let expected = one.expect(&crowd.stage.cells[0], 0);
    let (wake, all_ran) = crowd.waiting(one, || until_served(threads, || one.wake(from, 1)))?;
    let (requeue, wake_all) = if one.moves() {
        let (both, _) = crowd.waiting(one, || {
            let requeue = until_served(threads, || one.requeue(expected, to, 1));
            (requeue, until_served(threads, || one.wake(to, u32::MAX)))
        })?;
        (Some(each(both.0)), Some(each(both.1)))
    } else {
        (None, None)
    };
    let (parallel, _) = crowd.waiting(one, || {
        let in_parallel = in_parallel(WAKERS.min(threads), threads, |count| one.wake(from, count));
        // The threads that are left when the shares are not even.
        one.wake(from, u32::MAX);
        in_parallel
    })?;
    let passes = (waits(effort) / (threads * OWN_WORDS)).max(1);
    let hash = crowd.differing(one, passes as u32)?;
    Ok(vec![
        (format!("hash, {threads} threads"), Some(hash)),
        (wake_name(threads), Some(each(wake))),
        (format!("wake {threads}, one a call: all ran"), Some(each(all_ran))),
        (format!("wake {threads}, {WAKERS} calls in parallel"), Some(parallel)),
        (requeue_name(threads), requeue),
        (format!("wake {threads}, all in a call"), wake_all),
    ])
}

/// Waits of all threads together in one round of `hash`, at least.
fn waits(effort: Effort) -> usize {
    effort.long_steps << 16
}

/// Repeats a call until it has served everybody; how long that took.
fn until_served(threads: usize, mut serve: impl FnMut() -> u32) -> u64 {
    let begin = monotonic_ns();
    let mut served = 0;
    while served < threads {
        served += serve() as usize;
    }
    monotonic_ns() - begin
}

/// Threads that make one call each, at the same time: how long a call takes for each thread that it is to wake.
fn in_parallel(wakers: usize, threads: usize, wake: impl Fn(u32) -> u32 + Sync) -> f64 {
    let share = threads / wakers;
    let (together, elapsed) = (Barrier::new(wakers), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..wakers {
            scope.spawn(|| {
                together.wait();
                let begin = monotonic_ns();
                wake(share as u32);
                elapsed.fetch_add(monotonic_ns() - begin, Ordering::SeqCst);
            });
        }
    });
    elapsed.into_inner() as f64 / (wakers * share) as f64
}
