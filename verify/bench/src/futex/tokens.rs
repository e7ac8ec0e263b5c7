// SPDX-License-Identifier: MIT OR Apache-2.0
//! M producers, N consumers, K objects: every producer posts to objects at random, every consumer waits for any.
//!
//! *Saturated*: producers post as long as fewer than 64 tokens are in flight. *Paced*: one producer posts one token,
//! and the next one 100 microseconds later at the earliest, when the first was taken: so all threads sleep.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use ntux_platform::clock::monotonic_ns;
use serde::Serialize;

use super::contender::{KERNEL, Kernel, Library, TABLE, TABLE_8, TABLE_16, TABLE_64};
use super::pool::{Condition, EventFds, InFlight, Member, Pool, Semaphores, Words};
use crate::asleep::{joined, start};

pub(crate) const EVENTFD: &str = "eventfd, poll";
pub(crate) const EPOLL: &str = "eventfd, epoll";
pub(crate) const CONDITION: &str = "condvar";
pub(crate) const WAITV: &str = "futex_waitv";
/// The synchronization core of this project.
pub(crate) const SYNC: &str = "ntux sync";
pub(crate) const CONTENDERS: [&str; 9] =
    [EVENTFD, EPOLL, CONDITION, WAITV, SYNC, TABLE.name, TABLE_8.name, TABLE_16.name, TABLE_64.name];

const IN_FLIGHT: u64 = 64;
const PACE: Duration = Duration::from_micros(100);
/// When the first token must have been taken.
const PATIENCE: Duration = Duration::from_secs(10);

/// How many of each there are, and whether it is paced.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct Load {
    pub(crate) producers: usize,
    pub(crate) consumers: usize,
    pub(crate) objects: usize,
    pub(crate) paced: bool,
}

const fn saturated(producers: usize, consumers: usize, objects: usize) -> Load {
    Load { producers, consumers, objects, paced: false }
}

const fn paced(consumers: usize, objects: usize) -> Load {
    Load { producers: 1, consumers, objects, paced: true }
}

const LOADS: [Load; 16] = [
    saturated(1, 1, 1),
    saturated(1, 4, 1),
    saturated(1, 16, 1),
    saturated(1, 64, 1),
    saturated(4, 4, 8),
    saturated(4, 16, 8),
    saturated(4, 64, 64),
    saturated(16, 16, 64),
    saturated(16, 64, 64),
    saturated(64, 16, 64),
    saturated(64, 64, 128),
    paced(1, 1),
    paced(16, 8),
    paced(64, 1),
    paced(64, 64),
    paced(64, 128),
];
const QUICK: [Load; 2] = [saturated(4, 16, 8), paced(16, 8)];

/// What came out.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Tokens {
    pub(crate) load: Load,
    pub(crate) contender: &'static str,
    /// Tokens in a second; the median of the rounds.
    pub(crate) rate: f64,
    /// Microseconds of processor time for each token of that round.
    pub(crate) processor_us: f64,
    /// Threads that were switched.
    pub(crate) switches: f64,
    /// Waits that returned with nothing to take.
    pub(crate) in_vain: f64,
    /// Microseconds from a post to the take; paced loads only, since otherwise nobody knows which token it was.
    pub(crate) latency_us: Option<Latency>,
    pub(crate) descriptors: usize,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Latency {
    pub(crate) median: f64,
    pub(crate) p99: f64,
}

/// Measures every load with every design; those take turns.
pub(crate) fn run(quick: bool) -> io::Result<Vec<Tokens>> {
    let (loads, rounds, time) = match quick {
        true => (&QUICK[..], 1, Duration::from_millis(20)),
        false => (&LOADS[..], 3, Duration::from_millis(300)),
    };
    let mut results = Vec::new();
    for &load in loads {
        let Load { producers, consumers, objects, paced } = load;
        let kind = if paced { "paced" } else { "saturated" };
        super::progress(&format!("{producers} producers, {consumers} consumers, {objects} objects, {kind}"));
        let mut measured = CONTENDERS.map(|_| Vec::new());
        for _ in 0..rounds {
            for (one, results) in CONTENDERS.into_iter().zip(&mut measured).filter(|(one, _)| can_wait(one, load)) {
                results.push(measure(one, load, time)?);
            }
        }
        results.extend(measured.into_iter().filter(|rounds| !rounds.is_empty()).map(|mut rounds| {
            rounds.sort_by(|one, other| one.rate.total_cmp(&other.rate));
            rounds.swap_remove(rounds.len() / 2)
        }));
    }
    Ok(results)
}

/// Returns whether one wait of the design is for so many objects.
fn can_wait(contender: &str, load: Load) -> bool {
    contender != SYNC || load.objects <= ntux_sync::WAIT_MAX
}

fn measure(contender: &'static str, load: Load, time: Duration) -> io::Result<Tokens> {
    let count = load.objects;
    match contender {
        EVENTFD => exchange(contender, load, time, &EventFds::new(count, false)?),
        EPOLL => exchange(contender, load, time, &EventFds::new(count, true)?),
        CONDITION => exchange(contender, load, time, &Condition::new(count)),
        WAITV => exchange(contender, load, time, &Words::new(count, KERNEL, Kernel)),
        SYNC => exchange(contender, load, time, &Semaphores::new(count)?),
        name => {
            let sizes = [TABLE, TABLE_8, TABLE_16, TABLE_64];
            let one = sizes.into_iter().find(|one| one.name == name).unwrap_or(TABLE);
            exchange(contender, load, time, &Words::new(count, one, Library))
        }
    }
}

