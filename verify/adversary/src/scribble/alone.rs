// SPDX-License-Identifier: MIT OR Apache-2.0
//! One thread that is victim and scribbler in turn. The seed determines everything, so failures repeat.
//!
//! In the configuration `ntux_explore` it also scribbles in the middle of its operations, before a shared access that
//! the seed chooses. Then it is fully deterministic: no wait sleeps, and process and thread numbers are fixed.

use std::io;

use fastrand::Rng;
use ntux::Capacity;
use ntux_sync::{Deadline, Object};

use super::board::Board;
use super::face::Face;
use super::fence::{Canary, Fenced};
#[cfg(ntux_explore)]
use super::inside;
use super::operation::Operation;
use super::planted::{self, Bug};
use super::rubbish::Scribbler;

/// Objects that the victim knows.
const KNOWN: usize = 6;
/// Steps before the first scribble: the memory starts sound.
const SOUND: u64 = 12;
/// Scribbles inside one operation at most, where they can come inside.
const SCRIBBLES: usize = if cfg!(ntux_explore) { 4 } else { 0 };

/// One seed from its beginning to its end.
pub fn run(board: &'static Board, seed: u64, steps: u64, bug: Option<Bug>) -> io::Result<()> {
    board.seed.store(seed);
    #[cfg(ntux_explore)]
    inside::begin_time();
    let mut rng = Rng::with_seed(seed);
    let capacity = capacity(&mut rng);
    let fenced = Fenced::create(capacity)?;
    let mut canary = Canary::new()?;
    let mut victim = Victim { board, known: vec![], fenced: &fenced, scribbles: 0 };
    let mut scribbler = Scribbler::new(fenced.file(capacity)?);
    for step in 0..steps {
        board.lanes[0].step.store(step);
        if step == SOUND {
            scribbler.take_picture();
            victim.scribbles = SCRIBBLES;
        }
        if step > SOUND && rng.u32(0..3) == 0 {
            board.scribbles[scribbler.scribble(&mut rng, &victim.known)].fetch_add(1);
        } else {
            scribbler = victim.operate(&mut rng, scribbler);
        }
    }
    if let Some(bug) = bug {
        let late = Operation::Retire.number();
        board.lanes[0].watched(late, 1, || planted::misbehave(bug, &fenced, &canary));
    }
    canary.check();
    Ok(())
}

/// Mostly so small that everything runs out.
fn capacity(rng: &mut Rng) -> Capacity {
    match rng.u32(0..32) {
        0 => Capacity { objects: 1 << 12, waiters: 1 << 10 },
        1 => Capacity { objects: 1, waiters: 1 },
        _ => Capacity { objects: rng.u32(4..40), waiters: rng.u32(1..12) },
    }
}

struct Victim<'a> {
    board: &'static Board,
    known: Vec<Object>,
    /// Inside the next operation, at most.
    scribbles: usize,
    fenced: &'a Fenced,
}

impl Victim<'_> {
    fn operate(&mut self, rng: &mut Rng, scribbler: Scribbler) -> Scribbler {
        let operation = match self.known.len() {
            0..2 => Operation::create(rng),
            _ => Operation::random(rng, &self.known),
        };
        let face = [Face::Core, Face::Rust, Face::C][rng.usize(0..3)];
        let deadline = deadline(&operation);
        let Deadline::Monotonic(deadline_ns) = deadline else { unreachable!("every wait has a deadline") };
        let perform = || face.perform(&self.fenced.arena, &operation, deadline);
        let lane = &self.board.lanes[0];
        #[cfg(ntux_explore)]
        let (done, scribbler) = lane.watched(operation.number(), deadline_ns, || {
            inside::with_scribbles(rng, scribbler, &self.known, self.board, self.scribbles, perform)
        });
        #[cfg(not(ntux_explore))]
        let done = lane.watched(operation.number(), deadline_ns, perform);
        self.board.count(done.outcome);
        if matches!(done.outcome.0, libc::EINVAL | libc::EBADF) {
            self.known.retain(|&object| self.fenced.arena.with_waiter(|core, _| core.kind(object)).is_ok());
        }
        if let Some(object) = done.created {
            if self.known.len() == KNOWN {
                self.known.remove(rng.usize(0..KNOWN));
            }
            self.known.push(object);
        }
        scribbler
    }
}

/// When the operation is to end. Where nothing sleeps, a deadline that no clock reaches; it passes when it is slept
/// for.
fn deadline(operation: &Operation) -> Deadline {
    match operation.patience_us() {
        0 => Deadline::NOW,
        _ if cfg!(ntux_explore) => Deadline::Monotonic(1 << 62),
        patience_us => Deadline::Monotonic(ntux_platform::clock::monotonic_ns() + u64::from(patience_us) * 1_000),
    }
}
