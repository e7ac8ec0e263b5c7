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
//! | the descriptors of an object | locked byte | its slot is free when |
//! | --- | --- | --- |
//! | never left the family of its creator | the family's | the family is gone |
//! | about to leave: sent, or kept across exec ([`Arena::leaving`]) | also the object's own | both are gone |
//! | the founder closes one, or another family has one ([`Arena::closing`], [`Arena::received`]) | also the object's own, and meta says `locked` | its own is gone |
//!
//! # Order
//! * O-family: a search for references queries the family's byte first and the object's own byte second. A member locks
//!   the own byte before a copy leaves. So if the family was gone, every copy that had left it held the own byte before
//!   the second query.
//!
//! # Death
//! A process killed between locking the own byte and recording that in meta leaves an object that counts for its family
//! *and* for its own byte; it is found when both are gone.

use std::os::fd::{AsFd, BorrowedFd};

use ntux_platform::liveness;
use ntux_platform::memory::{self, FileId};

use super::{Arena, read_capacity};
use crate::format::limits::FAMILIES_MAX;
use crate::format::meta::Meta;
use crate::{Error, Object, Result};

/// The byte that stands for object 0.
const OBJECTS: u64 = 1 << 62;
/// The byte that stands for family 0.
const FAMILIES: u64 = OBJECTS + (1 << 32);
/// A byte that is nobody's.
const BEYOND_FAMILIES: u64 = FAMILIES + FAMILIES_MAX as u64;

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
    /// The process that founded it.
    founder: u32,
}

impl Family {
    fn is_founded_here(self) -> bool {
        self.founder == liveness::process_id()
    }
}

/// See [`Arena::map_for_descriptors`].
pub(crate) fn map_for_descriptors(fd: BorrowedFd<'_>) -> Result<Arena> {
    // Only a regular file is opened again, because opening others can have side effects, or block.
    let regular = memory::regular_file(fd).is_ok_and(|file| file.is_some());
    let Some(description) = regular.then(|| memory::reopen(fd).ok()).flatten() else { return Arena::over(fd) };
    // The mapping keeps this description alive, and with it the lock.
    let arena = Arena::over(description.as_fd())?;
    let number = found_family(&arena, description.as_fd());
    let family = number.map(|number| Family { number, founder: liveness::process_id() });
    Ok(Arena { family, ..arena })
}

/// See [`Arena::can_make_descriptors`].
pub(crate) fn can_make_descriptors(arena: &Arena, via: BorrowedFd<'_>) -> Result<()> {
    if arena.family.is_some() {
        return Ok(()); // Founding it took the same calls.
    }
    let own = memory::reopen(via).map_err(Error::from_io)?;
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
    let file = memory::regular_file(fd).map_err(Error::from_io)?.ok_or(Error::NotAnArena)?;
    if !memory::cannot_shrink(fd) {
        return Err(Error::NotAnArena);
    }
    read_capacity(fd)?;
    let offset = memory::offset(fd).map_err(Error::from_io)?;
    Ok(Identity { file, object: (offset != 0).then_some(Object(offset)) })
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
    let Some(meta) = arena.meta(object.index()) else { return };
    let founder_will = arena.family.is_some_and(|family| {
        meta.is_kept_by(family.number) && !family.is_founded_here() && !liveness::is_number_free(family.founder)
    });
    if !founder_will {
        count(arena, fd, object);
    }
}

/// See [`Arena::received`].
pub(crate) fn received(arena: &Arena, fd: BorrowedFd<'_>, object: Object) {
    let mine = |meta: Meta| arena.family.is_some_and(|family| family.number == meta.keeper());
    if arena.meta(object.index()).is_some_and(|meta| !mine(meta)) {
        count(arena, fd, object);
    }
}

fn count(arena: &Arena, fd: BorrowedFd<'_>, object: Object) {
    let index = object.index();
    let Some(meta) = arena.meta(index) else { return };
    let counted = !meta.is_live(object) || !meta.is_held() || meta.is_locked();
    if !counted && hold(fd, index).is_ok() {
        arena.lock_object(index, meta);
    }
}

/// See [`Arena::answers_for_objects`].
pub(crate) fn answers_for_objects(arena: &Arena) -> bool {
    let Some(family) = arena.family else { return false };
    (0..arena.objects_used()).any(|index| arena.meta(index).is_some_and(|meta| meta.is_kept_by(family.number)))
}

/// Returns everything that an earlier family with this byte left.
fn bury_family(arena: &Arena, description: BorrowedFd<'_>, family: u32) {
    let keeper = Keeper { via: description, own: description, family: None };
    for index in 0..arena.objects_used() {
        let Some(meta) = arena.meta(index) else { return };
        // The family's byte is ours now.
        if meta.is_kept_by(family) && keeper.has_no_byte(index) {
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

    /// The family that answers for the new object. If none, the object locks its own byte before it is live, so a sweep
    /// never meets a live object without a keeper.
    pub(super) fn family(self, index: u32) -> Result<Option<u32>> {
        if self.family.is_none() {
            hold(self.own, index)?;
        }
        Ok(self.family)
    }

    /// Whether no descriptor of this live object is left. If the kernel does not say, there may be one.
    pub(super) fn is_unreferenced(self, index: u32, meta: Meta) -> bool {
        let family = meta.keeper();
        // O-family: the family first.
        let kept = !meta.is_locked() && (self.family == Some(family) || !self.is_free(FAMILIES + u64::from(family)));
        !kept && self.has_no_byte(index)
    }

    fn has_no_byte(self, index: u32) -> bool {
        self.is_free(OBJECTS + u64::from(index))
    }

    /// Queries one byte at a time: for a range, the kernel names the oldest lock, not the lowest, so a search cannot
    /// skip ahead.
    fn is_free(self, byte: u64) -> bool {
        memory::is_held(self.via, byte).is_ok_and(|held| !held)
    }
}

/// Locks the object's byte for the open file description of `fd`.
fn hold(fd: BorrowedFd<'_>, index: u32) -> Result<()> {
    memory::hold(fd, OBJECTS + u64::from(index)).map_err(Error::from_io)
}
