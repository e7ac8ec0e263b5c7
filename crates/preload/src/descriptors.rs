//! A cache of what this process knows about its descriptors, indexed by the descriptor. Its memory: `entries`.
//!
//! A descriptor carries its own identity (see [`ntux_sync::Arena::identify`]), so an entry may be dropped at any time:
//! the next ioctl restores it. The other direction matters: **an entry must not outlive its descriptor**, or an
//! operation would reach the object of an earlier descriptor with the same number.
//!
//! # Rules
//! * R1: a thread that closes a descriptor (close, dup2 over it, close_range) first marks its entry *closing*, then
//!   closes it, then empties the entry. Nobody fills a marked entry; an ioctl on that number queries the descriptor
//!   every time.
//! * R2: a thread that fills an entry queries the descriptor once more afterwards, and empties the entry if the answer
//!   differs. So an entry filled between the mark and the close of another thread does not stay.
//! * R3: every change increments the entry's sequence, so a late fill of an old number fails.
//!
//! An unknown descriptor is closed without a mark, at the cost of one load before and after. If its very first ioctl
//! races with its close, R2 and the second load decide. The one case not covered is a third thread that gets the same
//! number within those few instructions.
//!
//! # Interrupted, killed, forked
//! If a thread is suspended, cancelled or forked between mark and emptying, the entry stays *closing*, which is slow
//! but right. A `vfork` child that closes its copy empties the parent's entry, which is slow once, but right. A close
//! that bypasses the C library (a raw system call) is not seen, and not supported.

mod entries;

use crate::threads::{self, Record};
use crate::{device, instances};
use core::ffi::c_int;
use ntux_platform::atomic::{Pair, Word32, Word128};
use ntux_platform::{keeping_errno, memory};
use ntux_sync::{Arena, Error, Kind, Object};
use std::os::fd::BorrowedFd;

/// One entry: low half = instance tag (32 bits, 0 empty), what (3 bits), [`ARRIVED`] (1 bit), sequence (28 bits); high half =
/// object.
const EMPTY: Pair = Pair { low: 0, high: 0 };
/// One more than the highest descriptor that ever had an entry.
static BOUND: Word32 = Word32::new(0);

/// The tag that marks an entry whose descriptor is being closed.
const CLOSING: u32 = u32::MAX;
const WHAT_SHIFT: u32 = 32;
/// A message has brought it, and an exec would keep it.
const ARRIVED: u64 = 1 << 35;
const SEQUENCE_SHIFT: u32 = 36;

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

/// An observed entry, to be replaced only if it has not changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Seen(Pair);

#[inline(always)]
fn entry(fd: c_int) -> Option<&'static Word128> {
    entries::get(fd as u32)
}

fn tag(pair: Pair) -> u32 {
    pair.low as u32
}

/// Identifies a descriptor, from the table or by a query. The caller is inside.
#[inline(always)]
pub(crate) fn resolve(record: &Record, fd: c_int) -> Result<Known, NotOurs> {
    match look_up(fd) {
        (Some(known), _) if instances::in_use(known.tag) => Ok(known),
        (_, seen) => device::without_cancellation(|| ask(record, fd, seen)),
    }
}

