// SPDX-License-Identifier: MIT OR Apache-2.0
//! Objects as descriptors.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use ntux_platform::memory;

use crate::arena::Arena;
use crate::arena::descriptor::{self, Gone, Identity, Keeper, Page};
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
    /// Errors: as for [`Arena::attach`]; `Os(EBADF)` if the number is another file's by the time it is mapped.
    pub fn map_for_descriptors(fd: BorrowedFd<'_>) -> Result<Arena> {
        descriptor::map_for_descriptors(fd)
    }

    /// Returns true if objects can get descriptors here, for an arena that was just attached by its own descriptor `via`.
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

    /// Returns true if this descriptor can belong to an arena: that of a regular file that cannot shrink. Asks for no more than
    /// the file's status and seals. Async-signal-safe, also in a `vfork` child.
    pub fn can_be_behind(fd: BorrowedFd<'_>) -> bool {
        descriptor::sealed_file(fd).is_ok()
    }

    /// Call this before a copy of this descriptor leaves in a way that nobody counts: it is sent to a stranger, or will be kept across an exec.
    /// A process that has mapped the arena calls [`Arena::taken`] as well. Does
    /// nothing if the descriptor is not an object's. Returns whether it belongs to an arena. Touches only the stack:
    /// async-signal-safe, also in a `vfork` child.
    pub fn leaving(fd: BorrowedFd<'_>) -> bool {
        descriptor::leaving(fd)
    }

    /// Call this before a process closes a descriptor of an object that it has not counted: from now on the kernel counts the remaining
    /// descriptors. Costs nothing if it does so already. A child that has no family of its own leaves that to its parent while that
    /// lives, because a child that closes everything it inherited would make every later lock slow.
    pub fn closing(&self, fd: BorrowedFd<'_>, object: Object) {
        descriptor::closing(self, fd, object);
    }

    /// Returns true if a close of this object's descriptor can be told by [`Arena::released`]: the process's family counts its descriptors. The
    /// caller knows that this is one of those: the process made it, [`Arena::arrived`] said so, it was copied after [`Arena::copying`] had
    /// said so, or it was inherited ([`Arena::inherit`]). Otherwise [`Arena::closing`] must be called before the close.
    pub fn may_release(&self, object: Object) -> bool {
        descriptor::may_release(self, object)
    }

    /// To be called after the close of a counted descriptor of this object. The object ends here if no family has one and no message
    /// is on its way.
    pub fn released(&self, object: Object) {
        descriptor::released(self, object);
    }

    /// To be called before a counted descriptor of this object is copied within the process. Returns whether the copy is counted:
    /// [`Arena::released`] tells when it is closed, or was not made.
    pub fn copying(&self, object: Object) -> bool {
        descriptor::copying(self, object)
    }

    /// Founds a family for this process, if it has none of its own: a forked child for which its parent has founded none. If that
    /// cannot be done, objects lock their own byte when they are created. `via` is any descriptor of the arena.
    pub fn found_family(&self, via: BorrowedFd<'_>) {
        descriptor::found_family(self, via);
    }

    /// To be called before the process forks: founds the child's family. The caller unmaps the page in this process after the
    /// fork, and leaves it in the child. `via` is any descriptor of the arena.
    ///
    /// Errors: `Invalid` if this process has no family; `Exhausted`; `Os`.
    pub fn found_for_child(&self, via: BorrowedFd<'_>) -> Result<Page> {
        descriptor::found_for_child(self, via)
    }

    /// To be called after that, before the fork, for each descriptor of an object that the child will have: its family `child` claims the
    /// object. `counted`: this process counts the descriptor, and so will the child. One `gone` serves for one arena, for as many calls as
    /// the caller likes.
    pub fn inherit(&self, fd: BorrowedFd<'_>, object: Object, child: u32, counted: bool, gone: &Gone) {
        descriptor::inherit(self, fd, object, child, counted, gone);
    }

    /// To be called before a counted descriptor is closed that was there at a fork: claims of families that are gone would keep the
    /// object until somebody looks for it. `gone` as in [`Arena::inherit`].
    pub fn bury_claims(&self, fd: BorrowedFd<'_>, object: Object, gone: &Gone) {
        descriptor::bury_claims(self, fd, object, gone);
    }

    /// To be called in the forked child: this is its family from now on, and no longer its parent's.
    ///
    /// # Safety
    /// The process has one thread. The page is that of [`Arena::found_for_child`], and belongs to this arena from now on.
    #[inline(always)]
    pub unsafe fn take_family(&self, family: u32, page: usize) {
        // SAFETY: the caller's promise.
        unsafe { descriptor::take_family(self, family, page) }
    }

    /// To be called before a copy of this object's descriptor is sent in a message. Costs nothing when the kernel counts the
    /// descriptors already. Returns whether the message is counted: if it cannot be sent, [`Arena::unsent`] is to be called.
    pub fn sending(&self, fd: BorrowedFd<'_>, object: Object) -> bool {
        descriptor::sending(self, fd, object)
    }

    /// To be called when a counted message was not sent.
    pub fn unsent(&self, fd: BorrowedFd<'_>, object: Object) {
        descriptor::unsent(self, fd, object);
    }

    /// To be called when a message has brought this object's descriptor from a process that calls [`Arena::sending`]. From now on this
    /// process's family answers for it. Does nothing where that cannot be: what the sender holds stays held. Returns whether the family
    /// counts the descriptor.
    pub fn arrived(&self, fd: BorrowedFd<'_>, object: Object) -> bool {
        descriptor::arrived(self, fd, object)
    }

    /// To be called when a process meets a descriptor that it did not make: counts it, if it came from another family
    /// without having been counted. Nobody is sure any more how many copies the family has.
    pub fn received(&self, fd: BorrowedFd<'_>, object: Object) {
        descriptor::received(self, fd, object);
    }

    /// To be called when a process has taken a copy of a descriptor out of another process (`pidfd_getfd`), or an exec will keep one: the kernel
    /// counts the object's descriptors from now on. Returns false if the object has ended, as if the copy had come too late.
    pub fn taken(&self, fd: BorrowedFd<'_>, object: Object) -> bool {
        descriptor::taken(self, fd, object)
    }

    /// Returns true if this process's family answers for some object, so that its mapping must stay.
    pub fn answers_for_objects(&self) -> bool {
        descriptor::answers_for_objects(self)
    }
}
