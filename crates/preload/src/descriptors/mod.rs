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
//! * R4: an entry notes that its descriptor is *counted* ([`ntux_sync::Arena::may_release`]) if this process made it, received it, copied a
//!   counted one, or was forked with it. A copy is counted before it is made ([`begin_copy`]), and a close after it is done; no handler
//!   runs in between. A thread that forks has the child's family claim what the child will have ([`before_fork`]). Where a fork is going on, or was, while a descriptor came or goes,
//!   nobody knows whether the child has it, and the kernel counts the copies from then on. So it does if the descriptor can have no entry, and
//!   if a close has taken the note while the descriptor is copied.
//!
//! An unknown descriptor is closed without a mark, at the cost of one load before and after. If its very first ioctl
//! races with its close, R2 and the second load decide. The one case not covered is a third thread that gets the same
//! number within those few instructions.
//!
//! # Interrupted, killed, forked
//! If a thread is suspended, cancelled or forked between mark and emptying, the entry stays *closing*, which is slow
//! but right. A `vfork` child that closes its copy of an object's descriptor leaves the parent's entry alone. A close
//! that bypasses the C library (a raw system call) is not seen, and not supported.

mod entries;
pub(crate) mod leaving;
mod receivers;
pub(crate) mod receiving;
pub(crate) mod starting;
pub(crate) mod strangers;

use crate::c_library::next;
use crate::device;
use crate::instances::{self, traced};
use crate::thread::{self, OwnMemory, Record};
use core::cell::Cell;
use core::ffi::{c_int, c_long};
use ntux_platform::atomic::{Pair, Word32, Word64, Word128};
use ntux_platform::memory::{self, FileId};
use ntux_platform::{keeping_errno, protection};
use ntux_sync::{Arena, Error, Gone, Kind, Object, Page};
use std::os::fd::BorrowedFd;

/// One entry: low half = instance tag (32 bits, 0 empty), what (3 bits), [`COUNTED`], [`FORKED`] (1 bit each), sequence (27 bits); high half = object.
const EMPTY: Pair = Pair { low: 0, high: 0 };
/// One more than the highest descriptor that ever had an entry.
static BOUND: Word32 = Word32::new(0);

/// One more than the highest descriptor that ever got a note.
static NOTED: Word32 = Word32::new(0);
/// Counted forks that are going on (lower half), and those that were (upper half).
static FORKS: Word64 = Word64::new(0);
const FORK_GOING_ON: u64 = 1;
const FORK_ENDED: u64 = (1 << 32) - 1;
const FORK_BEFORE_NOW: u64 = 1 << 32;
/// Not 0 once forks are counted ([`counts_forks`]).
static COUNTING: Word32 = Word32::new(0);
/// Not 0 if the process was forked in a way that does not say when (`syscall`): no note counts any more.
pub(crate) static FORKED_UNSEEN: Word32 = Word32::new(0);

/// A moment before a descriptor came. It can be counted only if no fork was going on then, or has begun since.
#[derive(Clone, Copy)]
pub(crate) struct Moment(u64);

impl Moment {
    #[inline(always)]
    pub(crate) fn now() -> Moment {
        // While forks are not counted, nobody knows whether one is going on.
        Moment(if counts_forks() { FORKS.load() } else { FORK_GOING_ON })
    }

    fn is_forkless_since(self) -> bool {
        self.0 as u32 == 0 && FORKS.load() == self.0
    }
}

/// The tag that marks an entry whose descriptor is being closed.
const CLOSING: u32 = u32::MAX;
const WHAT_SHIFT: u32 = 32;
const WHAT_MASK: u64 = 7;
/// The process's family counts it.
const COUNTED: u64 = 1 << 35;
/// It was there when the process forked, or was forked.
const FORKED: u64 = 1 << 36;
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
    let tag = instances::find_or_add(identity.file, || traced::map(borrowed))
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
    let kind = match pair.low >> WHAT_SHIFT & WHAT_MASK {
        0 => return Some(Known { tag, what: What::Device }),
        1 => Kind::Semaphore,
        2 => Kind::Mutex,
        3 => Kind::AutoEvent,
        _ => Kind::ManualEvent,
    };
    Some(Known { tag, what: What::Object(kind, Object(pair.high)) })
}

