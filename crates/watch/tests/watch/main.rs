//! The same tests for every mechanism: each takes a watcher and must hold whoever notices the writes.
#![cfg(target_os = "linux")]

mod memory;
mod model;
mod shadow;
mod windows;

use ntux_watch::{Mechanism, Watcher};

/// A watcher of each mechanism that works here. Which of them must work is a test of its own (`environment`).
fn watchers() -> impl Iterator<Item = Watcher> {
    Mechanism::ALL.into_iter().filter_map(|mechanism| {
        let watcher = Watcher::with(mechanism);
        if let Err(error) = &watcher {
            println!("{} is skipped: {error}", mechanism.name());
        }
        watcher.ok()
    })
}
