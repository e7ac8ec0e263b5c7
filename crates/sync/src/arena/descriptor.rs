//! Objects as descriptors: the kernel counts the references.
//!
//! An object's descriptor is an open file description of the arena's file. Its offset is the object's number, so any
//! receiver can identify the object. All copies, in any process or in flight in a socket, share that one description. A
//! file lock of a description, on a byte far beyond the end of the file, lives exactly as long as the last copy, even
//! if processes are killed. Offset 0 is the arena itself (the *device*).
//!
//! # Families
//! Every lock makes every other lock and close of the file slower (13 ns each, measured). So an object has none while
//! the processes that can have its descriptor are known anyway. A *family* is a process that mapped the arena and the
//! children that it forked, while they share the mapping: a child leaves at its exec, where the kernel also closes its
//! descriptors. The description through which the arena was mapped locks the byte of the family. It has no descriptor;
//! the mapping keeps it alive, in every member. So the kernel also knows when the last member is gone. Only the
//! founder's objects belong to the family; those of its children lock their own byte from the start.
//!
//! A process that forks gives its child a second mapping, through a description of its own that locks another byte of the family
//! ([`Arena::mark_children`]). It unmaps its own copy after the fork. So the kernel knows whether any forked child, or child of
//! one, is still there: one that may have copies of what the process had before the fork.
//!
//! An object has two bytes: its own, which is never let go of, and its flight's, for one message at a time ([`super::claims`]).
//!
//! | the descriptors of an object | byte that is held | its slot is free when |
//! | --- | --- | --- |
//! | never left the family of its creator, the keeper | the family's | the family is gone |
//! | one is in a message ([`Arena::sending`]) | also its flight's | both are gone |
//! | one has arrived in another family, which claims the object ([`Arena::arrived`]) | that family's, and the keeper's | both families are gone |
//! | a founder has closed its family's only one ([`Arena::released`]) | those of the other families | they are gone; at once if there is none |
//! | about to leave in another way: kept across exec ([`Arena::leaving`]) | also its own | that and all families are gone |
//! | a founder closes one of several, or a family that does not claim the object has one ([`Arena::closing`], [`Arena::received`]) | its own, and meta says `locked` | its own is gone |
//!
//! # Order
//! * O-family: who looks for references asks for the families first and for the object's bytes second. A member takes
//!   a byte before a copy leaves. So if the families were gone, whatever had left them was held before the second look, unless
//!   it has arrived since: O-claims.
//!
//! # Death
//! A process that is killed between taking the own byte and saying so in meta leaves an object that counts as its
//! family's *and* as held: found when both are gone. Of messages: [`super::claims`].

use std::os::fd::{AsFd, BorrowedFd};

use ntux_platform::atomic::Word64;
use ntux_platform::liveness;
use ntux_platform::memory::{self, Caller, FileId, Mapping};
use ntux_platform::protection::page_size;

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
/// The byte that stands for the forked children of family 0.
const CHILDREN: u64 = FAMILIES + 2 * FAMILIES_MAX as u64;

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
pub(crate) struct Family {
    /// The byte that it locks.
    number: u32,
    /// The number of the process that founded it.
    founder: u32,
    /// The lineage of that process, which no other member has.
    lineage: u64,
}

impl Family {
    fn is_founded_here(self) -> bool {
        self.lineage == liveness::lineage()
    }
}

/// See [`Arena::map_for_descriptors`].
pub(crate) fn map_for_descriptors(fd: BorrowedFd<'_>) -> Result<Arena> {
    // Only a regular file is opened again, because opening others can have side effects, or block.
    let file = memory::regular_file(fd).ok().flatten();
    let again = file.and_then(|file| memory::reopen(fd, file, Caller::AnyThread).ok());
    let Some(description) = again else { return Arena::over(fd) };
    // The mapping keeps this description alive, and with it the lock.
    let arena = Arena::over(description.as_fd())?;
    let number = found_family(&arena, description.as_fd());
    let family = number.map(|number| Family { number, founder: liveness::process_id(), lineage: liveness::lineage() });
    Ok(Arena { family, ..arena })
}

/// See [`Arena::can_make_descriptors`].
pub(crate) fn can_make_descriptors(arena: &Arena, via: BorrowedFd<'_>) -> Result<()> {
    if arena.family.is_some() {
        return Ok(()); // Founding it took the same calls.
    }
    let own = memory::reopen(via, arena.file, Caller::AnyThread).map_err(Error::from_io)?;
    memory::hold(own.as_fd(), BEYOND_FAMILIES).map_err(Error::from_io)
}

/// Locks a free family byte.
fn found_family(arena: &Arena, description: BorrowedFd<'_>) -> Option<u32> {
    let first = arena.header().families.fetch_add(1);
    let mut candidates = (0..FAMILIES_MAX).map(|step| first.wrapping_add(step) % FAMILIES_MAX);
    let family = candidates
        .find(|&family| memory::hold_alone(description, FAMILIES + u64::from(family)).is_ok_and(|taken| taken))?;
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
    let founder_will = arena.family.is_some_and(|family| {
        !family.is_founded_here()
            && answers_for(arena, family, object.index())
            && !liveness::is_number_free(family.founder)
    });
    if !founder_will {
        count(arena, fd, object);
    }
}

