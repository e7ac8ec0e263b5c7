// SPDX-License-Identifier: MIT OR Apache-2.0
//! Objects as descriptors: the kernel counts the references.
//!
//! An object's descriptor is an open file description of the arena's file. Its offset is the object's number, so any
//! receiver can identify the object. All copies, in any process or in flight in a socket, share that one description. A
//! file lock of a description, on a byte far beyond the end of the file, lives exactly as long as the last copy, even
//! if processes are killed. Offset 0 is the arena itself (the *device*).
//!
//! # Families
//! Every lock makes every other lock and close of the file slower (13 ns each, measured). So an object has none while
//! the processes that can have its descriptor are known anyway. A *family* is one process that has mapped the arena, with all its
//! threads. It locks the byte of its number: by a description that has no descriptor, only a mapping of one page ([`Page`]), which the
//! kernel removes when the process ends or executes a program. So the kernel knows when the family is gone. How many copies each family
//! has of an object is said in the object's claims ([`super::claims`]).
//!
//! A process that forks founds a family for its child before ([`Arena::found_for_child`]), and claims for it what the child will have
//! ([`Arena::inherit`]). The child takes its own page and unmaps its parent's ([`Arena::take_family`]); the parent unmaps the child's. A child
//! for which that was not done (a fork by a raw system call) stands by its parent's page, which it has inherited: the parent's
//! objects live as long as both. Such a child's own objects lock their own byte, until it founds a family of its own ([`Arena::found_family`]).
//!
//! An object has two bytes: its own, which is never let go of, and its flight's, for messages.
//!
//! | the descriptors of an object | byte that is held | its slot is free when |
//! | --- | --- | --- |
//! | are counted by the families that claim it | those of the families | they are gone, or have closed all; at once in the second case |
//! | some are in messages ([`Arena::sending`]) | also its flight's | that is free, too |
//! | will be kept across an exec ([`Arena::leaving`]) | also its own | that and all families are gone |
//! | one is closed that nobody counted, or came where nobody counts ([`Arena::closing`], [`Arena::received`]) | its own, and meta says `locked` | its own is gone |
//!
//! # Order
//! * O-family: who looks for references asks for the families first and for the object's bytes second. A member takes
//!   a byte before a copy leaves. So if the families were gone, whatever had left them was held before the second look, unless
//!   it has arrived since: O-claims.
//! * O-founded: a family's number is used again only after its byte was taken and `founded` in the header counted. So a family that was
//!   found to be gone is gone as long as that number is the same ([`Gone`]), if the claim was read before the number.
//!
//! # Death
//! A process that is killed between taking the own byte and saying so in meta leaves an object that counts as its
//! families' *and* as held: found when both are gone. Of messages, copies and forks: [`super::claims`].

use std::cell::Cell;
use std::os::fd::{AsFd, BorrowedFd};

use ntux_platform::atomic::{Pair, Word64, Word128};
use ntux_platform::error::EBADF;
use ntux_platform::liveness;
use ntux_platform::memory::{self, Caller, FileId, Mapping};
use ntux_platform::protection::{self, page_size};

use super::claims::Claims;
use super::{Arena, read_capacity};
use crate::format::limits::{FAMILIES_MAX, RETRIES};
use crate::format::meta::Meta;
use crate::{Error, Object, Result};

/// The own byte of object 0. Its flight's is the next one, and then the next object's own.
const OBJECTS: u64 = 1 << 62;
const BYTES: u32 = 2;
/// The byte that stands for family 0.
const FAMILIES: u64 = OBJECTS + (1 << 32);
/// A byte that is nobody's.
const BEYOND_FAMILIES: u64 = FAMILIES + FAMILIES_MAX as u64;
/// How often a sender looks whether a message has landed: its receiver makes one system call in between.
const LANDING_LOOKS: u32 = 256;

/// The identity of a descriptor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Identity {
    /// The arena's file.
    pub file: FileId,
    /// The object; none for the arena itself.
    pub object: Option<Object>,
}

