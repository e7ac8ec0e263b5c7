// SPDX-License-Identifier: MIT OR Apache-2.0
//! The cache of what this process knows about its descriptors, by their numbers. The rules R1 to R4 are in [`crate::descriptors`], and its
//! memory is in [`super::entries`].

use super::entries;
use crate::thread::{self, OwnMemory};
use core::ffi::c_int;
use ntux_platform::atomic::{Pair, Word32, Word128};
use ntux_platform::keeping_errno;
use ntux_sync::{Kind, Object};

/// One entry: low half = instance tag (32 bits, 0 empty), what (3 bits), [`COUNTED`], [`FORKED`] (1 bit each), sequence (27 bits); high half = object.
const EMPTY: Pair = Pair { low: 0, high: 0 };

/// One more than the highest descriptor that ever had an entry.
static BOUND: Word32 = Word32::new(0);

/// One more than the highest descriptor that ever got a note.
static NOTED: Word32 = Word32::new(0);

/// The tag that marks an entry whose descriptor is being closed.
pub(super) const CLOSING: u32 = u32::MAX;

const WHAT_SHIFT: u32 = 32;

const WHAT_MASK: u64 = 7;

/// The process's family counts it.
pub(super) const COUNTED: u64 = 1 << 35;

/// It was there when the process forked, or was forked.
pub(super) const FORKED: u64 = 1 << 36;

const SEQUENCE_SHIFT: u32 = 37;

/// The kind of a descriptor of ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum What {
    /// The device: an instance as a whole.
    Device,
    /// One object of the instance.
    Object(Kind, Object),
}

/// A descriptor of ours: its instance (a tag of [`crate::instances`]) and its kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Known {
    pub(crate) tag: u32,
    pub(crate) what: What,
}

/// An observed entry, to be replaced only if it has not changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Seen(pub(super) Pair);

#[inline(always)]
pub(super) fn entry(fd: c_int) -> Option<&'static Word128> {
    entries::get(fd as u32)
}

pub(super) fn tag(pair: Pair) -> u32 {
    pair.low as u32
}

/// What is known about a descriptor, and the entry to replace if that is nothing.
#[inline(always)]
pub(crate) fn look_up(fd: c_int) -> (Option<Known>, Seen) {
    let pair = entry(fd).map_or(EMPTY, Word128::load);
    (known(pair), Seen(pair))
}

#[inline(always)]
pub(super) fn known(pair: Pair) -> Option<Known> {
    let tag = tag(pair);
    if tag == 0 || tag == CLOSING {
        return None;
    }
    let kind = match pair.low >> WHAT_SHIFT & WHAT_MASK {
        0 => return Some(Known { tag, what: What::Device }),
        1 => Kind::Semaphore,
        2 => Kind::Mutex,
        3 => Kind::AutoEvent,
        4 => Kind::ManualEvent,
        5 => Kind::SyncTimer,
        6 => Kind::ManualTimer,
        _ => Kind::End,
    };
    Some(Known { tag, what: What::Object(kind, Object(pair.high)) })
}

/// The tag and the object in the entry of a descriptor, if it has one. The tag need not be that of an instance.
#[inline(always)]
pub(crate) fn noted_object(fd: c_int) -> Option<(u32, Object)> {
    let pair = entry(fd)?.load();
    (pair.low & WHAT_MASK << WHAT_SHIFT != 0).then_some((tag(pair), Object(pair.high)))
}

/// True if a descriptor is known to mean this instance as a whole. The tag is that of an instance.
#[inline(always)]
pub(crate) fn is_device_of(fd: c_int, tag: u32) -> bool {
    const ABOUT: u64 = WHAT_MASK << WHAT_SHIFT | u32::MAX as u64;
    entry(fd).is_some_and(|entry| entry.load_low() & ABOUT == u64::from(tag))
}

pub(super) fn next_sequence(pair: Pair) -> u64 {
    (pair.low >> SEQUENCE_SHIFT).wrapping_add(1) << SEQUENCE_SHIFT
}

/// Fills an entry, unless it changed since it was seen or is being closed. The caller keeps rule R2.
pub(crate) fn remember(fd: c_int, seen: Seen, known: Known) {
    if tag(seen.0) != CLOSING
        && let Some(own) = thread::own_memory()
    {
        fill(fd, seen, known, 0, own);
    }
}

