// SPDX-License-Identifier: MIT OR Apache-2.0
//! Handles that other processes of the session have made for this one: `DuplicateHandle` to another process.
//!
//! # Role
//! Nothing is told to the process for which a handle is made: the core holds the object for it ([`ntux_sync::Arena::hold_for`]), and the
//! handle itself says what it names. When that process uses such a handle first, it gets a record and a handle of its table, which the
//! program never sees; the table here leads from the one to the other. The first use is a search of all records; later ones take a lock
//! beyond what other handles take. Handles of the table do not come here.
//!
//! # Picture
//! ```text
//! handle 63 62 61 60  59       58     57   56          26 25       2 1  0
//!       +--+--+-----+---------+------+----+--------------+----------+----+
//!       | 0| 1|  0  | inherit |modify|wait|  generation  |  index   |    |    of the object in the core
//!       +--+--+-----+---------+------+----+--------------+----------+----+
//! ```
//! # Which are good
//! Each handle that is made is one hold of this process in the core. A record is one, too, and counts all handles of the table. So there is
//! a handle that nobody has used yet as long as the core counts more holds than there are records: if none is left, a handle is refused that
//! is not in the table here, as one that was closed. The process has one record of an object at most, as it has of a name, but for one
//! whose last handle was closed while a wait goes on: the hold of a handle that joins a record is released at once.
//!
//! To make the same handle twice is to make two, of the same number, each of which needs a close. While the first is in the table, the
//! second is a hold in the core.
//!
//! While more than four processes hold an object, the core's count can be too high ([`ntux_sync::Arena::holds`]). So a handle that was closed
//! can be taken for a good one then, and its close releases what another process holds: as it can close another handle on Windows.
//!
//! # Order
//! O-handed: who compares the count with the records has the lock of the names, with which others hold an object and then make its record
//! ([`crate::name`]). A record that ends lets go of its object afterwards: a handle that was closed may be taken for a good one meanwhile,
//! and finds that its object has ended.
//!
//! # Death
//! The threads of a process die together, and the core forgets what it held, also for handles that it has not used. A forked child holds
//! nothing: handles that were made for its parent are none in it.

use std::collections::HashMap;

use ntux::Error as CoreError;
use ntux_sync::Object;

use crate::access::{self, Rights};
use crate::arena::{arena, is_of_session};
use crate::handle::{self, Flags, Found, Handle};
use crate::last_error::{ACCESS_DENIED, CALL_NOT_IMPLEMENTED, Error, INVALID_HANDLE, Result, of_object};
use crate::locked::PerProcess;
use crate::name;
use crate::process::Other;
use crate::record::{self, First, Kind, Payload, Target};

const INDEX_SHIFT: u32 = 2;
const INDEX_BITS: u32 = 24;
const GENERATION_SHIFT: u32 = INDEX_SHIFT + INDEX_BITS;
const GENERATION_BITS: u32 = 31;
const WAIT: u64 = 1 << 57;
const MODIFY: u64 = 1 << 58;
const INHERIT: u64 = 1 << 59;
const MARK: u64 = 1 << 62;
/// What is the same in all of them.
const FIXED: u64 = 0b1111 << 60;
/// As in every handle, these are ignored.
const IGNORED: u64 = 0b11;

/// Such a handle, without the bits that are ignored.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Given(u64);

impl Given {
    /// None if the object's number does not fit, which is that of no object.
    fn new(object: Object, rights: Rights, inherit: bool) -> Option<Given> {
        let (index, generation) = (object.0 & u64::from(u32::MAX), object.0 >> 32);
        let bit = |is_set, bit| if is_set { bit } else { 0 };
        let flags = bit(rights.wait, WAIT) | bit(rights.modify, MODIFY) | bit(inherit, INHERIT);
        (index >> INDEX_BITS == 0 && generation >> GENERATION_BITS == 0)
            .then_some(Given(MARK | flags | generation << GENERATION_SHIFT | index << INDEX_SHIFT))
    }

