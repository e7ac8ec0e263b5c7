// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events.

use ntux_sync::{Deadline, Kind, New};

use crate::handle::Handle;
use crate::wait::OWNERLESS;
use crate::{Arena, Name, Object, Result, Wait};

/// An event: signaled from set to reset.
///
/// ```
/// use ntux::{Arena, Capacity, Deadline, Error, Event, Reset};
///
/// let arena = Arena::create(Capacity { objects: 16, waiters: 4 })?;
/// let gate = Event::create(&arena, Reset::Manual, false)?;
/// let ticket = Event::create(&arena, Reset::Auto, false)?;
/// assert_eq!(gate.set(), Ok(false));
/// assert_eq!(ticket.set(), Ok(false));
///
/// gate.wait(Deadline::Never)?;
/// gate.wait(Deadline::Never)?; // stays set
/// ticket.wait(Deadline::Never)?;
/// assert_eq!(ticket.wait(Deadline::NOW), Err(Error::TimedOut)); // the first wait reset it
/// # Ok::<(), Error>(())
/// ```
///
/// Dropping the last clone of a handle that has created the object, or holds it ([`Event::hold`]), releases it: when no process holds it
/// any more, it ends. See [`Event::keep`]. Dropping one of [`Event::from_object`] does not, nor does a forked child.
#[derive(Clone)]
pub struct Event {
    handle: Handle,
}

/// What resets an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reset {
    /// The wait that acquires it: NT's synchronization event.
    Auto,
    /// Nothing but [`Event::reset`]: NT's notification event.
    Manual,
}

/// State of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EventState {
    /// What resets it.
    pub reset: Reset,
    /// True if a wait would be satisfied now.
    pub signaled: bool,
}

impl Event {
    /// Creates an event.
    ///
    /// # Errors
    ///
    /// [`Error::Exhausted`](crate::Error::Exhausted) if the arena is full.
    ///
    /// Any thread; not in a signal handler. `NTSYNC_IOC_CREATE_EVENT`, `NtCreateEvent`.
    pub fn create(arena: &Arena, reset: Reset, signaled: bool) -> Result<Event> {
        let manual = reset == Reset::Manual;
        let object = arena.with_waiter(|arena, waiter| arena.event_create(waiter, manual, signaled))?;
        Ok(Event { handle: Handle::owning(arena, object)? })
    }

    /// Opens the event with this name, or creates it, in one step: of several that do so at the same time, one creates it. Returns
    /// whether it existed; then it is as it was, also what resets it. This process holds it as long as there is a clone of this handle; the name
    /// ends with the object ([`Arena::make_permanent`]). What only dead processes held is created anew.
    ///
    /// ```
    /// use ntux::{Arena, Capacity, Deadline, Event, Name, Reset};
    ///
    /// let arena = Arena::create(Capacity::default())?;
    /// let (ready, existed) = Event::create_named(&arena, Name::new("ready")?, Reset::Auto, false)?;
    /// assert!(!existed);
    /// // In another process that has attached the arena:
    /// Event::open_named(&arena, Name::new("ready")?)?.set()?;
    /// ready.wait(Deadline::NOW)?;
    /// # Ok::<(), ntux::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::OtherKind`](crate::Error::OtherKind) if an object of another kind has the name;
    /// [`Error::Exhausted`](crate::Error::Exhausted) if the arena is full, or has no room for the name.
    ///
    /// Any thread; not in a signal handler. `NtCreateEvent` with a name and `OBJ_OPENIF`.
    pub fn create_named(arena: &Arena, name: Name<'_>, reset: Reset, signaled: bool) -> Result<(Event, bool)> {
        let new = New::Event { manual: reset == Reset::Manual, signaled };
        let (handle, existed) = Handle::create_named(arena, name, new)?;
        Ok((Event { handle }, existed))
    }

    /// Opens the event with this name, which this process holds as long as there is a clone of this handle.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchName`](crate::Error::NoSuchName); [`Error::OtherKind`](crate::Error::OtherKind) if an object of another kind has
    /// the name; [`Error::Exhausted`](crate::Error::Exhausted) when more processes use the arena than it has room for.
    ///
    /// Any thread; not in a signal handler. `NtOpenEvent`.
    pub fn open_named(arena: &Arena, name: Name<'_>) -> Result<Event> {
        Ok(Event { handle: Handle::open_named(arena, name, Kind::AutoEvent)? })
    }

