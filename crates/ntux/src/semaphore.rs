// SPDX-License-Identifier: MIT OR Apache-2.0
//! Semaphores.

use ntux_sync::{Deadline, Kind, New};

use crate::handle::Handle;
use crate::wait::OWNERLESS;
use crate::{Arena, Name, Object, Result, Wait};

/// A semaphore: signaled while its count is above zero; acquiring it decrements the count.
///
/// ```
/// use ntux::{Arena, Capacity, Deadline, Error, Semaphore};
///
/// let arena = Arena::create(Capacity { objects: 16, waiters: 4 })?;
/// let semaphore = Semaphore::create(&arena, 0, 2)?;
/// assert_eq!(semaphore.release(2), Ok(0));
/// assert_eq!(semaphore.release(1), Err(Error::Overflow));
/// semaphore.wait(Deadline::Never)?;
/// assert_eq!(semaphore.read()?.count, 1);
/// # Ok::<(), Error>(())
/// ```
///
/// Dropping the last clone of a handle that has created the object, or holds it ([`Semaphore::hold`]), releases it: when no process holds it
/// any more, it ends. See [`Semaphore::keep`]. Dropping one of [`Semaphore::from_object`] does not, nor does a forked child.
#[derive(Clone)]
pub struct Semaphore {
    handle: Handle,
}

/// State of a semaphore.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SemaphoreState {
    /// How many acquisitions are possible now.
    pub count: u32,
    /// The highest possible count.
    pub max: u32,
}

impl Semaphore {
    /// Creates a semaphore with `count`, which may grow to `max`. Both may be 0.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`](crate::Error::Invalid) if `count` is above `max`;
    /// [`Error::Exhausted`](crate::Error::Exhausted) if the arena is full.
    ///
    /// Any thread; not in a signal handler. `NTSYNC_IOC_CREATE_SEM`, `NtCreateSemaphore`.
    pub fn create(arena: &Arena, count: u32, max: u32) -> Result<Semaphore> {
        let object = arena.with_waiter(|arena, waiter| arena.semaphore_create(waiter, count, max))?;
        Ok(Semaphore { handle: Handle::owning(arena, object)? })
    }

    /// Opens the semaphore with this name, or creates it, in one step: of several that do so at the same time, one creates it. Returns
    /// whether it existed; then it is as it was. This process holds it as long as there is a clone of this handle; the name
    /// ends with the object ([`Arena::make_permanent`]). What only dead processes held is created anew.
    ///
    /// # Errors
    ///
    /// [`Error::OtherKind`](crate::Error::OtherKind) if an object of another kind has the name;
    /// [`Error::Invalid`](crate::Error::Invalid) if `count` is above `max`;
    /// [`Error::Exhausted`](crate::Error::Exhausted) if the arena is full, or has no room for the name.
    ///
    /// Any thread; not in a signal handler. `NtCreateSemaphore` with a name and `OBJ_OPENIF`.
    pub fn create_named(arena: &Arena, name: Name<'_>, count: u32, max: u32) -> Result<(Semaphore, bool)> {
        let new = New::Semaphore { count, max };
        let (handle, existed) = Handle::create_named(arena, name, new)?;
        Ok((Semaphore { handle }, existed))
    }

    /// Opens the semaphore with this name, which this process holds as long as there is a clone of this handle.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchName`](crate::Error::NoSuchName); [`Error::OtherKind`](crate::Error::OtherKind) if an object of another kind has
    /// the name; [`Error::Exhausted`](crate::Error::Exhausted) when more processes use the arena than it has room for.
    ///
    /// Any thread; not in a signal handler. `NtOpenSemaphore`.
    pub fn open_named(arena: &Arena, name: Name<'_>) -> Result<Semaphore> {
        Ok(Semaphore { handle: Handle::open_named(arena, name, Kind::Semaphore)? })
    }

