// SPDX-License-Identifier: MIT OR Apache-2.0
//! The public interface of an arena: a thin layer over the floors below.

mod detached;
pub(crate) mod interruptible;
mod names;
mod objects;
mod operations;
mod owners;
mod signal_and_wait;
mod supervisor;
mod waits;

mod descriptors;

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use ntux_platform::memory::FileId;

use crate::arena::Arena;
use crate::format::layout::Capacity;
use crate::protocol::owner;
use crate::protocol::waiter::{self, Waiter};
use crate::{Error, Result};

/// What the system shows as the name of an arena without one.
const UNNAMED: &CStr = c"ntsync";

impl Arena {
    /// Creates an arena and attaches it.
    ///
    /// Errors: `Invalid` for a capacity out of bounds; `Exhausted`, `Os` if the system refuses memory or a descriptor;
    /// `Os` with EFBIG if the process may not create a file of this length (`RLIMIT_FSIZE`).
    pub fn create(capacity: Capacity) -> Result<Arena> {
        Arena::of(Arena::make_file(UNNAMED, capacity)?)
    }

    /// Creates an arena without attaching it. Returns its descriptor, close-on-exec.
    pub fn create_file(capacity: Capacity) -> Result<OwnedFd> {
        Arena::make_file(UNNAMED, capacity)
    }

    /// Attaches the arena with this name of the calling user, or creates it, in one step, and keeps its descriptor. A process has it until it
    /// drops this value. If no living process has the arena, the name means a new one. A forked child has it only if it opens it itself.
    ///
    /// A name has 1 to 200 bytes, contains no `/`, and does not begin with a dot. The capacity counts for a new arena only.
    ///
    /// Errors: those of [`Arena::create`] and [`Arena::attach`]; `Invalid` also for a name that none can be; `NotAnArena` also if the file of that
    /// name is something else; `Exhausted` also if 255 processes have it; `Os` with EPERM if the directory is another user's or open to
    /// others, with EACCES if those who have the arena hide from this process, with EXDEV if they are in other PID namespaces,
    /// with ENOENT or EACCES if the system does not show this process its descriptors, and with ENOSYS on other systems than Linux.
    pub fn open(name: &str, capacity: Capacity) -> Result<Arena> {
        Arena::meet(name, capacity)
    }

    /// Attaches the arena behind a descriptor and keeps a copy of the descriptor.
    ///
    /// Errors: `NotAnArena` if it is something else, another version, truncated, or could be truncated; `Os`.
    pub fn attach(fd: BorrowedFd<'_>) -> Result<Arena> {
        let mut arena = Arena::over(fd)?;
        arena.fd = Some(fd.try_clone_to_owned().map_err(Error::from_io)?);
        Ok(arena)
    }

    /// Attaches the arena behind a descriptor without keeping one.
    pub fn map(fd: BorrowedFd<'_>) -> Result<Arena> {
        Arena::over(fd)
    }

    /// The descriptor to pass to other processes. None for an arena attached with [`Arena::map`].
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.fd.as_ref().map(AsFd::as_fd)
    }

    /// The file's identity, which is the same in every process.
    pub fn file(&self) -> FileId {
        self.file
    }

    /// Its capacity.
    pub fn capacity(&self) -> Capacity {
        self.capacity
    }

    /// Sets how often a wait of this process checks again before its thread queues, and before it sleeps, whatever that
    /// brings. By default it checks for as long as that is expected to pay off (`ntux_platform::waiting`).
    pub fn set_spins(&self, spins: u32) {
        self.allow_spins(spins);
    }

    /// A waiter for the calling thread. It takes nothing from the arena before it is needed.
    pub fn waiter(&self) -> Waiter {
        let waiter = Waiter::new();
        waiter.name_itself(self);
        waiter
    }

    /// Returns a thread's slot, and ends its owner ([`Arena::owner_of_this_thread`]). The waiter may be used again; it then takes a new slot.
    pub fn retire(&self, waiter: &Waiter) {
        owner::retire(self, waiter);
        waiter::retire(self, waiter);
    }
}
