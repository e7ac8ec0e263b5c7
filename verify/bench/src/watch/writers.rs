// SPDX-License-Identifier: MIT OR Apache-2.0
//! The micro-benchmark of Wine's merge request for kernel write watches, re-implemented from its public description.
//!
//! Threads write to one region as fast as they can; the main thread repeatedly sleeps, lists all written pages and
//! resets them. A row is threads, pages, milliseconds of sleep, random (1) or ascending (0) pages, and whether list and
//! reset are one call (1) or two (0). The region is touched before; each thread has its own generator and starts at its
//! own page; one write in 64 is timed by itself, which adds the cost of reading the clock: compare with untracked
//! memory.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ntux_platform::clock::monotonic_ns;
use serde::Serialize;

use super::subject::{ALL, BARE, Subject};
use super::{Spread, progress};

/// One row.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) threads: usize,
    pub(crate) pages: usize,
    pub(crate) delay_ms: u64,
    pub(crate) random: bool,
    pub(crate) one_call: bool,
}

/// How one subject did.
#[derive(Debug, Serialize)]
pub(crate) struct Written {
    pub(crate) subject: &'static str,
    pub(crate) row: Row,
    /// Nanoseconds a write: time that passed for its thread, and what it computed.
    pub(crate) loop_ns: f64,
    pub(crate) processor_ns: f64,
    /// Nanoseconds of the writes that were timed by themselves.
    pub(crate) timed_ns: Spread,
    /// Microseconds.
    pub(crate) get_us: Spread,
    pub(crate) reset_us: Spread,
    pub(crate) both_us: Spread,
    pub(crate) pages_listed: f64,
    pub(crate) gets: usize,
    /// The sum over all results. A mechanism that answers rarely has few first writes, so that *loop* is short.
    pub(crate) listed_per_second: f64,
}

const fn row(threads: usize, pages: usize, delay_ms: u64, random: bool, one_call: bool) -> Row {
    Row { threads, pages, delay_ms, random, one_call }
}

/// The rows of the merge request, and two that this many threads do not fight over two processors for.
const ROWS: [Row; 10] = [
    row(1, 1080, 3, true, true),
    row(2, 8192, 3, false, true),
    row(6, 1080, 3, true, true),
    row(6, 1080, 3, true, false),
    row(8, 8192, 3, true, true),
    row(8, 8192, 3, true, false),
    row(8, 8192, 1, true, true),
    row(8, 8192, 1, true, false),
    row(8, 64, 1, true, true),
    row(8, 64, 1, true, false),
];

pub(crate) fn run(quick: bool) -> io::Result<Vec<Written>> {
    let rows = if quick { &ROWS[..2] } else { &ROWS[..] };
    let mut all = Vec::new();
    for &row in rows {
        let Row { threads, pages, delay_ms, random, one_call } = row;
        progress(&format!("{threads} threads, {pages} pages, {delay_ms} ms, random {random}, one call {one_call}"));
        for subject in ALL.into_iter().filter(|subject| *subject != BARE) {
            all.push(measure(subject, row, Duration::from_millis(if quick { 30 } else { 500 }))?);
        }
    }
    Ok(all)
}

#[derive(Default)]
struct Writer {
    writes: u64,
    elapsed_ns: u64,
    processor_ns: u64,
    timed: Vec<f64>,
}

fn measure(name: &'static str, row: Row, time: Duration) -> io::Result<Written> {
    let mut subject = Subject::open(name, row.pages)?;
    let stop = AtomicBool::new(false);
    let (base, pages) = (subject.base, row.pages);
    let mut asked = (Vec::new(), Vec::new(), Vec::new());
    let (mut listed, mut asking) = (0, Duration::ZERO);
    let writers = thread::scope(|scope| {
        let spawn = |index| {
            let stop = &stop;
            scope.spawn(move || write(base, pages, row.random, index, stop))
        };
        let handles: Vec<_> = (0..row.threads).map(spawn).collect();
        let start = Instant::now();
        let result = ask(&mut subject, row, time, &mut asked, &mut listed);
        asking = start.elapsed();
        stop.store(true, Ordering::Relaxed);
        let writers: Vec<Writer> = handles.into_iter().map(|handle| handle.join().expect("a writer")).collect();
        result.map(|()| writers)
    })?;
    let sum = |of: fn(&Writer) -> u64| writers.iter().map(of).sum::<u64>() as f64;
    let (writes, gets) = (sum(|writer| writer.writes), asked.0.len());
    Ok(Written {
        subject: name,
        row,
        loop_ns: sum(|writer| writer.elapsed_ns) / writes,
        processor_ns: sum(|writer| writer.processor_ns) / writes,
        timed_ns: Spread::of(writers.into_iter().flat_map(|writer| writer.timed).collect()),
        get_us: Spread::of(asked.0),
        reset_us: Spread::of(asked.1),
        both_us: Spread::of(asked.2),
        pages_listed: listed as f64 / gets as f64,
        gets,
        listed_per_second: listed as f64 / asking.as_secs_f64(),
    })
}

type Asked = (Vec<f64>, Vec<f64>, Vec<f64>);

fn ask(subject: &mut Subject, row: Row, time: Duration, asked: &mut Asked, listed: &mut usize) -> io::Result<()> {
    let mut addresses = vec![0; row.pages];
    let end = Instant::now() + time;
    while Instant::now() < end {
        thread::sleep(Duration::from_millis(row.delay_ms));
        let start = monotonic_ns();
        *listed += subject.get(&mut addresses, row.one_call)?;
        let got = monotonic_ns();
        if !row.one_call {
            subject.reset()?;
        }
        let reset = monotonic_ns();
        asked.0.push((got - start) as f64 / 1000.0);
        asked.1.push((reset - got) as f64 / 1000.0);
        asked.2.push((reset - start) as f64 / 1000.0);
    }
    Ok(())
}

fn write(base: usize, pages: usize, random: bool, index: usize, stop: &AtomicBool) -> Writer {
    const TIMED_ONE_IN: u64 = 64;
    const TIMED_MAX: usize = 1 << 16;
    let page_size = ntux_watch::page_size();
    let mut writer = Writer { timed: Vec::with_capacity(TIMED_MAX), ..Writer::default() };
    let mut state = index as u64 * 0x1234_5678 + 88_172_645;
    let mut page = index * pages / 8 % pages;
    let (start, processor_start) = (monotonic_ns(), processor_ns());
    while !stop.load(Ordering::Relaxed) {
        page = if random { xorshift(&mut state) as usize % pages } else { (page + 1) % pages };
        let address = (base + page * page_size) as *mut u64;
        let is_timed = writer.writes.is_multiple_of(TIMED_ONE_IN) && writer.timed.len() < TIMED_MAX;
        let before = if is_timed { monotonic_ns() } else { 0 };
        // SAFETY: a page of the subject's memory, which outlives the writers and is only written.
        unsafe { address.write_volatile(writer.writes) };
        if is_timed {
            writer.timed.push((monotonic_ns() - before) as f64);
        }
        writer.writes += 1;
    }
    (writer.elapsed_ns, writer.processor_ns) = (monotonic_ns() - start, processor_ns() - processor_start);
    writer
}

pub(crate) fn xorshift(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// What the calling thread has computed.
fn processor_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a valid place; every Linux has this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
