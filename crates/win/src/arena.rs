// SPDX-License-Identifier: MIT OR Apache-2.0
//! The arena that holds the objects of this process.
//!
//! One wait cannot use objects of two arenas, and a wait may name any handles of the process, so there is one. A program that shares
//! names with others says so before it has an object: then it is the arena of their *session*, which is found by name. Otherwise it is
//! the process's own. That needs no descriptor, as programs close those which they do not know: one is left for those who look
//! ([`Arena::create_private_visible`]). Children that the process forks have it, too.

use core::ffi::{CStr, c_char};

use ntux::Capacity;
use ntux_platform::error::{EACCES, EPERM};
use ntux_platform::once::Once;
use ntux_sync::Object;

use crate::boundary::call_for_bool;
#[cfg(ntux_explore)]
pub use crate::explored::Arena;
use crate::last_error::{
    ACCESS_DENIED, ALREADY_INITIALIZED, Error, INVALID_PARAMETER, NOT_ENOUGH_MEMORY, NOT_SUPPORTED, Result, of_object,
};
use crate::name;
#[cfg(not(ntux_explore))]
pub use ntux::Arena;

/// The arena, and the name of its session.
struct Chosen {
    arena: Arena,
    session: Option<String>,
}

static CHOSEN: Once<core::result::Result<Chosen, Error>> = Once::new();

/// Creates it at the first use.
///
/// Errors: `NOT_ENOUGH_MEMORY`.
#[inline]
pub fn arena() -> Result<&'static Arena> {
    let private = || {
        let arena = Arena::create_private_visible(Capacity::default()).map_err(of_object)?;
        Ok(Chosen { arena, session: None })
    };
    CHOSEN.get_or_make(private).as_ref().map(|chosen| &chosen.arena).map_err(|error| *error)
}

/// Returns true if other processes find objects of this arena by their names.
#[inline]
pub fn is_of_session() -> bool {
    matches!(CHOSEN.get(), Some(Ok(Chosen { session: Some(_), .. })))
}

/// Objects and their names are shared with all processes of this user that have said so, too, with the same name of a session.
///
/// # Safety
/// `session` is NULL or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_UseSessionNames(session: *const c_char) -> i32 {
    call_for_bool(|| {
        // SAFETY: by the contract.
        let session = if session.is_null() { c"win32" } else { unsafe { CStr::from_ptr(session) } };
        let session = session.to_str().map_err(|_| INVALID_PARAMETER)?;
        open_session(session)?;
        // So that others can make handles for it.
        arena()?.core().take_part().map_err(of_session)?;
        name::use_session();
        Ok(())
    })
}

/// Errors: `ALREADY_INITIALIZED` if the process has objects elsewhere; `INVALID_PARAMETER` for a name that an arena cannot have;
/// `ACCESS_DENIED`, `NOT_ENOUGH_MEMORY`, `NOT_SUPPORTED` if the system has no such arenas.
fn open_session(session: &str) -> Result<()> {
    if CHOSEN.get().is_none() {
        // What fails is not chosen.
        let arena = Arena::open(session, Capacity::default()).map_err(of_session)?;
        CHOSEN.get_or_make(|| Ok(Chosen { arena, session: Some(session.to_owned()) }));
    }
    match CHOSEN.get() {
        Some(Ok(Chosen { session: Some(chosen), .. })) if chosen == session => Ok(()),
        _ => Err(ALREADY_INITIALIZED),
    }
}

fn of_session(error: ntux::Error) -> Error {
    match error {
        ntux::Error::Invalid => INVALID_PARAMETER,
        ntux::Error::Exhausted => NOT_ENOUGH_MEMORY,
        ntux::Error::Os(EACCES | EPERM) => ACCESS_DENIED,
        _ => NOT_SUPPORTED,
    }
}

/// This process names the object no more.
pub fn let_go(object: Object) {
    if let Some(Ok(Chosen { arena, session })) = CHOSEN.get() {
        let core = arena.core();
        // An object of its own arena is its alone; nothing else closes that. Of neither does an owner keep its mutex.
        let _ = if session.is_some() { core.release_from_owner(object) } else { core.close(object) };
    }
}

/// Sets an event that may be closed by now.
pub fn set(event: Object) {
    if let Ok(arena) = arena() {
        let _ = arena.with_waiter(|core, waiter| core.event_set(waiter, event));
    }
}
