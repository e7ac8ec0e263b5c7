//! Who is reading what others take away: a handler that found a ledger uses it while another thread lets it go.
//!
//! A reader counts itself in before it looks and out when it is done, in one of two counters. Whoever took something out of
//! sight switches the counters and waits until the old one is zero, twice: a reader that chose a counter just before the
//! first switch is caught by the second. Readers never wait.

use std::sync::Mutex;
use std::thread::yield_now;

use ntux_platform::atomic::{Word32, fence};

/// Two counters and which one is for newcomers.
pub(crate) struct Visits {
    counters: [Word32; 2],
    turn: Word32,
    waiting: Mutex<()>,
}

impl Visits {
    pub const fn new() -> Visits {
        Visits { counters: [Word32::new(0), Word32::new(0)], turn: Word32::new(0), waiting: Mutex::new(()) }
    }

    /// What `read` finds stays until it returns. Async-signal-safe if `read` is.
    pub fn visit<T>(&self, read: impl FnOnce() -> T) -> T {
        let counter = &self.counters[self.turn.load() as usize & 1];
        counter.fetch_add(1);
        fence();
        let result = read();
        counter.fetch_add(u32::MAX);
        result
    }

    /// Returns when everybody is gone who may have seen what is out of sight now.
    pub fn wait_for_all(&self) {
        let _alone = self.waiting.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        fence();
        for _ in 0..2 {
            let turn = self.turn.fetch_add(1);
            while self.counters[turn as usize & 1].fetch_add(0) != 0 {
                yield_now();
            }
        }
    }

    /// In a child of fork: those who were visiting are not here.
    pub fn forget(&self) {
        self.counters.iter().for_each(|counter| counter.store(0));
    }
}