/// The family of a process.
#[derive(Clone, Copy)]
struct Family {
    /// The byte that it locks.
    number: u32,
    /// The number of the process that founded it, or for which it was.
    founder: u32,
    /// The lineage of that process, which no other member has.
    lineage: u64,
}

impl Family {
    fn is_founded_here(self) -> bool {
        self.lineage == liveness::lineage()
    }
}

/// A family's page: while it is mapped somewhere, the family is there. Unmapped on drop.
pub struct Page {
    family: u32,
    mapping: Mapping,
}

impl Page {
    /// The number of the family.
    pub fn family(&self) -> u32 {
        self.family
    }

    /// The number of the family, and the address of the page, which is one page long and stays mapped.
    pub fn into_parts(self) -> (u32, usize) {
        let address = self.mapping.base().as_ptr() as usize;
        std::mem::forget(self.mapping);
        (self.family, address)
    }
}

/// The family of this process, as its threads see it, and its page.
pub(crate) struct OwnFamily {
    /// The family's number plus one (lowest 32 bits; 0: none), the number of the process that founded it, and that process's lineage.
    word: Word128,
    /// 0 for none.
    page: Word64,
}

impl OwnFamily {
    pub(crate) const fn none() -> OwnFamily {
        OwnFamily { word: Word128::new(Pair { low: 0, high: 0 }), page: Word64::new(0) }
    }

    fn get(&self) -> Option<Family> {
        let Pair { low, high } = self.word.load();
        Some(Family { number: (low as u32).checked_sub(1)?, founder: (low >> 32) as u32, lineage: high })
    }

    /// That of a family of this process.
    fn get_own(&self) -> Option<Family> {
        self.get().filter(|family| family.is_founded_here())
    }

    /// Takes a family that was just founded, unless another thread was faster. What was the page before is inherited, and stays: it
    /// stands for copies of which only the parent process knew.
    fn found(&self, page: Page) {
        if self.exchange(page.family) {
            self.page.store(page.into_parts().1 as u64);
        }
    }

    /// Takes a family that the parent process has founded, and leaves the parent's. If it has one already, this one stays, too.
    ///
    /// # Safety
    /// As for [`Arena::take_family`].
    #[inline(always)]
    unsafe fn take(&self, family: u32, page: usize) {
        liveness::learn_lineage();
        if self.exchange(family) {
            let before = self.page.load();
            self.page.store(page as u64);
            if before != 0 {
                // SAFETY: mapped for this, of this length, and nothing refers to it.
                let _ = unsafe { protection::free(before as usize, page_size()) };
            }
        }
    }

    #[inline(always)]
    fn exchange(&self, family: u32) -> bool {
        let before = self.word.load();
        let low = u64::from(liveness::process_id()) << 32 | (u64::from(family) + 1);
        let mine = Pair { low, high: liveness::lineage() };
        self.get_own().is_none() && self.word.compare_exchange(before, mine).is_ok()
    }
}

impl Drop for OwnFamily {
    fn drop(&mut self) {
        let page = self.page.load();
        if page != 0 {
            // SAFETY: mapped for this, of this length, and nothing refers to it.
            let _ = unsafe { protection::free(page as usize, page_size()) };
        }
    }
}

/// Families that were found to be gone: the kernel is asked once about each, as long as no other one is founded.
#[derive(Default)]
pub struct Gone {
    founded: Cell<u32>,
    /// The numbers plus one; 0 for none.
    known: [Cell<u32>; 8],
    next: Cell<usize>,
}

impl Gone {
    /// Forgets what is known, because the next question is about another arena.
    pub fn forget(&self) {
        self.known.iter().for_each(|known| known.set(0));
    }

    fn knows(&self, family: u32) -> bool {
        self.known.iter().any(|known| known.get() == family + 1)
    }