/// What all threads of one exchange share.
#[derive(Default)]
struct Exchange {
    in_flight: InFlight,
    end: AtomicBool,
    taken: AtomicU64,
    posted: AtomicU64,
    in_vain: AtomicU64,
    /// When the token in flight was posted, if it is paced.
    posted_ns: AtomicU64,
    /// Consumers that have left.
    left: AtomicU64,
}

fn exchange(contender: &'static str, load: Load, time: Duration, pool: &dyn Pool) -> io::Result<Tokens> {
    let shared = &Exchange::default();
    let before = usage();
    let begin = monotonic_ns();
    let latencies = thread::scope(|scope| {
        let consumers: io::Result<Vec<_>> = (0..load.consumers)
            .map(|number| start(scope, move || consume(shared, pool, load, begin + number as u64)))
            .collect();
        for number in 0..load.producers {
            start(scope, move || produce(shared, pool, load, number as u64))?;
        }
        thread::sleep(time);
        // On a machine that has other things to do.
        while shared.taken.load(Ordering::SeqCst) == 0 && monotonic_ns() < begin + PATIENCE.as_nanos() as u64 {
            thread::sleep(time);
        }
        shared.end.store(true, Ordering::SeqCst);
        while (shared.left.load(Ordering::SeqCst) as usize) < load.consumers {
            pool.end();
            thread::sleep(Duration::from_micros(100));
        }
        let latencies = consumers?.into_iter().map(joined).collect::<io::Result<Vec<_>>>()?;
        Ok::<_, io::Error>(latencies.concat())
    })?;
    let seconds = (monotonic_ns() - begin) as f64 / 1e9;
    let (taken, posted) = (shared.taken.load(Ordering::SeqCst), shared.posted.load(Ordering::SeqCst));
    if taken == 0 || taken > posted {
        return Err(io::Error::other(format!("{contender}: {taken} tokens were taken of {posted}")));
    }
    let per_token = |number: f64| number / taken.max(1) as f64;
    let after = usage();
    Ok(Tokens {
        load,
        contender,
        rate: taken as f64 / seconds,
        processor_us: per_token(after.0 - before.0),
        switches: per_token(after.1 - before.1),
        in_vain: per_token(shared.in_vain.load(Ordering::SeqCst) as f64),
        latency_us: load.paced.then(|| Latency::of(latencies)),
        descriptors: pool.descriptors() + if contender == EPOLL { load.consumers } else { 0 },
    })
}

impl Latency {
    fn of(mut ns: Vec<u64>) -> Latency {
        ns.sort_unstable();
        let at = |share: f64| ns.get((ns.len().saturating_sub(1) as f64 * share) as usize).copied().unwrap_or(0);
        Latency { median: at(0.5) as f64 / 1e3, p99: at(0.99) as f64 / 1e3 }
    }
}

fn produce(shared: &Exchange, pool: &dyn Pool, load: Load, seed: u64) {
    let mut producer = Member::default();
    let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let limit = if load.paced { 1 } else { IN_FLIGHT };
    while !shared.end.load(Ordering::SeqCst) {
        if !shared.in_flight.enter(limit) {
            thread::yield_now();
            continue;
        }
        // xorshift64
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        shared.posted.fetch_add(1, Ordering::SeqCst);
        shared.posted_ns.store(if load.paced { monotonic_ns() } else { 0 }, Ordering::SeqCst);
        pool.post(&mut producer, (random % load.objects as u64) as usize);
        if load.paced {
            thread::sleep(PACE);
        }
    }
}

fn consume(shared: &Exchange, pool: &dyn Pool, load: Load, seed: u64) -> io::Result<Vec<u64>> {
    let mut consumer = Member::starting_at(seed as usize % load.objects);
    let mut latencies = Vec::new();
    let joined = pool.join(&mut consumer);
    while joined.is_ok() && pool.take(&mut consumer, &shared.end) {
        if load.paced {
            latencies.push(monotonic_ns() - shared.posted_ns.load(Ordering::SeqCst));
        }
        shared.taken.fetch_add(1, Ordering::SeqCst);
        shared.in_flight.leave();
    }
    shared.in_vain.fetch_add(consumer.in_vain, Ordering::SeqCst);
    shared.left.fetch_add(1, Ordering::SeqCst);
    joined.map(|()| latencies)
}

/// Microseconds of processor time that this process has used, and how often its threads were switched.
fn usage() -> (f64, f64) {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: room for the answer; zero bytes are one, should the call refuse.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    let us = |time: libc::timeval| time.tv_sec as f64 * 1e6 + time.tv_usec as f64;
    (us(usage.ru_utime) + us(usage.ru_stime), (usage.ru_nvcsw + usage.ru_nivcsw) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: Duration = Duration::from_millis(20);

    /// Gives whoever asks.
    struct Generous;

    impl Pool for Generous {
        fn post(&self, _: &mut Member, _: usize) {}

        fn take(&self, _: &mut Member, end: &AtomicBool) -> bool {
            !end.load(Ordering::SeqCst)
        }

        fn end(&self) {}
    }

    #[test]
    fn a_token_that_nobody_posted_is_noticed() {
        let ended = exchange("planted", saturated(1, 2, 1), TIME, &Generous);
        assert!(ended.expect_err("it was not noticed").to_string().contains("tokens were taken of"));
    }

    #[test]
    fn every_design_passes_tokens_on() {
        for one in CONTENDERS {
            for load in [saturated(2, 4, 2), paced(4, 2)] {
                let tokens = measure(one, load, TIME).unwrap_or_else(|error| panic!("{load:?}: {error}"));
                assert!(tokens.rate > 0.0, "{one}: {load:?}");
            }
        }
    }
}
