// SPDX-License-Identifier: MIT OR Apache-2.0
//! The watchdog: finds victims that crash, run for ever, or sleep beyond their deadline.

use std::time::Duration;

use ntux_platform::clock;

use super::board::{Board, LANES, Lane};
use super::operation::NAMES;
use ntux_testkit::child::Child;
use ntux_testkit::task::Task;

/// What no operation may exceed. Generous: the machine may be busy with other things.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Processor time of one operation.
    pub work: Duration,
    /// How long a sleeper may be late.
    pub late: Duration,
}

/// What a victim did that it must not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Offence {
    /// It ended by this signal, or with this exit status.
    Crashed { signal: i32, status: i32 },
    /// A panic that was caught before it ended the process.
    Panicked,
    /// An operation does not end.
    Endless,
    /// An operation sleeps although its deadline has passed, or although it has none.
    Asleep,
}

/// An offence, and what its thread was doing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    pub offence: Offence,
    pub operation: &'static str,
    pub seed: u64,
    pub step: u64,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Failure { offence, operation, seed, step } = self;
        let what = match offence {
            Offence::Crashed { signal: 0, status } => format!("the victim ended with status {status}"),
            Offence::Crashed { signal, .. } => format!("the victim was killed by signal {signal}"),
            Offence::Panicked => "a panic".to_owned(),
            Offence::Endless => "an operation does not end".to_owned(),
            Offence::Asleep => "an operation sleeps beyond its deadline".to_owned(),
        };
        write!(formatter, "{what}: {operation}, seed {seed}, step {step}")
    }
}

/// How a child ended, unless well.
fn crash(status: i32) -> Option<Offence> {
    let signal = if libc::WIFSIGNALED(status) { libc::WTERMSIG(status) } else { 0 };
    (status != 0).then_some(Offence::Crashed { signal, status: libc::WEXITSTATUS(status) })
}

/// An operation in progress, as it was first seen.
#[derive(Clone, Copy, Default)]
struct Sight {
    serial: u64,
    work: Duration,
}

/// Waits until all children have ended, or until one offends.
pub fn watch(board: &Board, children: &[Child], limits: Limits) -> Result<(), Failure> {
    const PAUSE: Duration = Duration::from_millis(5);
    const BETWEEN_LOOKS: u32 = 20;
    let mut sights = [Sight::default(); LANES];
    for round in 0u32.. {
        let mut running = false;
        for child in children {
            let status = child.status();
            running |= status.is_none();
            if let Some(offence) = status.and_then(crash) {
                return Err(failure(board, lane_of(board, child), offence));
            }
        }
        if !running {
            break;
        }
        if round % BETWEEN_LOOKS == 0 {
            for (lane, sight) in board.lanes.iter().zip(&mut sights) {
                if let Some(offence) = offence(lane, sight, limits) {
                    return Err(failure(board, lane, offence));
                }
            }
        }
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

pub fn failure(board: &Board, lane: &Lane, offence: Offence) -> Failure {
    let operation = NAMES.get(lane.operation.load() as usize).copied().unwrap_or("?");
    Failure { offence, operation, seed: board.seed.load(), step: lane.step.load() }
}

/// The lane of a child's thread that is in the middle of an operation, or any of its lanes.
fn lane_of<'a>(board: &'a Board, child: &Child) -> &'a Lane {
    let mut lanes = board.lanes.iter().filter(|lane| lane.process.load() == child.id());
    let first = lanes.clone().next().unwrap_or(&board.lanes[0]);
    lanes.find(|lane| lane.serial.load() % 2 == 1).unwrap_or(first)
}

fn offence(lane: &Lane, sight: &mut Sight, limits: Limits) -> Option<Offence> {
    let serial = lane.serial.load();
    if serial.is_multiple_of(2) {
        return None;
    }
    let (work, asleep) = Task::new(lane.thread.load()).work()?;
    if sight.serial != serial {
        *sight = Sight { serial, work };
        return None;
    }
    if work.saturating_sub(sight.work) > limits.work {
        return Some(Offence::Endless);
    }
    let deadline_ns = lane.deadline_ns.load();
    let late = clock::monotonic_ns().saturating_sub(deadline_ns) > limits.late.as_nanos() as u64;
    (asleep && deadline_ns != 0 && late && lane.serial.load() == serial).then_some(Offence::Asleep)
}
