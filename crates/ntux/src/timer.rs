// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waitable timers.

use std::time::Duration;

use ntux_sync::{Deadline, Kind, New};

use crate::handle::Handle;
use crate::wait::OWNERLESS;
use crate::{Arena, Clock, Due, Error, Name, Object, Reset, Result, TimerState, Wait};

/// A timer: signaled from its due time on, to threads of all processes that wait for it.
///
/// No thread must live for that: whoever waits fires it, also if the process that armed it is dead.
///
/// ```
/// use std::time::Duration;
/// use ntux::{Arena, Capacity, Clock, Deadline, Due, Error, Reset, Timer};
///
/// let arena = Arena::create(Capacity { objects: 16, waiters: 4 })?;
/// let tick = Timer::create(&arena, Reset::Auto)?;
/// tick.set(Due::after_ns(Clock::Monotonic, 1_000_000), Duration::from_millis(5))?;
/// tick.wait(Deadline::Never)?; // after a millisecond
/// tick.wait(Deadline::Never)?; // after five more
/// tick.cancel()?;
/// assert_eq!(tick.wait(Deadline::NOW), Err(Error::TimedOut));
/// # Ok::<(), Error>(())
/// ```
///
/// Dropping the last clone of a handle that has created the object, or holds it ([`Timer::hold`]), releases it: when no process holds it
/// any more, it ends. See [`Timer::keep`]. Dropping one of [`Timer::from_object`] does not, nor does a forked child.
#[derive(Clone)]
pub struct Timer {
    handle: Handle,
}

impl Timer {
    /// Creates a timer that is not armed. [`Reset::Auto`]: a wait that acquires it resets it, NT's synchronization timer;
    /// [`Reset::Manual`]: it stays signaled until it is set again.
    ///
    /// # Errors
    ///
    /// [`Error::Exhausted`] if the arena is full.
    ///
    /// Any thread; not in a signal handler. `NtCreateTimer`.
    pub fn create(arena: &Arena, reset: Reset) -> Result<Timer> {
        let object = arena.with_waiter(|arena, waiter| arena.timer_create(waiter, reset == Reset::Manual))?;
        Ok(Timer { handle: Handle::owning(arena, object)? })
    }

    /// Opens the timer with this name, or creates it, as [`Event::create_named`](crate::Event::create_named) does with an event.
    ///
    /// # Errors
    ///
    /// [`Error::OtherKind`] if an object of another kind has the name; [`Error::Exhausted`] if the arena is full, or has no room for
    /// the name.
    ///
    /// Any thread; not in a signal handler. `NtCreateTimer` with a name and `OBJ_OPENIF`.
    pub fn create_named(arena: &Arena, name: Name<'_>, reset: Reset) -> Result<(Timer, bool)> {
        let new = New::Timer { manual: reset == Reset::Manual };
        let (handle, existed) = Handle::create_named(arena, name, new)?;
        Ok((Timer { handle }, existed))
    }

    /// Opens the timer with this name, which this process holds as long as there is a clone of this handle.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchName`]; [`Error::OtherKind`] if an object of another kind has the name; [`Error::Exhausted`] when more processes
    /// use the arena than it has room for.
    ///
    /// Any thread; not in a signal handler. `NtOpenTimer`.
    pub fn open_named(arena: &Arena, name: Name<'_>) -> Result<Timer> {
        Ok(Timer { handle: Handle::open_named(arena, name, Kind::SyncTimer)? })
    }

    /// The timer that another process knows as `object`.
    ///
    /// # Errors
    ///
    /// Those of [`Timer::read`].
    ///
    /// Any thread; not in a signal handler.
    pub fn from_object(arena: &Arena, object: Object) -> Result<Timer> {
        let timer = Timer { handle: Handle::borrowing(arena, object) };
        timer.read()?;
        Ok(timer)
    }

    /// The timer that another process knows as `object`, which this process holds as long as there is a clone of this handle: it lives at
    /// least as long.
    ///
    /// # Errors
    ///
    /// Those of [`Timer::read`]; [`Error::Exhausted`] when more processes use the arena than it has room for.
    ///
    /// Any thread; not in a signal handler.
    pub fn hold(arena: &Arena, object: Object) -> Result<Timer> {
        let timer = Timer { handle: Handle::holding(arena, object)? };
        timer.read()?;
        Ok(timer)
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

    /// Arms the timer: it is not signaled until this time, and fires then; also if somebody waits for it already. With a period it
    /// fires again and again; times that passed while nobody looked are one firing, and the next one keeps the rhythm. A period is
    /// rounded up to microseconds; zero: it fires once.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for a period above 25 days; [`Error::NoSuchObject`] if the timer was closed.
    ///
    /// Any thread; not in a signal handler. `NtSetTimer`, without an APC.
    pub fn set(&self, due: Due, period: Duration) -> Result<()> {
        let period_ns = u64::try_from(period.as_nanos()).map_err(|_| Error::Invalid)?;
        self.handle.perform(|arena, waiter, object| arena.timer_set(waiter, object, due, period_ns))
    }

    /// Arms the timer for so long after now, by a clock that stands still while the machine sleeps.
    ///
    /// # Errors
    ///
    /// Those of [`Timer::set`].
    ///
    /// Any thread; not in a signal handler. `NtSetTimer`, without an APC.
    pub fn set_after(&self, after: Duration, period: Duration) -> Result<()> {
        let after_ns = u64::try_from(after.as_nanos()).unwrap_or(u64::MAX);
        self.set(Due::after_ns(Clock::Monotonic, after_ns), period)
    }

    /// Ends the arming. Whether the timer is signaled stays as it is.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchObject`] if the timer was closed.
    ///
    /// Any thread; not in a signal handler. `NtCancelTimer`.
    pub fn cancel(&self) -> Result<()> {
        self.handle.perform(|arena, waiter, object| arena.timer_cancel(waiter, object))
    }

    /// Waits until the timer is signaled, and resets it if it is [`Reset::Auto`].
    ///
    /// # Errors
    ///
    /// [`Error::TimedOut`] when the deadline passed; [`Error::NoSuchObject`] if the timer was closed before; [`Error::Exhausted`] when
    /// more threads wait than the arena has room for.
    ///
    /// Any thread; not in a signal handler. `NtWaitForSingleObject`.
    pub fn wait(&self, deadline: Deadline) -> Result<()> {
        self.handle.arena.wait_any(&[self.handle.object()], Wait::by(OWNERLESS).until(deadline))?;
        Ok(())
    }

    /// Does what [`Timer::wait`] does, for a task: waits until the timer is signaled, and resets it if it is [`Reset::Auto`]. Dropping the future ends the wait; [`AsyncWait`](crate::AsyncWait) says what
    /// happens to a firing that it has used up.
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
    /// [`Error::NoSuchObject`] if it was closed or never existed; [`Error::Invalid`] if it is another kind of object or of another arena.
    ///
    /// Any thread; not in a signal handler. `NtQueryTimer`.
    pub fn read(&self) -> Result<TimerState> {
        self.handle.perform(|arena, waiter, object| arena.timer_read(waiter, object))
    }
}
