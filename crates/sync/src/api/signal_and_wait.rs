// SPDX-License-Identifier: MIT OR Apache-2.0
//! Signals one object, then waits for another: two operations in one call.
//!
//! [`crate::spec::SignalAndWait`] says what that means. Everything that can be refused is looked at before the signal, and the thread
//! has its place in the arena by then, so an error says that nothing was signaled. The exceptions are those of a wait that has begun.

use ntux_platform::clock::Deadline;

use crate::arena::Arena;
use crate::kind::Kind;
use crate::protocol::waiter::{Waiter, enroll};
use crate::{Error, Object, Result, Satisfied};

impl Arena {
    /// Releases one unit of a semaphore, unlocks a mutex for `owner`, or sets an event; then waits for `object`, as
    /// [`Arena::wait_any`] of that one. The two are not one step: another thread can see the signal, and act on it, before this one
    /// waits. So a pulse of `object` by a thread that the signal woke can come too early.
    ///
    /// Errors, with nothing signaled: `NoSuchObject`; `Invalid` (owner 0, `signal` is a timer or an end); `NotOwner`, `Overflow`; `Exhausted`. Errors of the wait, after
    /// the signal: `TimedOut`, `Interrupted`, and `NoSuchObject` if somebody closed `object` or the alert since the call began.
    pub fn signal_and_wait(
        &self,
        waiter: &Waiter,
        signal: Object,
        object: Object,
        alert: Option<Object>,
        owner: u32,
        deadline: Deadline,
    ) -> Result<Satisfied> {
        if owner == 0 {
            return Err(Error::Invalid);
        }
        let kind = self.kind(signal)?;
        for waited in [Some(object), alert].into_iter().flatten() {
            self.kind(waited)?;
        }
        waiter.budget.renew();
        enroll(self, waiter)?;
        match kind {
            Kind::Semaphore => self.semaphore_release(waiter, signal, 1).map(|_| ()),
            Kind::Mutex => self.mutex_unlock(waiter, signal, owner).map(|_| ()),
            Kind::AutoEvent | Kind::ManualEvent => self.event_set(waiter, signal).map(|_| ()),
            Kind::SyncTimer | Kind::ManualTimer | Kind::End => Err(Error::Invalid),
        }?;
        self.wait_any(waiter, &[object], alert, owner, deadline).map_err(|error| match error {
            // Of its reasons only this one was not ruled out above.
            Error::Invalid => Error::NoSuchObject,
            other => other,
        })
    }
}