    /// A handle to the semaphore that another process knows as `object`.
    ///
    /// # Errors
    ///
    /// Those of [`Semaphore::read`].
    ///
    /// Any thread; not in a signal handler.
    pub fn from_object(arena: &Arena, object: Object) -> Result<Semaphore> {
        let semaphore = Semaphore { handle: Handle::borrowing(arena, object) };
        semaphore.read()?;
        Ok(semaphore)
    }

    /// The semaphore that another process knows as `object`, which this process holds as long as there is a clone of this handle: it lives at
    /// least as long.
    ///
    /// # Errors
    ///
    /// Those of [`Semaphore::read`]; [`Error::Exhausted`](crate::Error::Exhausted) when more processes use the arena than it has room for.
    ///
    /// Any thread; not in a signal handler. Corresponds to keeping a descriptor of the driver's object.
    pub fn hold(arena: &Arena, object: Object) -> Result<Semaphore> {
        let semaphore = Semaphore { handle: Handle::holding(arena, object)? };
        semaphore.read()?;
        Ok(semaphore)
    }

    /// The number to pass to another process, and to [`Arena::wait_any`].
    ///
    /// Any thread, also in a signal handler.
    pub fn object(&self) -> Object {
        self.handle.object()
    }

    /// Lets the process hold the object when the handles are dropped, and returns its number: somebody else closes it
    /// ([`Arena::close`]) or releases it ([`Arena::release`]), or the end of its process does ([`Arena::adopt`]).
    ///
    /// Any thread.
    pub fn keep(&self) -> Object {
        self.handle.keep()
    }

    /// Adds `count`, which may be 0, and returns the previous count. Up to `count` waits are satisfied before it
    /// returns.
    ///
    /// # Errors
    ///
    /// Nothing changed: [`Error::Overflow`](crate::Error::Overflow) if the count would exceed the maximum;
    /// [`Error::NoSuchObject`](crate::Error::NoSuchObject) if the semaphore was closed.
    ///
    /// Any thread; not in a signal handler. `NTSYNC_IOC_SEM_RELEASE`, `NtReleaseSemaphore`.
    #[inline]
    pub fn release(&self, count: u32) -> Result<u32> {
        self.handle.perform(|arena, waiter, object| arena.semaphore_release(waiter, object, count))
    }

    /// Waits until the count is above zero and decrements it.
    ///
    /// # Errors
    ///
    /// Nothing was taken: [`Error::TimedOut`](crate::Error::TimedOut) when the deadline passed;
    /// [`Error::NoSuchObject`](crate::Error::NoSuchObject) if the semaphore was closed before;
    /// [`Error::Exhausted`](crate::Error::Exhausted) when more threads wait than the arena has room for.
    ///
    /// Any thread; not in a signal handler. `NTSYNC_IOC_WAIT_ANY`, `NtWaitForSingleObject`.
    #[inline]
    pub fn wait(&self, deadline: Deadline) -> Result<()> {
        self.handle.arena.wait_any(&[self.handle.object()], Wait::by(OWNERLESS).until(deadline))?;
        Ok(())
    }

    /// Does what [`Semaphore::wait`] does, for a task: waits until the count is above zero, and decrements it. Dropping the future ends the wait; [`AsyncWait`](crate::AsyncWait) says what
    /// happens to a unit that it has taken.
    ///
    /// # Errors
    ///
    /// Those of [`Arena::wait_any_async`].
    ///
    /// Any thread; not in a signal handler.
    pub async fn wait_async(&self) -> Result<()> {
        self.handle.arena.wait_any_async(&[self.handle.object()], OWNERLESS).await.map(drop)
    }

    /// Reads a consistent state.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchObject`](crate::Error::NoSuchObject) if it was closed or never existed;
    /// [`Error::Invalid`](crate::Error::Invalid) if it is another kind of object or of another arena.
    ///
    /// Any thread; not in a signal handler. `NTSYNC_IOC_SEM_READ`, `NtQuerySemaphore`.
    pub fn read(&self) -> Result<SemaphoreState> {
        let (count, max) = self.handle.perform(|arena, waiter, object| arena.semaphore_read(waiter, object))?;
        Ok(SemaphoreState { count, max })
    }
}