/// See [`Arena::mark_children`].
pub(crate) fn mark_children(arena: &Arena, via: BorrowedFd<'_>) -> Result<Mapping> {
    let family = arena.family.filter(|family| family.is_founded_here()).ok_or(Error::Invalid)?;
    let description = memory::reopen(via, arena.file, Caller::AnyThread).map_err(Error::from_io)?;
    memory::hold(description.as_fd(), CHILDREN + u64::from(family.number)).map_err(Error::from_io)?;
    Mapping::new(description.as_fd(), page_size()).map_err(Error::from_io)
}

/// See [`Arena::has_children`].
pub(crate) fn has_children(arena: &Arena, via: BorrowedFd<'_>) -> bool {
    let held = |family: Family| memory::is_held(via, CHILDREN + u64::from(family.number), 1).unwrap_or(true);
    arena.family.is_none_or(held)
}

/// See [`Arena::may_release`].
pub(crate) fn may_release(arena: &Arena, object: Object) -> bool {
    let index = object.index();
    let Some(family) = arena.family.filter(|family| family.is_founded_here()) else { return false };
    let (claims, Some(meta)) = (claims(arena, index), uncounted(arena, object)) else { return false };
    let keeps = meta.is_kept_by(family.number);
    claims.answer(family.number, keeps) && !claims.are_several(family.number, keeps)
}

/// See [`Arena::released`].
pub(crate) fn released(arena: &Arena, object: Object) {
    let (index, Some(family)) = (object.index(), arena.family) else { return };
    // O-close
    let release = |claims: Claims, meta: Meta| claims.released(family.number, meta.is_kept_by(family.number));
    if let Some((meta, _, rest)) = change_claims(arena, object, release)
        && rest.are_nobodys()
    {
        arena.free_object(index, meta);
    }
}

/// See [`Arena::sending`].
pub(crate) fn sending(arena: &Arena, fd: BorrowedFd<'_>, object: Object) {
    let index = object.index();
    let mine = |family: Family| uncounted(arena, object).is_some() && answers_for(arena, family, index);
    if arena.family.is_some_and(mine) && change_claims(arena, object, |claims, _| claims.sent()).is_some() {
        // A refused lock (no memory for it) leaves the object to the families.
        let _ = memory::hold(fd, flight_of(index));
    } else {
        count(arena, fd, object);
    }
}

/// See [`Arena::arrived`].
pub(crate) fn arrived(arena: &Arena, fd: BorrowedFd<'_>, object: Object) -> bool {
    let Some(family) = arena.family.filter(|family| family.is_founded_here()) else { return false };
    let keeps = |meta: Meta| meta.is_kept_by(family.number);
    let claim = |claims: Claims, meta| claims.arriving(family.number, keeps(meta));
    let Some((meta, before, _)) = change_claims(arena, object, claim) else { return false };
    // O-claims
    if memory::let_go(fd, flight_of(object.index())).is_ok() {
        change_claims(arena, object, |claims, _| claims.arrived());
    }
    !before.answer(family.number, keeps(meta))
}

/// See [`Arena::received`].
pub(crate) fn received(arena: &Arena, fd: BorrowedFd<'_>, object: Object) {
    let index = object.index();
    let Some(family) = arena.family.filter(|family| answers_for(arena, *family, index)) else {
        return count(arena, fd, object);
    };
    change_claims(arena, object, |claims, meta| {
        let keeps = meta.is_kept_by(family.number);
        (!claims.are_several(family.number, keeps)).then(|| claims.doubted(family.number, keeps))
    });
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

/// Whether this family keeps or claims an object.
fn answers_for(arena: &Arena, family: Family, index: u32) -> bool {
    let answers = |meta: Meta| claims(arena, index).answer(family.number, meta.is_kept_by(family.number));
    arena.meta(index).is_some_and(|meta| meta.is_uncounted() && answers(meta))
}

fn claims(arena: &Arena, index: u32) -> Claims {
    Claims(arena.claims_word(index).map(Word64::load).unwrap_or_default())
}

fn exchange_claims(arena: &Arena, index: u32, seen: Claims, next: Claims) -> bool {
    arena.claims_word(index).is_some_and(|word| word.compare_exchange(seen.0, next.0).is_ok())
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
    let Some(family) = arena.family else { return false };
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
        let leave = |claims: Claims, meta: Meta| {
            let keeps = meta.is_kept_by(family);
            claims.answer(family, keeps).then(|| claims.buried(family, keeps))
        };
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
        let family = arena.family.filter(|family| family.is_founded_here()).map(|family| family.number);
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
            if exchange_claims(arena, index, of_the_last, of_the_last.of_successor()) {
                return Ok(self.family);
            }
        }
        Err(Error::Corrupt)
    }

    /// Whether no descriptor of this live object is left. When the kernel does not say, there may be one.
    pub(super) fn is_unreferenced(self, arena: &Arena, index: u32, meta: Meta) -> bool {
        let lives = |family: u32| self.family == Some(family) || !self.is_free(FAMILIES + u64::from(family), 1);
        // O-family, O-claims: the claims, the families, the bytes, and the claims once more.
        let seen = claims(arena, index);
        let keeper = (!seen.is_left()).then(|| meta.keeper());
        let kept = !meta.is_locked() && keeper.into_iter().chain(seen.families()).any(lives);
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
