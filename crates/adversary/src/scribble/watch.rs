//! The watchdog: victims that crash, that work without end, or that sleep beyond their deadline.

use std::io;
use std::time::Duration;

use ntux_platform::clock;

use super::board::{Board, LANES, Lane};
use super::operation::NAMES;

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

/// A process of ours. Killed when dropped.
pub struct Child {
    pid: i32,
    status: Option<i32>,
}

impl Child {
    /// Forks. This process must have one thread.
    pub fn fork(body: impl FnOnce()) -> io::Result<Child> {
        // SAFETY: this process has one thread, so nothing that the child uses is held by a thread that it lacks.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                // SAFETY: sets an attribute of the child.
                unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
                let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
                // SAFETY: ends the child without running what the parent registered for its own exit.
                unsafe { libc::_exit(if done.is_ok() { 0 } else { 101 }) }
            }
            pid => Ok(Child { pid, status: None }),
        }
    }

    /// Its process number.
    pub fn id(&self) -> u32 {
        self.pid as u32
    }

    /// Whether it has ended.
    fn ended(&mut self) -> bool {
        let mut status = 0;
        // SAFETY: a child of ours that was not reaped yet; `status` is a place for the answer.
        if self.status.is_none() && unsafe { libc::waitpid(self.pid, &mut status, libc::WNOHANG) } == self.pid {
            self.status = Some(status);
        }
        self.status.is_some()
    }

    /// How it ended, unless well.
    fn crash(&self) -> Option<Offence> {
        let status = self.status.filter(|&status| status != 0)?;
        let signal = if libc::WIFSIGNALED(status) { libc::WTERMSIG(status) } else { 0 };
        Some(Offence::Crashed { signal, status: libc::WEXITSTATUS(status) })
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if !self.ended() {
            // SAFETY: a child of ours that was not reaped yet, so the number is its own.
            unsafe {
                libc::kill(self.pid, libc::SIGKILL);
                libc::waitpid(self.pid, std::ptr::null_mut(), 0);
            }
        }
    }
}

/// An operation in progress, as it was first seen.
#[derive(Clone, Copy, Default)]
struct Sight {
    serial: u64,
    work: Duration,
}

/// Waits until all children have ended, or until one offends.
pub fn watch(board: &Board, children: &mut [Child], limits: Limits) -> Result<(), Failure> {
    const PAUSE: Duration = Duration::from_millis(5);
    const BETWEEN_LOOKS: u32 = 20;
    let mut sights = [Sight::default(); LANES];
    for round in 0u32.. {
        let mut running = false;
        for child in children.iter_mut() {
            running |= !child.ended();
            if let Some(offence) = child.crash() {
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
    let (work, asleep) = thread(lane.process.load(), lane.thread.load())?;
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

/// Processor time of a thread, and whether it sleeps.
fn thread(process: u32, thread: u32) -> Option<(Duration, bool)> {
    const TICK: Duration = Duration::from_millis(10);
    let stat = std::fs::read_to_string(format!("/proc/{process}/task/{thread}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let asleep = fields.next()? == "S";
    let mut ticks = fields.skip(10).take(2).filter_map(|field| field.parse::<u32>().ok());
    Some((TICK * (ticks.next()? + ticks.next()?), asleep))
}
