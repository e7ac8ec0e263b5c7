// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random kills among processes that wait in a futex domain: whatever a victim was doing, the next one finds a seat and
//! room in the lines.
//!
//! The domain has twice as many seats as there are processes, and room in its lines for what they queue. So if one of
//! them is refused for want of either, the dead have kept something. They wait alone and for vectors, with and without a
//! deadline, wake, and requeue; the harness wakes those that nobody else wakes.

#![allow(clippy::disallowed_types, reason = "futexes are words of the program, of the standard library's types")]

use std::io;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::{Duration, Instant};

use fastrand::Rng;
use ntux_futex::{Capacity, Deadline, Domain, Error, Expected, Futex, MATCH_ANY};

use ntux_testkit::child::{Child, shared};

const WORKERS: usize = 4;
/// Buckets are few, so that everybody meets, and so are chunks: rings of 64 and of 128 entries in each bucket.
const CAPACITY: Capacity = Capacity { buckets: 2, chunks: 6, waiters: 2 * WORKERS as u32 };
/// Futexes.
const WORDS: usize = 8;
/// Entries of the longest vector. All workers together need half a ring of 128.
const VECTOR: usize = 16;
/// A victim lives for at most so long; most are killed while they start or wait.
const LIFE_NS: u64 = 300_000;

/// Command line of `domain`.
#[derive(clap::Args, Clone, Debug)]
pub struct Arguments {
    /// How many victims
    #[arg(long, default_value_t = 100_000)]
    kills: u32,
    /// Where the choices begin
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Now and then a process stays that keeps a seat: must fail
    #[arg(long)]
    planted: bool,
}

/// What the processes share besides the domain.
struct Board {
    words: [AtomicU32; WORDS],
    waits: AtomicU32,
    woken: AtomicU32,
    /// Calls for which there was no seat, or no room in a line.
    refused: AtomicU32,
}

/// One process's view.
#[derive(Clone, Copy)]
struct View<'a> {
    domain: &'a Domain,
    board: &'a Board,
}

impl<'a> View<'a> {
    fn futex(self, word: usize) -> Futex<'a> {
        Futex::in_domain(self.domain, 4 * word as u64, &self.board.words[word]).expect("a small place")
    }

    fn expected(self, word: usize) -> Expected<'a> {
        Expected::new(self.futex(word), 0).expect("it fits")
    }

    fn wait(self, random: &mut Rng) -> Result<(), Error> {
        let deadline = if random.u8(..) < 128 { Deadline::Never } else { Deadline::after_ns(random.u64(..100_000)) };
        let count = if random.bool() { 1 } else { random.usize(1..=VECTOR) };
        let entries: Vec<_> = (0..count).map(|_| self.expected(random.usize(..WORDS))).collect();
        self.board.waits.fetch_add(1, SeqCst);
        ntux_futex::wait_any(&entries, deadline)?;
        self.board.woken.fetch_add(1, SeqCst);
        Ok(())
    }

    /// Does something, at random.
    fn act(self, random: &mut Rng) {
        let (word, other) = (random.usize(..WORDS), random.usize(..WORDS));
        let done = match random.u8(..8) {
            0 => ntux_futex::requeue(self.expected(word), self.futex(other), 1, 1).map(drop),
            1 | 2 => ntux_futex::wake(self.futex(word), random.u32(1..3), MATCH_ANY).map(drop),
            _ => self.wait(random),
        };
        if done == Err(Error::Exhausted) {
            self.board.refused.fetch_add(1, SeqCst);
        }
    }

    fn wake_all(self) {
        for word in 0..WORDS {
            let _ = ntux_futex::wake(self.futex(word), u32::MAX, MATCH_ANY);
        }
    }
}

impl Arguments {
    /// Runs it and prints the result.
    pub fn run(&self) -> ExitCode {
        let start = Instant::now();
        match self.kill_them() {
            Ok((board, kills)) => {
                let refused = board.refused.load(SeqCst);
                println!("kills                          {kills}");
                println!("waits                          {}", board.waits.load(SeqCst));
                println!("waits that were woken          {}", board.woken.load(SeqCst));
                println!("refused: the dead keep seats   {refused}");
                println!("time                           {:.1} s", start.elapsed().as_secs_f64());
                if refused == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
            }
            Err(error) => {
                eprintln!("domain: {error}");
                ExitCode::FAILURE
            }
        }
    }

    /// Kills so many, or until somebody is refused.
    fn kill_them(&self) -> io::Result<(&'static Board, u32)> {
        // SAFETY: it is made of atomic integers.
        let board: &Board = unsafe { shared() }?;
        let domain = Domain::create(CAPACITY)?;
        let view = View { domain: &domain, board };
        let mut random = Rng::with_seed(self.seed);
        let mut workers = (0..WORKERS).map(|_| worker(view, random.u64(..))).collect::<io::Result<Vec<_>>>()?;
        let mut kept = Vec::new();
        let mut kills = 0;
        while kills < self.kills && board.refused.load(SeqCst) == 0 {
            pause(random.u64(..LIFE_NS));
            let victim = random.usize(..WORKERS);
            workers[victim].kill();
            workers[victim] = worker(view, random.u64(..))?;
            kills += 1;
            if kills % 16 == 0 {
                view.wake_all();
            }
            if self.planted && kills % 64 == 0 {
                kept.push(keeper(view)?);
            }
        }
        Ok((board, kills))
    }
}

/// A process that uses the domain until it is killed.
fn worker(view: View, seed: u64) -> io::Result<Child> {
    Child::fork(|| {
        let mut random = Rng::with_seed(seed);
        loop {
            view.act(&mut random);
        }
    })
}

/// A process that waits where nobody wakes, until it is killed.
fn keeper(view: View) -> io::Result<Child> {
    static NOBODYS: AtomicU32 = AtomicU32::new(0);
    Child::fork(|| {
        let futex = Futex::in_domain(view.domain, 4 * WORDS as u64, &NOBODYS).expect("a small place");
        let _ = ntux_futex::wait(Expected::new(futex, 0).expect("it fits"), MATCH_ANY, Deadline::Never);
    })
}

fn pause(ns: u64) {
    std::thread::sleep(Duration::from_nanos(ns));
}
