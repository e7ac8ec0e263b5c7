// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mutex objects.

use ntux_sync::{Deadline, Kind, MutexState, New, Satisfied};

use crate::handle::Handle;
use crate::{Arena, AsyncWait, Name, Object, Result, Wait};

/// NT's mutex, an object of an arena (NT calls it a mutant): signaled while unowned, and always to its owner; acquiring it increments the recursion count.
///
/// An owner is the id of a thread ([`Arena::owner_of_this_thread`]), whose end abandons the mutex at once, or any number but 0 that the
/// program chooses. The mutex does not know who calls: any caller that passes the owner's number is the owner, and with a number that the
/// program chose nothing happens when a thread ends until somebody calls [`MutexObject::kill`]. It is handed over in order of arrival. For
/// data that threads of one process share there are [`Mutex`](crate::Mutex) and [`FairMutex`](crate::FairMutex), with guards.
///
/// ```
/// use ntux::{Arena, Capacity, Deadline, Error, MutexObject};
///
/// let arena = Arena::create(Capacity { objects: 16, waiters: 4 })?;
/// let mutex = MutexObject::create(&arena)?;
/// mutex.lock(7, Deadline::Never)?;
/// mutex.lock(7, Deadline::Never)?;
/// assert_eq!(mutex.lock(8, Deadline::NOW), Err(Error::TimedOut));
/// assert_eq!(mutex.unlock(7), Ok(2));
/// assert_eq!(mutex.unlock(7), Ok(1));
///
/// mutex.lock(7, Deadline::Never)?;
/// mutex.kill(7)?; // owner 7 is gone
/// assert!(mutex.lock(8, Deadline::Never)?.abandoned);
/// # Ok::<(), Error>(())
/// ```
///
/// Dropping the last clone of a handle that has created the object, or holds it ([`MutexObject::hold`]), releases it: when no process holds it
/// any more, it ends, or, if somebody owns it or waits for it, some time after that. See [`MutexObject::keep`]. Dropping one of [`MutexObject::from_object`] does not, nor does a forked child.
#[derive(Clone)]
pub struct MutexObject {
    handle: Handle,
}

impl MutexObject {
    /// Creates a mutex that nobody owns.
    ///
    /// # Errors
    ///
    /// [`Error::Exhausted`](crate::Error::Exhausted) if the arena is full.
    ///
    /// Any thread; not in a signal handler. `NTSYNC_IOC_CREATE_MUTEX`, `NtCreateMutant`.
    pub fn create(arena: &Arena) -> Result<MutexObject> {
        MutexObject::create_with(arena, 0, 0)
    }

    /// Creates a mutex that `owner` has acquired `count` times.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`](crate::Error::Invalid) if one of `owner` and `count` is 0 and the other is not;
    /// [`Error::Exhausted`](crate::Error::Exhausted) if the arena is full.
    ///
    /// Any thread; not in a signal handler. `NTSYNC_IOC_CREATE_MUTEX`, `NtCreateMutant`.
    pub fn create_with(arena: &Arena, owner: u32, count: u32) -> Result<MutexObject> {
        let object = arena.with_waiter(|arena, waiter| arena.mutex_create(waiter, owner, count))?;
        Ok(MutexObject { handle: Handle::owning(arena, object)? })
    }

    /// Opens the mutex with this name, or creates it, in one step: of several that do so at the same time, one creates it. Returns
    /// whether it existed; then it is as it was: `owner` does not own it by this. This process holds it as long as there is a clone of this handle; the name
    /// ends with the object ([`Arena::make_permanent`]). What only dead processes held is created anew.
    ///
    /// # Errors
    ///
    /// [`Error::OtherKind`](crate::Error::OtherKind) if an object of another kind has the name;
    /// [`Error::Invalid`](crate::Error::Invalid) if one of `owner` and `count` is 0 and the other is not;
    /// [`Error::Exhausted`](crate::Error::Exhausted) if the arena is full, or has no room for the name.
    ///
    /// Any thread; not in a signal handler. `NtCreateMutant` with a name and `OBJ_OPENIF`.
    pub fn create_named(arena: &Arena, name: Name<'_>, owner: u32, count: u32) -> Result<(MutexObject, bool)> {
        let new = New::Mutex { owner, count };
        let (handle, existed) = Handle::create_named(arena, name, new)?;
        Ok((MutexObject { handle }, existed))
    }

    /// Opens the mutex with this name, which this process holds as long as there is a clone of this handle.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchName`](crate::Error::NoSuchName); [`Error::OtherKind`](crate::Error::OtherKind) if an object of another kind has
    /// the name; [`Error::Exhausted`](crate::Error::Exhausted) when more processes use the arena than it has room for.
    ///
    /// Any thread; not in a signal handler. `NtOpenMutant`.
    pub fn open_named(arena: &Arena, name: Name<'_>) -> Result<MutexObject> {
        Ok(MutexObject { handle: Handle::open_named(arena, name, Kind::Mutex)? })
    }

