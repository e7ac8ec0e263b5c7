//! Objects as descriptors.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use ntux_platform::memory::{self, Mapping};

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
    /// number), and its number. `via` is the arena's own descriptor.
    ///
    /// Errors: as for creating the kind; `Exhausted`; `Os` with EMFILE or ENFILE, and with EBADF if `via` is not the arena's (any
    /// more).
    pub fn descriptor_create(&self, waiter: &Waiter, via: BorrowedFd<'_>, new: New) -> Result<(OwnedFd, Object)> {
        let start = new.start()?;
        let fd = memory::reopen(via, self.file(), waiter.caller()).map_err(Error::from_io)?;
        let lifetime = Lifetime::Descriptor(Keeper::new(self, via, fd.as_fd()));
        self.sweep_some(SWEPT, lifetime);
        let object = create_object(self, waiter, start, lifetime)?;
        match memory::seek(fd.as_fd(), object.0) {
            Ok(()) => Ok((fd, object)),
            Err(error) => {
                let _ = self.close(object);
                Err(Error::from_io(error))
            }
        }
    }

    /// Whether this descriptor can belong to an arena: that of a regular file that cannot shrink. Asks for no more than
    /// the file's status and seals. Async-signal-safe, also in a `vfork` child.
    pub fn can_be_behind(fd: BorrowedFd<'_>) -> bool {
        descriptor::sealed_file(fd).is_ok()
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

    /// Whether a close of this object's descriptor can be told by [`Arena::released`], if it is the only one that this process's
    /// family has. The caller knows that it is: the process made it, or [`Arena::arrived`] said so; since then nobody copied it,
    /// and no child is left of the process's forks ([`Arena::has_children`]). Otherwise [`Arena::closing`] must be called before the close.
    pub fn may_release(&self, object: Object) -> bool {
        descriptor::may_release(self, object)
    }

    /// To be called after the close of the only descriptor of this object that the process's family had. The object ends here
    /// if no other family has one and no message is on its way.
    pub fn released(&self, object: Object) {
        descriptor::released(self, object);
    }

    /// To be called before the process forks: maps what tells the child's lifetime. The caller unmaps it in this process after the
    /// fork, and leaves it in the child. `via` is any descriptor of the arena.
    ///
    /// Errors: `Invalid` if this process has no family; `Os`.
    pub fn mark_children(&self, via: BorrowedFd<'_>) -> Result<Mapping> {
        descriptor::mark_children(self, via)
    }

    /// Whether a child may be there that was forked after [`Arena::mark_children`] and has not executed a program.
    pub fn has_children(&self, via: BorrowedFd<'_>) -> bool {
        descriptor::has_children(self, via)
    }

    /// To be called before a copy of this object's descriptor is sent in a message. Costs nothing when the kernel counts the
    /// descriptors already.
    pub fn sending(&self, fd: BorrowedFd<'_>, object: Object) {
        descriptor::sending(self, fd, object);
    }

    /// To be called when a message has brought this object's descriptor, which closes at an exec, from a process that calls
    /// [`Arena::sending`]. From now on this process's family answers for it. Does nothing where that cannot be: what the sender
    /// holds stays held. Returns whether the family answers for it now and had no copy before.
    pub fn arrived(&self, fd: BorrowedFd<'_>, object: Object) -> bool {
        descriptor::arrived(self, fd, object)
    }

    /// To be called when a process meets a descriptor that it did not make: counts it, if it came from another family
    /// without having been counted. Nobody is sure any more how many copies the family has.
    pub fn received(&self, fd: BorrowedFd<'_>, object: Object) {
        descriptor::received(self, fd, object);
    }

    /// To be called when a process has taken a copy of a descriptor out of another process (`pidfd_getfd`): the kernel counts
    /// the object's descriptors from now on. Returns false if the object has ended, as if the copy had come too late.
    pub fn taken(&self, fd: BorrowedFd<'_>, object: Object) -> bool {
        descriptor::taken(self, fd, object)
    }

    /// Whether this process's family answers for some object, so that its mapping must stay.
    pub fn answers_for_objects(&self) -> bool {
        descriptor::answers_for_objects(self)
    }
}