    /// Returns true if this family of a claim that was read before is gone.
    fn has(&self, arena: &Arena, via: BorrowedFd<'_>, family: u32) -> bool {
        // O-founded
        let founded = arena.header().founded.load();
        if self.founded.replace(founded) != founded {
            self.forget();
        }
        if self.knows(family) {
            return true;
        }
        let gone = is_gone(via, family);
        if gone {
            self.known[self.next.get() % self.known.len()].set(family + 1);
            self.next.set(self.next.get() + 1);
        }
        gone
    }
}

/// When the kernel does not say, it may be there.
fn is_gone(via: BorrowedFd<'_>, family: u32) -> bool {
    memory::is_held(via, FAMILIES + u64::from(family), 1).is_ok_and(|held| !held)
}

/// See [`Arena::map_for_descriptors`].
pub(crate) fn map_for_descriptors(fd: BorrowedFd<'_>) -> Result<Arena> {
    // Only a regular file is opened again, because opening others can have side effects, or block.
    let file = memory::regular_file(fd).ok().flatten();
    let description = match file.map(|file| memory::reopen(fd, file, Caller::AnyThread)) {
        Some(Ok(description)) => description,
        // It is another file's number by now, and what that is must not be mapped.
        Some(Err(error)) if error.raw_os_error() == Some(EBADF) => return Err(Error::from_io(error)),
        Some(Err(_)) | None => return Arena::over(fd),
    };
    // The mapping keeps this description, which holds nothing, and not that of an object.
    let arena = Arena::over(description.as_fd())?;
    found_family(&arena, description.as_fd());
    Ok(arena)
}

/// See [`Arena::found_family`].
pub(crate) fn found_family(arena: &Arena, via: BorrowedFd<'_>) {
    if arena.family.get_own().is_none()
        && let Ok(page) = found(arena, via)
    {
        arena.family.found(page);
    }
}

/// See [`Arena::found_for_child`].
pub(crate) fn found_for_child(arena: &Arena, via: BorrowedFd<'_>) -> Result<Page> {
    arena.family.get_own().ok_or(Error::Invalid)?;
    found(arena, via)
}

fn found(arena: &Arena, via: BorrowedFd<'_>) -> Result<Page> {
    let description = memory::reopen(via, arena.file, Caller::AnyThread).map_err(Error::from_io)?;
    let family = lock_family(arena, description.as_fd()).ok_or(Error::Exhausted)?;
    // The mapping keeps this description alive, and with it the lock.
    let mapping = Mapping::new(description.as_fd(), page_size()).map_err(Error::from_io)?;
    Ok(Page { family, mapping })
}

/// See [`Arena::take_family`].
///
/// # Safety
/// The contract is that function's.
#[inline(always)]
pub(crate) unsafe fn take_family(arena: &Arena, family: u32, page: usize) {
    // SAFETY: the caller's promise.
    unsafe { arena.family.take(family, page) }
}

/// See [`Arena::can_make_descriptors`].
pub(crate) fn can_make_descriptors(arena: &Arena, via: BorrowedFd<'_>) -> Result<()> {
    if arena.family.get().is_some() {
        return Ok(()); // Founding it took the same calls.
    }
    let own = memory::reopen(via, arena.file, Caller::AnyThread).map_err(Error::from_io)?;
    memory::hold(own.as_fd(), BEYOND_FAMILIES).map_err(Error::from_io)
}

/// Locks a free family byte.
fn lock_family(arena: &Arena, description: BorrowedFd<'_>) -> Option<u32> {
    let first = arena.header().families.fetch_add(1);
    let mut candidates = (0..FAMILIES_MAX).map(|step| first.wrapping_add(step) % FAMILIES_MAX);
    let family = candidates
        .find(|&family| memory::hold_alone(description, FAMILIES + u64::from(family)).is_ok_and(|taken| taken))?;
    // O-founded
    arena.header().founded.fetch_add(1);
    if first >= FAMILIES_MAX {
        bury_family(arena, description, family);
    }
    Some(family)
}

