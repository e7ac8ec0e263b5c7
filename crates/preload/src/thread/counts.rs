// SPDX-License-Identifier: MIT OR Apache-2.0
//! What one thread was served, for the line that `NTUX_LOG` asks for at the end.

use ntux_platform::atomic::Word64;

/// The counts of one thread. Only that thread writes them.
#[derive(Default)]
pub(crate) struct Counts {
    operations: Word64,
    waits: Word64,
    asleep: Word64,
}

/// What a thread has counted.
pub(crate) struct Numbers {
    pub(crate) operations: u64,
    pub(crate) waits: u64,
    pub(crate) asleep: u64,
}

impl Counts {
    /// One ioctl of the device or of an object.
    #[inline(always)]
    pub(crate) fn operation(&self) {
        self.operations.store(self.operations.load() + 1);
    }

    /// One wait that ended, and how many times it entered the kernel to sleep.
    #[inline(always)]
    pub(crate) fn wait(&self, sleeps: u64) {
        self.waits.store(self.waits.load() + 1);
        self.asleep.store(self.asleep.load() + u64::from(sleeps != 0));
    }

    /// One wait that ended without sleeping.
    #[inline(always)]
    pub(crate) fn wait_at_once(&self) {
        self.waits.store(self.waits.load() + 1);
    }

    pub(crate) fn read(&self) -> Numbers {
        let (operations, waits, asleep) = (self.operations.load(), self.waits.load(), self.asleep.load());
        Numbers { operations, waits, asleep }
    }

    /// How many waits slept.
    pub(crate) fn asleep(&self) -> u64 {
        self.asleep.load()
    }

    pub(crate) fn clear(&self) {
        self.operations.store(0);
        self.waits.store(0);
        self.asleep.store(0);
    }
}
