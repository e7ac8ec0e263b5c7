// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts instructions: how many an operation takes, and during how many it is claimed for a waiter but not decided.
//!
//! A signaler that is killed between claim and decision leaves an operation that has not happened, until somebody touches the
//! object. So nothing that can be done before a claim may be done after it. A limit holds each operation to that.
//!
//! A victim performs its operation several times, in front of the same sleepers: first as in a forked child, then as a thread
//! that has done it before. The harness steps through it, and after each instruction that changed the arena it looks for
//! claims whose waiters are undecided. Instructions of the kernel do not count, nor those in its page (the clock).

use std::io;
use std::time::Duration;

use ntux_sync::inspect::{Claim, Snapshot, WaitState};
use ntux_testkit::task::{FutexWait, Task};

use super::look::Eyes;
use super::operation::{Operation, Performer, Until};
use super::scenario::{Place, SCENARIOS, Scenario};
use super::stage::{SLEEPERS, Stage, TAKERS, WORKERS};
use super::tracee::{Event, Tracee, stop_here};

/// How often each operation is performed.
const ROUNDS: usize = 3;
/// An operation that takes more does not end.
const INSTRUCTIONS_MAX: u32 = 1_000_000;
/// Looks at a thread that falls asleep.
const LOOK_AGAIN: Duration = Duration::from_micros(50);

/// What one operation took.
#[derive(Clone, Copy, Default, Debug)]
pub struct Count {
    /// Instructions outside the kernel.
    pub instructions: u32,
    /// The most in a row after which a claim stood undecided.
    pub window: u32,
    /// Calls into the kernel.
    pub calls: u32,
}

/// Counts the first and the last round of every operation that wakes somebody or sleeps, and prints them. Returns the widest window.
///
/// Errors: those of the system; `PermissionDenied` when ptrace is refused.
pub fn count_all(only: Option<&str>, patience: Duration) -> io::Result<u32> {
    println!("{:28} {:>7} {:>7} {:>6} {:>7} {:>7} {:>6}", "", "first", "window", "calls", "later", "window", "calls");
    let wanted = |scenario: &&Scenario| only.is_none_or(|only| scenario.name.contains(only)) && hands_over(scenario);
    let mut widest = 0;
    for scenario in SCENARIOS.iter().filter(wanted) {
        let rounds = count(scenario, patience)?;
        let (first, last) = (rounds[0], rounds[ROUNDS - 1]);
        println!(
            "{:28} {:7} {:7} {:6} {:7} {:7} {:6}",
            scenario.name, first.instructions, first.window, first.calls, last.instructions, last.window, last.calls
        );
        widest = rounds.iter().map(|round| round.window).fold(widest, u32::max);
    }
    Ok(widest)
}

/// Returns whether its operation wakes somebody, or sleeps until it is woken, or takes several objects.
fn hands_over(scenario: &Scenario) -> bool {
    let takes_several = matches!(scenario.operation, Operation::Wait(wait) if wait.objects.as_slice().len() > 1);
    let is_timed = scenario.name.contains("timeout");
    let delivers = scenario.delivery.is_some_and(|delivery| {
        // Each thread that sleeps for a result gets one.
        delivery.place == Place::Survivors && delivery.takers <= delivery.waits.len()
    });
    let wakes = !scenario.sleepers.is_empty() || !scenario.relief.is_empty();
    let is_one = if scenario.delivery.is_some() { delivers } else { wakes || takes_several };
    is_one && !scenario.is_long && !is_timed
}

/// Counts each round of one operation.
fn count(scenario: &Scenario, patience: Duration) -> io::Result<Vec<Count>> {
    let stage = Stage::new(patience, Eyes::Good)?;
    let bytes = stage.prepare(scenario)?;
    stage.restore(&bytes);
    let mut tracee = Tracee::fork(|| {
        // Looking again is not what is counted.
        stage.arena.set_spins(0);
        let performer = Performer::new(&stage.arena, stage.board);
        performer.perform(Operation::Enroll).expect("there is a place for a victim");
        loop {
            stop_here();
            std::hint::black_box(performer.perform(scenario.operation)).ok();
            stop_here();
        }
    })?;
    // With the victim's place in it.
    let bytes = stage.copy();
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        stage.restore(&bytes);
        let sleepers = fall_asleep(&stage, scenario)?;
        rounds.push(count_round(&stage, scenario, &mut tracee)?);
        wake_up(&stage, scenario, &sleepers)?;
        // Over the trap behind the operation, to the one before the next round.
        for _ in 0..2 {
            tracee.go_on()?;
            if tracee.wait()? != Event::Stopped {
                return Err(io::Error::other(format!("{}: the victim ended by itself", scenario.name)));
            }
        }
    }
    tracee.kill();
    Ok(rounds)
}

