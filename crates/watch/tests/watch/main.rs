// SPDX-License-Identifier: MIT OR Apache-2.0
//! The same tests for every mechanism: each takes a watcher and must hold whoever notices the writes. macOS has page protection only.
#![cfg(any(target_os = "linux", target_os = "macos"))]

mod address_space;
mod batch;
mod child;
mod contents;
mod cow;
mod environment;
#[path = "../../../platform/tests/first_thread/first_thread.rs"]
mod first_thread;
mod fork;
mod handlers;
mod kernel;
mod limits;
mod mapped;
mod memory;
mod model;
#[path = "../../../platform/tests/seccomp/rule.rs"]
mod rule;
mod shadow;
#[path = "../../../platform/tests/skips/skips.rs"]
mod skips;
mod spec;
mod stop;
mod system;
#[path = "../../../platform/tests/systems/systems.rs"]
mod systems;
mod traps;
mod windows;

use ntux_watch::{Mechanism, Watcher};
use skips::skip;

/// Names the one mechanism that `watchers` has.
const ONLY: &str = "NTUX_WATCH_TEST_ONLY";

/// A watcher of each mechanism that works here. Which of them must work is a test of its own (`environment`).
/// From the first call on the whole program is killed with `SIGALRM` if it takes half an hour, which is
/// enough for an emulated kernel on a busy machine: then something hangs.
fn watchers() -> impl Iterator<Item = Watcher> {
    const MINUTES: u32 = 30;
    static WATCHDOG: std::sync::Once = std::sync::Once::new();
    // SAFETY: sets a timer and nothing else.
    WATCHDOG.call_once(|| _ = unsafe { libc::alarm(60 * MINUTES) });
    let only = std::env::var(ONLY).ok();
    let is_there = |mechanism: &Mechanism| !systems::IS_MACOS || *mechanism == Mechanism::Mprotect;
    let wanted =
        move |mechanism: &Mechanism| is_there(mechanism) && only.as_deref().is_none_or(|name| name == mechanism.name());
    Mechanism::ALL.into_iter().filter(wanted).filter_map(watcher_of)
}

/// A watcher of this mechanism; none, with the reason, if it does not work here.
fn watcher_of(mechanism: Mechanism) -> Option<Watcher> {
    let watcher = Watcher::with(mechanism);
    watcher.inspect_err(|error| skip(&format!("mechanism-{}", mechanism.name()), error)).ok()
}
