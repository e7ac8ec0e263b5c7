// SPDX-License-Identifier: MIT OR Apache-2.0
//! Objects beside descriptors in one wait.

use std::os::fd::AsRawFd;

pub use ntux_platform::wake_descriptor::Polled;
use ntux_platform::wake_descriptor::{Patience, poll};
use ntux_sync::{Deadline, Registered, Registration, Satisfied};

use crate::{Arena, DetachedWait, Error, Object, Queue, Result, Wait};

/// What has ended [`Arena::wait_any_or_poll`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ready {
    /// An object was acquired. What was found of the descriptors does not count.
    Object(Satisfied),
    /// Something was found of so many descriptors, and no object was acquired.
    Descriptors(usize),
}

impl Arena {
    /// Waits until one of `objects` is signaled, and acquires it, or until `poll` finds what is asked of one of the descriptors: either, not both.
    /// Objects come first: if one is signaled, it is acquired, whatever the descriptors are. [`Polled::found`] says what was found, as `revents`
    /// of `poll`; it is 0 everywhere after [`Ready::Object`] and after an error.
    ///
    /// ```
    /// use std::io::Write;
    /// use std::os::fd::AsRawFd;
    /// use ntux::{Arena, Capacity, Event, Polled, Ready, Reset, Wait};
    ///
    /// let arena = Arena::create(Capacity::default())?;
    /// let event = Event::create(&arena, Reset::Auto, false)?;
    /// let (reader, mut writer) = std::io::pipe().unwrap();
    /// let mut descriptors = [Polled::new(reader.as_raw_fd(), Polled::READABLE)];
    ///
    /// writer.write_all(b"x").unwrap(); // elsewhere
    /// assert_eq!(arena.wait_any_or_poll(&[event.object()], &mut descriptors, Wait::by(1))?, Ready::Descriptors(1));
    /// event.set()?;
    /// assert!(matches!(arena.wait_any_or_poll(&[event.object()], &mut descriptors, Wait::by(1))?, Ready::Object(_)));
    /// # Ok::<(), ntux::Error>(())
    /// ```
    ///
    /// A call that must sleep makes a queue and a descriptor for itself, which costs several system calls. A loop that waits again and again has
    /// a [`Queue`], an [`ObjectFd`](crate::ObjectFd), or a [`WaitOrPoll`] instead.
    ///
    /// # Errors
    ///
    /// Nothing was acquired: those of [`Arena::wait_any`], also [`Error::Invalid`] for 64 objects and an alert; those of
    /// [`Queue::create`] and [`Queue::fd`]; [`Error::Os`] if `poll` refuses, also with `EINVAL` for as many descriptors as the process may have
    /// open, or more. A signal does not end it.
    ///
    /// Any thread; not in a signal handler. `MsgWaitForMultipleObjects` is of this kind.
    pub fn wait_any_or_poll(&self, objects: &[Object], descriptors: &mut [Polled], wait: Wait) -> Result<Ready> {
        match now(self, objects, descriptors, wait)? {
            Some(ready) => Ok(ready),
            None => WaitOrPoll { queue: Queue::create(self)? }.sleep(objects, descriptors, wait),
        }
    }
}

/// What ends the wait at once. None if it has to sleep.
fn now(arena: &Arena, objects: &[Object], descriptors: &mut [Polled], wait: Wait) -> Result<Option<Ready>> {
    descriptors.iter_mut().for_each(|polled| polled.found = 0);
    // A call that must sleep registers one wait for all of them.
    if objects.len() + usize::from(wait.alert.is_some()) > ntux_sync::WAIT_MAX {
        return Err(Error::Invalid);
    }
    match arena.wait_any(objects, wait.until(Deadline::NOW)) {
        Err(Error::TimedOut) => {}
        ended => return ended.map(Ready::Object).map(Some),
    }
    match look(descriptors, Patience::None)? {
        0 if wait.deadline.passed() => Err(Error::TimedOut),
        0 => Ok(None),
        ready => Ok(Some(Ready::Descriptors(ready))),
    }
}

/// A queue and its descriptor, for waits as [`Arena::wait_any_or_poll`] does them, one after the other, each without making these two.
///
/// ```
/// use std::io::Write;
/// use std::os::fd::AsRawFd;
/// use ntux::{Arena, Capacity, Event, Polled, Ready, Reset, Wait, WaitOrPoll};
///
/// let arena = Arena::create(Capacity::default())?;
/// let event = Event::create(&arena, Reset::Auto, false)?;
/// let (reader, mut writer) = std::io::pipe().unwrap();
/// let mut descriptors = [Polled::new(reader.as_raw_fd(), Polled::READABLE)];
/// let mut waits = WaitOrPoll::create(&arena)?;
///
/// event.set()?; // elsewhere
/// assert!(matches!(waits.wait_any(&[event.object()], &mut descriptors, Wait::by(1))?, Ready::Object(_)));
/// writer.write_all(b"x").unwrap();
/// assert_eq!(waits.wait_any(&[event.object()], &mut descriptors, Wait::by(1))?, Ready::Descriptors(1));
/// # Ok::<(), ntux::Error>(())
/// ```
///
/// It takes one of the arena's queues as long as it lives. It belongs to one thread: where its descriptor is a ring ([`Queue::fd`]), a wait of
/// another thread may interrupt a call in which the thread sleeps that has waited last.
pub struct WaitOrPoll {
    queue: Queue,
}

