// SPDX-License-Identifier: MIT OR Apache-2.0
//! Small programs whose threads wait for each other, or for time to pass. Each does a given amount of work.

use std::io;
use std::sync::RwLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use ntux_platform::clock::{Deadline, monotonic_ns, process_ns};
use ntux_sync::{Arena, Capacity, Error, Object, Waiter};
use serde::Serialize;

use super::condition::Stage;
use crate::asleep::{joined, start};

/// What is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub(crate) enum Program {
    /// So many threads, each locks and unlocks one mutex, with a little to do inside and outside.
    Mutex(u32),
    /// The same with a semaphore of one unit.
    Semaphore(u32),
    /// The same with an auto-reset event.
    Event(u32),
    /// Two threads hand a token to and fro by two auto-reset events.
    Zigzag,
    /// A thread waits for any of two events; another sets one, every millisecond.
    Ticks,
    /// A thread waits for an event that nobody sets, with a deadline of a millisecond.
    Timers,
}

/// What a run has cost, for each piece of work.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub(crate) struct Cost {
    pub(crate) elapsed_ns: f64,
    /// The sum over all threads of the program.
    pub(crate) processor_ns: f64,
}

const MS: u64 = 1_000_000;

impl Program {
    pub(crate) fn name(self) -> String {
        match self {
            Program::Mutex(threads) => format!("mutex, {threads} threads"),
            Program::Semaphore(threads) => format!("semaphore, {threads} threads"),
            Program::Event(threads) => format!("auto-reset event, {threads} threads"),
            Program::Zigzag => "zigzag".into(),
            Program::Ticks => "an event each ms".into(),
            Program::Timers => "timers of 1 ms".into(),
        }
    }

    /// How many threads share the work.
    pub(crate) fn threads(self) -> u32 {
        match self {
            Program::Mutex(threads) | Program::Semaphore(threads) | Program::Event(threads) => threads,
            Program::Zigzag | Program::Ticks | Program::Timers => 1,
        }
    }

    /// Does so much work under this condition. `spins`: as [`Arena::set_spins`] has it; none: by the policy.
    pub(crate) fn run(self, work: u64, spins: Option<u32>, stage: &Stage) -> io::Result<Cost> {
        let arena = Arena::create(Capacity::default()).map_err(io::Error::other)?;
        if let Some(spins) = spins {
            arena.set_spins(spins);
        }
        let begun = match self {
            Program::Mutex(threads) => guarded(&arena, stage, threads, work, Guard::Mutex),
            Program::Semaphore(threads) => guarded(&arena, stage, threads, work, Guard::Semaphore),
            Program::Event(threads) => guarded(&arena, stage, threads, work, Guard::Event),
            Program::Zigzag => zigzag(&arena, stage, work),
            Program::Ticks => ticks(&arena, stage, work),
            Program::Timers => timers(&arena, stage, work),
        }?;
        Ok(begun.cost(work))
    }
}

/// When the work began.
struct Begun {
    elapsed_ns: u64,
    processor_ns: u64,
}

impl Begun {
    fn now() -> Begun {
        Begun { elapsed_ns: monotonic_ns(), processor_ns: process_ns() }
    }

    fn cost(self, work: u64) -> Cost {
        let now = Begun::now();
        let each = |after: u64, before: u64| (after - before) as f64 / work as f64;
        Cost {
            elapsed_ns: each(now.elapsed_ns, self.elapsed_ns),
            processor_ns: each(now.processor_ns, self.processor_ns),
        }
    }
}

fn take(arena: &Arena, waiter: &Waiter, object: Object, owner: u32) -> io::Result<()> {
    arena.wait_any(waiter, &[object], None, owner, Deadline::Never).map(drop).map_err(io::Error::other)
}

/// What guards the work of several threads: one at a time may do it.
#[derive(Clone, Copy)]
enum Guard {
    Mutex,
    Semaphore,
    Event,
}

