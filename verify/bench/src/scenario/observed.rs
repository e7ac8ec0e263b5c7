// SPDX-License-Identifier: MIT OR Apache-2.0
//! What it costs a program that somebody looks: two threads on one processor, which wake each other in turn. Each turn is
//! one wait that falls asleep, and one wake. All arms in turns, so that the ratio is of one run.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use ntux_platform::clock::monotonic_ns;
use ntux_sync::inspect::View;
use ntux_sync::trace::Tracer;
use ntux_sync::{Arena, Capacity, Deadline, Object};

use crate::bench::Bench;
use crate::measure::{Effort, Sample, Timed, in_turns};
use crate::record::{Group, Outcome, Unit};

const TURN: &str = "two threads wake each other, one turn";
const NOBODY: &str = "nobody looks";
/// A snapshot every tenth of a second, as `ntux top --every 0.1` takes them.
const TOP: &str = "ntux top looks";
/// All events are recorded, and fetched every 5 ms, as `ntux trace` does.
const TRACED: &str = "ntux trace records";
const ARMS: [&str; 3] = [NOBODY, TOP, TRACED];

const SNAPSHOT_EVERY: Duration = Duration::from_millis(100);
const FETCH_EVERY: Duration = Duration::from_millis(5);
/// Threads report for so long after the last time that the tracer asked for it.
const LEASE_NS: u64 = 2_000_000_000;

struct Turns {
    arena: Arena,
    events: [Object; 2],
}

impl Turns {
    fn new() -> io::Result<Turns> {
        let arena = Arena::create(Capacity::default()).map_err(io::Error::other)?;
        // Each wait sleeps at once.
        arena.set_spins(0);
        let event = || arena.event_create(&arena.waiter(), false, false).map_err(io::Error::other);
        let events = [event()?, event()?];
        Ok(Turns { arena, events })
    }

    fn fd(&self) -> io::Result<BorrowedFd<'_>> {
        self.arena.fd().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Nanoseconds for so many rounds of two turns.
    fn take(&self, rounds: u64) -> u64 {
        std::thread::scope(|scope| {
            scope.spawn(|| self.side(1, rounds));
            scope.spawn(|| self.side(0, rounds)).join().expect("a side does not fail")
        })
    }

    fn side(&self, side: usize, rounds: u64) -> u64 {
        on_one_processor();
        let (waiter, [first, second]) = (self.arena.waiter(), self.events);
        let begin = monotonic_ns();
        for _ in 0..rounds {
            let (set, waited) = if side == 0 { (first, second) } else { (second, first) };
            if side == 0 {
                self.arena.event_set(&waiter, set).expect("an event");
            }
            self.arena.wait_any(&waiter, &[waited], None, 1 + side as u32, Deadline::Never).expect("a wait");
            if side == 1 {
                self.arena.event_set(&waiter, set).expect("an event");
            }
        }
        let elapsed = monotonic_ns() - begin;
        self.arena.retire(&waiter);
        elapsed
    }
}

/// The calling thread stays on the first processor that it may run on.
fn on_one_processor() {
    // SAFETY: all zeros is the empty set; the calls fill in and read one set of this size.
    unsafe {
        let mut set: libc::cpu_set_t = core::mem::zeroed();
        if libc::sched_getaffinity(0, size_of_val(&set), &mut set) != 0 {
            return;
        }
        let Some(first) = (0..libc::CPU_SETSIZE as usize).find(|&cpu| libc::CPU_ISSET(cpu, &set)) else { return };
        libc::CPU_ZERO(&mut set);
        libc::CPU_SET(first, &mut set);
        libc::sched_setaffinity(0, size_of_val(&set), &set);
    }
}

pub(crate) fn run(bench: &mut Bench) {
    if !bench.peer(NOBODY).wanted(TURN) {
        return;
    }
    bench.announce(TURN);
    let outcomes: Vec<Outcome> = match measure(bench.effort) {
        Ok(samples) => samples.into_iter().map(Outcome::Measured).collect(),
        Err(error) => ARMS.iter().map(|_| Outcome::Failed(error.to_string())).collect(),
    };
    bench.at_rest();
    for (arm, outcome) in ARMS.into_iter().zip(outcomes) {
        bench.peer(arm).record(Group::Observed, Unit::Nanoseconds, TURN, outcome, None);
    }
}

fn measure(effort: Effort) -> io::Result<Vec<Sample>> {
    let [nobody, top, traced] = [Turns::new()?, Turns::new()?, Turns::new()?];
    let view = View::open(top.fd()?).map_err(io::Error::other)?;
    let mut tracer = Tracer::attach(traced.fd()?).map_err(io::Error::other)?;
    let mut events = Vec::new();
    // A round has two turns.
    let turns = |nanoseconds: u64| nanoseconds / 2;
    let mut arms: [Timed<'_>; 3] = [
        Box::new(|count| turns(nobody.take(count))),
        Box::new(|count| turns(beside(|| drop(view.snapshot()), SNAPSHOT_EVERY, || top.take(count)))),
        Box::new(|count| {
            tracer.keep_on(LEASE_NS);
            let fetch = || {
                tracer.keep_on(LEASE_NS);
                tracer.read(&mut events);
                events.clear();
            };
            let elapsed = beside(fetch, FETCH_EVERY, || traced.take(count));
            tracer.stop();
            turns(elapsed)
        }),
    ];
    // Very many short rounds: what is looked for is smaller than what else changes from one moment to the next.
    let effort = Effort { rounds: effort.rounds * 60, round: effort.round / 25, ..effort };
    in_turns(effort, &mut arms)
}

/// Does `work` while another thread does `look` again and again.
fn beside<T>(mut look: impl FnMut() + Send, every: Duration, work: impl FnOnce() -> T) -> T {
    let (done, is_done) = channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while is_done.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                look();
            }
        });
        let result = work();
        drop(done);
        result
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The arms differ in what they are said to differ in.
    #[test]
    fn only_a_traced_core_leaves_events() {
        let turns = Turns::new().unwrap();
        let mut tracer = Tracer::attach(turns.fd().unwrap()).unwrap();
        let mut events = Vec::new();
        turns.take(10);
        tracer.read(&mut events);
        assert!(events.is_empty(), "nobody asked for them: {events:?}");
        tracer.keep_on(LEASE_NS);
        turns.take(10);
        tracer.read(&mut events);
        assert!(events.len() >= 40, "{} events", events.len());
    }
}
