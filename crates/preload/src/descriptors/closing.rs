// SPDX-License-Identifier: MIT OR Apache-2.0
//! Closes (rules R1 and R4 of [`crate::descriptors`]): the entry is marked before the descriptor is closed, and the arena is told afterwards.

use super::copies::{Copying, say_counted};
use super::moment::{FORKED_UNSEEN, is_forking};
use super::numbers::{
    CLOSING, COUNTED, FORKED, Known, What, entry, forget, known, look_up, next_sequence, put, within,
};
use crate::c_library::cancellation::{end_if_cancelled, without_cancellation};
use crate::instances::seat;
use crate::thread::{self, OwnMemory, Record};
use core::ffi::{c_int, c_long};
use ntux_platform::atomic::{Pair, Word128};
use ntux_platform::keeping_errno;
use ntux_sync::Object;
use std::os::fd::BorrowedFd;

/// R1 around `close`, which closes this descriptor. Its frame has no destructors: the real function may unwind.
#[inline(always)]
pub(crate) fn closed_by<R>(fd: c_int, close: impl FnOnce() -> R) -> R {
    closed_by_owner(fd, None, None, close)
}

/// Does what [`closed_by`] does, for a thread that may have asked already whether the memory is its process's own, and may be inside.
#[inline(always)]
fn closed_by_owner<R>(
    fd: c_int,
    own: Option<OwnMemory>,
    inside: Option<&'static Record>,
    close: impl FnOnce() -> R,
) -> R {
    closing(fd, own, inside);
    let result = close();
    forget(fd);
    result
}

/// R1 around a call that returns a negative number if it has not closed the descriptor. Tells the arena of a counted
/// descriptor afterwards. `may_cancel` says whether the thread can be cancelled in the call.
#[inline(always)]
pub(crate) fn released_by(fd: c_int, may_cancel: bool, close: impl FnOnce() -> c_long) -> c_long {
    released_from(None, fd, may_cancel, close)
}

#[inline(always)]
fn released_from(
    inside: Option<&'static Record>,
    fd: c_int,
    may_cancel: bool,
    close: impl FnOnce() -> c_long,
) -> c_long {
    match entry(fd).map(Word128::load).filter(|seen| seen.low & COUNTED != 0) {
        Some(seen) if FORKED_UNSEEN.load() == 0 => release(inside, fd, seen, may_cancel, close),
        _ => closed_by_owner(fd, None, inside, close),
    }
}

/// R1 around a call that puts a copy of another descriptor in the place of this one; tells the arena as [`released_by`] does. A `vfork` child that does so goes on with
/// that number, so its parent's entry must not stand for it.
#[inline(always)]
pub(crate) fn replaced_by(copying: Option<&Copying>, fd: c_int, replace: impl FnOnce() -> c_long) -> c_long {
    let is_counted = entry(fd).is_some_and(|entry| entry.load_low() & COUNTED != 0);
    if is_counted && thread::borrows_memory() {
        say_counted(fd);
        return closed_by(fd, replace);
    }
    released_from(copying.map(|copying| copying.record), fd, false, replace)
}

/// R4. No handler of the program runs, and the thread is not cancelled, between the close and what follows. `inside`: the record of a
/// thread that is inside, and stays there.
fn release(
    inside: Option<&'static Record>,
    fd: c_int,
    seen: Pair,
    may_cancel: bool,
    close: impl FnOnce() -> c_long,
) -> c_long {
    let Some(Known { tag, what: What::Object(_, object) }) = known(seen) else {
        return closed_by_owner(fd, None, inside, close);
    };
    let Some(own) = thread::own_memory() else { return close() };
    if may_cancel {
        end_if_cancelled();
    }
    let Some(record) = inside.or_else(thread::enter) else { return closed_by(fd, close) };
    let marked = Pair { low: next_sequence(seen) | u64::from(CLOSING), high: 0 };
    let seated = seat(record, tag).filter(|seated| seated.arena.may_release(object));
    let Some((seated, entry)) = seated.zip(entry(fd)).filter(|(_, entry)| entry.compare_exchange(seen, marked).is_ok())
    else {
        leave_unless(inside, record);
        return closed_by_owner(fd, Some(own), inside, close);
    };
    // SAFETY: the program's own descriptor, or not open any more.
    let let_the_kernel_count = || keeping_errno(|| seated.arena.closing(unsafe { BorrowedFd::borrow_raw(fd) }, object));
    // A child may have been told of the descriptor, and not have it.
    let is_forking = is_forking();
    if is_forking {
        let_the_kernel_count();
    } else if seen.low & FORKED != 0 {
        // SAFETY: as above.
        keeping_errno(|| seated.arena.bury_claims(unsafe { BorrowedFd::borrow_raw(fd) }, object, record.gone.of(tag)));
    }
    let result = without_cancellation(close);
    if result < 0 {
        let_the_kernel_count();
    } else if !is_forking {
        seated.arena.released(object);
    }
    // Unless the number means a new descriptor already.
    let _ = entry.compare_exchange(marked, Pair { low: next_sequence(marked), high: 0 });
    leave_unless(inside, record);
    result
}

#[inline(always)]
fn leave_unless(inside: Option<&'static Record>, record: &'static Record) {
    if inside.is_none() {
        let _ = thread::leave(record);
    }
}

/// R1 around a call that closes all descriptors from `first` to `last`.
#[inline(always)]
pub(crate) fn all_closed_by<R>(first: u32, last: u32, close: impl FnOnce() -> R) -> R {
    within(first, last).for_each(|fd| closing(fd, None, None));
    let result = close();
    within(first, last).for_each(forget);
    result
}

/// Marks the entry of a descriptor that is about to be closed. [`forget`] follows after the close.
#[inline(always)]
fn closing(fd: c_int, own: Option<OwnMemory>, inside: Option<&'static Record>) {
    let Some(entry) = entry(fd) else { return };
    if let (Some(Known { tag, what: What::Object(_, object) }), _) = look_up(fd) {
        count_copies(fd, tag, object, own, inside);
    }
    put(entry, CLOSING);
}

/// Lets the kernel count the copies that are left of an object's descriptor, if it does not yet. The error number stays
/// as it was. A `vfork` child leaves that to its parent, which still has the descriptor.
#[cold]
fn count_copies(fd: c_int, tag: u32, object: Object, own: Option<OwnMemory>, inside: Option<&'static Record>) {
    if own.or_else(thread::own_memory).is_none() {
        return;
    }
    let Some(record) = inside.or_else(thread::enter) else { return };
    keeping_errno(|| {
        if let Some(seated) = seat(record, tag) {
            // SAFETY: the program's own descriptor, which it closes after this; if it is not open any more, nothing
            // happens.
            seated.arena.closing(unsafe { BorrowedFd::borrow_raw(fd) }, object);
        }
    });
    leave_unless(inside, record);
}
