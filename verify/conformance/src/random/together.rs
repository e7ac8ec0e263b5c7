// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs with several threads: they sleep in waits, and one of them, or the first thread, satisfies them.
//!
//! One thing happens at a time, so the semantics determine who is satisfied: order of arrival, wait-all before
//! wait-any, objects before the alert, eligible owners of a mutex.

use crate::device::{NEVER, number};
use crate::random::program::{Action, Argument, Call, FAR, Fd, Memory, Program, SOON, Timeout};
use crate::random::single::{Generator, Kind};

const THREADS: usize = 5;

/// The program of a seed.
pub(crate) fn program(seed: u64) -> Program {
    // Not the numbers that the other kind of program takes from this seed.
    let mut generator = Generator::new(!seed);
    for _ in 0..generator.dice.between(2, 5) {
        let kind = generator.dice.one_of(&[Kind::Semaphore, Kind::Mutex, Kind::Event, Kind::Event]);
        generator.objects.push((Fd::Made(generator.steps.len()), kind));
        let creation = generator.empty(kind);
        generator.push(0, Action::Call(creation));
    }
    for _ in 0..generator.dice.between(15, 40) {
        let (by, action) = generator.shared_action();
        generator.push(by, action);
    }
    generator.read_all();
    Program { threads: THREADS, steps: generator.steps }
}

impl Generator {
    /// An object for which a wait sleeps, most of the time.
    fn empty(&mut self, kind: Kind) -> Call {
        let mut call = self.creation(kind);
        call.fd = Fd::Device;
        call.argument = Argument::Words(match kind {
            Kind::Semaphore => [self.dice.below(2) as u32, self.dice.between(1, 5) as u32],
            Kind::Mutex if self.dice.once_in(4) => [0, 0],
            Kind::Mutex => [self.small_owner(), self.dice.between(1, 2) as u32],
            Kind::Event => [self.dice.below(2) as u32, u32::from(self.dice.once_in(6))],
        });
        call
    }

    fn shared_action(&mut self) -> (usize, Action) {
        let thread = self.dice.between(1, THREADS);
        match self.dice.below(80) {
            0 | 1 => (0, Action::Signal(thread, true)),
            2 => (0, Action::Signal(thread, false)),
            3 => (0, Action::Close(self.dice.one_of(&self.objects).0)),
            4 | 5 => {
                let (fd, kind) = self.dice.one_of(&self.objects);
                self.objects.push((Fd::Made(self.steps.len()), kind));
                (0, Action::Copy(fd))
            }
            6..=38 => (thread, self.shared_wait()),
            39..=46 => (thread, self.shared_operation()),
            _ => (0, self.shared_operation()),
        }
    }

    fn shared_wait(&mut self) -> Action {
        let timeout = match self.dice.below(8) {
            0 => Timeout::FromNow(SOON),
            1 => Timeout::Raw(0),
            2 | 3 => Timeout::FromNow(FAR),
            _ => Timeout::Raw(NEVER),
        };
        let count = self.dice.one_of(&[1, 1, 1, 2, 2, 3]);
        let mut wait = self.wait_for(count, timeout);
        wait.owner = self.small_owner();
        let number = self.dice.one_of(&[number::WAIT_ANY, number::WAIT_ALL]);
        if number == number::WAIT_ALL && !self.dice.once_in(20) {
            // The same object twice is refused.
            wait.fds.sort_by_key(|fd| format!("{fd}"));
            wait.fds.dedup();
            wait.fds.retain(|fd| *fd != wait.alert);
            wait.count = wait.fds.len() as u32;
        }
        let argument = Argument::Wait(wait);
        Action::Call(Call { fd: Fd::Device, number: number.into(), argument, memory: Memory::Usual })
    }

    fn shared_operation(&mut self) -> Action {
        let (fd, kind) = self.dice.one_of(&self.objects);
        let mut call = self.operation(fd, kind);
        call.argument = Argument::Words(match kind {
            Kind::Semaphore => [self.dice.between(1, 3) as u32, 0],
            Kind::Mutex => [self.small_owner(), 0],
            Kind::Event => [0, 0],
        });
        Action::Call(call)
    }

    /// One of few, so that who unlocks or kills is often the owner, and who waits often another one.
    fn small_owner(&mut self) -> u32 {
        self.dice.between(1, 3) as u32
    }
}
