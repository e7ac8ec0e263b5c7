// SPDX-License-Identifier: MIT OR Apache-2.0
//! One object as a descriptor.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Mutex, PoisonError};

use ntux_sync::{Deadline, Registered, Registration, Satisfied};

use crate::{Arena, DetachedWait, Error, Object, Queue, Result};

/// One object in `poll`, `epoll`, `kqueue` or io_uring: the descriptor becomes readable as soon as the object was *acquired* for it.
///
/// ```
/// use ntux::{Arena, Capacity, Error, Event, ObjectFd, Reset};
///
/// let arena = Arena::create(Capacity::default())?;
/// let event = Event::create(&arena, Reset::Auto, false)?;
/// let fd = ObjectFd::create(&arena, event.object(), 1)?;
/// assert_eq!(fd.take(), Err(Error::TimedOut));
/// event.set()?; // elsewhere; the descriptor becomes readable
/// assert!(!event.read()?.signaled, "it was acquired for the descriptor");
/// assert!(fd.take().is_ok());
/// assert_eq!(fd.take(), Err(Error::TimedOut)); // waits again
/// assert_eq!(fd.close(), Ok(None));
/// # Ok::<(), Error>(())
/// ```
///
/// It waits for the object as a thread does, in the order of arrival, and so takes part in the order. What it has acquired, [`ObjectFd::take`]
/// takes; the call after that begins to wait again. So between the two the object is the caller's: a mutex can be unlocked, an event reset.
///
/// *Like a level, which a call resets*: it stays readable until [`ObjectFd::take`] returns [`Error::TimedOut`]. Used with edges (`EPOLLET`), a
/// loop takes until then before it polls again. It can be readable for nothing. Nobody reads it or closes it.
///
/// What was acquired and nobody took, [`ObjectFd::close`] returns. It is not given back by itself, because that could not be exact: an event
/// that was reset meanwhile would be set again, and a semaphore may have no room any more. A value that is dropped loses it instead: an
/// auto-reset event stays reset, a mutex owned.
///
/// Each takes one of the queues of the arena (512, or as many as it has waits), and one of its waiters. In a forked child all its functions fail. What [`Queue::fd`]
/// says about mechanisms holds here, too.
pub struct ObjectFd {
    queue: Queue,
    object: Object,
    owner: u32,
    state: Mutex<State>,
}

enum State {
    Waits(Registration),
    /// At once, when it was created: a packet in the queue makes the descriptor readable.
    Acquired(Satisfied),
    Taken,
}

impl ObjectFd {
    /// Begins to wait for the object. `owner` acquires it if it is a mutex: not 0, see [`Wait::by`](crate::Wait::by).
    ///
    /// # Errors
    ///
    /// Nothing was acquired: those of [`Queue::create`], [`Queue::register_any`] and [`Queue::fd`].
    ///
    /// Any thread; not in a signal handler.
    pub fn create(arena: &Arena, object: Object, owner: u32) -> Result<ObjectFd> {
        let queue = Queue::create(arena)?;
        queue.fd()?;
        let state = match queue.register_any(&[object], DetachedWait::by(owner))? {
            Registered::Waits(registration) => State::Waits(registration),
            Registered::Satisfied(satisfied) => {
                queue.post(0)?;
                State::Acquired(satisfied)
            }
        };
        Ok(ObjectFd { queue, object, owner, state: Mutex::new(state) })
    }

    /// Takes the object, if it was acquired. The call after that waits for it again, and returns it at once if it is signaled then.
    /// Threads take it one after the other.
    ///
    /// # Errors
    ///
    /// Nothing was taken: [`Error::TimedOut`] if it was not acquired, and then the descriptor is armed; [`Error::NoSuchObject`] if it was
    /// closed (that makes nobody look: the descriptor does not become readable for it); [`Error::Exhausted`], [`Error::Os`] if it cannot be waited for
    /// again now, or cannot be armed ([`Queue::next`]); [`Error::Invalid`] in a forked child.
    ///
    /// Any thread; not in a signal handler.
    pub fn take(&self) -> Result<Satisfied> {
        // In a child, another thread of the parent may have the lock.
        self.queue.fd()?;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match *state {
                State::Acquired(satisfied) => {
                    *state = State::Taken;
                    return Ok(satisfied);
                }
                State::Taken => match self.queue.register_any(&[self.object], DetachedWait::by(self.owner))? {
                    Registered::Satisfied(satisfied) => return Ok(satisfied),
                    Registered::Waits(registration) => *state = State::Waits(registration),
                },
                State::Waits(registration) => match self.queue.next(Deadline::NOW) {
                    // The packet of `create`.
                    Ok(delivered) if delivered.registration.is_none() => {}
                    Ok(delivered) => {
                        *state = State::Taken;
                        return Ok(delivered.satisfied);
                    }
                    Err(Error::TimedOut) if self.is_object_closed() => {
                        let acquired = self.queue.cancel(registration)?;
                        *state = State::Taken;
                        return acquired.ok_or(Error::NoSuchObject);
                    }
                    Err(error) => return Err(error),
                },
            }
        }
    }

    fn is_object_closed(&self) -> bool {
        self.queue.arena().core().kind(self.object.in_core()) == Err(Error::NoSuchObject)
    }

    /// Ends it. Returns what was acquired, and nobody has taken; none if the object was not acquired, and is not any more.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] in a forked child.
    ///
    /// Any thread; not in a signal handler.
    pub fn close(self) -> Result<Option<Satisfied>> {
        self.end()
    }

    /// Does what [`ObjectFd::close`] does, but for the descriptor, which stays open: for a value that others have, too. They can take nothing
    /// any more ([`Error::Invalid`]).
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] also if it has ended.
    ///
    /// Any thread; not in a signal handler.
    pub fn end(&self) -> Result<Option<Satisfied>> {
        self.queue.fd()?;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let acquired = match *state {
            State::Waits(registration) => self.queue.cancel(registration)?,
            State::Acquired(satisfied) => Some(satisfied),
            State::Taken => None,
        };
        *state = State::Taken;
        self.queue.close()?;
        Ok(acquired)
    }
}

impl AsFd for ObjectFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.queue.made_fd()
    }
}
