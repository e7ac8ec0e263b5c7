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

/// Slots looked at on each creation, in search of objects without descriptors.
const SWEPT: u32 = 2;

impl Arena {
    /// Attaches the arena behind a descriptor, without keeping one, for a process whose objects are descriptors: it founds
    /// a family. If it cannot (no /proc, no free descriptor, 4,096 families), objects get their own byte when they are
    /// made, which is as exact, and slower.
    ///
    /// Errors: as for [`Arena::attach`].
    pub fn map_for_descriptors(fd: BorrowedFd<'_>) -> Result<Arena> {
        descriptor::map_for_descriptors(fd)
    }

    /// Whether objects can get descriptors here, for an arena that was just attached by its own descriptor `via`.
    ///
    /// Errors: `Os`, when the descriptor cannot be opened again, or not be locked. (EMFILE and ENFILE pass.)
    pub fn can_make_descriptors(&self, via: BorrowedFd<'_>) -> Result<()> {
        descriptor::can_make_descriptors(self, via)
    }

    /// What a descriptor is, if it belongs to an arena. Two system calls for a foreign one, four for ours.
    ///
    /// Errors: `NotAnArena` for everything else; `Os(EBADF)` when it is not open.
    pub fn identify(fd: BorrowedFd<'_>) -> Result<Identity> {
        descriptor::identify(fd)
    }

    /// Creates an object that lives as long as any copy of the descriptor returned (close-on-exec, the lowest free
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

    /// To be called before a copy of this descriptor leaves the family: it is sent, or will be kept across an exec. Does
    /// nothing for a descriptor that is no object's. Whether it belongs to an arena. Touches no memory but the stack:
    /// async-signal-safe, also in a `vfork` child.
    pub fn leaving(fd: BorrowedFd<'_>) -> bool {
        descriptor::leaving(fd)
    }

    /// To be called before a process closes a descriptor of an object: from now on the kernel counts the descriptors that
    /// are left. Costs nothing when it does so already. A child leaves that to its family's founder, as long as it lives: a
    /// child that closes all it inherited would make every later lock slow.
    pub fn closing(&self, fd: BorrowedFd<'_>, object: Object) {
        descriptor::closing(self, fd, object);
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
