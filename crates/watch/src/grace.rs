// SPDX-License-Identifier: MIT OR Apache-2.0
//! Grace periods: a ledger is freed only when no handler can still use it.
//!
//! A reader counts itself into one of two counters before it reads, and out when it is done. A thread that has unlinked
//! something switches the counters and waits until the old one is zero, twice: the second switch catches a reader that chose
//! a counter just before the first. Readers never wait.

use std::sync::Mutex;
use std::thread::yield_now;

use ntux_platform::atomic::{Word32, fence};

/// Two counters, and which one new readers use.
pub(crate) struct Grace {
    counters: [Word32; 2],
    turn: Word32,
    waiting: Mutex<()>,
}

impl Grace {
    pub const fn new() -> Grace {
        Grace { counters: [Word32::new(0), Word32::new(0)], turn: Word32::new(0), waiting: Mutex::new(()) }
    }

    /// Runs `read`. Whatever it finds is not freed until it returns. Async-signal-safe if `read` is.
    pub fn read<T>(&self, read: impl FnOnce() -> T) -> T {
        let counter = &self.counters[self.turn.load() as usize & 1];
        counter.fetch_add(1);
        fence();
        let result = read();
        counter.fetch_add(u32::MAX);
        result
    }

    /// Waits for a grace period: returns when every reader that may have found what the caller has unlinked is done.
    pub fn wait(&self) {
        let _alone = self.waiting.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        fence();
        for _ in 0..2 {
            let turn = self.turn.fetch_add(1);
            while self.counters[turn as usize & 1].fetch_add(0) != 0 {
                yield_now();
            }
        }
    }

    /// Forgets all readers. For a child of fork, in which the parent's readers do not exist.
    pub fn forget(&self) {
        self.counters.iter().for_each(|counter| counter.store(0));
    }
}
