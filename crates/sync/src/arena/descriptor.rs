//! Objects as descriptors: the kernel counts the references.
//!
//! An object's descriptor is an open file description of the arena's own file. Its offset is the object's number, so it
//! says which object it is to whoever receives it. All copies, in any process or in flight in a socket, are copies of that
//! one description. A read lock that it holds, on one byte far behind the end of the file, lives exactly as long as the last
//! of them, also when processes are killed. Offset 0 is the arena itself (the *device*).
//!
//! # When the lock is taken
//! Every lock makes every other lock and close of the file slower (13 ns each, measured). So only the first 512 slots are
//! locked when their object is made. Others are locked before a process closes a descriptor of theirs
//! ([`Arena::closing`]): until then their creator has one.
//!
//! | object | when its slot is free again |
//! | --- | --- |
//! | locked | when the last descriptor is closed, by whomever and however |
//! | not locked | not while its creator lives without closing it. If the creator ends without closing it (killed, say), nobody can tell whether copies are left: the slot stays taken as long as the arena |

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use ntux_platform::memory::{self, FileId};

use super::Arena;
use super::objects::{Custody, Start};
use crate::waiter::Waiter;
use crate::{Error, New, Object, Result};

/// The byte that stands for object 0.
const LOCKS: u64 = 1 << 62;
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

impl Arena {
    /// What a descriptor is, if it belongs to an arena. Two system calls for a foreign one, four for ours.
    ///
    /// Errors: `NotAnArena` for everything else; `Os(EBADF)` when it is not open.
    pub fn identify(fd: BorrowedFd<'_>) -> Result<Identity> {
        let file = memory::regular_file(fd).map_err(Error::from_io)?.ok_or(Error::NotAnArena)?;
        if !memory::cannot_shrink(fd) {
            return Err(Error::NotAnArena);
        }
        super::read_capacity(fd)?;
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
        let custody = Custody::Descriptor(Keeper { via, own: fd.as_fd() });
        self.sweep_some(SWEPT, custody);
        let object = self.create_object(waiter, start, custody)?;
        match memory::seek(fd.as_fd(), object.0) {
            Ok(()) => Ok(fd),
            Err(error) => {
                let _ = self.close(object);
                Err(Error::from_io(error))
            }
        }
    }
}

/// Asks and tells the kernel who is referenced.
#[derive(Clone, Copy)]
pub(crate) struct Keeper<'a> {
    /// Asks: it holds no lock of its own on any slot that may be reclaimed.
    via: BorrowedFd<'a>,
    /// The new object's descriptor.
    own: BorrowedFd<'a>,
}

impl Keeper<'_> {
    /// The lock comes before the object is live, so a sweep never meets a live object whose lock is still to come.
    pub(super) fn hold(self, index: u32) -> Result<()> {
        hold(self.own, index)
    }

    /// Whether no descriptor holds this object. When the kernel does not say, somebody may.
    pub(super) fn is_unreferenced(self, index: u32) -> bool {
        memory::is_held(self.via, LOCKS + u64::from(index)).is_ok_and(|held| !held)
    }
}

/// Locks the object's byte for the open file description of `fd`.
pub(super) fn hold(fd: BorrowedFd<'_>, index: u32) -> Result<()> {
    memory::hold(fd, LOCKS + u64::from(index)).map_err(Error::from_io)
}