    /// None if it is no such handle.
    fn of(handle: Handle) -> Option<Given> {
        let value = handle.addr() as u64 & !IGNORED;
        (value & FIXED == MARK).then_some(Given(value))
    }

    fn object(self) -> Object {
        let field = |shift: u32, bits: u32| self.0 >> shift & ((1 << bits) - 1);
        Object(field(GENERATION_SHIFT, GENERATION_BITS) << 32 | field(INDEX_SHIFT, INDEX_BITS))
    }

    fn rights(self) -> Rights {
        Rights { wait: self.0 & WAIT != 0, modify: self.0 & MODIFY != 0 }
    }

    fn flags(self) -> Flags {
        Flags { inherit: self.0 & INHERIT != 0, protect: false }
    }

    fn handle(self) -> Handle {
        core::ptr::without_provenance_mut(self.0 as usize)
    }
}

/// Those that were used and not closed, and the handle of the table that each stands for.
type Table = HashMap<Given, usize>;

static TABLE: PerProcess<Table> = PerProcess::new();

/// Makes a handle, for another process, of what this one names. `mask`: the access; none: the same.
///
/// Errors: `INVALID_HANDLE`; `ACCESS_DENIED`, also if the process has ended; `CALL_NOT_IMPLEMENTED` for other kinds of objects, and if the
/// process is none of the session.
pub fn give(source: Handle, mask: Option<u32>, inherit: bool, to: &Other) -> Result<Handle> {
    if handle::is_pseudo(source) {
        return Err(CALL_NOT_IMPLEMENTED);
    }
    let found = handle::look_up(source)?;
    let rights = mask.map_or(Ok(found.entry.rights()), |mask| access::granted(found.kind, mask))?;
    if !is_of_session() || !matches!(found.kind, Kind::Event | Kind::Mutex | Kind::Semaphore | Kind::Timer) {
        return Err(CALL_NOT_IMPLEMENTED);
    }
    // From here on, its number is another process's only if it ends, is waited for, and all other numbers come first.
    if to.has_ended().map_err(|_| INVALID_HANDLE)? {
        return Err(ACCESS_DENIED);
    }
    let given = Given::new(found.object, rights, inherit).ok_or(INVALID_HANDLE)?;
    arena()?.core().hold_for(found.object, to.pid()).map_err(|refused| of_process(refused, to))?;
    Ok(given.handle())
}

fn of_process(refused: CoreError, to: &Other) -> Error {
    match refused {
        CoreError::NoSuchProcess if to.has_ended().unwrap_or(false) => ACCESS_DENIED,
        CoreError::NoSuchProcess => CALL_NOT_IMPLEMENTED,
        refused => of_object(refused),
    }
}

/// What such a handle names.
///
/// Errors: `INVALID_HANDLE`, also for what is no such handle; `NOT_ENOUGH_MEMORY`.
#[cold]
#[inline(never)]
pub fn look_up(handle: Handle) -> Result<Found> {
    in_table(handle, |_, _, local| handle::look_up_at_once(local))
}

/// Ends such a handle. The caller drops the handle of the record that is returned.
///
/// Errors: those of [`look_up`]; `INVALID_HANDLE` for one that is protected.
#[cold]
#[inline(never)]
pub fn remove(handle: Handle) -> Result<Target> {
    in_table(handle, |table, given, local| {
        let target = handle::remove(local)?;
        table.remove(&given);
        Ok(target)
    })
}

/// Changes the flags of such a handle.
///
/// Errors: those of [`look_up`].
#[cold]
#[inline(never)]
pub fn set_flags(handle: Handle, change: &dyn Fn(Flags) -> Flags) -> Result<()> {
    in_table(handle, |_, _, local| handle::set_flags(local, change))
}

