// SPDX-License-Identifier: MIT OR Apache-2.0
//! The end of a thread, of a process, or of another owner, as an object.

use ntux_sync::Deadline;

use crate::handle::Handle;
use crate::wait::OWNERLESS;
use crate::{Arena, EndState, Object, Result, Wait};

/// The end of an owner: signaled once it has ended, to threads of all processes that wait for it, and from then on.
///
/// Nobody has to say so: an owner that is a thread ends also if it panics or is killed, and one that a process has created ends with that.
/// A thread that waits finds out, as it does for mutexes ([`Arena::owner_of_this_thread`]).
///
/// ```
/// use std::thread;
/// use ntux::{Arena, Capacity, Deadline, End, Error};
///
/// let arena = Arena::create(Capacity { objects: 16, waiters: 4 })?;
/// let end = thread::scope(|scope| {
///     let worker = scope.spawn(|| {
///         let end = End::of_this_thread(&arena)?;
///         assert_eq!(end.wait(Deadline::NOW), Err(Error::TimedOut));
///         end.report(7)?;
///         Ok::<End, Error>(end)
///     });
///     worker.join().unwrap()
/// })?;
/// end.wait(Deadline::Never)?;
/// assert_eq!(end.read()?.code, Some(7));
/// # Ok::<(), Error>(())
/// ```
///
/// Dropping the last clone of a handle that has created the object, or holds it ([`End::hold`]), releases it: when no process holds it any
/// more, it goes. So a process whose end others want to know lets them hold it. See [`End::keep`]. Dropping one of [`End::from_object`] does
/// not release it, nor does a forked child.
#[derive(Clone)]
pub struct End {
    handle: Handle,
}

impl End {
    /// The end of an owner of any process ([`Arena::create_owner`]). There may be several.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`](crate::Error::Invalid) if the arena has given out no such id; [`Error::Exhausted`](crate::Error::Exhausted) if it
    /// is full.
    ///
    /// Any thread; not in a signal handler. `NtOpenThread`.
    pub fn of(arena: &Arena, owner: u32) -> Result<End> {
        let object = arena.with_waiter(|arena, waiter| arena.end_create(waiter, owner))?;
        Ok(End { handle: Handle::owning(arena, object)? })
    }

    /// The end of the calling thread.
    ///
    /// # Errors
    ///
    /// Those of [`Arena::owner_of_this_thread`], and [`End::of`].
    ///
    /// Any thread; not in a signal handler. `NtOpenThread`.
    pub fn of_this_thread(arena: &Arena) -> Result<End> {
        End::of(arena, arena.owner_of_this_thread()?)
    }

    /// The end that another process knows as `object`.
    ///
    /// # Errors
    ///
    /// Those of [`End::read`].
    ///
    /// Any thread; not in a signal handler.
    pub fn from_object(arena: &Arena, object: Object) -> Result<End> {
        let end = End { handle: Handle::borrowing(arena, object) };
        end.read()?;
        Ok(end)
    }

    /// The end that another process knows as `object`, which this process holds as long as there is a clone of this handle: it lives at
    /// least as long.
    ///
    /// # Errors
    ///
    /// Those of [`End::read`]; [`Error::Exhausted`](crate::Error::Exhausted) when more processes use the arena than it has room for.
    ///
    /// Any thread; not in a signal handler. `NtDuplicateObject`.
    pub fn hold(arena: &Arena, object: Object) -> Result<End> {
        let end = End { handle: Handle::holding(arena, object)? };
        end.read()?;
        Ok(end)
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

    /// Says with which code the owner will end; the last one counts. Returns false, and changes nothing, if somebody has noticed already
    /// that it has ended.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchObject`](crate::Error::NoSuchObject) if the object was closed.
    ///
    /// Any thread; not in a signal handler. The argument of `NtTerminateThread`.
    pub fn report(&self, code: u32) -> Result<bool> {
        self.handle.perform(|arena, waiter, object| arena.end_report(waiter, object, code))
    }

    /// Returns whose end it is, whether that has ended, and its code.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchObject`](crate::Error::NoSuchObject) if the object was closed; [`Error::Invalid`](crate::Error::Invalid) if it is of
    /// another kind.
    ///
    /// Any thread; not in a signal handler. `NtQueryInformationThread` (`ThreadBasicInformation`).
    pub fn read(&self) -> Result<EndState> {
        self.handle.perform(|arena, waiter, object| arena.end_read(waiter, object))
    }

    /// Waits until the owner has ended.
    ///
    /// # Errors
    ///
    /// [`Error::TimedOut`](crate::Error::TimedOut); [`Error::NoSuchObject`](crate::Error::NoSuchObject) if the object was closed before;
    /// [`Error::Exhausted`](crate::Error::Exhausted) if more threads wait than the arena has room for.
    ///
    /// Any thread; not in a signal handler. `NtWaitForSingleObject`.
    pub fn wait(&self, deadline: Deadline) -> Result<()> {
        self.handle.arena.wait_any(&[self.handle.object()], Wait::by(OWNERLESS).until(deadline))?;
        Ok(())
    }

    /// Does what [`End::wait`] does, for a task. Dropping the future ends the wait.
    ///
    /// # Errors
    ///
    /// Those of [`Arena::wait_any_async`].
    ///
    /// Any thread; not in a signal handler.
    pub async fn wait_async(&self) -> Result<()> {
        self.handle.arena.wait_any_async(&[self.handle.object()], OWNERLESS).await.map(drop)
    }
}
