//! Objects as descriptors: the kernel counts the references.
//!
//! An object's descriptor is an open file description of the arena's own file. Its offset is the object's number, so it
//! says which object it is to whoever receives it. All copies, in any process or in flight in a socket, are copies of that
//! one description. A lock that a description holds, on a byte far behind the end of the file, lives exactly as long as
//! the last copy, also when processes are killed. Offset 0 is the arena itself (the *device*).
//!
//! # Families
//! Every lock makes every other lock and close of the file slower (13 ns each, measured), so an object has none while the
//! only processes that can have its descriptor are known anyway. A *family* is a process that mapped the arena and the
//! children that it forked, for as long as they share the mapping: a child leaves at its exec, where the kernel closes
//! its descriptors too. The description through which the arena was mapped holds the byte of the family. It has no
//! descriptor; the mapping keeps it, in every member. So the kernel also knows when the last member is gone. Only the
//! founder's objects are the family's; those of its children have a byte of their own from the start.
//!
//! | the descriptors of an object | byte that is held | its slot is free when |
//! | --- | --- | --- |
//! | never left the family of its creator | the family's | the family is gone |
//! | about to leave: sent, or kept across exec ([`Arena::leaving`]) | also the object's own | both are gone |
//! | the founder closes one, or another family has one ([`Arena::closing`], [`Arena::received`]) | also the object's own, and meta says `locked` | its own is gone |
//!
//! # Order
//! * O-family: who looks for references asks for the family first and for the object's own byte second. A member takes
//!   the own byte before a copy leaves. So if the family was gone, whatever had left it was held before the second look.
//!
//! # Death
//! A process that is killed between taking the own byte and saying so in meta leaves an object that counts as its
//! family's *and* as held: found when both are gone.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use ntux_platform::liveness;
use ntux_platform::memory::{self, FileId};

use super::format::FAMILIES_MAX;
use super::lifetime::Lifetime;
use super::meta::Meta;
use super::objects::Start;
use super::{Arena, read_capacity};
use crate::waiter::Waiter;
use crate::{Error, New, Object, Result};

/// The byte that stands for object 0.
const OBJECTS: u64 = 1 << 62;
/// The byte that stands for family 0.
const FAMILIES: u64 = OBJECTS + (1 << 32);
/// A byte that is nobody's.
const BEYOND_FAMILIES: u64 = FAMILIES + FAMILIES_MAX as u64;
/// Slots looked at on each creation, in search of objects without descriptors.
const SWEPT: u32 = 2;

/// What a descriptor is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Identity {
    /// The arena's file.
    pub file: FileId,
    /// Which object; none for the arena itself.
    pub object: Option<Object>,
}

/// The family that a process belongs to.
#[derive(Clone, Copy)]
pub(crate) struct Family {
    /// Which byte it holds.
    number: u32,
    /// The process that founded it.
    founder: u32,
}

impl Family {
    fn is_founded_here(self) -> bool {
        self.founder == liveness::process_id()
    }
}

impl Arena {
    /// Attaches the arena behind a descriptor, without keeping one, for a process whose objects are descriptors: it founds
    /// a family. If it cannot (no /proc, no free descriptor, 4,096 families), objects get their own byte when they are
    /// made, which is as exact, and slower.
    ///
    /// Errors: as for [`Arena::attach`].
    pub fn map_for_descriptors(fd: BorrowedFd<'_>) -> Result<Arena> {
        // Only a regular file is opened again: for others that can do things, or wait.
        let regular = memory::regular_file(fd).is_ok_and(|file| file.is_some());
        let Some(description) = regular.then(|| memory::reopen(fd).ok()).flatten() else { return Arena::map(fd) };
        // The mapping keeps this description, and with it the byte.
        let arena = Arena::map(description.as_fd())?;
        let number = arena.found_family(description.as_fd());
        let family = number.map(|number| Family { number, founder: liveness::process_id() });
        Ok(Arena { family, ..arena })
    }

    /// Whether objects can get descriptors here, for an arena that was just attached by its own descriptor `via`.
    ///
    /// Errors: `Os`, when the descriptor cannot be opened again, or not be locked. (EMFILE and ENFILE pass.)
    pub fn can_make_descriptors(&self, via: BorrowedFd<'_>) -> Result<()> {
        if self.family.is_some() {
            return Ok(()); // Founding it took the same calls.
        }
        let own = memory::reopen(via).map_err(Error::from_io)?;
        memory::hold(own.as_fd(), BEYOND_FAMILIES).map_err(Error::from_io)
    }

    /// Takes a family's byte that nobody holds.
    fn found_family(&self, description: BorrowedFd<'_>) -> Option<u32> {
        let first = self.header().families.fetch_add(1);
        let mut candidates = (0..FAMILIES_MAX).map(|step| first.wrapping_add(step) % FAMILIES_MAX);
        let family = candidates
            .find(|&family| memory::hold_alone(description, FAMILIES + u64::from(family)).is_ok_and(|taken| taken))?;
        if first >= FAMILIES_MAX {
            self.bury_family(description, family);
        }
        Some(family)
    }

    /// What a descriptor is, if it belongs to an arena. Two system calls for a foreign one, four for ours.
    ///
    /// Errors: `NotAnArena` for everything else; `Os(EBADF)` when it is not open.
    pub fn identify(fd: BorrowedFd<'_>) -> Result<Identity> {
        let file = memory::regular_file(fd).map_err(Error::from_io)?.ok_or(Error::NotAnArena)?;
        if !memory::cannot_shrink(fd) {
            return Err(Error::NotAnArena);
        }
        read_capacity(fd)?;
        let offset = memory::offset(fd).map_err(Error::from_io)?;
        Ok(Identity { file, object: (offset != 0).then_some(Object(offset)) })
    }

