// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies of counted descriptors (rule R4 of [`crate::descriptors`]): one is counted before it is made, or the kernel counts them from then on.

use super::identity::{identify_met, object_arrived};
use super::moment::{FORKED_UNSEEN, Moment};
use super::numbers::{CLOSING, COUNTED, Known, What, entry, fill, forget, known, look_up, tag, unnote};
use crate::instances::seat;
use crate::thread::{self, OwnMemory, Record};
use core::ffi::c_int;
use ntux_platform::atomic::{Pair, Word128};
use ntux_platform::keeping_errno;
use ntux_sync::Arena;
use std::os::fd::BorrowedFd;

/// Fills the entry of a descriptor that the kernel has just given to this process: what was known is about another one.
/// `counted`: the process's family counts it, an object's.
pub(crate) fn remember_new(
    arena: &Arena,
    fd: c_int,
    known: Known,
    counted: bool,
    came_after: Moment,
    own: Option<OwnMemory>,
) {
    forget(fd);
    let Some(own) = own else { return };
    // A child that is forked from here on is told of the descriptor.
    let certain = counted && came_after.is_forkless_since();
    let filled = fill(fd, look_up(fd).1, known, if certain { COUNTED } else { 0 }, own);
    if counted && !(certain && filled && came_after.is_forkless_since()) {
        unnote(fd);
        count_by_kernel(arena, fd, known);
    }
}

#[cold]
fn count_by_kernel(arena: &Arena, fd: c_int, known: Known) {
    if let What::Object(_, object) = known.what {
        // SAFETY: the program's own descriptor; if it is not open any more, nothing happens.
        keeping_errno(|| arena.taken(unsafe { BorrowedFd::borrow_raw(fd) }, object));
    }
}

/// A copy of a counted descriptor that is about to be made.
pub(crate) struct Copying {
    /// The thread is inside until the copy is noted: a handler that jumps out leaves no count behind.
    pub(super) record: &'static Record,
    known: Known,
    before: Moment,
}

/// A copy of this descriptor is about to be made in this process. Afterwards [`end_copy`] is to be called. In between, the thread is
/// inside, if the copy counts.
#[inline(always)]
pub(crate) fn begin_copy(fd: c_int) -> Option<Copying> {
    match entry(fd).map(Word128::load) {
        Some(seen) if seen.low & COUNTED != 0 || tag(seen) == CLOSING => count_copy(fd, seen),
        _ => None,
    }
}

#[cold]
fn count_copy(fd: c_int, seen: Pair) -> Option<Copying> {
    // What a `vfork` child copies is its own. It is counted by the kernel if an exec keeps it, and the parent when it closes its own.
    if thread::borrows_memory() {
        unnote(fd);
        return None;
    }
    let Some(known) = known(seen).filter(|_| FORKED_UNSEEN.load() == 0) else {
        copied(fd);
        return None;
    };
    let What::Object(_, object) = known.what else { return None };
    let before = Moment::now();
    let Some(record) = thread::enter() else {
        unnote(fd);
        return None;
    };
    if seat(record, known.tag).is_some_and(|seated| seated.arena.copying(object)) {
        return Some(Copying { record, known, before });
    }
    let _ = thread::leave(record);
    say_counted(fd);
    None
}

/// A descriptor was copied to this number, or, if it is negative, was not.
#[inline(always)]
pub(crate) fn end_copy(copying: Option<Copying>, new: c_int) {
    if let Some(copying) = copying {
        note_copy(copying, new);
    }
}

#[cold]
fn note_copy(Copying { record, known, before }: Copying, new: c_int) {
    keeping_errno(|| {
        let What::Object(_, object) = known.what else { return };
        let Some(seated) = seat(record, known.tag) else { return };
        // R2: another thread may have closed what was copied, and the number may have meant something else.
        if new >= 0 && object_arrived(record, new) == Some(known) {
            remember_new(seated.arena, new, known, true, before, thread::own_memory());
        } else {
            seated.arena.released(object);
        }
    });
    let _ = thread::leave(record);
}

/// A copy of this descriptor leaves the process in a way that nobody counts, so the kernel does when this one is closed.
pub(crate) fn copied(fd: c_int) {
    if unnote(fd) == CLOSING && !thread::borrows_memory() {
        say_counted(fd);
    }
}

/// If this descriptor is open, the kernel counts the copies of its object from now on, and the arena says so: another thread is
/// closing it, nobody counts it, or a program will have a copy.
#[cold]
pub(crate) fn say_counted(fd: c_int) {
    let Some(record) = thread::enter() else { return };
    keeping_errno(|| {
        if let Ok(Known { tag, what: What::Object(_, object) }) = identify_met(record, fd)
            && let Some(seated) = seat(record, tag)
        {
            // SAFETY: the program's own descriptor; if it is not open any more, nothing happens.
            seated.arena.taken(unsafe { BorrowedFd::borrow_raw(fd) }, object);
        }
    });
    let _ = thread::leave(record);
}

/// A copy of this descriptor leaves the process. The kernel counts its copies from now on, if they are an object's. Returns whether the
/// descriptor is one of ours.
#[cold]
pub(crate) fn leaves(fd: c_int) -> bool {
    copied(fd);
    keeping_errno(|| {
        // SAFETY: the descriptor is only asked and locked; one that is not open is refused by the kernel.
        let is_ours = Arena::leaving(unsafe { BorrowedFd::borrow_raw(fd) });
        // A `vfork` child's parent says so when it closes its own.
        if is_ours && !thread::borrows_memory() {
            say_counted(fd);
        }
        is_ours
    })
}
