// SPDX-License-Identifier: MIT OR Apache-2.0
//! ntux through its Rust interface.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use ntux_platform::environment::{SPIN, text};
use ntux_sync::{Arena, Capacity, Deadline, Error, Object, Waiter};

use ntux_testkit::rival::Poll;

use super::{Peer, Reset};

pub(crate) struct RustArena(Arena);

/// A thread's place in the arena, and its name as an owner.
pub(crate) struct Seat {
    waiter: Waiter,
    owner: u32,
}

impl RustArena {
    /// Waits spin as `NTUX_SPIN` says, as they do in the device.
    pub(crate) fn open() -> io::Result<Self> {
        let arena = Arena::create(Capacity::default()).map_err(refused)?;
        if let Some(spins) = std::env::var(text(SPIN)).ok().and_then(|spins| spins.parse().ok()) {
            arena.set_spins(spins);
        }
        Ok(Self(arena))
    }

    fn fd(&self) -> io::Result<BorrowedFd<'_>> {
        self.0.fd().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Bytes of memory that the arena's file takes now.
    pub(crate) fn bytes(&self) -> io::Result<u64> {
        // SAFETY: all zeros is a valid `stat`.
        let mut status: libc::stat = unsafe { core::mem::zeroed() };
        // SAFETY: the kernel fills in `status`.
        if unsafe { libc::fstat(self.fd()?.as_raw_fd(), &mut status) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(status.st_blocks as u64 * 512)
    }
}

impl Peer for RustArena {
    type Thread = Seat;
    type Object = Object;

    fn after_fork(&mut self) -> io::Result<()> {
        let attached = Arena::attach(self.fd()?).map_err(refused)?;
        // The parent's attachment is the parent's: the child must not end it.
        core::mem::forget(core::mem::replace(&mut self.0, attached));
        Ok(())
    }

    fn join(&self, owner: u32) -> io::Result<Seat> {
        Ok(Seat { waiter: self.0.waiter(), owner })
    }

    fn mutex(&self, seat: &mut Seat) -> io::Result<Object> {
        self.0.mutex_create(&seat.waiter, 0, 0).map_err(refused)
    }

    fn semaphore(&self, seat: &mut Seat, count: u32, max: u32) -> io::Result<Object> {
        self.0.semaphore_create(&seat.waiter, count, max).map_err(refused)
    }

    fn event(&self, seat: &mut Seat, reset: Reset) -> io::Result<Object> {
        self.0.event_create(&seat.waiter, reset == Reset::Manual, false).map_err(refused)
    }

    #[inline(always)]
    fn wait_any(&self, seat: &mut Seat, objects: &[Object]) -> io::Result<usize> {
        let satisfied = self.0.wait_any(&seat.waiter, objects, None, seat.owner, Deadline::Never).map_err(refused)?;
        Ok(satisfied.index as usize)
    }

    #[inline(always)]
    fn wait_all(&self, seat: &mut Seat, objects: &[Object]) -> io::Result<()> {
        self.0.wait_all(&seat.waiter, objects, None, seat.owner, Deadline::Never).map_err(refused)?;
        Ok(())
    }

    #[inline(always)]
    fn unlock(&self, seat: &mut Seat, mutex: Object) -> io::Result<()> {
        self.0.mutex_unlock(&seat.waiter, mutex, seat.owner).map_err(refused)?;
        Ok(())
    }

    #[inline(always)]
    fn release(&self, seat: &mut Seat, semaphore: Object, count: u32) -> io::Result<()> {
        self.0.semaphore_release(&seat.waiter, semaphore, count).map_err(refused)?;
        Ok(())
    }

    #[inline(always)]
    fn set(&self, seat: &mut Seat, event: Object) -> io::Result<()> {
        self.0.event_set(&seat.waiter, event).map_err(refused)?;
        Ok(())
    }

    #[inline(always)]
    fn reset(&self, seat: &mut Seat, event: Object) -> io::Result<()> {
        self.0.event_reset(&seat.waiter, event).map_err(refused)?;
        Ok(())
    }
}

impl Poll for RustArena {
    fn try_all(&self, seat: &mut Seat, objects: &[Object]) -> io::Result<bool> {
        match self.0.wait_all(&seat.waiter, objects, None, seat.owner, Deadline::NOW) {
            Ok(_) => Ok(true),
            Err(Error::TimedOut) => Ok(false),
            Err(error) => Err(refused(error)),
        }
    }

    fn is_signaled(&self, seat: &mut Seat, event: Object) -> io::Result<bool> {
        self.0.event_read(&seat.waiter, event).map(|(_manual, signaled)| signaled).map_err(refused)
    }
}

#[cold]
fn refused(error: Error) -> io::Error {
    io::Error::other(error)
}
