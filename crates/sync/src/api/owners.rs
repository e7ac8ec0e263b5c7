// SPDX-License-Identifier: MIT OR Apache-2.0
//! Owners that the arena knows.

use crate::arena::Arena;
use crate::kind::{New, Signal};
use crate::protocol::owner::{self, concluded_if_ended};
use crate::protocol::signal::{read, signal_slowly};
use crate::protocol::waiter::Waiter;
use crate::spec::Value;
use crate::{EndState, Error, Kind, Object, Result};

impl Arena {
    /// The owner id of the calling thread, whose waiter this is. An arena gives out each id once, so it is no other thread's, in any process,
    /// and it ends with the thread, or by [`Arena::retire`] or [`Arena::owner_end`] on that thread. What it owns then becomes abandoned, and
    /// those who wait for it with an id of the arena get it: they are woken where the system tells them (`docs/internals/owners.md`); they
    /// also look whether the owner lives, at first after a millisecond, then less and less often, at last every 256. A poll looks, too.
    ///
    /// Its highest bit is set. A program must not use other numbers with that bit as ids in an arena of which it takes owners.
    ///
    /// Errors: `Exhausted` (32,768 at a time, or as many as the arena has waiters).
    #[inline]
    pub fn owner_of_this_thread(&self, waiter: &Waiter) -> Result<u32> {
        owner::of_this_thread(self, waiter)
    }

    /// A new owner id for whatever the program says (a fiber, a request): it ends with the process, or by [`Arena::owner_end`].
    ///
    /// Errors: those of [`Arena::owner_of_this_thread`].
    pub fn owner_create(&self, waiter: &Waiter) -> Result<u32> {
        owner::create(self, waiter)
    }

    /// Ends an owner of this process that was created, or that of the calling thread. What it owns becomes abandoned; that takes as long as
    /// there are threads that wait for it.
    ///
    /// Errors: `Invalid` if it is none of these, or has ended.
    pub fn owner_end(&self, waiter: &Waiter, owner: u32) -> Result<()> {
        owner::end(self, waiter, owner)
    }

    /// Creates the end of an owner that the arena has given out, of any process: an object that is signaled once the owner has ended, and
    /// stays so. It is found out as for mutexes ([`Arena::owner_of_this_thread`]), whatever the id of who waits. See [`Arena::create_new`].
    ///
    /// Errors: `Invalid` (the arena has given out no such id); `Exhausted`.
    pub fn end_create(&self, waiter: &Waiter, owner: u32) -> Result<Object> {
        self.fate_of(owner).ok_or(Error::Invalid)?;
        self.create_new(waiter, New::End { owner })
    }

    /// Says with which code an owner will end; the last one counts. An owner that ends without is one that was killed, as a rule. Returns
    /// false, and changes nothing, if somebody has noticed that it has ended.
    ///
    /// Errors: `NoSuchObject`, `Invalid` (another kind).
    pub fn end_report(&self, waiter: &Waiter, object: Object, code: u32) -> Result<bool> {
        signal_slowly(self, waiter, object, Signal::Report(code)).map(|ended| ended == 0)
    }

    /// Returns whether an owner has ended, and its code.
    ///
    /// Errors: `NoSuchObject`, `Invalid` (another kind).
    pub fn end_read(&self, waiter: &Waiter, object: Object) -> Result<EndState> {
        let state = self.end_state(waiter, object)?;
        let is_other = !state.ended && concluded_if_ended(self, waiter, object, state.owner)?;
        if is_other { self.end_state(waiter, object) } else { Ok(state) }
    }

    fn end_state(&self, waiter: &Waiter, object: Object) -> Result<EndState> {
        match read(self, waiter, object, |kind| kind == Kind::End)? {
            Value::End(end) => Ok(end),
            _ => Err(Error::Invalid),
        }
    }
}
