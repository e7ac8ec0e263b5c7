// SPDX-License-Identifier: MIT OR Apache-2.0
//! Asynchronous waits.

use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use ntux_sync::{Registered, Registration};

use crate::reactor::Reactor;
use crate::wanted::Wanted;
use crate::{Arena, Error, Object, Result, Satisfied, Wait};

#[cfg(test)]
mod tests;

/// A wait as a future: [`Arena::wait_any_async`], [`Arena::wait_all_async`]. It works with every executor, and needs no runtime.
///
/// ```
/// use ntux::{Arena, Capacity, Event, Reset};
/// use std::time::Duration;
///
/// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let arena = Arena::create(Capacity::default())?;
/// let event = Event::create(&arena, Reset::Auto, false)?;
///
/// let wait = event.wait_async();
/// assert!(tokio::time::timeout(Duration::from_millis(1), wait).await.is_err());
/// event.set()?;
/// assert!(event.read()?.signaled, "nobody waits any more");
/// event.wait_async().await?;
/// assert!(!event.read()?.signaled);
/// # Ok(()) }
/// ```
///
/// # Order
///
/// It begins when it is polled first, and then stands in the order of those who wait, as a thread's wait does. What it acquires, it has
/// acquired at the instant of the signal, before its task runs.
///
/// # Cancellation
///
/// Dropping it ends the wait: nothing is acquired after that. If it was satisfied before, and no poll has returned the result, the drop
/// *gives back* what it has acquired, so that others get it:
///
/// | object | given back by |
/// | --- | --- |
/// | auto-reset event | setting it: another wait gets it, or it stays set |
/// | semaphore | releasing one unit, unless others have released it up to its maximum meanwhile |
/// | mutex | unlocking it; one that had been abandoned is abandoned again |
/// | manual-reset event, manual-reset timer | nothing: it was not changed |
/// | auto-reset timer ([`Timer`](crate::Timer)) | nothing can: *that firing is lost*, unless the program uses [`AsyncWait::cancel`] |
/// | all of several | each of them, one after the other |
///
/// Giving back is a signal of its own, which others can tell from a wait that has never been. They may have seen the object unsignaled
/// meanwhile; a wait whose deadline passed in that moment is over; a wait that stands behind this one gets the object later. A
/// [`pulse`](crate::Event::pulse) that this wait has used up becomes a set. If a wait for all says [`Satisfied::abandoned`], each of its
/// mutexes becomes abandoned, since nobody knows which one was.
///
/// A wait that is leaked ([`std::mem::forget`]) goes on, and keeps what it acquires.
///
/// # Processes
///
/// The waits of a process end with it. A child of `fork` has no part in a wait that its parent has begun: polled there, it fails with
/// [`Error::Invalid`]; dropped there, nothing happens. One that was not polled before the fork begins where it is polled.
///
/// # What it takes
///
/// Each wait that is not over has one of the arena's waiters ([`Capacity::waiters`](crate::Capacity::waiters)). The first one starts a
/// thread of this process, `ntux-reactor`, which wakes the tasks and fires timers. It sleeps otherwise, and ends when the last handle of
/// the arena is dropped.
#[must_use = "a future does nothing unless it is polled"]
pub struct AsyncWait {
    arena: Arena,
    wanted: Wanted,
    state: State,
}

enum State {
    New,
    Registered { key: u64, registration: Registration, lineage: u64 },
    Over,
}

/// What an attempt to end a wait found.
enum Ended {
    /// It takes nothing any more, and has taken this.
    With(Option<Satisfied>),
    /// The reactor's thread has its result, and will grant it at once; or it will say that it has none.
    OnItsWay,
}

impl AsyncWait {
    pub(crate) fn new(arena: &Arena, objects: &[Object], all: bool, owner: u32) -> AsyncWait {
        AsyncWait { arena: arena.clone(), wanted: Wanted { objects: objects.into(), all, owner }, state: State::New }
    }