/// See [`Arena::identify`].
pub(crate) fn identify(fd: BorrowedFd<'_>) -> Result<Identity> {
    let file = sealed_file(fd)?;
    read_capacity(fd)?;
    let offset = memory::offset(fd).map_err(Error::from_io)?;
    Ok(Identity { file, object: (offset != 0).then_some(Object(offset)) })
}

/// See [`Arena::can_be_behind`].
pub(crate) fn sealed_file(fd: BorrowedFd<'_>) -> Result<FileId> {
    let file = memory::regular_file(fd).map_err(Error::from_io)?.ok_or(Error::NotAnArena)?;
    if memory::cannot_shrink(fd) { Ok(file) } else { Err(Error::NotAnArena) }
}

/// See [`Arena::leaving`].
pub(crate) fn leaving(fd: BorrowedFd<'_>) -> bool {
    let Ok(identity) = identify(fd) else { return false };
    if let Some(object) = identity.object {
        // A refused lock (no memory for it) leaves the object to the family.
        let _ = hold(fd, object.index());
    }
    true
}

/// See [`Arena::closing`].
pub(crate) fn closing(arena: &Arena, fd: BorrowedFd<'_>, object: Object) {
    let founder_will = arena.family.get().is_some_and(|family| {
        !family.is_founded_here()
            && answers_for(arena, family, object.index())
            && !liveness::is_number_free(family.founder)
    });
    if !founder_will {
        count(arena, fd, object);
    }
}

/// See [`Arena::inherit`].
pub(crate) fn inherit(arena: &Arena, fd: BorrowedFd<'_>, object: Object, child: u32, counted: bool, gone: &Gone) {
    let Some(family) = arena.family.get_own() else { return };
    // O-heir
    let claim = |claims: Claims, _| {
        let counted = counted && claims.are_counted(family.number);
        let is_gone = |other: u32| other != family.number && gone.has(arena, fd, other);
        claims.has(family.number).then(|| claims.inherited(child, counted, is_gone))?
    };
    // Without a claim of the parent's, a byte of the description stands for the copy.
    if change_claims(arena, object, claim).is_none() && answers_for(arena, family, object.index()) {
        count(arena, fd, object);
    }
}

/// See [`Arena::bury_claims`].
pub(crate) fn bury_claims(arena: &Arena, fd: BorrowedFd<'_>, object: Object, gone: &Gone) {
    let own = arena.family.get().map(|family| family.number);
    change_claims(arena, object, |claims, _| {
        let dead = claims.families().filter(|family| Some(*family) != own && gone.has(arena, fd, *family));
        Some(dead.fold(claims, Claims::buried)).filter(|rest| *rest != claims)
    });
}

/// See [`Arena::may_release`].
pub(crate) fn may_release(arena: &Arena, object: Object) -> bool {
    let Some(family) = arena.family.get_own() else { return false };
    let claims = claims(arena, object.index());
    uncounted(arena, object).is_some() && claims.are_counted(family.number)
}

/// See [`Arena::copying`].
pub(crate) fn copying(arena: &Arena, object: Object) -> bool {
    let Some(family) = arena.family.get_own() else { return false };
    change_claims(arena, object, |claims, _| claims.copied(family.number)).is_some()
}

/// See [`Arena::released`].
pub(crate) fn released(arena: &Arena, object: Object) {
    let Some(family) = arena.family.get() else { return };
    // O-close
    if let Some((meta, _, rest)) = change_claims(arena, object, |claims, _| claims.released(family.number))
        && rest.are_nobodys()
    {
        arena.free_object(object.index(), meta);
    }
}