    /// Creates an object that lives as long as any copy of the descriptor returned (close-on-exec, the lowest free
    /// number). `via` is the arena's own descriptor.
    ///
    /// Errors: as for creating the kind; `Exhausted`; `Os` with EMFILE or ENFILE.
    pub fn descriptor_create(&self, waiter: &Waiter, via: BorrowedFd<'_>, new: New) -> Result<OwnedFd> {
        let start = Start::of(new)?;
        let fd = memory::reopen(via).map_err(Error::from_io)?;
        let family = self.family.filter(|family| family.is_founded_here()).map(|family| family.number);
        let lifetime = Lifetime::Descriptor(Keeper { via, own: fd.as_fd(), family });
        self.sweep_some(SWEPT, lifetime);
        let object = self.create_object(waiter, start, lifetime)?;
        match memory::seek(fd.as_fd(), object.0) {
            Ok(()) => Ok(fd),
            Err(error) => {
                let _ = self.close(object);
                Err(Error::from_io(error))
            }
        }
    }

    /// To be called before a copy of this descriptor leaves the family: it is sent, or will be kept across an exec. Does
    /// nothing for a descriptor that is no object's. Whether it belongs to an arena. Touches no memory but the stack:
    /// async-signal-safe, also in a `vfork` child.
    pub fn leaving(fd: BorrowedFd<'_>) -> bool {
        let Ok(identity) = Arena::identify(fd) else { return false };
        if let Some(object) = identity.object {
            // A refused lock (no memory for it) leaves the object to the family.
            let _ = hold(fd, object.index());
        }
        true
    }

    /// To be called before a process closes a descriptor of an object: from now on the kernel counts the descriptors that
    /// are left. Costs nothing when it does so already. A child leaves that to its family's founder, as long as it lives: a
    /// child that closes all it inherited would make every later lock slow.
    pub fn closing(&self, fd: BorrowedFd<'_>, object: Object) {
        let Some(meta) = self.meta(object.index()) else { return };
        let founder_will = self.family.is_some_and(|family| {
            meta.is_kept_by(family.number) && !family.is_founded_here() && !liveness::is_number_free(family.founder)
        });
        if !founder_will {
            self.count(fd, object);
        }
    }

    /// To be called when a process meets a descriptor that it did not make: counts it, if it came from another family
    /// without having been counted (`pidfd_getfd`, say).
    pub fn received(&self, fd: BorrowedFd<'_>, object: Object) {
        let mine = |meta: Meta| self.family.is_some_and(|family| family.number == meta.keeper());
        if self.meta(object.index()).is_some_and(|meta| !mine(meta)) {
            self.count(fd, object);
        }
    }

    fn count(&self, fd: BorrowedFd<'_>, object: Object) {
        let index = object.index();
        let Some(meta) = self.meta(index) else { return };
        let counted = !meta.is_live(object) || !meta.is_held() || meta.is_locked();
        if !counted && hold(fd, index).is_ok() {
            self.lock_object(index, meta);
        }
    }

    /// Whether this process's family answers for some object, so that its mapping must stay.
    pub fn answers_for_objects(&self) -> bool {
        let Some(family) = self.family else { return false };
        (0..self.objects_used()).any(|index| self.meta(index).is_some_and(|meta| meta.is_kept_by(family.number)))
    }

    /// Gives back what an earlier family with this byte left.
    fn bury_family(&self, description: BorrowedFd<'_>, family: u32) {
        let keeper = Keeper { via: description, own: description, family: None };
        for index in 0..self.objects_used() {
            let Some(meta) = self.meta(index) else { return };
            // The byte of the family is ours by now, and nobody else's.
            if meta.is_kept_by(family) && keeper.has_no_byte(index) {
                self.free_object(index, meta);
            }
        }
    }
}

/// Asks and tells the kernel who is referenced.
#[derive(Clone, Copy)]
pub(crate) struct Keeper<'a> {
    /// Asks: it holds no byte of its own on any slot that may be reclaimed.
    via: BorrowedFd<'a>,
    /// The new object's descriptor.
    own: BorrowedFd<'a>,
    /// Who answers for the new object.
    family: Option<u32>,
}

impl Keeper<'_> {
    /// The family that answers for the new object. None: the object has its own byte from the start, before it is live, so
    /// a sweep never meets a live object that nothing holds.
    pub(super) fn family(self, index: u32) -> Result<Option<u32>> {
        if self.family.is_none() {
            hold(self.own, index)?;
        }
        Ok(self.family)
    }

    /// Whether no descriptor of this live object is left. When the kernel does not say, there may be one.
    pub(super) fn is_unreferenced(self, index: u32, meta: Meta) -> bool {
        let family = meta.keeper();
        // O-family: the family first.
        let kept = !meta.is_locked() && (self.family == Some(family) || !self.is_free(FAMILIES + u64::from(family)));
        !kept && self.has_no_byte(index)
    }

    fn has_no_byte(self, index: u32) -> bool {
        self.is_free(OBJECTS + u64::from(index))
    }

    /// One question for each byte: of a range the kernel names the lock of who came first, not the lowest one, so a search
    /// cannot skip to it.
    fn is_free(self, byte: u64) -> bool {
        memory::is_held(self.via, byte).is_ok_and(|held| !held)
    }
}

/// Holds the object's byte for the open file description of `fd`.
fn hold(fd: BorrowedFd<'_>, index: u32) -> Result<()> {
    memory::hold(fd, OBJECTS + u64::from(index)).map_err(Error::from_io)
}
