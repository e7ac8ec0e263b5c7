// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ledger: what every worker is doing, in memory that outlives the worker.

use std::io;

use ntux_platform::atomic::Word32;
use ntux_sync::Object;

/// Mutexes, semaphores and events that the workers share.
pub const MUTEXES: usize = 2;
pub const SEMAPHORES: usize = 2;
pub const EVENTS: usize = 3;
/// Workers at a time.
pub const WORKERS: usize = 8;

/// How a worker stands with a mutex or a unit of a semaphore.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hold {
    No,
    /// The call that acquires it is under way: it may have it.
    Taking,
    Yes,
    /// The call that gives it back is under way: it may still have it.
    Giving,
}

/// One [`Hold`] in shared memory.
#[repr(transparent)]
pub struct HoldWord(Word32);

impl HoldWord {
    pub fn set(&self, hold: Hold) {
        self.0.store(match hold {
            Hold::No => 0,
            Hold::Taking => 1,
            Hold::Yes => 2,
            Hold::Giving => 3,
        });
    }

    pub fn get(&self) -> Hold {
        match self.0.load() {
            0 => Hold::No,
            1 => Hold::Taking,
            2 => Hold::Yes,
            _ => Hold::Giving,
        }
    }
}

/// What one worker says.
#[repr(C)]
pub struct Page {
    pub mutexes: [HoldWord; MUTEXES],
    pub semaphores: [HoldWord; SEMAPHORES],
    pub thread: Word32,
    /// Operations that it has finished.
    pub progress: Word32,
    /// It is paused, as requested.
    pub paused: Word32,
    /// It saw something that must not be: one of [`super::worker::Wrong`].
    pub wrong: Word32,
}

/// The shared memory. Zero bytes are a valid one.
#[repr(C)]
pub struct Ledger {
    pub pages: [Page; WORKERS],
    pub pause: Word32,
    /// The owner of each mutex: worker plus one.
    pub inside: [Word32; MUTEXES],
    /// Acquisitions that were told that the owner before was dead.
    pub abandoned: [Word32; MUTEXES],
}

impl Ledger {
    /// Maps a fresh one, for this process and those that it forks. Never unmapped.
    pub fn map() -> io::Result<&'static Ledger> {
        // SAFETY: made of atomic integers, for which zero is a value.
        unsafe { ntux_testkit::child::shared() }
    }
}

/// The objects that the workers share.
#[derive(Clone, Copy)]
pub struct Objects {
    pub mutexes: [Object; MUTEXES],
    pub semaphores: [Object; SEMAPHORES],
    pub events: [Object; EVENTS],
}