/// All threads together do the work. It begins when all are there: to start hundreds takes longer than what they do.
fn guarded(arena: &Arena, stage: &Stage, threads: u32, work: u64, guard: Guard) -> io::Result<Begun> {
    let waiter = arena.waiter();
    let object = match guard {
        Guard::Mutex => arena.mutex_create(&waiter, 0, 0),
        Guard::Semaphore => arena.semaphore_create(&waiter, 1, 1),
        Guard::Event => arena.event_create(&waiter, false, true),
    }
    .map_err(io::Error::other)?;
    let (there, gate) = (&AtomicU32::new(0), &RwLock::new(()));
    thread::scope(|scope| {
        let run = move |number: u32| {
            let waiter = arena.waiter();
            let entered = stage.enter_thread(number as usize);
            there.fetch_add(1, Relaxed);
            drop(gate.read());
            entered?;
            for _ in 0..work.div_ceil(u64::from(threads)) {
                take(arena, &waiter, object, number + 1)?;
                compute(10);
                match guard {
                    Guard::Mutex => arena.mutex_unlock(&waiter, object, number + 1).map(drop),
                    Guard::Semaphore => arena.semaphore_release(&waiter, object, 1).map(drop),
                    Guard::Event => arena.event_set(&waiter, object).map(drop),
                }
                .map_err(io::Error::other)?;
                compute(20);
            }
            Ok(())
        };
        let closed = gate.write();
        let running: Vec<_> =
            (0..threads).map(|number| start(scope, move || run(number))).collect::<io::Result<_>>()?;
        while there.load(Relaxed) < threads {
            thread::sleep(Duration::from_micros(100));
        }
        let begun = Begun::now();
        drop(closed);
        running.into_iter().try_for_each(joined).map(|()| begun)
    })
}

fn compute(steps: u32) {
    (0..steps).for_each(|step| {
        std::hint::black_box(step);
    });
}

fn zigzag(arena: &Arena, stage: &Stage, work: u64) -> io::Result<Begun> {
    let begun = Begun::now();
    let waiter = arena.waiter();
    let event = |signaled| arena.event_create(&waiter, false, signaled).map_err(io::Error::other);
    let events = [event(true)?, event(false)?];
    thread::scope(|scope| {
        let run = |side: usize| {
            let waiter = arena.waiter();
            stage.enter_thread(side)?;
            for _ in 0..work {
                take(arena, &waiter, events[side], 1)?;
                arena.event_set(&waiter, events[1 - side]).map_err(io::Error::other)?;
            }
            Ok(())
        };
        let sides = [0, 1].map(|side| scope.spawn(move || run(side)));
        sides.into_iter().try_for_each(joined).map(|()| begun)
    })
}

fn ticks(arena: &Arena, stage: &Stage, work: u64) -> io::Result<Begun> {
    let begun = Begun::now();
    let waiter = arena.waiter();
    let event = || arena.event_create(&waiter, false, false).map_err(io::Error::other);
    let events = [event()?, event()?];
    thread::scope(|scope| {
        let other = scope.spawn(move || {
            let waiter = arena.waiter();
            stage.enter_thread(1)?;
            (0..work).try_for_each(|_| {
                arena.wait_any(&waiter, &events, None, 1, Deadline::Never).map(drop).map_err(io::Error::other)
            })
        });
        // An event that is set again before anybody saw it is set once.
        while !other.is_finished() {
            thread::sleep(Duration::from_millis(1));
            arena.event_set(&waiter, events[0]).map_err(io::Error::other)?;
        }
        joined(other).map(|()| begun)
    })
}

fn timers(arena: &Arena, stage: &Stage, work: u64) -> io::Result<Begun> {
    let begun = Begun::now();
    let waiter = arena.waiter();
    let event = arena.event_create(&waiter, false, false).map_err(io::Error::other)?;
    stage.enter_thread(1)?;
    for _ in 0..work {
        match arena.wait_any(&waiter, &[event], None, 1, Deadline::after_ns(MS)) {
            Err(Error::TimedOut) => {}
            other => return Err(io::Error::other(format!("a wait for time to pass ended with {other:?}"))),
        }
    }
    Ok(begun)
}
