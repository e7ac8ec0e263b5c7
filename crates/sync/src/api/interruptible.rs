//! A wait that a handler of signals takes out of its queues: what the drop-in device and the C interface have in common.
//!
//! # Role
//! The kernel's driver ends a wait before a handler runs. Here the handler, or what runs in its place, finds the waiter of
//! the wait in progress in a word of its thread (*standing*), withdraws the wait ([`Waiter::interrupt`]) and returns; the
//! wait ends, with what it was granted before or with nothing; the face then lets the handler run, outside this crate.
//!
//! # Interrupted at each step
//! | the handler comes | then |
//! | --- | --- |
//! | before the waiter stands | `is_due` says so afterwards: the wait does not begin |
//! | between that and the wait's end | it withdraws the wait, or comes too late for that |
//! | after the waiter stands no more | the wait has ended |
//!
//! A wait that was withdrawn may not have checked all its objects yet; the driver does so whatever signals come. So it
//! looks once more, without sleep.

use ntux_platform::atomic::{Ordering, Word64, compiler_fence};
use ntux_platform::clock::Deadline;

use crate::{Arena, Error, Kind, Object, Result, Satisfied, Waiter};

/// What a thread waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wanted<'a> {
    /// All objects at once, not any of them.
    pub all: bool,
    /// The objects.
    pub objects: &'a [Object],
    /// What ends the wait beside them.
    pub alert: Option<Object>,
    /// Who acquires mutexes; not 0.
    pub owner: u32,
}

impl Arena {
    /// [`Arena::wait_any`] or [`Arena::wait_all`], while `standing` holds the address of `waiter` for this thread's signal
    /// handlers. `is_due` says that such a handler has run already; then the wait does not begin and returns `None`.
    ///
    /// Errors: those of the wait; `Interrupted` if a handler withdrew it and nothing could be had at once.
    #[inline(always)]
    pub fn wait_interruptibly(
        &self,
        waiter: &Waiter,
        wanted: Wanted<'_>,
        deadline: Deadline,
        standing: &Word64,
        is_due: impl Fn() -> bool,
    ) -> Option<Result<Satisfied>> {
        waiter.resume();
        standing.store(core::ptr::from_ref(waiter) as u64);
        compiler_fence(Ordering::SeqCst);
        let ended = (!is_due()).then(|| self.wait_for(waiter, wanted, deadline));
        standing.store(0);
        match ended {
            Some(Err(Error::Interrupted)) => Some(self.look_once_more(waiter, wanted)),
            ended => ended,
        }
    }

    #[inline(always)]
    fn wait_for(&self, waiter: &Waiter, wanted: Wanted<'_>, deadline: Deadline) -> Result<Satisfied> {
        let Wanted { all, objects, alert, owner } = wanted;
        match all {
            false => self.wait_any(waiter, objects, alert, owner, deadline),
            true => self.wait_all(waiter, objects, alert, owner, deadline),
        }
    }

    #[cold]
    fn look_once_more(&self, waiter: &Waiter, wanted: Wanted<'_>) -> Result<Satisfied> {
        waiter.resume();
        self.wait_for(waiter, wanted, Deadline::NOW).map_err(|error| match error {
            Error::TimedOut => Error::Interrupted,
            other => other,
        })
    }

    /// Undoes what a wait was given, for a thread that will never hear of it: units go back, an event is set again, a mutex is
    /// unlocked, or abandoned again if it was. What cannot be given back any more, because the object is closed or
    /// somebody else changed it, stays as it is.
    pub fn give_back(&self, waiter: &Waiter, wanted: Wanted<'_>, given: Satisfied) {
        let Wanted { all, objects, alert, owner } = wanted;
        let index = given.index as usize;
        let one = objects.iter().copied().chain(alert).nth(index);
        let is_alert = index == objects.len() && !(all && objects.is_empty());
        for &object in if all && !is_alert { objects } else { one.as_slice() } {
            let _ = self.give_one_back(waiter, object, owner, given.abandoned);
        }
    }

    fn give_one_back(&self, waiter: &Waiter, object: Object, owner: u32, abandoned: bool) -> Result<()> {
        match self.kind(object)? {
            Kind::Semaphore => self.semaphore_release(waiter, object, 1).map(|_| ()),
            Kind::AutoEvent => self.event_set(waiter, object).map(|_| ()),
            Kind::ManualEvent => Ok(()),
            // Of several mutexes nobody knows which one was abandoned: it is safe to say so of each.
            Kind::Mutex if abandoned => self.mutex_kill(waiter, object, owner),
            Kind::Mutex => self.mutex_unlock(waiter, object, owner).map(|_| ()),
        }
    }
}