/// See [`Arena::sending`].
pub(crate) fn sending(arena: &Arena, fd: BorrowedFd<'_>, object: Object) -> bool {
    let index = object.index();
    let mine = |family: Family| uncounted(arena, object).is_some() && answers_for(arena, family, index);
    let is_landing = || claims(arena, index).are_landing();
    let announced = arena.family.get().is_some_and(mine)
        && (0..LANDING_LOOKS).any(|_| !is_landing())
        && change_claims(arena, object, |claims, _| claims.sent()).is_some();
    if announced {
        // A refused lock (no memory for it) leaves the object to the families.
        let _ = memory::hold(fd, flight_of(index));
    } else {
        count(arena, fd, object);
    }
    announced
}

/// See [`Arena::unsent`].
pub(crate) fn unsent(arena: &Arena, fd: BorrowedFd<'_>, object: Object) {
    if let Some((_, _, rest)) = change_claims(arena, object, |claims, _| claims.refused()) {
        land(arena, fd, object, rest);
    }
}

/// See [`Arena::arrived`].
pub(crate) fn arrived(arena: &Arena, fd: BorrowedFd<'_>, object: Object) -> bool {
    let Some(family) = arena.family.get_own() else { return false };
    let claim = |claims: Claims, _| claims.arriving(family.number, |family| is_gone(fd, family));
    let Some((.., rest)) = change_claims(arena, object, claim) else { return false };
    land(arena, fd, object, rest);
    rest.are_counted(family.number)
}

/// Lets go of the flight's byte, if the last message has landed.
fn land(arena: &Arena, fd: BorrowedFd<'_>, object: Object, rest: Claims) {
    // O-claims
    if rest.are_landing() && memory::let_go(fd, flight_of(object.index())).is_ok() {
        change_claims(arena, object, |claims, _| claims.landed());
    }
}

/// See [`Arena::received`].
pub(crate) fn received(arena: &Arena, fd: BorrowedFd<'_>, object: Object) {
    let Some(family) = arena.family.get().filter(|family| answers_for(arena, *family, object.index())) else {
        return count(arena, fd, object);
    };
    change_claims(arena, object, |claims, _| claims.are_counted(family.number).then(|| claims.doubted(family.number)));
}

/// See [`Arena::taken`].
pub(crate) fn taken(arena: &Arena, fd: BorrowedFd<'_>, object: Object) -> bool {
    for _ in 0..RETRIES {
        let Some(meta) = arena.meta(object.index()).filter(|meta| meta.is_live(object)) else { return false };
        // A refused lock (no memory for it) leaves the object to the families.
        if !meta.is_uncounted() || hold(fd, object.index()).is_err() || arena.lock_object(object.index(), meta) {
            return true;
        }
    }
    false
}

fn count(arena: &Arena, fd: BorrowedFd<'_>, object: Object) {
    let index = object.index();
    if let Some(meta) = uncounted(arena, object)
        && hold(fd, index).is_ok()
    {
        arena.lock_object(index, meta);
    }
}

/// What is said about a living object whose descriptors the kernel does not count yet.
fn uncounted(arena: &Arena, object: Object) -> Option<Meta> {
    arena.meta(object.index()).filter(|meta| meta.is_live(object) && meta.is_uncounted())
}

/// Returns true if this family claims an object.
fn answers_for(arena: &Arena, family: Family, index: u32) -> bool {
    arena.meta(index).is_some_and(Meta::is_uncounted) && claims(arena, index).has(family.number)
}

fn claims(arena: &Arena, index: u32) -> Claims {
    arena.claims_word(index).map(|word| word.load()).unwrap_or_default().into()
}

fn exchange_claims(arena: &Arena, index: u32, seen: Claims, next: Claims) -> bool {
    arena.claims_word(index).is_some_and(|word| word.compare_exchange(seen.into(), next.into()).is_ok())
}

/// Changes the claims of an object that is not counted yet, in one step. Returns its meta word, and the claims before and
/// after; none if `change` refuses. (Claims read before meta are this object's, if they have not changed since: who makes the
/// next object changes them first.)
fn change_claims(
    arena: &Arena,
    object: Object,
    change: impl Fn(Claims, Meta) -> Option<Claims>,
) -> Option<(Meta, Claims, Claims)> {
    for _ in 0..RETRIES {
        let seen = claims(arena, object.index());
        let meta = uncounted(arena, object)?;
        let next = change(seen, meta)?;
        if exchange_claims(arena, object.index(), seen, next) {
            return Some((meta, seen, next));
        }
    }
    None
}

