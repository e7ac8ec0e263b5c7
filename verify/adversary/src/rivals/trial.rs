// SPDX-License-Identifier: MIT OR Apache-2.0
//! One design, one kill or stop at a time.

use std::fmt;
use std::io;
use std::time::{Duration, Instant};

use ntux_platform::atomic::Word32;

use super::{Design, Open};
use crate::crash::tracee::{Event, Tracee, stop_here};
use ntux_testkit::child::{Child, shared};

/// How long a wake may take: a thousand times what it takes.
const WAKE_PATIENCE: Duration = Duration::from_millis(30);
/// A thread that was just started sleeps by then, whatever else the machine does.
const ASLEEP_LIMIT: Duration = Duration::from_secs(60);
/// More instructions than any of these operations has.
const ENDLESS: u32 = 100_000;

/// How the experiments are made.
#[derive(Clone, Copy)]
pub struct Manner {
    /// Struck at every so-manieth instruction.
    pub every: u32,
    /// How long a survivor may be busy before it is said to hang.
    pub patience: Duration,
}

impl Manner {
    fn points(self) -> impl Iterator<Item = u32> {
        (0..ENDLESS).step_by(self.every as usize)
    }
}

/// What is done to the victim.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Killed,
    Stopped,
}

impl fmt::Display for Fate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Fate::Killed => "killed",
            Fate::Stopped => "stopped",
        })
    }
}

/// What became of a sleeper.
#[derive(Default)]
pub struct WakeTally {
    pub points: u32,
    /// The event is signaled, the sleeper sleeps on, whatever a survivor does short of waiting itself.
    pub stranded: u32,
    /// The sleeper slept until a thread read the event or set it again.
    pub needs_a_touch: u32,
    /// A survivor that looks at the event does not come back.
    pub hangs: u32,
}

/// What became of two units.
#[derive(Default)]
pub struct AtomicTally {
    pub points: u32,
    pub torn: u32,
    pub hangs: u32,
}

/// What survivors have to say, in memory that all processes share.
struct Board {
    woken: &'static Word32,
    answer: &'static Word32,
}

const SAYS_YES: u32 = 1;
const SAYS_NO: u32 = 2;

impl Board {
    fn new() -> io::Result<Board> {
        // SAFETY: zeros are a value of atomic integers.
        let words: &'static [Word32; 2] = unsafe { shared()? };
        Ok(Board { woken: &words[0], answer: &words[1] })
    }
}

fn comes_true(limit: Duration, mut fact: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while !fact() {
        if start.elapsed() > limit {
            return false;
        }
        std::thread::sleep(Duration::from_micros(100));
    }
    true
}

/// What a fresh survivor answers; none if it hangs.
fn ask(
    design: &mut dyn Design,
    board: &Board,
    patience: Duration,
    question: impl FnOnce(&dyn Design) -> bool,
) -> io::Result<Option<bool>> {
    board.answer.store(0);
    let _survivor = Child::fork(|| {
        design.join();
        board.answer.store(if question(design) { SAYS_YES } else { SAYS_NO });
    })?;
    let answered = comes_true(patience, || board.answer.load() != 0);
    Ok(answered.then(|| board.answer.load() == SAYS_YES))
}

/// Returns a victim stopped after `count` instructions of its operation, or `None` if the operation ends before.
fn victim(design: &mut dyn Design, count: u32, operation: impl FnOnce(&dyn Design)) -> io::Result<Option<Tracee>> {
    let mut tracee = Tracee::fork(|| {
        design.join();
        design.warm_up();
        stop_here();
        operation(design);
        stop_here();
        loop {
            std::thread::park();
        }
    })?;
    for _ in 0..count {
        // The mark at the end is an instruction, too: the one byte that traps.
        if tracee.peek(tracee.address()?)? & 0xff == 0xcc {
            return Ok(None);
        }
        tracee.step()?;
        if tracee.wait()? != Event::Stopped {
            return Err(io::Error::other("the victim ended by itself"));
        }
    }
    Ok(Some(tracee))
}

fn strike(tracee: Tracee, fate: Fate) -> Option<Tracee> {
    match fate {
        Fate::Killed => {
            tracee.kill();
            None
        }
        // It stays stopped until it is asked to continue.
        Fate::Stopped => Some(tracee),
    }
}

/// Strikes a signaler at each of its instructions, with a thread asleep.
pub fn wakes(open: Open, fate: Fate, manner: Manner) -> io::Result<WakeTally> {
    let mut tally = WakeTally::default();
    for count in manner.points() {
        let (mut design, board) = (open()?, Board::new()?);
        let sleeper = Child::fork(|| {
            design.join();
            design.wait();
            board.woken.store(1);
        })?;
        if !comes_true(ASLEEP_LIMIT, || sleeper.task().asleep().is_some()) {
            return Err(io::Error::other("the sleeper does not fall asleep"));
        }
        let Some(tracee) = victim(&mut *design, count, |design| design.set())? else { break };
        let _standing = strike(tracee, fate);
        tally.points += 1;
        let is_awake = || board.woken.load() != 0;
        if comes_true(WAKE_PATIENCE, is_awake) {
            continue;
        }
        match ask(&mut *design, &board, manner.patience, |design| design.is_signaled())? {
            None => tally.hangs += 1,
            Some(_) if comes_true(WAKE_PATIENCE, is_awake) => tally.needs_a_touch += 1,
            Some(false) => {}
            Some(true) => match ask(&mut *design, &board, manner.patience, |design| {
                design.set();
                true
            })? {
                None => tally.hangs += 1,
                Some(_) if comes_true(WAKE_PATIENCE, is_awake) => tally.needs_a_touch += 1,
                Some(_) => tally.stranded += 1,
            },
        }
    }
    Ok(tally)
}

/// Strikes a wait for two semaphores at each of its instructions.
pub fn atomicity(open: Open, fate: Fate, manner: Manner) -> io::Result<AtomicTally> {
    let mut tally = AtomicTally::default();
    for count in manner.points() {
        let (mut design, board) = (open()?, Board::new()?);
        let operation = |design: &dyn Design| {
            design.take_both();
        };
        let Some(tracee) = victim(&mut *design, count, operation)? else { break };
        let _standing = strike(tracee, fate);
        tally.points += 1;
        let left = [0, 1].map(|which| ask(&mut *design, &board, manner.patience, |design| design.take(which)));
        match left {
            [Ok(Some(first)), Ok(Some(second))] => tally.torn += u32::from(first != second),
            [Err(error), _] | [_, Err(error)] => return Err(error),
            _ => tally.hangs += 1,
        }
    }
    Ok(tally)
}

/// Stops and kills what serves the others, and says what a process sees that sets an event then.
pub fn without_server(open: impl Fn() -> io::Result<(Box<dyn Design>, u32)>, manner: Manner) -> io::Result<String> {
    let mut lines = Vec::new();
    for (signal, text) in [(libc::SIGSTOP, "stopped"), (libc::SIGKILL, "killed")] {
        let (mut design, server) = open()?;
        let board = Board::new()?;
        // SAFETY: the server is a child of ours and not reaped.
        unsafe { libc::kill(server as libc::pid_t, signal) };
        let answer = ask(&mut *design, &board, manner.patience, |design| {
            design.set();
            design.is_signaled()
        })?;
        let outcome = match answer {
            None => "everybody hangs",
            Some(true) => "the others go on",
            Some(false) => "every object is gone",
        };
        lines.push(format!("{text}: {outcome}"));
    }
    Ok(lines.join("; "))
}
