// SPDX-License-Identifier: MIT OR Apache-2.0
//! Owners that the arena knows.

use crate::Result;
use crate::arena::Arena;
use crate::protocol::owner;
use crate::protocol::waiter::Waiter;

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
}
