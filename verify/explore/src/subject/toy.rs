// SPDX-License-Identifier: MIT OR Apache-2.0
//! A semaphore of two words, with optional flaws: the explorer must find each, and must accept the sound one.

use ntux_platform::atomic::{Word32, Word64};
use ntux_platform::clock::Deadline;
use ntux_platform::futex;
use ntux_sync::spec::{Answer, Operation, Outcome, ThreadId, Value};
use ntux_sync::{Error, Satisfied};

use super::Subject;
use crate::program::{Call, Program};

/// What is wrong with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flaw {
    /// Nothing.
    None,
    /// A release loads and stores: two releases may count as one.
    LostUpdate,
    /// A waiter sleeps on what it reads last, not on what it decided by.
    LostWake,
    /// A release holds a lock: who stops in it stops everybody.
    Lock,
}

/// The toy. Waits retry, so it hands nothing over; programs over it have one waiter.
pub struct Toy {
    flaw: Flaw,
    count: Word64,
    max: u64,
    changes: Word32,
    lock: Word32,
}

impl Toy {
    fn with(program: &Program, flaw: Flaw) -> Box<dyn Subject> {
        let Some(Value::Semaphore(semaphore)) = program.objects.first() else { panic!("the toy is a semaphore") };
        let (count, max) = (Word64::new(semaphore.count.into()), semaphore.max.into());
        let (changes, lock) = (Word32::new(0), Word32::new(0));
        Box::new(Self { flaw, count, max, changes, lock })
    }

    /// The sound one.
    pub fn sound(program: &Program) -> Box<dyn Subject> {
        Self::with(program, Flaw::None)
    }

    /// See [`Flaw::LostUpdate`].
    pub fn lost_update(program: &Program) -> Box<dyn Subject> {
        Self::with(program, Flaw::LostUpdate)
    }

    /// See [`Flaw::LostWake`].
    pub fn lost_wake(program: &Program) -> Box<dyn Subject> {
        Self::with(program, Flaw::LostWake)
    }

    /// See [`Flaw::Lock`].
    pub fn lock(program: &Program) -> Box<dyn Subject> {
        Self::with(program, Flaw::Lock)
    }

    fn release(&self, units: u32) -> Outcome {
        if self.flaw == Flaw::Lock {
            while self.lock.compare_exchange(0, 1).is_err() {}
        }
        let previous = self.add(units.into());
        if self.flaw == Flaw::Lock {
            self.lock.store(0);
        }
        let previous = previous.ok_or(Error::Overflow)?;
        self.changes.fetch_add(1);
        futex::wake(&raw const self.changes as *const u32, 1);
        Ok(Answer::Count(previous as u32))
    }

    fn add(&self, units: u64) -> Option<u64> {
        loop {
            let previous = self.count.load();
            let sum = previous + units;
            if sum > self.max {
                return None;
            }
            if self.flaw == Flaw::LostUpdate {
                self.count.store(sum);
                return Some(previous);
            }
            if self.count.compare_exchange(previous, sum).is_ok() {
                return Some(previous);
            }
        }
    }

    fn wait(&self, deadline: Deadline) -> Outcome {
        loop {
            let mut changes = self.changes.load();
            let count = self.count.load();
            if count > 0 {
                if self.count.compare_exchange(count, count - 1).is_ok() {
                    return Ok(Answer::Satisfied(Satisfied { index: 0, abandoned: false }));
                }
                continue;
            }
            if self.flaw == Flaw::LostWake {
                changes = self.changes.load();
            }
            if futex::wait(&raw const self.changes as *const u32, changes, deadline) == futex::Woken::TimedOut {
                return Err(Error::TimedOut);
            }
        }
    }
}

impl Subject for Toy {
    fn begin(&self) {}

    fn enter(&self, _thread: ThreadId) {}

    fn call(&self, _thread: ThreadId, call: &Call) -> Outcome {
        match call.operation {
            Operation::SemaphoreRelease { units, .. } => self.release(units),
            Operation::SemaphoreRead { .. } => Ok(Answer::Semaphore(self.count.load() as u32, self.max as u32)),
            Operation::Wait(_) => self.wait(if call.deadline { Deadline::Monotonic(1 << 62) } else { Deadline::Never }),
            ref other => panic!("the toy has no {other:?}"),
        }
    }

    fn interrupt(&self, _thread: ThreadId) {
        unimplemented!("no program over the toy interrupts");
    }

    fn resume(&self, _thread: ThreadId) {}
}