#[cold]
fn ask(record: &Record, fd: c_int, seen: Seen) -> Result<Known, NotOurs> {
    let identity = identify(fd)?;
    // SAFETY: open a moment ago. If the program closes it meanwhile, another file is refused or is an arena as good.
    let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
    let tag = instances::find_or_add(identity.file, || Arena::map_for_descriptors(borrowed))
        .map_err(|why| NotOurs::Unavailable(device::unavailable(&why)))?;
    let what = match identity.object {
        None => What::Device,
        Some(object) => {
            let seated = record.seats.take(tag).ok_or(NotOurs::Changing)?;
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

/// What is known about a descriptor, and the entry to replace if that is nothing.
#[inline(always)]
pub(crate) fn look_up(fd: c_int) -> (Option<Known>, Seen) {
    let pair = entry(fd).map_or(EMPTY, Word128::load);
    (known(pair), Seen(pair))
}

#[inline(always)]
fn known(pair: Pair) -> Option<Known> {
    let tag = tag(pair);
    if tag == 0 || tag == CLOSING {
        return None;
    }
    let kind = match pair.low >> WHAT_SHIFT & 7 {
        0 => return Some(Known { tag, what: What::Device }),
        1 => Kind::Semaphore,
        2 => Kind::Mutex,
        3 => Kind::AutoEvent,
        _ => Kind::ManualEvent,
    };
    Some(Known { tag, what: What::Object(kind, Object(pair.high)) })
}

fn next_sequence(pair: Pair) -> u64 {
    (pair.low >> SEQUENCE_SHIFT).wrapping_add(1) << SEQUENCE_SHIFT
}

/// Fills an entry, unless it changed since it was seen or is being closed. The caller keeps rule R2.
pub(crate) fn remember(fd: c_int, seen: Seen, known: Known) {
    fill(fd, seen, known, 0);
}

/// As [`remember`], for a descriptor that a message has brought, and that an exec would keep.
pub(crate) fn remember_arrived(fd: c_int, seen: Seen, known: Known) {
    fill(fd, seen, known, ARRIVED);
}

/// The object of a descriptor that was remembered as arrived, once.
pub(crate) fn take_arrived(fd: c_int) -> Option<Known> {
    let entry = entry(fd)?;
    let seen = entry.load();
    let known = known(seen).filter(|_| seen.low & ARRIVED != 0)?;
    entry.compare_exchange(seen, Pair { low: seen.low & !ARRIVED, ..seen }).ok().map(|()| known)
}

fn fill(fd: c_int, seen: Seen, known: Known, flags: u64) {
    if tag(seen.0) == CLOSING || threads::borrows_memory() {
        return;
    }
    let Some(entry) = entries::get_or_map(fd as u32) else { return };
    let (what, high) = match known.what {
        What::Device => (0, 0),
        What::Object(Kind::Semaphore, object) => (1, object.0),
        What::Object(Kind::Mutex, object) => (2, object.0),
        What::Object(Kind::AutoEvent, object) => (3, object.0),
        What::Object(Kind::ManualEvent, object) => (4, object.0),
    };
    raise_bound(fd as u32 + 1);
    let low = next_sequence(seen.0) | flags | what << WHAT_SHIFT | u64::from(known.tag);
    let _ = entry.compare_exchange(seen.0, Pair { low, high });
}

fn raise_bound(bound: u32) {
    let mut seen = BOUND.load();
    while seen < bound {
        match BOUND.compare_exchange(seen, bound) {
            Ok(()) => return,
            Err(found) => seen = found,
        }
    }
}

/// Empties the entry of a descriptor.
#[inline(always)]
pub(crate) fn forget(fd: c_int) {
    if let Some(entry) = entry(fd) {
        put(entry, 0);
    }
}

/// R1 around `close`, which closes this descriptor. Its frame has no destructors: the real function may unwind.
#[inline(always)]
pub(crate) fn closed_by<R>(fd: c_int, close: impl FnOnce() -> R) -> R {
    closing(fd);
    let result = close();
    forget(fd);
    result
}

/// As [`closed_by`], for all descriptors from `first` to `last`.
#[inline(always)]
pub(crate) fn all_closed_by<R>(first: u32, last: u32, close: impl FnOnce() -> R) -> R {
    within(first, last).for_each(closing);
    let result = close();
    within(first, last).for_each(forget);
    result
}

/// Whether any descriptor may be known.
#[inline(always)]
pub(crate) fn any() -> bool {
    entries::any()
}

/// This thread is about to get descriptors of its own (`unshare`).
#[cold]
pub(crate) fn parting() {
    // A `vfork` child has its own already.
    if !threads::borrows_memory() && !keeping_errno(is_alone) {
        entries::turn_off();
    }
}

/// Threads of this memory are about to have different descriptors for good (`clone`).
#[cold]
pub(crate) fn parted() {
    entries::turn_off();
}

/// Whether this is the process's only thread, as far as is known.
fn is_alone() -> bool {
    const ALONE: libc::nlink_t = 3;
    // SAFETY: all bytes zero is a value.
    let mut tasks: libc::stat = unsafe { core::mem::zeroed() };
    // SAFETY: a string that ends with a zero, and a place for the answer.
    let known = unsafe { libc::fstatat(libc::AT_FDCWD, c"/proc/self/task".as_ptr(), &mut tasks, 0) } == 0;
    known && tasks.st_nlink == ALONE
}

/// Marks the entry of a descriptor that is about to be closed. [`forget`] follows after the close.
#[inline(always)]
fn closing(fd: c_int) {
    let Some(entry) = entry(fd) else { return };
    if let (Some(Known { tag, what: What::Object(_, object) }), _) = look_up(fd) {
        count_copies(fd, tag, object);
    }
    put(entry, CLOSING);
}

/// Lets the kernel count the copies that are left of an object's descriptor, if it does not yet. The error number stays
/// as it was. A `vfork` child leaves that to its parent, which still has the descriptor.
#[cold]
fn count_copies(fd: c_int, tag: u32, object: Object) {
    if threads::borrows_memory() {
        return;
    }
    let Some(record) = threads::enter() else { return };
    keeping_errno(|| {
        if let Some(seated) = record.seats.take(tag) {
            // SAFETY: the program's own descriptor, which it closes after this; if it is not open any more, nothing
            // happens.
            seated.arena.closing(unsafe { BorrowedFd::borrow_raw(fd) }, object);
        }
    });
    let _ = threads::leave(record);
}

/// Gives an entry that is not empty a reserved tag.
#[inline(always)]
fn put(entry: &Word128, tag_now: u32) {
    let mut seen = entry.load();
    while tag(seen) != 0 {
        match entry.compare_exchange(seen, Pair { low: next_sequence(seen) | u64::from(tag_now), high: 0 }) {
            Ok(()) => return,
            Err(found) => seen = found,
        }
    }
}

/// The descriptors from `first` to `last` that may have an entry.
fn within(first: u32, last: u32) -> core::ops::Range<c_int> {
    let end = BOUND.load().min(last.saturating_add(1));
    first.min(end) as c_int..end as c_int
}

/// Whether some descriptor is known to belong to an instance.
pub(crate) fn any_of(tag_wanted: u32) -> bool {
    within(0, u32::MAX).any(|fd| entry(fd).is_some_and(|entry| tag(entry.load()) == tag_wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Each test uses its own descriptors, because the process has one table.
    const EVENT: Known = Known { tag: 7, what: What::Object(Kind::ManualEvent, Object(0x1234_5678_9abc_def0)) };

    #[test]
    fn remembers_every_kind() {
        let kinds = [Kind::Semaphore, Kind::Mutex, Kind::AutoEvent, Kind::ManualEvent];
        let objects = kinds.map(|kind| What::Object(kind, Object(u64::MAX - 1)));
        for what in objects.into_iter().chain([What::Device]) {
            let known = Known { tag: 9, what };
            let (before, seen) = look_up(900);
            assert_eq!(before, None);
            remember(900, seen, known);
            assert_eq!(look_up(900).0, Some(known));
            assert!(any_of(9));
            forget(900);
        }
        assert_eq!(look_up(900).0, None);
    }

    #[test]
    fn a_late_fill_fails() {
        let (_, seen) = look_up(901);
        remember(901, seen, EVENT);
        forget(901);
        remember(901, seen, EVENT);
        assert_eq!(look_up(901).0, None, "the entry changed since it was seen");
    }

    #[test]
    fn nobody_fills_an_entry_that_is_being_closed() {
        let (_, seen) = look_up(902);
        remember(902, seen, EVENT);
        closing(902);
        let (known, seen) = look_up(902);
        assert_eq!(known, None);
        remember(902, seen, EVENT);
        assert_eq!(look_up(902).0, None);
        forget(902);
        remember(902, look_up(902).1, EVENT);
        assert_eq!(look_up(902).0, Some(EVENT));
        assert!(within(0, u32::MAX).contains(&902) && !within(0, 901).contains(&902));
    }

    #[test]
    fn numbers_out_of_range_are_never_known() {
        for fd in [-1, entries::REMEMBERED as c_int, c_int::MAX, c_int::MIN] {
            let (known, seen) = look_up(fd);
            assert_eq!(known, None);
            remember(fd, seen, EVENT);
            forget(fd);
            assert_eq!(look_up(fd).0, None);
        }
    }
}