/// Returns whether that was done.
pub(super) fn fill(fd: c_int, seen: Seen, known: Known, notes: u64, _own: OwnMemory) -> bool {
    if tag(seen.0) == CLOSING {
        return false;
    }
    let Some(entry) = entries::get_or_map(fd as u32) else { return false };
    let (what, high) = match known.what {
        What::Device => (0, 0),
        What::Object(Kind::Semaphore, object) => (1, object.0),
        What::Object(Kind::Mutex, object) => (2, object.0),
        What::Object(Kind::AutoEvent, object) => (3, object.0),
        What::Object(Kind::ManualEvent, object) => (4, object.0),
        What::Object(Kind::SyncTimer, object) => (5, object.0),
        What::Object(Kind::ManualTimer, object) => (6, object.0),
        What::Object(Kind::End, object) => (7, object.0),
    };
    raise(&BOUND, fd as u32 + 1);
    if notes != 0 {
        raise(&NOTED, fd as u32 + 1);
    }
    let low = next_sequence(seen.0) | notes | what << WHAT_SHIFT | u64::from(known.tag);
    entry.compare_exchange(seen.0, Pair { low, high }).is_ok()
}

fn raise(word: &Word32, bound: u32) {
    let mut seen = word.load();
    while seen < bound {
        match word.compare_exchange(seen, bound) {
            Ok(()) => return,
            Err(found) => seen = found,
        }
    }
}

/// Changes an entry that is about a descriptor, and takes its note away. Returns the tag.
pub(super) fn unnote(fd: c_int) -> u32 {
    let Some(entry) = entry(fd) else { return 0 };
    let mut seen = entry.load();
    while !matches!(tag(seen), 0 | CLOSING) {
        let low = next_sequence(seen) | seen.low & !(COUNTED | u64::MAX << SEQUENCE_SHIFT);
        match entry.compare_exchange(seen, Pair { low, ..seen }) {
            Ok(()) => break,
            Err(found) => seen = found,
        }
    }
    tag(seen)
}

pub(super) fn unnote_all() {
    for fd in all() {
        unnote(fd);
    }
}

pub(super) fn note_fork(fd: c_int, seen: Pair) {
    let noted = Pair { low: seen.low | FORKED, ..seen };
    if noted != seen
        && let Some(entry) = entry(fd)
    {
        // One that has changed is being closed, while a fork is going on.
        let _ = entry.compare_exchange(seen, noted);
    }
}

/// Empties the entry of a descriptor.
#[inline(always)]
pub(crate) fn forget(fd: c_int) {
    if let Some(entry) = entry(fd) {
        put(entry, 0);
    }
}

/// Gives an entry that is not empty a reserved tag.
#[inline(always)]
pub(super) fn put(entry: &Word128, tag_now: u32) {
    let mut seen = entry.load();
    while tag(seen) != 0 {
        match entry.compare_exchange(seen, Pair { low: next_sequence(seen) | u64::from(tag_now), high: 0 }) {
            Ok(()) => return,
            Err(found) => seen = found,
        }
    }
}

/// The descriptors from `first` to `last` that may have an entry.
pub(super) fn within(first: u32, last: u32) -> core::ops::Range<c_int> {
    let end = BOUND.load().min(last.saturating_add(1));
    first.min(end) as c_int..end as c_int
}

/// True if some descriptor is known to belong to this instance.
pub(crate) fn any_of(tag_wanted: u32) -> bool {
    within(0, u32::MAX).any(|fd| entry(fd).is_some_and(|entry| tag(entry.load()) == tag_wanted))
}

/// True if any descriptor may be known.
#[inline(always)]
pub(crate) fn any() -> bool {
    entries::any()
}

/// This thread is about to get descriptors of its own (`unshare`).
#[cold]
pub(crate) fn parting() {
    // A `vfork` child has its own already.
    if !thread::borrows_memory() && !keeping_errno(is_alone) {
        entries::turn_off();
    }
}

/// Threads of this memory are about to have different descriptors for good (`clone`).
#[cold]
pub(crate) fn parted() {
    entries::turn_off();
}

/// True if this is the process's only thread, as far as is known.
fn is_alone() -> bool {
    const ALONE: libc::nlink_t = 3;
    // SAFETY: all bytes zero is a value.
    let mut tasks: libc::stat = unsafe { core::mem::zeroed() };
    // SAFETY: a string that ends with a zero, and a place for the answer.
    let known = unsafe { libc::fstatat(libc::AT_FDCWD, c"/proc/self/task".as_ptr(), &mut tasks, 0) } == 0;
    known && tasks.st_nlink == ALONE
}

/// True if some descriptor ever got a note.
pub(super) fn any_noted() -> bool {
    NOTED.load() != 0
}

/// The descriptors that may have an entry.
pub(super) fn all() -> core::ops::Range<c_int> {
    0..BOUND.load() as c_int
}

#[cfg(test)]
#[path = "../../tests/unit/descriptors/numbers.rs"]
mod tests;
