// SPDX-License-Identifier: MIT OR Apache-2.0
//! What of ntux works on this machine, in less than a minute: for systems on which nobody has tried it. One line for each step, then
//! one that says how many failed; ends with 1 if one did.
//!
//! `make test-self` builds and runs it; `make test-cross` links it for macOS. `self-test --planted` fails in one step on purpose.
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "this is about the system, not about the core")]

#[path = "../../platform/tests/contract/suite/mod.rs"]
mod suite;

use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use ntux::{Arena, Capacity, Deadline, Error, Event, MutexObject, Reset, Semaphore, Wait, within};
use ntux_platform::Here;
use ntux_platform::atomic::{Pair, Word128, supported};
use ntux_platform::protection::page_size;
use ntux_watch::Mechanism;
use suite::checks;

type Outcome = Result<String, String>;

/// Anything that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(20);
const CAPACITY: Capacity = Capacity { objects: 64, waiters: 64 };

fn main() -> ExitCode {
    let planted = std::env::args().any(|argument| argument == "--planted");
    println!("ntux on {}, {}, pages of {} bytes", std::env::consts::OS, std::env::consts::ARCH, page_size());
    let mut failed = 0;
    let mut show = |name: &str, run: &mut dyn FnMut() -> Outcome| {
        let start = Instant::now();
        let outcome = run();
        let word = if outcome.is_ok() { "works" } else { "FAILS" };
        failed += u32::from(outcome.is_err());
        let text = outcome.unwrap_or_else(|wrong| wrong);
        println!(
            "{word}  {name}{}{text}  ({} ms)",
            if text.is_empty() { "" } else { ": " },
            start.elapsed().as_millis()
        );
    };
    // First, because nothing works without it, and an emulated processor may lack it or tear it.
    show("the exchange of 16 bytes", &mut || exchange(planted));
    for check in checks::<Here>() {
        show(check.name, &mut || check.run(PATIENCE).map(|()| String::new()));
    }
    show("objects: threads count under a mutex", &mut counting);
    show("objects: waits for all and for any", &mut || described(vectors()));
    show("objects: two processes pass tokens", &mut tokens);
    show("objects: a killed owner's mutex, a killed waiter", &mut killed);
    show("write watches by page protection", &mut || {
        Mechanism::Mprotect.probe().map(|()| String::new()).map_err(|error| format!("{error:?}"))
    });
    match failed {
        0 => println!("everything works"),
        _ => println!("{failed} steps fail"),
    }
    ExitCode::from(u8::from(failed > 0))
}

fn described(result: ntux::Result<()>) -> Outcome {
    result.map(|()| String::new()).map_err(|error| format!("{error:?}"))
}

/// Threads count both halves of one word up, which nobody may see apart.
fn exchange(planted: bool) -> Outcome {
    const THREADS: u64 = 4;
    const ROUNDS: u64 = 100_000;
    if !supported() {
        return Err("this processor lacks it".into());
    }
    let word = Word128::new(Pair::default());
    let torn = thread::scope(|scope| {
        let count = || {
            let mut torn = 0u64;
            for _ in 0..ROUNDS {
                let mut seen = word.load();
                loop {
                    torn += u64::from(seen.low != seen.high);
                    match word.compare_exchange(seen, Pair { low: seen.low + 1, high: seen.high + 1 }) {
                        Ok(()) => break,
                        Err(now) => seen = now,
                    }
                }
            }
            torn
        };
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(count)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or(1)).sum::<u64>()
    });
    let (expected, seen) = (THREADS * ROUNDS + u64::from(planted), word.load());
    match (torn, seen == Pair { low: expected, high: expected }) {
        (0, true) => Ok(format!("{expected} by {THREADS} threads")),
        (torn, _) => Err(format!("{seen:?} after {expected}, and {torn} were seen torn")),
    }
}

fn counting() -> Outcome {
    const THREADS: u32 = 4;
    const ROUNDS: u32 = 5_000;
    let arena = Arena::create(CAPACITY).map_err(|error| format!("no arena: {error:?}"))?;
    let mutex = MutexObject::create(&arena).map_err(|error| format!("{error:?}"))?;
    let count = ntux_platform::atomic::Word32::new(0);
    let work = |owner: u32| {
        (0..ROUNDS).try_for_each(|_| {
            mutex.lock(owner, within(PATIENCE))?;
            count.store(count.load() + 1);
            mutex.unlock(owner).map(drop)
        })
    };
    let work = &work;
    thread::scope(|scope| {
        let threads: Vec<_> = (1..=THREADS).map(|owner| scope.spawn(move || work(owner))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().unwrap_or(Err(Error::TimedOut)))
    })
    .map_err(|error| format!("{error:?}"))?;
    let counted = count.load();
    if counted == THREADS * ROUNDS { Ok(String::new()) } else { Err(format!("{counted}, not {}", THREADS * ROUNDS)) }
}

