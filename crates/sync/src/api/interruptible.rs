// SPDX-License-Identifier: MIT OR Apache-2.0
//! A wait that a handler of signals takes out of its queues: what both faces of the door have in common ([`crate::door`]).
//!
//! A wait that was withdrawn may not have checked all its objects yet; the driver does so whatever signals come. So it
//! looks once more, without sleep.

use ntux_platform::clock::Deadline;

use crate::door::Door;
use crate::protocol::signal::signal_slowly;
use crate::{Arena, Error, Kind, Object, Result, Satisfied, Signal, Waiter};

/// What a thread waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wanted<'a> {
    /// All objects at once, not any of them.
    pub all: bool,
    /// The objects.
    pub objects: &'a [Object],
    /// What ends the wait beside them.
    pub alert: Option<Object>,
    /// The owner id that acquires mutexes; not 0.
    pub owner: u32,
}

impl Arena {
    /// [`Arena::wait_any`] or [`Arena::wait_all`], which a handler withdraws that finds this door. If one waits at the door already,
    /// the wait does not begin and returns `None`.
    ///
    /// Errors: those of the wait; `Interrupted` if a handler withdrew it and nothing could be had at once.
    #[inline(always)]
    pub fn wait_interruptibly(
        &self,
        waiter: &Waiter,
        wanted: Wanted<'_>,
        deadline: Deadline,
        door: &Door,
    ) -> Option<Result<Satisfied>> {
        waiter.resume();
        let ended = door.stand(waiter).then(|| self.wait_for(waiter, wanted, deadline));
        door.stand_down();
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
            // The objects were there when the wait began: what has been closed since does not come.
            Error::TimedOut | Error::Invalid => Error::Interrupted,
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
            Kind::SyncTimer => signal_slowly(self, waiter, object, Signal::GiveBack).map(|_| ()),
            Kind::ManualEvent | Kind::ManualTimer | Kind::End => Ok(()),
            // Nobody knows which of several mutexes was abandoned: it is safe to abandon each.
            Kind::Mutex if abandoned => self.mutex_kill(waiter, object, owner),
            Kind::Mutex => self.mutex_unlock(waiter, object, owner).map(|_| ()),
        }
    }
}
