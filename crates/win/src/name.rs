// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names of objects.
//!
//! On Windows every process of the session sees a name. Here a name is refused unless the program has said who is to see it: this process
//! alone ([`ntw_UseProcessNames`]), or all that say so with the same name of a session ([`crate::arena::ntw_UseSessionNames`]), in whose
//! arena the core has the names then. The table here has those of which this process has handles. A name ends with the last handle of its
//! object. The lock is for the creation, the opening and the last close of objects with names; nothing that waits or signals takes it.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ntux_platform::atomic::Word32;
use ntux_sync::{New, Object};

use crate::arena::arena;
use crate::last_error::{
    CALL_NOT_IMPLEMENTED, Error, FILE_NOT_FOUND, FILENAME_EXCED_RANGE, INVALID_HANDLE, INVALID_PARAMETER,
    PATH_NOT_FOUND, Result, of_object,
};
use crate::record::{self, First, Kind, Payload, Target};
use crate::text::Text;
use crate::{handed_over, thread};

/// A name without prefix, and whether it is one of all sessions.
pub type Name = (bool, Vec<u16>);

type Names = HashMap<Name, Target>;

static NAMES: Mutex<Option<Names>> = Mutex::new(None);
/// Which processes see names.
static SEEN_BY: Word32 = Word32::new(NOBODY);
const NOBODY: u32 = 0;
const THIS_PROCESS: u32 = 1;
const SESSION: u32 = 2;

/// From now on names are those of this process alone (or again refused).
#[unsafe(no_mangle)]
pub extern "C" fn ntw_UseProcessNames(use_them: i32) {
    SEEN_BY.store(if use_them != 0 { THIS_PROCESS } else { NOBODY });
}

/// From now on names are those of the session in whose arena this process is.
pub fn use_session() {
    SEEN_BY.store(SESSION);
}

fn names() -> MutexGuard<'static, Option<Names>> {
    NAMES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The name of an object to be created. None without name.
///
/// Errors: `CALL_NOT_IMPLEMENTED` for a name that other processes were to see; `PATH_NOT_FOUND` if it has a backslash.
pub fn of(text: Text) -> Result<Option<Name>> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(None) };
    if SEEN_BY.load() == NOBODY {
        return Err(CALL_NOT_IMPLEMENTED);
    }
    let prefixed = |prefix: &str| {
        let prefix: Vec<u16> = prefix.encode_utf16().collect();
        text.strip_prefix(&prefix[..]).map(<[u16]>::to_vec)
    };
    let (is_global, name) = match (prefixed("Global\\"), prefixed("Local\\")) {
        (Some(rest), _) => (true, rest),
        (None, Some(rest)) => (false, rest),
        (None, None) => (false, text),
    };
    if name.contains(&u16::from(b'\\')) {
        return Err(PATH_NOT_FOUND);
    }
    Ok(Some((is_global, name)))
}

/// What an object to be created with a name meets.
pub enum Created {
    New(Target),
    /// One handle more was counted.
    Existed(Target),
}

/// Creates an object with `make`, or, in a session, as `new`; or opens the one of this name.
///
/// Errors: `INVALID_HANDLE` if the name is that of another kind; `CALL_NOT_IMPLEMENTED` if a session has no such objects by name; those of
/// `make`.
pub fn create_or_open(
    name: Name,
    kind: Kind,
    new: Option<New>,
    make: impl FnOnce() -> Result<Target>,
) -> Result<Created> {
    let mut guard = names();
    let names = guard.get_or_insert_default();
    if let Some(&target) = names.get(&name)
        && target.open()
    {
        drop(guard);
        return of_kind(target, kind).map(Created::Existed);
    }
    let (target, existed) = match SEEN_BY.load() {
        SESSION => create_in_session(&name, kind, new.ok_or(CALL_NOT_IMPLEMENTED)?)?,
        _ => (make()?, false),
    };
    target.set_named();
    names.insert(name, target);
    Ok(if existed { Created::Existed(target) } else { Created::New(target) })
}