/// Lets the survivors begin their waits; returns who did.
fn fall_asleep(stage: &Stage, scenario: &Scenario) -> io::Result<Vec<usize>> {
    let mut asleep = Vec::new();
    let mut sleeps = |actor: usize, operation: Operation| {
        stage.board.mailbox(actor).order(operation);
        asleep.push(actor);
        until_asleep(stage, stage.board.mailbox(actor).thread())
    };
    for (actor, &wait) in SLEEPERS.zip(scenario.sleepers) {
        sleeps(actor, Operation::Wait(wait))?;
    }
    if let Some(delivery) = scenario.delivery {
        for (label, &wait) in (0..).zip(delivery.waits) {
            by_a_worker(stage, Operation::Detach(label, wait))?;
        }
        for &actor in TAKERS.iter().take(delivery.takers) {
            sleeps(actor, Operation::Collect(Until::Never))?;
        }
    }
    Ok(asleep)
}

fn until_asleep(stage: &Stage, thread: u32) -> io::Result<()> {
    match until(stage, || Task::new(thread).futex_wait() == FutexWait::Sound) {
        true => Ok(()),
        false => Err(io::Error::other("a survivor does not fall asleep")),
    }
}

/// Looks again and again; false if it never is so.
fn until(stage: &Stage, is_so: impl Fn() -> bool) -> bool {
    let most = stage.patience.as_micros() / LOOK_AGAIN.as_micros();
    (0..most).any(|_| {
        let so = is_so();
        if !so {
            std::thread::sleep(LOOK_AGAIN);
        }
        so
    })
}

/// Satisfies whoever still sleeps.
fn wake_up(stage: &Stage, scenario: &Scenario, sleepers: &[usize]) -> io::Result<()> {
    let mailbox = |actor: usize| stage.board.mailbox(actor);
    let is_back = |actor: usize| mailbox(actor).outcome().is_some();
    let is_settled =
        |actor: usize| is_back(actor) || Task::new(mailbox(actor).thread()).futex_wait() == FutexWait::Sound;
    for _ in 0..=2 * sleepers.len() {
        let settled = sleepers.iter().all(|&actor| until(stage, || is_settled(actor)));
        if settled && sleepers.iter().all(|&actor| is_back(actor)) {
            return Ok(());
        }
        for operation in scenario.release_all() {
            by_a_worker(stage, operation)?;
        }
    }
    Err(io::Error::other(format!("{}: a survivor sleeps for ever", scenario.name)))
}

fn by_a_worker(stage: &Stage, operation: Operation) -> io::Result<()> {
    let mailbox = stage.board.mailbox(WORKERS[0]);
    mailbox.order(operation);
    mailbox.wait(stage.patience).map(drop).ok_or_else(|| io::Error::other("an operation does not return"))
}

/// Steps through the operation, from the trap before it to the one after it.
fn count_round(stage: &Stage, scenario: &Scenario, tracee: &mut Tracee) -> io::Result<Count> {
    let mut count = Count::default();
    let (mut bytes, mut open) = (stage.copy(), 0);
    while count.instructions < INSTRUCTIONS_MAX {
        let next = tracee.next_instruction()?;
        if next.is_trap() {
            // Behind it: what follows begins the next round.
            return Ok(count);
        }
        count.calls += u32::from(next.is_system_call());
        step(stage, scenario, tracee, next.is_system_call())?;
        count.instructions += 1;
        let undecided = match stage.has_changed(&mut bytes) {
            true => is_undecided(&stage.view.snapshot().map_err(io::Error::other)?),
            false => open > 0,
        };
        open = if undecided { open + 1 } else { 0 };
        count.window = count.window.max(open);
    }
    Err(io::Error::other(format!("{}: no end after {INSTRUCTIONS_MAX} instructions", scenario.name)))
}

/// Runs one instruction. Nothing but a system call sleeps, so the others are not asked whether they do.
fn step(stage: &Stage, scenario: &Scenario, tracee: &mut Tracee, calls: bool) -> io::Result<()> {
    let id = tracee.id();
    tracee.step()?;
    let mut event = match calls {
        true => tracee.wait_or(stage.patience, || Task::new(id).futex_wait() == FutexWait::Sound)?,
        false => tracee.wait()?,
    };
    if event == Event::Running {
        for &operation in scenario.relief {
            by_a_worker(stage, operation)?;
        }
        event = tracee.wait()?;
    }
    match event {
        Event::Stopped => Ok(()),
        _ => Err(io::Error::other(format!("{}: the victim ended by itself", scenario.name))),
    }
}

/// Returns whether an object is claimed for somebody who still waits.
fn is_undecided(snapshot: &Snapshot) -> bool {
    snapshot.objects.iter().any(|object| {
        let Claim::Waiter { index, ticket } = object.claim else { return false };
        snapshot
            .waiters
            .iter()
            .any(|waiter| waiter.index == index && waiter.ticket as u32 == ticket && waiter.state == WaitState::Waiting)
    })
}
