// SPDX-License-Identifier: MIT OR Apache-2.0
//! Owners that the arena knows.

use crate::Result;
use crate::arena::Arena;
use crate::protocol::owner;
use crate::protocol::waiter::Waiter;

impl Arena {
    /// A new owner id for the calling thread: an arena gives it out once, so it is no other thread's, in any process, and it ends with
    /// the thread. What a thread owned that has ended becomes abandoned, and those who wait for it with an id of the arena get it: they
    /// look whether its owner lives, at first after a millisecond, then less and less often, at last every 256. A poll looks, too.
    ///
    /// Its highest bit is set. A program must not use other numbers with that bit as ids in an arena of which it takes owners.
    ///
    /// Errors: `Exhausted` (32,768 at a time, or as many as the arena has waiters).
    pub fn owner_create(&self, waiter: &Waiter) -> Result<u32> {
        owner::create(self, waiter, true)
    }

    /// The owner of the calling thread, whose waiter this is: created at the first call, and ended by [`Arena::retire`].
    ///
    /// Errors: those of [`Arena::owner_create`].
    #[inline]
    pub fn owner_of_this_thread(&self, waiter: &Waiter) -> Result<u32> {
        owner::of_this_thread(self, waiter)
    }

    /// A new owner id for whatever the program says (a fiber, a request): it ends with the process.
    ///
    /// Errors: those of [`Arena::owner_create`].
    pub fn owner_create_for_process(&self, waiter: &Waiter) -> Result<u32> {
        owner::create(self, waiter, false)
    }

    /// Ends an owner of this process. Every mutex that it owns becomes abandoned; looks at every object once.
    ///
    /// Errors: `Invalid` if it is none of this process, or has ended; `Corrupt`.
    pub fn owner_end(&self, waiter: &Waiter, owner: u32) -> Result<()> {
        owner::end(self, waiter, owner)
    }
}