    /// The event that another process knows as `object`.
    ///
    /// # Errors
    ///
    /// Those of [`Event::read`].
    ///
    /// Any thread; not in a signal handler.
    pub fn from_object(arena: &Arena, object: Object) -> Result<Event> {
        let event = Event { handle: Handle::borrowing(arena, object) };
        event.read()?;
        Ok(event)
    }

    /// The event that another process knows as `object`, which this process holds as long as there is a clone of this handle: it lives at
    /// least as long.
    ///
    /// # Errors
    ///
    /// Those of [`Event::read`]; [`Error::Exhausted`](crate::Error::Exhausted) when more processes use the arena than it has room for.
    ///
    /// Any thread; not in a signal handler. Corresponds to keeping a descriptor of the driver's object.
    pub fn hold(arena: &Arena, object: Object) -> Result<Event> {
        let event = Event { handle: Handle::holding(arena, object)? };
        event.read()?;
        Ok(event)
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

    /// Signals the event and returns whether it was signaled before. A manual-reset event satisfies every wait on it
    /// before this returns; an auto-reset event satisfies one and is reset by it, or stays set if nobody waits.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchObject`](crate::Error::NoSuchObject) if the event was closed.
    ///
    /// Any thread; not in a signal handler. `NTSYNC_IOC_EVENT_SET`, `NtSetEvent`.
    #[inline]
    pub fn set(&self) -> Result<bool> {
        self.handle.perform(|arena, waiter, object| arena.event_set(waiter, object))
    }

    /// Makes the event unsignaled and returns whether it was signaled before.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchObject`](crate::Error::NoSuchObject) if the event was closed.
    ///
    /// Any thread; not in a signal handler. `NTSYNC_IOC_EVENT_RESET`, `NtResetEvent`.
    #[inline]
    pub fn reset(&self) -> Result<bool> {
        self.handle.perform(|arena, waiter, object| arena.event_reset(waiter, object))
    }

    /// Sets and resets the event in one step: satisfies every wait on a manual-reset event, at most one on an
    /// auto-reset event, and leaves it unsignaled. Returns whether it was signaled before.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchObject`](crate::Error::NoSuchObject) if the event was closed.
    ///
    /// Any thread; not in a signal handler. `NTSYNC_IOC_EVENT_PULSE`, `NtPulseEvent`.
    #[inline]
    pub fn pulse(&self) -> Result<bool> {
        self.handle.perform(|arena, waiter, object| arena.event_pulse(waiter, object))
    }

    /// Waits until the event is signaled, and resets it if it is [`Reset::Auto`].
    ///
    /// # Errors
    ///
    /// [`Error::TimedOut`](crate::Error::TimedOut) when the deadline passed;
    /// [`Error::NoSuchObject`](crate::Error::NoSuchObject) if the event was closed before;
    /// [`Error::Exhausted`](crate::Error::Exhausted) when more threads wait than the arena has room for.
    ///
    /// Any thread; not in a signal handler. `NTSYNC_IOC_WAIT_ANY`, `NtWaitForSingleObject`.
    #[inline]
    pub fn wait(&self, deadline: Deadline) -> Result<()> {
        self.handle.arena.wait_any(&[self.handle.object()], Wait::by(OWNERLESS).until(deadline))?;
        Ok(())
    }

    /// Does what [`Event::wait`] does, for a task: waits until the event is signaled, and resets it if it is [`Reset::Auto`]. Dropping the future ends the wait; [`AsyncWait`](crate::AsyncWait) says what
    /// happens to a signal that it has used up.
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
    /// Any thread; not in a signal handler. `NTSYNC_IOC_EVENT_READ`, `NtQueryEvent`.
    pub fn read(&self) -> Result<EventState> {
        let (manual, signaled) = self.handle.perform(|arena, waiter, object| arena.event_read(waiter, object))?;
        Ok(EventState { reset: if manual { Reset::Manual } else { Reset::Auto }, signaled })
    }
}
