// SPDX-License-Identifier: MIT OR Apache-2.0
//! The instructions that a victim executed in one operation, and the points among them.

use std::io;

use super::stage::Stage;
use super::tracee::Tracee;

/// How often an instruction is struck at between two changes: a loop that changes nothing is the same point again and
/// again.
const REPEATS: u32 = 3;

/// A moment of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Point {
    /// So many instructions are done.
    pub instruction: usize,
    /// And it sleeps in the next one.
    pub asleep: bool,
}

/// Which points are struck at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// Every instruction.
    Every,
    /// Only where something has changed that others, or the kernel at the victim's death, can see.
    Changes,
    /// Only where the arena has changed.
    Arena,
}

/// What an instruction changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Change {
    /// Nothing that anybody else could see.
    Nothing,
    /// What the kernel knows: a system call, or what it is to do if the thread dies.
    Kernel,
    /// The arena, or the planted lock.
    Arena,
}

/// One operation, instruction by instruction.
#[derive(Clone, Default)]
pub struct Path {
    /// Where the victim stood after so many instructions.
    addresses: Vec<u64>,
    /// What the instruction before changed.
    changed: Vec<Change>,
    asleep: Option<usize>,
    bytes: Vec<u8>,
    pending: u64,
    lock: u32,
    calls: bool,
}

impl Path {
    /// An empty path that begins now.
    pub fn new(stage: &Stage) -> Path {
        Path { bytes: stage.copy(), ..Path::default() }
    }

    /// The victim stands here.
    pub fn at(&mut self, stage: &Stage, tracee: &Tracee) -> io::Result<()> {
        let address = tracee.address()?;
        let pending = tracee.peek(tracee.pending_field())?;
        let lock = stage.board.lock.load();
        let changed = match stage.has_changed(&mut self.bytes) || lock != self.lock {
            true => Change::Arena,
            false if pending != self.pending || self.calls => Change::Kernel,
            false => Change::Nothing,
        };
        self.lock = lock;
        self.pending = pending;
        self.calls = tracee.next_instruction()?.is_system_call();
        self.addresses.push(address);
        self.changed.push(changed);
        Ok(())
    }

    /// The victim fell asleep in the instruction before which it stood last. The first time counts.
    pub fn sleeps(&mut self) {
        self.asleep.get_or_insert(self.addresses.len() - 1);
    }

    /// Returns whether the instruction before which the victim stood last is a system call.
    pub fn calls(&self) -> bool {
        self.calls
    }

    /// How many instructions there are.
    pub fn length(&self) -> usize {
        self.addresses.len()
    }

    /// The points worth striking at.
    pub fn points(&self, choice: Choice) -> Vec<Point> {
        let mut points = Vec::new();
        let mut seen = std::collections::HashMap::new();
        for (instruction, (&address, &changed)) in self.addresses.iter().zip(&self.changed).enumerate() {
            if changed != Change::Nothing {
                seen.clear();
            }
            let visits: &mut u32 = seen.entry(address).or_default();
            *visits += 1;
            let end = instruction == 0 || instruction + 1 == self.length();
            let wanted = match choice {
                Choice::Every => end || *visits <= REPEATS,
                Choice::Changes => end || changed != Change::Nothing,
                Choice::Arena => changed == Change::Arena,
            };
            if wanted {
                points.push(Point { instruction, asleep: false });
            }
            if self.asleep == Some(instruction) {
                points.push(Point { instruction, asleep: true });
            }
        }
        points
    }

    /// Where the victim stands after so many instructions, and for the how-manieth time.
    pub fn visit(&self, instruction: usize) -> (u64, u32) {
        let address = self.addresses[instruction];
        let visits = self.addresses[..=instruction].iter().filter(|&&other| other == address).count();
        (address, visits as u32)
    }
}