/// Does something with the handle of the table that such a handle stands for, which no other thread ends meanwhile.
///
/// Errors: `INVALID_HANDLE`; `NOT_ENOUGH_MEMORY` if the table is full at the first use, which closes the handle; those of `with`.
fn in_table<R>(handle: Handle, with: impl FnOnce(&mut Table, Given, Handle) -> Result<R>) -> Result<R> {
    let given = Given::of(handle).filter(|_| is_of_session()).ok_or(INVALID_HANDLE)?;
    let mut table = TABLE.get_or_make(HashMap::new).lock().ok_or(INVALID_HANDLE)?;
    let local = match table.get(&given) {
        Some(&local) => core::ptr::without_provenance_mut(local),
        None => {
            let local =
                handle::insert(name::while_none_is_opened(|| take(given.object()))?, given.rights(), given.flags())?;
            table.insert(given, local.addr());
            local
        }
    };
    with(&mut table, given, local)
}

/// The record of an object that another process has given to this one, with one handle more counted.
///
/// Errors: `INVALID_HANDLE` if there is no such object, or it was not given; `NOT_ENOUGH_MEMORY`.
fn take(object: Object) -> Result<Target> {
    let core = arena()?.core();
    let holds = core.holds(object).map_err(|_| INVALID_HANDLE)?;
    // O-handed
    if holds as usize <= record::of_object(object).count() {
        return Err(INVALID_HANDLE);
    }
    if let Some(target) = joined(object) {
        return Ok(target);
    }
    use ntux_sync::Kind as Core;
    let kind = match core.kind(object).map_err(|_| INVALID_HANDLE)? {
        Core::AutoEvent | Core::ManualEvent => Kind::Event,
        Core::Mutex => Kind::Mutex,
        Core::Semaphore => Kind::Semaphore,
        Core::SyncTimer | Core::ManualTimer => Kind::Timer,
        Core::End => return Err(INVALID_HANDLE),
    };
    record::create(kind, object, Payload::of_shared(kind), First::Handle)
}

/// The record that this process has of an object, with one handle more counted. A hold of the object goes over to it, which the caller has.
fn joined(object: Object) -> Option<Target> {
    let target = record::of_object(object).find(|target| target.open())?;
    if let Ok(arena) = arena() {
        let _ = arena.core().release(object);
    }
    Some(target)
}

/// Does what [`joined`] does for an object that was found by its name: so a timer has one completion routine in each process, whichever
/// handle names it. None also if nobody has given anything to this process, which has no other record then.
pub fn joined_by_name(object: Object) -> Option<Target> {
    TABLE.get().and_then(|_| joined(object))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_says_what_it_names() {
        let largest = Object(u64::from(u32::MAX >> 1) << 32 | ((1 << 24) - 1));
        for object in [Object(1 << 32), Object(0x1234_5678 << 32 | 0x00AB_CDEF), largest] {
            for (wait, modify, inherit) in [(true, true, false), (true, false, true), (false, true, false)] {
                let rights = Rights { wait, modify };
                let given = Given::new(object, rights, inherit).unwrap();
                let handle = given.handle();
                assert_eq!(handle.addr() & 3, 0);
                assert!(handle.addr() >> 31 != 0 && !handle::is_pseudo(handle));
                let tagged = core::ptr::without_provenance_mut(handle.addr() | 3);
                assert_eq!((Given::of(handle), Given::of(tagged)), (Some(given), Some(given)));
                assert_eq!((given.object(), given.rights(), given.flags().inherit), (object, rights, inherit));
            }
        }
        assert_eq!(Given::new(Object(1 << 24 | 1 << 32), access::ALL, false), None);
        assert_eq!(Given::new(Object(1 << 63), access::ALL, false), None);
    }

    #[test]
    fn no_other_number_is_one() {
        for value in [0, 4, 0x7FFF_FFFC, 1 << 31, usize::MAX, usize::MAX - 1, 0x7FFF_F7DC_0000, 1 << 63, 0b101 << 60] {
            assert_eq!(Given::of(core::ptr::without_provenance_mut(value)), None);
        }
    }
}