impl WaitOrPoll {
    /// Makes the two.
    ///
    /// # Errors
    ///
    /// Those of [`Queue::create`] and [`Queue::fd`].
    ///
    /// Any thread; not in a signal handler.
    pub fn create(arena: &Arena) -> Result<WaitOrPoll> {
        let queue = Queue::create(arena)?;
        queue.fd()?;
        Ok(WaitOrPoll { queue })
    }

    /// Does what [`Arena::wait_any_or_poll`] does.
    ///
    /// # Errors
    ///
    /// Those of [`Arena::wait_any_or_poll`]; [`Error::Invalid`] also in a forked child.
    ///
    /// Any thread; not in a signal handler.
    pub fn wait_any(&mut self, objects: &[Object], descriptors: &mut [Polled], wait: Wait) -> Result<Ready> {
        match now(self.queue.arena(), objects, descriptors, wait)? {
            Some(ready) => Ok(ready),
            None => {
                let ended = self.sleep(objects, descriptors, wait);
                if let Ok(Ready::Descriptors(_)) = ended {
                    self.forget_deadline(wait.deadline);
                }
                ended
            }
        }
    }

    /// The descriptor still sleeps until the deadline, and would then interrupt a call of the thread. So it is armed without one.
    fn forget_deadline(&self, deadline: Deadline) {
        if deadline != Deadline::Never {
            // The queue is empty. If it cannot be armed, the next wait is told.
            let _ = self.queue.next(Deadline::NOW);
        }
    }

    fn sleep(&mut self, objects: &[Object], descriptors: &mut [Polled], wait: Wait) -> Result<Ready> {
        // The alert is looked at after the objects, as the last of them.
        let listed: Vec<Object> = objects.iter().copied().chain(wait.alert).collect();
        match self.queue.register_any(&listed, DetachedWait::by(wait.owner))? {
            Registered::Satisfied(satisfied) => Ok(Ready::Object(satisfied)),
            Registered::Waits(registration) => {
                Either { queue: &self.queue, registration, deadline: wait.deadline }.wait(descriptors)
            }
        }
    }
}

/// A wait that is registered, and descriptors beside it.
struct Either<'a> {
    queue: &'a Queue,
    registration: Registration,
    deadline: Deadline,
}

impl Either<'_> {
    fn wait(&self, descriptors: &mut [Polled]) -> Result<Ready> {
        // One that is made is armed.
        let mut is_armed = !self.queue.has_fd();
        let own = match self.queue.fd_until(self.deadline) {
            Ok(fd) => Polled::new(fd.as_raw_fd(), Polled::READABLE),
            Err(error) => return self.end(Err(error)),
        };
        let mut polled: Vec<Polled> = std::iter::once(own).chain(descriptors.iter().copied()).collect();
        loop {
            match self.poll(&mut polled, is_armed) {
                Some(ended) => {
                    if let Ok(Ready::Descriptors(_)) = ended {
                        descriptors.copy_from_slice(&polled[1..]);
                    }
                    return ended;
                }
                None => is_armed = false,
            }
        }
    }

    /// Sleeps once. The first of these is that of the queue. None if nothing has happened.
    fn poll(&self, polled: &mut [Polled], is_armed: bool) -> Option<Result<Ready>> {
        if !is_armed {
            match self.queue.next_or_arm(Deadline::NOW, self.deadline) {
                Ok(delivered) => return Some(Ok(Ready::Object(delivered.satisfied))),
                Err(Error::TimedOut) if !self.deadline.passed() => {}
                Err(error) => return Some(self.end(Err(error))),
            }
        }
        match look(polled, Patience::Endless).map(|ready| ready - usize::from(polled[0].found != 0)) {
            Ok(0) => None,
            Ok(others) => Some(self.end(Ok(Ready::Descriptors(others)))),
            Err(error) => Some(self.end(Err(error))),
        }
    }

    /// Cancels the wait: if an object was acquired meanwhile, that is the result.
    fn end(&self, otherwise: Result<Ready>) -> Result<Ready> {
        match self.queue.cancel(self.registration) {
            Ok(Some(satisfied)) => Ok(Ready::Object(satisfied)),
            _ => otherwise,
        }
    }
}

/// Returns of how many descriptors something was found; of none if a signal came.
fn look(polled: &mut [Polled], patience: Patience) -> Result<usize> {
    match poll(polled, patience) {
        Ok(ready) => Ok(ready),
        Err(error) => {
            polled.iter_mut().for_each(|polled| polled.found = 0);
            match error.raw_os_error() {
                Some(ntux_platform::error::EINTR) => Ok(0),
                number => Err(Error::Os(number.unwrap_or(ntux_platform::error::EIO))),
            }
        }
    }
}
