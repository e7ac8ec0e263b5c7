// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of handles of this process.
//!
//! # Role
//! A handle is a number of 31 bits, a multiple of 4, as on Windows; its two lowest bits are ignored. It is looked up without a lock and
//! without an exchange, because the objects of the core are named by numbers that are not used again: an operation that comes after a close
//! is refused by the core. Only a wait that sleeps holds the record. A handle that another process has made has more bits, and is looked up
//! in [`handed_over`] where it is not found here.
//!
//! # Picture
//! ```text
//! handle 31  30        22 21               2 1  0        entry  63          33 32       13 12  11  10   9 8           0
//!       +---+------------+------------------+----+             +--------------+-----------+----+----+----+-------------+
//!       | 0 | generation |    slot          |    |             | record's     |  record   |keep|inh.|wait|  generation |
//!       +---+------------+------------------+----+             |  generation  |           |    |    |mod.|             |
//!                                                              +--------------+-----------+----+----+----+-------------+
//! ```
//! # Transitions of an entry
//! | from | to | by |
//! | --- | --- | --- |
//! | generation g, record 0 | g, a record | [`insert`], into the slot of the record itself, or into one that it has taken |
//! | g, a record | g + 1, record 0 | [`remove`]: the exchange decides which of two closes it is |
//! | g, a record | the same with other flags | [`set_flags`] |
//!
//! # Invariants
//! * I-handle: an entry with a record counts as one of its handles. So the entry in the slot of a record is clear when the record ends.
//! * I-slot: a slot has one user, a record or a handle of a record in another slot. Its entry is set by a thread that has counted a
//!   handle of that record. The thread that ends the record, or clears the entry, gives the slot back.
//!
//! # Order
//! O-record of [`crate::record`].
//!
//! # Death
//! A thread that dies leaves behind what [`crate::pool`] says.

use core::ffi::c_void;

use ntux_sync::Object;

use crate::access::Rights;
use crate::handed_over;
use crate::last_error::{ACCESS_DENIED, INVALID_HANDLE, NOT_ENOUGH_MEMORY, Result};
use crate::planted::{Bug, planted};
use crate::record::{self, Kind, Record, SLOTS, Target};

/// As C has it.
pub type Handle = *mut c_void;

/// GetCurrentProcess() and GetCurrentThread().
pub const CURRENT_PROCESS: usize = usize::MAX;
pub const CURRENT_THREAD: usize = usize::MAX - 1;

const GENERATION: u64 = (1 << 9) - 1;
const WAIT: u64 = 1 << 9;
const MODIFY: u64 = 1 << 10;
const INHERIT: u64 = 1 << 11;
const PROTECT: u64 = 1 << 12;
const RECORD_SHIFT: u32 = 13;
const RECORD: u64 = (1 << 20) - 1;

/// Flags that the program can change.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flags {
    pub inherit: bool,
    /// CloseHandle refuses it.
    pub protect: bool,
}

/// What an entry says.
#[derive(Clone, Copy)]
pub struct Entry(u64);

impl Entry {
    pub fn target(self) -> Target {
        Target { number: ((self.0 >> RECORD_SHIFT) & RECORD) as u32, generation: (self.0 >> 33) as u32 }
    }

    #[inline]
    pub fn rights(self) -> Rights {
        Rights { wait: self.0 & WAIT != 0, modify: self.0 & MODIFY != 0 }
    }

    pub fn flags(self) -> Flags {
        Flags { inherit: self.0 & INHERIT != 0, protect: self.0 & PROTECT != 0 }
    }

    fn new(target: Target, rights: Rights, flags: Flags, generation: u64) -> Entry {
        let bit = |is_set, bit| if is_set { bit } else { 0 };
        let rights = bit(rights.wait, WAIT) | bit(rights.modify, MODIFY);
        let flags = bit(flags.inherit, INHERIT) | bit(flags.protect, PROTECT);
        Entry(
            u64::from(target.generation) << 33
                | u64::from(target.number) << RECORD_SHIFT
                | flags
                | rights
                | generation & GENERATION,
        )
    }
}

/// What a handle named when it was looked up.
#[derive(Clone, Copy)]
pub struct Found {
    pub entry: Entry,
    pub kind: Kind,
    pub object: Object,
}

impl Found {
    /// Errors: `INVALID_HANDLE` if it is of another kind.
    #[inline]
    pub fn of_kind(self, kind: Kind) -> Result<Found> {
        if self.kind == kind { Ok(self) } else { Err(INVALID_HANDLE) }
    }

    /// Errors: `ACCESS_DENIED` if the handle may not change it.
    #[inline]
    pub fn modifiable(self) -> Result<Found> {
        if self.entry.rights().modify { Ok(self) } else { Err(ACCESS_DENIED) }
    }

    /// Errors: `ACCESS_DENIED` if the handle may not wait for it.
    #[inline]
    pub fn waitable(self) -> Result<Found> {
        if self.entry.rights().wait { Ok(self) } else { Err(ACCESS_DENIED) }
    }
}