    /// A handle to the mutex that another process knows as `object`.
    ///
    /// # Errors
    ///
    /// Those of [`MutexObject::read`].
    ///
    /// Any thread; not in a signal handler.
    pub fn from_object(arena: &Arena, object: Object) -> Result<MutexObject> {
        let mutex = MutexObject { handle: Handle::borrowing(arena, object) };
        mutex.read()?;
        Ok(mutex)
    }

    /// The mutex that another process knows as `object`, which this process holds as long as there is a clone of this handle: it lives at
    /// least as long.
    ///
    /// # Errors
    ///
    /// Those of [`MutexObject::read`]; [`Error::Exhausted`](crate::Error::Exhausted) when more processes use the arena than it has room for.
    ///
    /// Any thread; not in a signal handler. Corresponds to keeping a descriptor of the driver's object.
    pub fn hold(arena: &Arena, object: Object) -> Result<MutexObject> {
        let mutex = MutexObject { handle: Handle::holding(arena, object)? };
        mutex.read()?;
        Ok(mutex)
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

    /// Waits until the mutex is unowned or owned by `owner`, and acquires it for `owner`.
    ///
    /// [`Satisfied::abandoned`] reports once that a former owner was killed while it owned the mutex: the protected
    /// data may be inconsistent.
    ///
    /// # Errors
    ///
    /// Nothing was acquired: [`Error::TimedOut`](crate::Error::TimedOut) when the deadline passed;
    /// [`Error::Invalid`](crate::Error::Invalid) for owner 0;
    /// [`Error::NoSuchObject`](crate::Error::NoSuchObject) if the mutex was closed before;
    /// [`Error::Exhausted`](crate::Error::Exhausted) when more threads wait than the arena has room for.
    ///
    /// A mutex that its owner acquired 4,294,967,295 times is not signaled, not even to the owner.
    ///
    /// Any thread; not in a signal handler. `NTSYNC_IOC_WAIT_ANY`, `NtWaitForSingleObject`.
    #[inline]
    pub fn lock(&self, owner: u32, deadline: Deadline) -> Result<Satisfied> {
        self.handle.arena.wait_any(&[self.handle.object()], Wait::by(owner).until(deadline))
    }

    /// Does what [`MutexObject::lock`] does, for a task: waits until the mutex is unowned or owned by `owner`, and acquires it. Two tasks with the same
    /// owner both get it. Dropping the future ends the wait, and unlocks what nobody knows to be locked; once the future has returned, the
    /// mutex is the task's until it calls [`MutexObject::unlock`].
    ///
    /// # Errors
    ///
    /// Those of [`Arena::wait_any_async`].
    ///
    /// Any thread; not in a signal handler.
    pub fn lock_async(&self, owner: u32) -> AsyncWait {
        self.handle.arena.wait_any_async(&[self.handle.object()], owner)
    }

    /// Decrements the recursion count and returns the previous count. At 0 the mutex becomes unowned, and the first
    /// waiter gets it before this returns.
    ///
    /// # Errors
    ///
    /// Nothing changed: [`Error::NotOwner`](crate::Error::NotOwner) if `owner` does not own the mutex;
    /// [`Error::Invalid`](crate::Error::Invalid) for owner 0;
    /// [`Error::NoSuchObject`](crate::Error::NoSuchObject) if the mutex was closed.
    ///
    /// Any thread; not in a signal handler. `NTSYNC_IOC_MUTEX_UNLOCK`, `NtReleaseMutant`.
    #[inline]
    pub fn unlock(&self, owner: u32) -> Result<u32> {
        self.handle.perform(|arena, waiter, object| arena.mutex_unlock(waiter, object, owner))
    }

    /// Declares that `owner` is gone: the mutex becomes unowned, and abandoned until somebody acquires it.
    ///
    /// # Errors
    ///
    /// Those of [`MutexObject::unlock`].
    ///
    /// Any thread; not in a signal handler. `NTSYNC_IOC_MUTEX_KILL`; the NT kernel does this when a thread ends.
    pub fn kill(&self, owner: u32) -> Result<()> {
        self.handle.perform(|arena, waiter, object| arena.mutex_kill(waiter, object, owner))
    }

    /// Reads a consistent state.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchObject`](crate::Error::NoSuchObject) if it was closed or never existed;
    /// [`Error::Invalid`](crate::Error::Invalid) if it is another kind of object or of another arena.
    ///
    /// Any thread; not in a signal handler. `NTSYNC_IOC_MUTEX_READ`, `NtQueryMutant`.
    pub fn read(&self) -> Result<MutexState> {
        self.handle.perform(|arena, waiter, object| arena.mutex_read(waiter, object))
    }
}
