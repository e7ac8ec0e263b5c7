// SPDX-License-Identifier: MIT OR Apache-2.0
//! The lock that barges (`ntux::RawMutex`), as it is shipped, around a count.

use ntux::RawMutex;
use ntux_platform::atomic::Word64;
use ntux_platform::clock::Deadline;
use ntux_sync::Error;
use ntux_sync::spec::{Answer, Operation, Outcome, ThreadId};

use super::Subject;
use crate::program::{Call, Program};

/// The most that a semaphore of `sem` holds.
const MOST: u32 = 3;

/// A number under the lock: to release units of the model's semaphore is to lock, load, store and unlock. The lock promises no order, so
/// the model must not see it: that two threads have it shows as a lost update, and a lost wake as a release that sleeps for ever.
pub struct Barging {
    lock: RawMutex,
    count: Word64,
}

impl Barging {
    /// A free lock.
    pub fn subject(_program: &Program) -> Box<dyn Subject> {
        Box::new(Self { lock: RawMutex::new(), count: Word64::new(0) })
    }

    /// More units than fit change nothing in the model, whether the deadline passes or not.
    fn lock_in_time(&self) -> Outcome {
        if self.lock.lock(Deadline::Monotonic(1 << 62)) {
            self.lock.unlock();
        }
        Err(Error::Overflow)
    }

    fn add(&self, units: u32) -> Outcome {
        assert!(self.lock.lock(Deadline::Never), "a wait without a deadline ends with the lock");
        let previous = self.count.load();
        self.count.store(previous + u64::from(units));
        self.lock.unlock();
        Ok(Answer::Count(previous as u32))
    }
}

impl Subject for Barging {
    fn begin(&self) {}

    fn enter(&self, _thread: ThreadId) {}

    fn call(&self, _thread: ThreadId, call: &Call) -> Outcome {
        match call.operation {
            Operation::SemaphoreRelease { units, .. } if units > MOST => self.lock_in_time(),
            Operation::SemaphoreRelease { units, .. } => self.add(units),
            Operation::SemaphoreRead { .. } => Ok(Answer::Semaphore(self.count.load() as u32, MOST)),
            ref other => panic!("the count has no {other:?}"),
        }
    }

    fn interrupt(&self, _thread: ThreadId) {
        unimplemented!("no program over the lock interrupts");
    }

    fn resume(&self, _thread: ThreadId) {}
}
