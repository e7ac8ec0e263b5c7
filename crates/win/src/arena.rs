// SPDX-License-Identifier: MIT OR Apache-2.0
//! The arena that holds the objects of this process.
//!
//! One wait cannot use objects of two arenas, and a wait may name any handles of the process, so there is one. It has no descriptor, as
//! programs close those which they do not know. Children that the process forks have it, too. Objects that other processes find by name
//! will need one that is found by name itself; then this is the file that chooses.

use std::sync::OnceLock;

use ntux::Capacity;
use ntux_sync::Object;

#[cfg(ntux_explore)]
pub use crate::explored::Arena;
use crate::last_error::{Error, Result, of_object};
#[cfg(not(ntux_explore))]
pub use ntux::Arena;

/// Creates it at the first use.
///
/// Errors: `NOT_ENOUGH_MEMORY`.
#[inline]
pub fn arena() -> Result<&'static Arena> {
    static ARENA: OnceLock<core::result::Result<Arena, Error>> = OnceLock::new();
    ARENA.get_or_init(|| Arena::create_private(Capacity::default()).map_err(of_object)).as_ref().map_err(|error| *error)
}

/// Sets an event that may be closed by now.
pub fn set(event: Object) {
    if let Ok(arena) = arena() {
        let _ = arena.with_waiter(|core, waiter| core.event_set(waiter, event));
    }
}
