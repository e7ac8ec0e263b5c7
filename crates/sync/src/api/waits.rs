// SPDX-License-Identifier: MIT OR Apache-2.0
//! The waits.

use ntux_platform::clock::Deadline;

use crate::arena::Arena;
use crate::protocol::waiter::Waiter;
use crate::protocol::{wait_all, wait_any, wait_one};
use crate::{Object, Result, Satisfied};

impl Arena {
    /// Acquires an object if that takes one exchange, and nothing else: it is at rest, there, and consumed by a wait. `owner` is
    /// not 0. `None` if nothing has happened, whatever the reason.
    #[inline(always)]
    pub fn acquire_at_once(&self, waiter: &Waiter, object: Object, owner: u32) -> Option<Satisfied> {
        wait_one::at_once(self, waiter, object, owner)
    }

    /// Waits until one of `objects` is available to `owner` and acquires it. If several are available at the start, it
    /// takes the first in the list; later, the first that is signaled. The alert comes after the objects.
    ///
    /// A `deadline` in the past makes one attempt. `owner` is the owner id for mutexes, not 0.
    ///
    /// Errors: `Invalid` (more than 64 objects, owner 0, an object that is closed or unknown), `TimedOut`,
    /// `Interrupted` (see [`Waiter::interrupt`]), `Exhausted` (no place for another waiting thread); nothing was
    /// acquired then.
    #[inline]
    pub fn wait_any(
        &self,
        waiter: &Waiter,
        objects: &[Object],
        alert: Option<Object>,
        owner: u32,
        deadline: Deadline,
    ) -> Result<Satisfied> {
        wait_any::wait_any(self, waiter, objects, alert, owner, deadline)
    }

    /// Waits until all of `objects` are available to `owner` at the same time and acquires them in one step; the index
    /// is then 0. With no objects it succeeds at once. If the alert is signaled first, it is acquired instead, and the
    /// index is the number of objects.
    ///
    /// Deadline, owner and errors are those of [`Arena::wait_any`]; also `Invalid` if an object occurs twice, or is the
    /// alert.
    pub fn wait_all(
        &self,
        waiter: &Waiter,
        objects: &[Object],
        alert: Option<Object>,
        owner: u32,
        deadline: Deadline,
    ) -> Result<Satisfied> {
        wait_all::wait_all(self, waiter, objects, alert, owner, deadline)
    }
}