    /// Ends the wait. Returns what it has acquired, which the caller has then; none if that is nothing. So nothing is given back, and no
    /// firing of a timer is lost.
    ///
    /// ```
    /// use ntux::{Arena, Capacity, Reset, Timer};
    /// use std::time::Duration;
    ///
    /// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let arena = Arena::create(Capacity::default())?;
    /// let timer = Timer::create(&arena, Reset::Auto)?;
    /// let mut wait = arena.wait_any_async(&[timer.object()], 1);
    /// if tokio::time::timeout(Duration::from_millis(1), &mut wait).await.is_err() {
    ///     // Not yet; or just now, while the other thread was on its way.
    ///     assert_eq!(wait.cancel().await?, None);
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`]; [`Error::Invalid`] in a forked child. Nothing was acquired.
    ///
    /// Any thread; not in a signal handler.
    pub async fn cancel(mut self) -> Result<Option<Satisfied>> {
        match self.end()? {
            Ended::With(acquired) => Ok(acquired),
            Ended::OnItsWay => (&mut self).await.map(Some),
        }
    }

    /// Registers the wait.
    fn begin(&mut self, context: &Context<'_>) -> Result<Poll<Satisfied>> {
        self.state = State::Over;
        let reactor = self.arena.reactor()?;
        let key = reactor.enter(self.arena.attached(), context.waker().clone())?;
        let registered =
            self.arena.with_waiter(|arena, waiter| self.wanted.register(arena, waiter, reactor.queue, key));
        match registered {
            Ok(Registered::Waits(registration)) => {
                self.state = State::Registered { key, registration, lineage: reactor.lineage };
                Ok(Poll::Pending)
            }
            Ok(Registered::Satisfied(satisfied)) => {
                reactor.forget(key);
                Ok(Poll::Ready(satisfied))
            }
            Err(error) => {
                reactor.forget(key);
                Err(self.arena.refusal(error, &self.wanted.objects, Wait::by(self.wanted.owner)))
            }
        }
    }

    /// The reactor that has a wait of this lineage.
    ///
    /// Errors: `Invalid` if that is the parent's.
    fn reactor_of(&self, lineage: u64) -> Result<&Arc<Reactor>> {
        self.arena.attached().reactor.get().filter(|reactor| reactor.lineage == lineage).ok_or(Error::Invalid)
    }

    /// Ends the wait, unless its result is on its way.
    fn end(&mut self) -> Result<Ended> {
        let State::Registered { key, registration, lineage } = self.state else { return Ok(Ended::With(None)) };
        let reactor = self.reactor_of(lineage)?;
        let ended = match reactor.granted(key) {
            Some(result) => result.map(Some),
            None => match self.cancel_in_core(reactor.queue, key, registration) {
                Ok(Ended::OnItsWay) => return Ok(Ended::OnItsWay),
                Ok(Ended::With(acquired)) => {
                    reactor.forget(key);
                    Ok(acquired)
                }
                Err(error) => {
                    reactor.forget(key);
                    Err(error)
                }
            },
        };
        self.state = State::Over;
        ended.map(Ended::With)
    }

    /// Errors: `Corrupt`.
    fn cancel_in_core(&self, queue: ntux_sync::Queue, key: u64, registration: Registration) -> Result<Ended> {
        self.arena.with_waiter(|arena, waiter| match arena.cancel(waiter, registration) {
            Ok(acquired) => Ok(Ended::With(acquired)),
            // I-reactor-6
            Err(Error::NoSuchObject) => match arena.post(waiter, queue, key) {
                // Exhausted: there are packets for the thread to take, so it takes results.
                Ok(()) | Err(Error::Exhausted) => Ok(Ended::OnItsWay),
                Err(_) => Err(Error::Corrupt),
            },
            Err(_) => Err(Error::Corrupt),
        })
    }

    /// The thread gives back what it is about to grant; or it has granted it.
    fn leave(&mut self) {
        let State::Registered { key, lineage, .. } = mem::replace(&mut self.state, State::Over) else { return };
        let wanted = mem::take(&mut self.wanted);
        let Ok(reactor) = self.reactor_of(lineage) else { return };
        if let Some((Ok(satisfied), wanted)) = reactor.leave(key, wanted) {
            self.arena.with_waiter(|arena, waiter| wanted.give_back(arena, waiter, satisfied));
        }
    }
}

impl Future for AsyncWait {
    type Output = Result<Satisfied>;

    /// # Panics
    ///
    /// If it has returned its result before.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<Satisfied>> {
        let result = match self.state {
            State::New => match self.begin(context) {
                Ok(Poll::Pending) => return Poll::Pending,
                Ok(Poll::Ready(satisfied)) => Ok(satisfied),
                Err(error) => Err(error),
            },
            State::Registered { key, lineage, .. } => match self.reactor_of(lineage) {
                Ok(reactor) => match reactor.poll(key, context.waker().clone()) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(result) => result,
                },
                Err(error) => Err(error),
            },
            State::Over => panic!("a wait was polled after it was over"),
        };
        self.state = State::Over;
        Poll::Ready(result)
    }
}

impl Drop for AsyncWait {
    fn drop(&mut self) {
        match self.end() {
            Ok(Ended::With(Some(satisfied))) => {
                self.arena.with_waiter(|arena, waiter| self.wanted.give_back(arena, waiter, satisfied));
            }
            Ok(Ended::With(None)) => {}
            Ok(Ended::OnItsWay) => self.leave(),
            // The parent's, or nothing was acquired.
            Err(_) => {}
        }
    }
}
