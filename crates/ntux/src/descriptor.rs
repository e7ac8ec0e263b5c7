// SPDX-License-Identifier: MIT OR Apache-2.0
//! What makes a descriptor readable when something may be in a queue.

use std::io;
use std::os::fd::BorrowedFd;

use ntux_platform::error::{EIO, ENOMEM, ENOSYS, EPERM};
use ntux_platform::wake_descriptor::{Awaited, WakeDescriptor};
use ntux_sync::{Deadline, Quiet};

use crate::{Arena, Error, Result};

/// The descriptor of a queue.
pub(crate) struct QueueFd {
    /// Is dropped before the arena.
    wakes: WakeDescriptor,
    arena: Arena,
    queue: ntux_sync::Queue,
}

impl QueueFd {
    /// One for a queue of this process, armed.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if it is none of this process; [`Error::Os`], [`Error::Exhausted`] if the system has no more.
    pub(crate) fn new(arena: &Arena, queue: ntux_sync::Queue, until: Deadline) -> Result<QueueFd> {
        match QueueFd::armed(arena, queue, until) {
            // A filter that was installed meanwhile refuses io_uring. From now on a thread sleeps.
            Err(Error::Os(EPERM | ENOSYS)) => QueueFd::armed(arena, queue, until),
            made => made,
        }
    }

    fn armed(arena: &Arena, queue: ntux_sync::Queue, until: Deadline) -> Result<QueueFd> {
        let made = QueueFd { wakes: WakeDescriptor::new().map_err(refused)?, arena: arena.clone(), queue };
        made.arm(until)?;
        Ok(made)
    }

    /// Makes it unreadable until something may be in the queue, or the time has come: for who has just found nothing there.
    ///
    /// # Errors
    ///
    /// Those of [`QueueFd::new`].
    pub(crate) fn arm(&self, until: Deadline) -> Result<()> {
        let armed = match self.arena.with_waiter(|core, waiter| core.queue_arm(waiter, self.queue))? {
            Some(Quiet { bell, expected, due }) => {
                let awaited = Awaited { word: bell, expected, due: due.earlier(until) };
                // SAFETY: a word of the arena, which `self` keeps mapped until the descriptor was dropped.
                unsafe { self.wakes.arm(awaited) }
            }
            None => self.wakes.raise(),
        };
        armed.map_err(refused)
    }

    /// False in a forked child, which has no part in it.
    pub(crate) fn is_ours(&self) -> bool {
        self.wakes.is_ours()
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.wakes.fd()
    }
}

fn refused(error: io::Error) -> Error {
    match error.raw_os_error() {
        Some(ENOMEM) => Error::Exhausted,
        Some(number) => Error::Os(number),
        None => Error::Os(EIO),
    }
}
