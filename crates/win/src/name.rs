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

/// A name without prefix.
pub struct Name {
    /// It is one of all sessions.
    is_global: bool,
    units: Vec<u16>,
    /// It also means a name that differs in case.
    ignores_case: bool,
}

impl Name {
    /// The same; A to Z are looked for as a to z. If several names match, it means the latest of this process, or one of others.
    pub fn ignoring_case(self) -> Name {
        Name { ignores_case: true, ..self }
    }
}

/// A letter of either case, as the core takes them for the same.
pub fn folded(unit: u16) -> u16 {
    u8::try_from(unit).map_or(unit, |byte| byte.to_ascii_lowercase().into())
}

/// What names have in common that differ in case only.
type Common = (bool, Vec<u16>);
/// Such names, in the order in which they came.
type Alike = Vec<(Vec<u16>, Target)>;

#[derive(Default)]
struct Names(HashMap<Common, Alike>);

impl Names {
    fn common(name: &Name) -> Common {
        (name.is_global, name.units.iter().copied().map(folded).collect())
    }

    /// The object of this name, of which one handle more was counted.
    fn open(&self, name: &Name) -> Option<Target> {
        let alike = self.0.get(&Names::common(name))?.iter().rev();
        let mut meant = alike.filter(|(units, _)| name.ignores_case || *units == name.units);
        meant.find(|(_, target)| target.open()).map(|&(_, target)| target)
    }

    /// The name is this object's from now on. An earlier one has no handles any more.
    fn insert(&mut self, name: Name, target: Target) {
        let alike = self.0.entry(Names::common(&name)).or_default();
        alike.retain(|(units, _)| *units != name.units);
        // The units stay where they are until the name is forgotten.
        target.set_named(name.is_global, &name.units);
        alike.push((name.units, target));
    }

    fn forget(&mut self, target: Target) {
        self.0.retain(|_, alike| {
            alike.retain(|(_, named)| *named != target);
            !alike.is_empty()
        });
    }
}

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
    let (is_global, units) = match (prefixed("Global\\"), prefixed("Local\\")) {
        (Some(rest), _) => (true, rest),
        (None, Some(rest)) => (false, rest),
        (None, None) => (false, text),
    };
    if units.contains(&u16::from(b'\\')) {
        return Err(PATH_NOT_FOUND);
    }
    Ok(Some(Name { is_global, units, ignores_case: false }))
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
    if let Some(target) = names.open(&name) {
        drop(guard);
        return of_kind(target, kind).map(Created::Existed);
    }
    let (target, existed) = match SEEN_BY.load() {
        SESSION => create_in_session(&name, kind, new.ok_or(CALL_NOT_IMPLEMENTED)?)?,
        _ => (make()?, false),
    };
    // What has existed may have a name in another case.
    if !(existed && name.ignores_case) {
        names.insert(name, target);
    }
    Ok(if existed { Created::Existed(target) } else { Created::New(target) })
}

/// What the core creates, or has, by this name. Returns whether it existed.
fn create_in_session(name: &Name, kind: Kind, new: New) -> Result<(Target, bool)> {
    let text = text_of(name)?;
    let name = of_core(name, &text)?;
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
    let name = of_core(name, &text)?;
    let kind_of_core = match kind {
        Kind::Event => ntux_sync::Kind::ManualEvent,
        Kind::Mutex => ntux_sync::Kind::Mutex,
        Kind::Semaphore => ntux_sync::Kind::Semaphore,
        Kind::Timer => ntux_sync::Kind::SyncTimer,
        _ => return Err(CALL_NOT_IMPLEMENTED),
    };
    let object = arena()?.core().open_named(name, kind_of_core).map_err(of_name)?;
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
fn text_of(name: &Name) -> Result<String> {
    let prefix = if name.is_global { "Global\\" } else { "Local\\" };
    let units = String::from_utf16(&name.units).map_err(|_| INVALID_PARAMETER)?;
    Ok(format!("{prefix}{units}"))
}

fn of_core<'a>(name: &Name, text: &'a str) -> Result<ntux_sync::Name<'a>> {
    let of_core = ntux_sync::Name::new(text).map_err(|_| FILENAME_EXCED_RANGE)?;
    Ok(if name.ignores_case { of_core.ignoring_case() } else { of_core })
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
/// Errors: `FILE_NOT_FOUND`, `INVALID_HANDLE` for another kind; in a session, those of [`create_or_open`].
pub fn open(name: Name, kind: Kind) -> Result<Target> {
    let mut guard = names();
    let names = guard.get_or_insert_default();
    if let Some(target) = names.open(&name) {
        drop(guard);
        return of_kind(target, kind);
    }
    if SEEN_BY.load() != SESSION {
        return Err(FILE_NOT_FOUND);
    }
    let target = open_in_session(&name, kind)?;
    if !name.ignores_case {
        names.insert(name, target);
    }
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
        names.forget(target);
    }
}