/// Gives a handle to a record, of which it becomes one of the counted handles.
///
/// Errors: `NOT_ENOUGH_MEMORY`; the handle is dropped then.
pub fn insert(target: Target, rights: Rights, flags: Flags) -> Result<Handle> {
    let entry = |before: u64| Entry::new(target, rights, flags, before).0;
    if let Some(own) = target.record() {
        let before = own.entry.load();
        let exchanged = || {
            if planted(Bug::InsertsBlindly) {
                own.entry.store(entry(before));
            }
            planted(Bug::InsertsBlindly) || own.entry.compare_exchange(before, entry(before)).is_ok()
        };
        if !names_record(before) && exchanged() {
            return Ok(handle(target.number, before));
        }
    }
    let Some((slot, place)) = record::take_slot() else {
        target.drop_handle();
        return Err(NOT_ENOUGH_MEMORY);
    };
    Ok(put(place, slot, entry))
}

/// [`insert`] by the thread that has created the record just now, while no other can have a handle of it.
pub fn insert_first(target: Target, rights: Rights, flags: Flags) -> Option<Handle> {
    Some(put(target.record()?, target.number, |before| Entry::new(target, rights, flags, before).0))
}

/// Sets the entry of a slot that is the caller's alone.
fn put(place: &Record, slot: u32, entry: impl FnOnce(u64) -> u64) -> Handle {
    let before = place.entry.load();
    place.entry.store(entry(before));
    handle(slot, before)
}

/// The handle in a slot, by the entry that was there before.
fn handle(slot: u32, before: u64) -> Handle {
    core::ptr::without_provenance_mut(((before & GENERATION) << 22 | u64::from(slot) << 2) as usize)
}

fn names_record(entry: u64) -> bool {
    (entry >> RECORD_SHIFT) & RECORD != 0
}

/// The entry that this handle names now.
#[inline]
fn entry_of(handle: Handle) -> Result<(&'static Record, u32, Entry)> {
    let value = handle.addr();
    let slot = (value >> 2) as u32 & SLOTS;
    if value >> 31 != 0 {
        return Err(INVALID_HANDLE);
    }
    let place = record::slot(slot).ok_or(INVALID_HANDLE)?;
    let entry = place.entry.load();
    let is_named = names_record(entry) && entry & GENERATION == (value >> 22) as u64;
    if is_named { Ok((place, slot, Entry(entry))) } else { Err(INVALID_HANDLE) }
}

/// Returns true if it is GetCurrentProcess() or GetCurrentThread().
pub fn is_pseudo(handle: Handle) -> bool {
    matches!(handle.addr(), CURRENT_PROCESS | CURRENT_THREAD)
}

/// What the handle names.
///
/// Errors: `INVALID_HANDLE`; those of [`handed_over::look_up`].
#[inline]
pub fn look_up(handle: Handle) -> Result<Found> {
    look_up_at_once(handle).or_else(|_| handed_over::look_up(handle))
}

/// What a handle of the table names, for what is done at once or not at all.
///
/// Errors: `INVALID_HANDLE`, also for one that another process has made.
#[inline]
pub fn look_up_at_once(handle: Handle) -> Result<Found> {
    let (place, slot, entry) = entry_of(handle)?;
    let target = entry.target();
    // Usually in the slot of the handle.
    let record = if target.number == slot { place } else { target.record().ok_or(INVALID_HANDLE)? };
    let (kind, object) = (record.kind(), record.object());
    // O-record
    if !planted(Bug::LooksOnce) && place.entry.load() != entry.0 {
        return look_up_again(handle);
    }
    Ok(Found { entry, kind: kind.ok_or(INVALID_HANDLE)?, object })
}

/// The entry has changed meanwhile: another flag, or the handle was closed.
#[cold]
fn look_up_again(handle: Handle) -> Result<Found> {
    look_up_at_once(handle)
}

/// What the handle names, which must be of this kind.
///
/// Errors: those of [`look_up`]; `INVALID_HANDLE`, as Windows has it, for the wrong kind.
#[inline]
pub fn look_up_kind(handle: Handle, kind: Kind) -> Result<Found> {
    look_up(handle)?.of_kind(kind)
}

/// The same, if the handle may change it.
///
/// Errors: those of [`look_up_kind`]; `ACCESS_DENIED`.
#[inline]
pub fn look_up_modifiable(handle: Handle, kind: Kind) -> Result<Found> {
    look_up_kind(handle, kind)?.modifiable()
}

/// Ends a handle. The caller drops the handle of the record that is returned.
///
/// Errors: `INVALID_HANDLE`, also for one that is protected; those of [`handed_over::remove`].
pub fn remove(handle: Handle) -> Result<Target> {
    loop {
        let Ok((place, slot, entry)) = entry_of(handle) else { return handed_over::remove(handle) };
        if entry.flags().protect {
            return Err(INVALID_HANDLE);
        }
        let next = (entry.0 + 1) & GENERATION;
        if planted(Bug::ClosesBlindly) {
            place.entry.store(next);
        }
        if planted(Bug::ClosesBlindly) || place.entry.compare_exchange(entry.0, next).is_ok() {
            let target = entry.target();
            // I-slot
            if target.number != slot || planted(Bug::GivesEarly) {
                record::give_slot(slot);
            }
            return Ok(target);
        }
    }
}

/// Changes the flags of a handle.
///
/// Errors: `INVALID_HANDLE`; those of [`handed_over::set_flags`].
pub fn set_flags(handle: Handle, change: &dyn Fn(Flags) -> Flags) -> Result<()> {
    loop {
        let Ok((place, _, entry)) = entry_of(handle) else { return handed_over::set_flags(handle, change) };
        let next = Entry::new(entry.target(), entry.rights(), change(entry.flags()), entry.0);
        if place.entry.compare_exchange(entry.0, next.0).is_ok() {
            return Ok(());
        }
    }
}
