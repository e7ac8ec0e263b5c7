// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names of objects.
//!
//! On Windows every process of the session sees a name. Here only this process does, so far; so a name is refused, unless the program has
//! said that this is what it wants ([`ntw_UseProcessNames`]). A name ends with the last handle of its object. The lock is for the creation,
//! the opening and the last close of objects with names; nothing that waits or signals takes it.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ntux_platform::atomic::Word32;

use crate::last_error::{
    CALL_NOT_IMPLEMENTED, FILE_NOT_FOUND, INVALID_HANDLE, INVALID_PARAMETER, PATH_NOT_FOUND, Result,
};
use crate::record::{Kind, Target};
use crate::text::Text;

/// A name without prefix, and whether it is one of all sessions.
pub type Name = (bool, Vec<u16>);

type Names = HashMap<Name, Target>;

static NAMES: Mutex<Option<Names>> = Mutex::new(None);
static WITHIN_PROCESS: Word32 = Word32::new(0);

/// From now on names are those of this process alone (or again refused).
#[unsafe(no_mangle)]
pub extern "C" fn ntw_UseProcessNames(use_them: i32) {
    WITHIN_PROCESS.store((use_them != 0).into());
}

fn names() -> MutexGuard<'static, Option<Names>> {
    NAMES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The name of an object to be created. None without name.
///
/// Errors: `CALL_NOT_IMPLEMENTED` for a name that other processes were to see; `PATH_NOT_FOUND` if it has a backslash.
pub fn of(text: Text) -> Result<Option<Name>> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(None) };
    if WITHIN_PROCESS.load() == 0 {
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

/// Creates an object with `make`, or opens the one of this name.
///
/// Errors: `INVALID_HANDLE` if the name is that of another kind; those of `make`.
pub fn create_or_open(name: Name, kind: Kind, make: impl FnOnce() -> Result<Target>) -> Result<Created> {
    let mut guard = names();
    let names = guard.get_or_insert_default();
    if let Some(&target) = names.get(&name)
        && target.open()
    {
        drop(guard);
        return of_kind(target, kind).map(Created::Existed);
    }
    let target = make()?;
    target.set_named();
    names.insert(name, target);
    Ok(Created::New(target))
}

/// The object of this name, of which one handle more was counted.
///
/// Errors: `INVALID_PARAMETER` without name, `FILE_NOT_FOUND`, `INVALID_HANDLE` for another kind; those of [`of`].
pub fn open(text: Text, kind: Kind) -> Result<Target> {
    if text.is_none() {
        return Err(INVALID_PARAMETER);
    }
    let name = of(text)?.ok_or(FILE_NOT_FOUND)?;
    let target = names().as_ref().and_then(|names| names.get(&name).copied()).filter(|target| target.open());
    of_kind(target.ok_or(FILE_NOT_FOUND)?, kind)
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