/// The tag and the object in the entry of a descriptor, if it has one. The tag need not be that of an instance.
#[inline(always)]
pub(crate) fn noted_object(fd: c_int) -> Option<(u32, Object)> {
    let pair = entry(fd)?.load();
    (pair.low & WHAT_MASK << WHAT_SHIFT != 0).then_some((tag(pair), Object(pair.high)))
}

/// Whether a descriptor is known to mean this instance as a whole. The tag is that of an instance.
#[inline(always)]
pub(crate) fn is_device_of(fd: c_int, tag: u32) -> bool {
    const ABOUT: u64 = WHAT_MASK << WHAT_SHIFT | u32::MAX as u64;
    entry(fd).is_some_and(|entry| entry.load_low() & ABOUT == u64::from(tag))
}

fn next_sequence(pair: Pair) -> u64 {
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
    record: &'static Record,
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
    if record.seats.take(known.tag).is_some_and(|seated| seated.arena.copying(object)) {
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
        let Some(seated) = record.seats.take(known.tag) else { return };
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

/// Changes an entry that is about a descriptor, and takes its note away. Returns the tag.
fn unnote(fd: c_int) -> u32 {
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

/// If this descriptor is open, the kernel counts the copies of its object from now on, and the arena says so: another thread is
/// closing it, nobody counts it, or a program will have a copy.
#[cold]
pub(crate) fn say_counted(fd: c_int) {
    let Some(record) = thread::enter() else { return };
    keeping_errno(|| {
        if let Ok(Known { tag, what: What::Object(_, object) }) = identify_met(record, fd)
            && let Some(seated) = record.seats.take(tag)
        {
            // SAFETY: the program's own descriptor; if it is not open any more, nothing happens.
            seated.arena.taken(unsafe { BorrowedFd::borrow_raw(fd) }, object);
        }
    });
    let _ = thread::leave(record);
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

/// As [`identify_met`], for a descriptor that matters only if it is an object's: a file at its start need not be looked at.
pub(crate) fn object_arrived(record: &Record, fd: c_int) -> Option<Known> {
    // SAFETY: the kernel has just given it to this process; it is only asked.
    let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
    let offset = memory::offset(borrowed).ok().filter(|offset| *offset != 0)?;
    object_met(record, memory::regular_file(borrowed).ok().flatten()?, offset)
}

fn object_met(record: &Record, file: FileId, offset: u64) -> Option<Known> {
    let tag = instances::tag_of(file).filter(|_| offset != 0)?;
    let kind = record.seats.take(tag)?.arena.kind(Object(offset)).ok()?;
    Some(Known { tag, what: What::Object(kind, Object(offset)) })
}

/// Has the kernel count the copies of a descriptor that came unseen. Returns false if its object has ended.
pub(crate) fn take(record: &Record, fd: c_int) -> bool {
    let Ok(identity) = identify(fd) else { return true };
    let Some(object) = identity.object else { return true };
    // SAFETY: the caller has just got it.
    let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
    let tag = instances::find_or_add(identity.file, || traced::map(borrowed));
    match tag.ok().and_then(|tag| record.seats.take(tag)) {
        Some(seated) => seated.arena.taken(borrowed, object),
        None => {
            Arena::leaving(borrowed);
            true
        }
    }
}

/// Whether forks are counted. Each count is written thrice to a page that the fork has just made common, so it is copied. A process
/// with one thread that never met the device has nothing to note, and nobody who could do it during a fork.
#[inline(always)]
#[unsafe(link_section = ".text.ntux_start")]
fn counts_forks() -> bool {
    COUNTING.load() != 0 || begins_to_count()
}

#[inline(never)]
#[unsafe(link_section = ".text.ntux_start")]
fn begins_to_count() -> bool {
    let begins = instances::any() || !next::is_single_threaded();
    if begins {
        COUNTING.store(1);
    }
    begins
}

/// A thread is about to be made without the C library, which would not know of it.
pub(crate) fn count_forks() {
    COUNTING.store(1);
}

/// This process is about to fork: its children will have copies. Async-signal-safe.
#[cold]
#[unsafe(link_section = ".text.ntux_start")]
pub(crate) fn before_fork() {
    if !counts_forks() {
        return;
    }
    FORKS.fetch_add(FORK_GOING_ON);
    if NOTED.load() == 0 {
        return;
    }
    let Some(record) = thread::enter() else { return unnote_all() };
    keeping_errno(|| {
        let gone: [Gone; FORK_MARKS] = Default::default();
        for fd in 0..BOUND.load() as c_int {
            bequeath(record, fd, &gone);
        }
    });
    let has_marked = record.fork_marks.any();
    // A handler may run here, and fork.
    let _ = thread::leave(record);
    if has_marked && !record.fork_marks.any() {
        unnote_all();
    }
}

fn unnote_all() {
    for fd in 0..BOUND.load() as c_int {
        unnote(fd);
    }
}

/// Has the child's family claim what it will have by this descriptor; if it has none, nobody counts the descriptor any more.
fn bequeath(record: &Record, fd: c_int, gone: &[Gone; FORK_MARKS]) {
    let Some(seen) = entry(fd).map(Word128::load) else { return };
    let Some(Known { tag, what: What::Object(_, object) }) = known(seen) else { return };
    let Some(seated) = record.seats.take(tag) else { return };
    // SAFETY: the program's own descriptor; if it is closed meanwhile, another file is refused.
    let via = unsafe { BorrowedFd::borrow_raw(fd) };
    match record.fork_marks.get_or(tag, || seated.arena.found_for_child(via).ok()) {
        Some((place, child)) => {
            seated.arena.inherit(via, object, child, seen.low & COUNTED != 0, &gone[place]);
            note_fork(fd, seen);
        }
        None => {
            unnote(fd);
        }
    }
}

fn note_fork(fd: c_int, seen: Pair) {
    let noted = Pair { low: seen.low | FORKED, ..seen };
    if noted != seen
        && let Some(entry) = entry(fd)
    {
        // One that has changed is being closed, while a fork is going on.
        let _ = entry.compare_exchange(seen, noted);
    }
}

/// The fork is over, in the process that forked.
#[unsafe(link_section = ".text.ntux_start")]
pub(crate) fn after_fork() {
    if COUNTING.load() == 0 {
        return;
    }
    if FORKS.load() as u32 != 0 {
        FORKS.fetch_add(FORK_ENDED);
    } else {
        // A handler that ran during the fork was the first to use the device.
        FORKS.fetch_add(FORK_BEFORE_NOW);
        unnote_all();
    }
    if let Some(record) = thread::current() {
        record.fork_marks.unmap();
    }
}

/// The fork is over, in the child, which has one thread.
#[unsafe(link_section = ".text.ntux_start")]
pub(crate) fn forked() {
    let forks = FORKS.load();
    if forks as u32 != 0 {
        FORKS.store(forks >> 32 << 32);
    }
    thread::take_families();
}

/// The families of one instance that a thread has found to be gone.
pub(crate) struct KnownGone {
    tag: Cell<u32>,
    gone: Gone,
}

impl KnownGone {
    fn of(&self, tag: u32) -> &Gone {
        if self.tag.replace(tag) != tag {
            self.gone.forget();
        }
        &self.gone
    }
}

/// Instances of which a child gets a family.
const FORK_MARKS: usize = 4;

/// The families that a thread that forks has founded for its child.
pub(crate) struct ForkMarks([ForkMark; FORK_MARKS]);

struct ForkMark {
    tag: Word32,
    family: Word32,
    /// Of the family's page; 0 for none.
    address: Word64,
}

impl ForkMarks {
    /// The place and the family of this instance's, which is founded now if there is none.
    fn get_or(&self, tag: u32, found: impl FnOnce() -> Option<Page>) -> Option<(usize, u32)> {
        let number = self.0.iter().position(|place| matches!(place.tag.load(), found if found == tag || found == 0))?;
        let place = &self.0[number];
        if place.tag.load() == 0 {
            place.tag.store(tag);
            if let Some((family, address)) = found().map(Page::into_parts) {
                place.family.store(family);
                place.address.store(address as u64);
            }
        }
        (place.address.load() != 0).then(|| (number, place.family.load()))
    }

    pub(crate) fn any(&self) -> bool {
        self.0.iter().any(|place| place.address.load() != 0)
    }

    fn unmap(&self) {
        for place in &self.0 {
            let address = place.address.load();
            if address != 0 {
                // SAFETY: mapped by `get_or`, of this length; nothing refers to it.
                let _ = unsafe { protection::free(address as usize, protection::page_size()) };
            }
        }
        self.forget();
    }

    /// The child is the family that its parent founded for it.
    #[unsafe(link_section = ".text.ntux_start")]
    pub(crate) fn take(&self) {
        for place in &self.0 {
            let address = place.address.load();
            if address != 0
                && let Some(arena) = instances::of_one_thread(place.tag.load())
            {
                // SAFETY: the only thread of a forked child; the page was founded for it.
                unsafe { arena.take_family(place.family.load(), address as usize) };
            }
        }
        self.forget();
    }

    /// There is none any more.
    pub(crate) fn forget(&self) {
        for place in &self.0 {
            if place.tag.load() != 0 {
                place.address.store(0);
                place.tag.store(0);
            }
        }
    }
}

/// Returns whether that was done.
fn fill(fd: c_int, seen: Seen, known: Known, notes: u64, _own: OwnMemory) -> bool {
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
    closed_by_owner(fd, None, None, close)
}

/// As [`closed_by`], by a thread that may have asked already whether the memory is its process's own, and may be inside.
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

/// As [`closed_by`], for a call that returns a negative number if it has not closed the descriptor. Of a counted descriptor it
/// tells the arena afterwards. `may_cancel`: whether the call is a point where the thread can be cancelled.
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

/// As [`released_by`], for a call that puts a copy of another descriptor in its place. A `vfork` child that does so goes on with
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
        device::end_if_cancelled();
    }
    let Some(record) = inside.or_else(thread::enter) else { return closed_by(fd, close) };
    let marked = Pair { low: next_sequence(seen) | u64::from(CLOSING), high: 0 };
    let seated = record.seats.take(tag).filter(|seated| seated.arena.may_release(object));
    let Some((seated, entry)) = seated.zip(entry(fd)).filter(|(_, entry)| entry.compare_exchange(seen, marked).is_ok())
    else {
        leave_unless(inside, record);
        return closed_by_owner(fd, Some(own), inside, close);
    };
    // SAFETY: the program's own descriptor, or not open any more.
    let let_the_kernel_count = || keeping_errno(|| seated.arena.closing(unsafe { BorrowedFd::borrow_raw(fd) }, object));
    // A child may have been told of the descriptor, and not have it.
    let is_forking = FORKS.load() as u32 != 0;
    if is_forking {
        let_the_kernel_count();
    } else if seen.low & FORKED != 0 {
        // SAFETY: as above.
        keeping_errno(|| seated.arena.bury_claims(unsafe { BorrowedFd::borrow_raw(fd) }, object, record.gone.of(tag)));
    }
    let result = device::without_cancellation(close);
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

/// As [`closed_by`], for all descriptors from `first` to `last`.
#[inline(always)]
pub(crate) fn all_closed_by<R>(first: u32, last: u32, close: impl FnOnce() -> R) -> R {
    within(first, last).for_each(|fd| closing(fd, None, None));
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
    if !thread::borrows_memory() && !keeping_errno(is_alone) {
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
        if let Some(seated) = record.seats.take(tag) {
            // SAFETY: the program's own descriptor, which it closes after this; if it is not open any more, nothing
            // happens.
            seated.arena.closing(unsafe { BorrowedFd::borrow_raw(fd) }, object);
        }
    });
    leave_unless(inside, record);
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
        closing(902, None, None);
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