/// What the core creates, or has, by this name. Returns whether it existed.
fn create_in_session(name: &Name, kind: Kind, new: New) -> Result<(Target, bool)> {
    let text = text_of(name)?;
    let name = ntux_sync::Name::new(&text).map_err(|_| FILENAME_EXCED_RANGE)?;
    let (object, existed) =
        arena()?.with_waiter(|core, waiter| core.create_named(waiter, name, new)).map_err(of_name)?;
    let target = of_session(kind, object)?;
    if let (New::Mutex { count: 1.., .. }, false) = (new, existed) {
        thread::owns(object);
    }
    Ok((target, existed))
}

/// The same of one that exists.
fn open_in_session(name: &Name, kind: Kind) -> Result<Target> {
    let text = text_of(name)?;
    let name = ntux_sync::Name::new(&text).map_err(|_| FILENAME_EXCED_RANGE)?;
    let of_core = match kind {
        Kind::Event => ntux_sync::Kind::ManualEvent,
        Kind::Mutex => ntux_sync::Kind::Mutex,
        Kind::Semaphore => ntux_sync::Kind::Semaphore,
        Kind::Timer => ntux_sync::Kind::SyncTimer,
        _ => return Err(CALL_NOT_IMPLEMENTED),
    };
    let object = arena()?.core().open_named(name, of_core).map_err(of_name)?;
    of_session(kind, object)
}

/// The record of an object that this process holds once more, because of its name.
fn of_session(kind: Kind, object: Object) -> Result<Target> {
    match handed_over::joined_by_name(object) {
        Some(target) => Ok(target),
        None => record::create(kind, object, Payload::of_shared(kind), First::Handle),
    }
}

/// Does something while nobody finds an object by its name.
pub fn while_none_is_opened<R>(with: impl FnOnce() -> R) -> R {
    let _names = names();
    with()
}

/// The name as the core has it.
///
/// Errors: `INVALID_PARAMETER` if it is no text.
fn text_of((is_global, name): &Name) -> Result<String> {
    let prefix = if *is_global { "Global\\" } else { "Local\\" };
    let name = String::from_utf16(name).map_err(|_| INVALID_PARAMETER)?;
    Ok(format!("{prefix}{name}"))
}

fn of_name(error: ntux::Error) -> Error {
    match error {
        ntux::Error::NoSuchName => FILE_NOT_FOUND,
        ntux::Error::OtherKind => INVALID_HANDLE,
        error => of_object(error),
    }
}

/// The object of this name, of which one handle more was counted.
///
/// Errors: `INVALID_PARAMETER` without name, `FILE_NOT_FOUND`, `INVALID_HANDLE` for another kind; those of [`of`].
pub fn open(text: Text, kind: Kind) -> Result<Target> {
    if text.is_none() {
        return Err(INVALID_PARAMETER);
    }
    let name = of(text)?.ok_or(FILE_NOT_FOUND)?;
    let mut guard = names();
    let names = guard.get_or_insert_default();
    if let Some(&target) = names.get(&name)
        && target.open()
    {
        drop(guard);
        return of_kind(target, kind);
    }
    if SEEN_BY.load() != SESSION {
        return Err(FILE_NOT_FOUND);
    }
    let target = open_in_session(&name, kind)?;
    target.set_named();
    names.insert(name, target);
    Ok(target)
}

/// Drops the handle that was counted if the object is of another kind. The lock must not be held by then: it may be the last.
fn of_kind(target: Target, kind: Kind) -> Result<Target> {
    if target.record().and_then(|record| record.kind()) == Some(kind) {
        return Ok(target);
    }
    target.drop_handle();
    Err(INVALID_HANDLE)
}

/// The last handle of the object was closed.
pub fn forget(target: Target) {
    if let Some(names) = names().as_mut() {
        names.retain(|_, named| *named != target);
    }
}
