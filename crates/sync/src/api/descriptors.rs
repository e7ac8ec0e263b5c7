//! Objects as descriptors.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use ntux_platform::memory;

use crate::arena::Arena;
use crate::arena::descriptor::{self, Identity, Keeper};
use crate::arena::lifetime::Lifetime;
use crate::kind::New;
use crate::protocol::create::create_object;
use crate::protocol::waiter::Waiter;
use crate::{Error, Object, Result};

/// Slots swept on each creation, in search of objects without descriptors.
const SWEPT: u32 = 2;

impl Arena {
    /// Attaches the arena behind a descriptor, without keeping one, for a process whose objects are descriptors: it
    /// founds a family. If it cannot (no /proc, no free descriptor, 4,096 families), objects lock their own byte when
    /// they are created, which is as exact, but slower.
    ///
    /// Errors: as for [`Arena::attach`].
    pub fn map_for_descriptors(fd: BorrowedFd<'_>) -> Result<Arena> {
        descriptor::map_for_descriptors(fd)
    }

    /// Whether objects can get descriptors here, for an arena that was just attached by its own descriptor `via`.
    ///
    /// Errors: `Os`, if the descriptor cannot be opened again, or cannot be locked. (EMFILE and ENFILE pass.)
    pub fn can_make_descriptors(&self, via: BorrowedFd<'_>) -> Result<()> {
        descriptor::can_make_descriptors(self, via)
    }

    /// Identifies a descriptor that belongs to an arena. Two system calls for a foreign descriptor, four for ours.
    ///
    /// Errors: `NotAnArena` for everything else; `Os(EBADF)` if it is not open.
    pub fn identify(fd: BorrowedFd<'_>) -> Result<Identity> {
        descriptor::identify(fd)
    }

    /// Creates an object that lives as long as any copy of the returned descriptor (close-on-exec, the lowest free
    /// number). `via` is the arena's own descriptor.
    ///
    /// Errors: as for creating the kind; `Exhausted`; `Os` with EMFILE or ENFILE.
    pub fn descriptor_create(&self, waiter: &Waiter, via: BorrowedFd<'_>, new: New) -> Result<OwnedFd> {
        let start = new.start()?;
        let fd = memory::reopen(via).map_err(Error::from_io)?;
        let lifetime = Lifetime::Descriptor(Keeper::new(self, via, fd.as_fd()));
        self.sweep_some(SWEPT, lifetime);
        let object = create_object(self, waiter, start, lifetime)?;
        match memory::seek(fd.as_fd(), object.0) {
            Ok(()) => Ok(fd),
            Err(error) => {
                let _ = self.close(object);
                Err(Error::from_io(error))
            }
        }
    }

    /// Call this before a copy of this descriptor leaves the family: it is sent, or will be kept across an exec. Does
    /// nothing if the descriptor is not an object's. Returns whether it belongs to an arena. Touches only the stack:
    /// async-signal-safe, also in a `vfork` child.
    pub fn leaving(fd: BorrowedFd<'_>) -> bool {
        descriptor::leaving(fd)
    }

    /// Call this before a process closes a descriptor of an object: from now on the kernel counts the remaining
    /// descriptors. Costs nothing if it does so already. A child leaves that to its family's founder while the founder
    /// lives, because a child that closes everything it inherited would make every later lock slow.
    pub fn closing(&self, fd: BorrowedFd<'_>, object: Object) {
        descriptor::closing(self, fd, object);
    }

    /// To be called before a copy of this object's descriptor is sent in a message. Costs nothing when the kernel counts the
    /// descriptors already.
    pub fn sending(&self, fd: BorrowedFd<'_>, object: Object) {
        descriptor::sending(self, fd, object);
    }

    /// To be called when a message has brought this object's descriptor, which closes at an exec, from a process that calls
    /// [`Arena::sending`]. From now on this process's family answers for it. Does nothing where that cannot be: what the sender
    /// holds stays held.
    pub fn arrived(&self, fd: BorrowedFd<'_>, object: Object) {
        descriptor::arrived(self, fd, object);
    }

    /// To be called when a process meets a descriptor that it did not make: counts it, if it came from another family
    /// without having been counted (`pidfd_getfd`, say).
    pub fn received(&self, fd: BorrowedFd<'_>, object: Object) {
        descriptor::received(self, fd, object);
    }

    /// Whether this process's family answers for some object, so that its mapping must stay.
    pub fn answers_for_objects(&self) -> bool {
        descriptor::answers_for_objects(self)
    }
}
