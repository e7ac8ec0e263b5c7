// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a descriptor is: from the cache, or asked of the kernel. A descriptor carries its own identity ([`ntux_sync::Arena::identify`]).

use super::numbers::{Known, Seen, What, forget, look_up, remember};
use crate::c_library::cancellation::without_cancellation;
use crate::instances::{self, seat, traced};
use crate::thread::Record;
use core::ffi::c_int;
use ntux_platform::memory::{self, FileId};
use ntux_sync::{Arena, Error, Object};
use std::os::fd::BorrowedFd;

/// Why a descriptor is not ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NotOurs {
    /// It is open and something else.
    Foreign,
    /// It is not open, or only a path (`EBADF`).
    Closed,
    /// It is ours, but this process cannot use it: the error number.
    Unavailable(c_int),
    /// Its instance was unmapped meanwhile: query again.
    Changing,
}

/// Identifies a descriptor, from the table or by a query. The caller is inside.
#[inline(always)]
pub(crate) fn resolve(record: &Record, fd: c_int) -> Result<Known, NotOurs> {
    match look_up(fd) {
        (Some(known), _) if instances::in_use(known.tag) => Ok(known),
        (_, seen) => without_cancellation(|| ask(record, fd, seen)),
    }
}

#[cold]
fn ask(record: &Record, fd: c_int, seen: Seen) -> Result<Known, NotOurs> {
    let identity = identify(fd)?;
    // SAFETY: open a moment ago. If the program closes it meanwhile, another file is refused or is an arena as good.
    let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
    let tag = instances::find_or_add(identity.file, || traced::map(borrowed))
        .map_err(|why| NotOurs::Unavailable(why.errno()))?;
    let what = match identity.object {
        None => What::Device,
        Some(object) => {
            let seated = seat(record, tag).ok_or(NotOurs::Changing)?;
            let kind = seated.arena.kind(object).map_err(|_| NotOurs::Foreign)?;
            seated.arena.received(borrowed, object);
            What::Object(kind, object)
        }
    };
    let known = Known { tag, what };
    remember(fd, seen, known);
    // R2
    if identify(fd) != Ok(identity) {
        forget(fd);
    }
    Ok(known)
}

/// Queries a descriptor's identity.
pub(crate) fn identify(fd: c_int) -> Result<ntux_sync::Identity, NotOurs> {
    if fd < 0 {
        return Err(NotOurs::Closed);
    }
    // SAFETY: the descriptor is only asked; one that is not open is an error, and the program's own race if it changes.
    let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
    // The file of an instance that this process has mapped need not be looked into.
    let identity = match memory::regular_file(borrowed) {
        Ok(Some(file)) if instances::has_met(file) => memory::offset(borrowed)
            .map(|offset| ntux_sync::Identity { file, object: (offset != 0).then_some(Object(offset)) })
            .map_err(|_| Error::NotAnArena),
        _ => Arena::identify(borrowed),
    };
    identity.map_err(|error| match error {
        Error::Os(libc::EBADF) => NotOurs::Closed,
        _ => NotOurs::Foreign,
    })
}

/// Why a descriptor is no object of an instance that this process has met.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NotMet {
    /// It is no file that could be an arena, or not open.
    Foreign,
    /// It may be of another instance, the device itself, or an object that has ended.
    Unsure,
}

/// Which object of an instance that this process has met. Asks the kernel, first for what costs least: a pipe or a socket has
/// no offset.
pub(crate) fn identify_met(record: &Record, fd: c_int) -> Result<Known, NotMet> {
    if fd < 0 {
        return Err(NotMet::Foreign);
    }
    // SAFETY: the descriptor is only asked.
    let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
    let offset = memory::offset(borrowed).map_err(|_| NotMet::Foreign)?;
    let file = memory::regular_file(borrowed).ok().flatten().ok_or(NotMet::Foreign)?;
    object_met(record, file, offset).ok_or(NotMet::Unsure)
}

/// Which object of an instance that this process has met a descriptor means, if it is an object's. A file at its start is none, and is not
/// looked at.
pub(crate) fn object_arrived(record: &Record, fd: c_int) -> Option<Known> {
    // SAFETY: the kernel has just given it to this process; it is only asked.
    let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
    let offset = memory::offset(borrowed).ok().filter(|offset| *offset != 0)?;
    object_met(record, memory::regular_file(borrowed).ok().flatten()?, offset)
}

fn object_met(record: &Record, file: FileId, offset: u64) -> Option<Known> {
    let tag = instances::tag_of(file).filter(|_| offset != 0)?;
    let kind = seat(record, tag)?.arena.kind(Object(offset)).ok()?;
    Some(Known { tag, what: What::Object(kind, Object(offset)) })
}

/// Has the kernel count the copies of a descriptor that came unseen. Returns false if its object has ended.
pub(crate) fn take(record: &Record, fd: c_int) -> bool {
    let Ok(identity) = identify(fd) else { return true };
    let Some(object) = identity.object else { return true };
    // SAFETY: the caller has just got it.
    let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
    let tag = instances::find_or_add(identity.file, || traced::map(borrowed));
    match tag.ok().and_then(|tag| seat(record, tag)) {
        Some(seated) => seated.arena.taken(borrowed, object),
        None => {
            Arena::leaving(borrowed);
            true
        }
    }
}
