//! Many threads asleep on one word: how long one thread needs to wake them, or to move them, one at a time; and all at
//! once.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use ntux_futex::Deadline;
use ntux_platform::clock::monotonic_ns;

use super::Row;
use super::contender::{ALL, Contender};
use crate::measure::{Effort, Sample};

const STACK: usize = 64 << 10;
/// A crowd is gathered anew for each round: few of them.
const ROUNDS_MAX: usize = 5;

pub(crate) fn wake_name(threads: usize) -> String {
    format!("wake {threads} one at a time, each")
}

pub(crate) fn requeue_name(threads: usize) -> String {
    format!("requeue {threads} one at a time, each")
}

/// Measures crowds of this size; nanoseconds for each thread.
pub(crate) fn run(effort: Effort, threads: usize) -> io::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for one in ALL {
        let (mut wake, mut requeue, mut all) = (Vec::new(), Vec::new(), Vec::new());
        eprintln!("measuring {threads} threads: {}", one.name);
        for _ in 0..effort.rounds.min(ROUNDS_MAX) {
            let round = round(one, threads)?;
            wake.push(round.wake);
            requeue.push(round.requeue);
            all.push(round.wake_all);
        }
        for (scenario, results) in [
            (wake_name(threads), wake),
            (requeue_name(threads), requeue),
            (format!("wake {threads} with one call, each"), all),
        ] {
            rows.push(Row { scenario, contender: one.name, sample: Sample::of_rounds(results, threads as u64) });
        }
    }
    Ok(rows)
}

struct Round {
    wake: f64,
    requeue: f64,
    wake_all: f64,
}

fn round(one: Contender, threads: usize) -> io::Result<Round> {
    let words = [AtomicU32::new(0), AtomicU32::new(0)];
    let per_thread = |ns: u64| ns as f64 / threads as f64;
    let wake = with_crowd(one, threads, &words[0], || one_at_a_time(threads, || one.wake(&words[0], 1)))?;
    let (requeue, wake_all) = with_crowd(one, threads, &words[0], || {
        let requeue = one_at_a_time(threads, || one.requeue(&words[0], &words[1], 1));
        (requeue, one_at_a_time(threads, || one.wake(&words[1], u32::MAX)))
    })?;
    Ok(Round { wake: per_thread(wake), requeue: per_thread(requeue), wake_all: per_thread(wake_all) })
}

/// Repeats a call until it has served everybody; how long that took.
fn one_at_a_time(threads: usize, mut serve: impl FnMut() -> u32) -> u64 {
    let start = monotonic_ns();
    let mut served = 0;
    while served < threads {
        served += serve() as usize;
    }
    monotonic_ns() - start
}

/// Does something while so many threads sleep on the word; it must wake them all.
fn with_crowd<T>(one: Contender, threads: usize, word: &AtomicU32, work: impl FnOnce() -> T) -> io::Result<T> {
    let ids: Vec<AtomicU32> = (0..threads).map(|_| AtomicU32::new(0)).collect();
    thread::scope(|scope| {
        for id in &ids {
            let builder = thread::Builder::new().stack_size(STACK);
            builder.spawn_scoped(scope, move || {
                // SAFETY: a call without arguments.
                id.store(unsafe { libc::gettid() } as u32, Ordering::SeqCst);
                one.wait(word, 0, Deadline::Never);
            })?;
        }
        ids.iter().for_each(until_asleep);
        Ok(work())
    })
}

fn until_asleep(id: &AtomicU32) {
    loop {
        let id = id.load(Ordering::SeqCst);
        if id != 0 {
            let stat = std::fs::read_to_string(format!("/proc/self/task/{id}/stat")).unwrap_or_default();
            if stat.contains(") S ") {
                return;
            }
        }
        thread::sleep(Duration::from_micros(100));
    }
}