fn vectors() -> ntux::Result<()> {
    let arena = Arena::create(CAPACITY)?;
    let (event, tokens) = (Event::create(&arena, Reset::Auto, false)?, Semaphore::create(&arena, 0, 1)?);
    let both = [event.object(), tokens.object()];
    let waiter = thread::spawn({
        let arena = Arc::new(arena.clone());
        move || arena.wait_all(&both, Wait::by(1).until(within(PATIENCE)))
    });
    event.set()?;
    thread::sleep(Duration::from_millis(20));
    tokens.release(1)?;
    waiter.join().unwrap_or(Err(Error::TimedOut))?;
    event.set()?;
    let satisfied = arena.wait_any(&both, Wait::by(1).until(within(PATIENCE)))?;
    if satisfied.index == 0 { Ok(()) } else { Err(Error::Invalid) }
}

/// Forks a child, which ends with 0 if `body` succeeds.
fn fork(body: impl FnOnce() -> ntux::Result<()>) -> i32 {
    // SAFETY: the child uses its own copies, needs no other thread, and leaves by `_exit`.
    unsafe {
        match libc::fork() {
            0 => {
                libc::alarm(60);
                libc::_exit(i32::from(body().is_err()))
            }
            pid => pid,
        }
    }
}

fn end_of(child: i32) -> i32 {
    let mut status = 0;
    // SAFETY: our own child; a place for the answer.
    unsafe { libc::waitpid(child, &mut status, 0) };
    status
}

fn tokens() -> Outcome {
    const ROUNDS: u32 = 2_000;
    let error = |error: Error| format!("{error:?}");
    let arena = Arena::create(CAPACITY).map_err(error)?;
    let [there, back] = [0; 2].map(|count| Semaphore::create(&arena, count, 1));
    let (there, back) = (there.map_err(error)?, back.map_err(error)?);
    let child = fork(|| {
        (0..ROUNDS).try_for_each(|_| {
            there.wait(within(PATIENCE))?;
            back.release(1).map(drop)
        })
    });
    let start = Instant::now();
    let played = (0..ROUNDS).try_for_each(|_| {
        there.release(1)?;
        back.wait(within(PATIENCE))
    });
    let each = start.elapsed() / ROUNDS;
    let status = end_of(child);
    played.map_err(error)?;
    if status == 0 {
        Ok(format!("{} ns a round", each.as_nanos()))
    } else {
        Err(format!("the child ended with {status:#x}"))
    }
}

fn killed() -> Outcome {
    let error = |error: Error| format!("{error:?}");
    let arena = Arena::create(CAPACITY).map_err(error)?;
    let mutex = MutexObject::create(&arena).map_err(error)?;
    let (ready, never) = (Event::create(&arena, Reset::Auto, false), Event::create(&arena, Reset::Auto, false));
    let (ready, never) = (ready.map_err(error)?, never.map_err(error)?);
    let child = fork(|| {
        mutex.lock(7, Deadline::NOW)?;
        ready.set()?;
        never.wait(Deadline::Never)
    });
    ready.wait(within(PATIENCE)).map_err(error)?;
    thread::sleep(Duration::from_millis(50));
    // SAFETY: our own child, which nobody has waited for.
    unsafe { libc::kill(child, libc::SIGKILL) };
    end_of(child);
    // A system without wakes at death leaves this to a supervisor.
    arena.core().bury_process(child as u32).map_err(|error| format!("it cannot be buried: {error:?}"))?;
    mutex.kill(7).map_err(error)?;
    let taken = mutex.lock(1, Deadline::NOW).map_err(error)?;
    never.set().map_err(error)?;
    let left = never.wait(Deadline::NOW);
    match (taken.abandoned, left) {
        (true, Ok(())) => Ok(String::new()),
        (abandoned, left) => Err(format!("abandoned: {abandoned}; what the dead waited for: {left:?}")),
    }
}