/// See [`Arena::answers_for_objects`].
pub(crate) fn answers_for_objects(arena: &Arena) -> bool {
    let Some(family) = arena.family.get() else { return false };
    (0..arena.objects_used()).any(|index| answers_for(arena, family, index))
}

/// Returns everything that an earlier family with this byte left.
fn bury_family(arena: &Arena, description: BorrowedFd<'_>, family: u32) {
    let keeper = Keeper { via: description, own: description, family: None };
    for index in 0..arena.objects_used() {
        // The byte of the family is ours by now, and nobody else's.
        let Some(meta) = arena.meta(index) else { return };
        if !meta.is_uncounted() {
            continue;
        }
        let leave = |claims: Claims, _| claims.has(family).then(|| claims.buried(family));
        let object = Object::new(index, meta.generation());
        if let Some((meta, ..)) = change_claims(arena, object, leave)
            && keeper.is_unreferenced(arena, index, meta)
        {
            arena.free_object(index, meta);
        }
    }
}

/// Queries and updates the kernel's record of references.
#[derive(Clone, Copy)]
pub(crate) struct Keeper<'a> {
    /// For queries: it locks no byte of any slot that may be reclaimed.
    via: BorrowedFd<'a>,
    /// The new object's descriptor.
    own: BorrowedFd<'a>,
    /// The new object's keeper.
    family: Option<u32>,
}

impl<'a> Keeper<'a> {
    /// For an object whose descriptor will be `own`; `via` is the arena's.
    pub(crate) fn new(arena: &Arena, via: BorrowedFd<'a>, own: BorrowedFd<'a>) -> Keeper<'a> {
        let family = arena.family.get_own().map(|family| family.number);
        Keeper { via, own, family }
    }

    /// The family that answers for the new object. None: the object has its own byte from the start, before it is live, so
    /// a sweep never meets a live object that nothing holds.
    pub(super) fn family(self, arena: &Arena, index: u32) -> Result<Option<u32>> {
        if self.family.is_none() {
            hold(self.own, index)?;
        }
        for _ in 0..RETRIES {
            let of_the_last = claims(arena, index);
            if exchange_claims(arena, index, of_the_last, of_the_last.of_successor(self.family)) {
                return Ok(self.family);
            }
        }
        Err(Error::Corrupt)
    }

    /// Returns true if no descriptor of this live object is left. When the kernel does not say, there may be one.
    pub(super) fn is_unreferenced(self, arena: &Arena, index: u32, meta: Meta) -> bool {
        let lives = |family: u32| self.family == Some(family) || !is_gone(self.via, family);
        // O-family, O-claims: the claims, the families, the bytes, and the claims once more.
        let seen = claims(arena, index);
        let kept = !meta.is_locked() && seen.families().any(lives);
        !kept && self.is_free(own_byte_of(index), BYTES) && claims(arena, index) == seen
    }

    /// One question for each object: of a range the kernel names the lock of who came first, not the lowest one, so a search
    /// cannot skip to it.
    fn is_free(self, byte: u64, count: u32) -> bool {
        memory::is_held(self.via, byte, count).is_ok_and(|held| !held)
    }
}

fn own_byte_of(index: u32) -> u64 {
    OBJECTS + u64::from(BYTES) * u64::from(index)
}

fn flight_of(index: u32) -> u64 {
    own_byte_of(index) + 1
}

/// Holds the object's own byte for the open file description of `fd`.
fn hold(fd: BorrowedFd<'_>, index: u32) -> Result<()> {
    memory::hold(fd, own_byte_of(index)).map_err(Error::from_io)
}
