// SPDX-License-Identifier: MIT OR Apache-2.0
//! Creates, adopts and closes objects.

use crate::arena::Arena;
use crate::arena::lifetime::Lifetime;
use crate::kind::{Kind, New};
use crate::protocol::create::create_object;
use crate::protocol::waiter::{Waiter, bury};
use crate::{Object, Result};

impl Arena {
    /// Creates an object that lives until somebody closes it ([`Arena::close`]), or until its process has ended and the
    /// arena needs the slot ([`Arena::adopt`]).
    ///
    /// Errors: `Invalid` (see [`New`]), `Exhausted`.
    pub fn create_new(&self, waiter: &Waiter, new: New) -> Result<Object> {
        create_object(self, waiter, new.start()?, Lifetime::Process)
    }

    /// Creates a semaphore; see [`Arena::create_new`].
    pub fn semaphore_create(&self, waiter: &Waiter, count: u32, max: u32) -> Result<Object> {
        self.create_new(waiter, New::Semaphore { count, max })
    }

    /// Creates a mutex; see [`Arena::create_new`].
    pub fn mutex_create(&self, waiter: &Waiter, owner: u32, count: u32) -> Result<Object> {
        self.create_new(waiter, New::Mutex { owner, count })
    }

    /// Creates an event; see [`Arena::create_new`].
    pub fn event_create(&self, waiter: &Waiter, manual: bool, signaled: bool) -> Result<Object> {
        self.create_new(waiter, New::Event { manual, signaled })
    }

    /// Returns the kind of a live object.
    ///
    /// Errors: `NoSuchObject`.
    pub fn kind(&self, object: Object) -> Result<Kind> {
        self.kind_of(object)
    }

    /// Closes an object. Waits that have begun continue until their own deadlines.
    ///
    /// Errors: `NoSuchObject`.
    pub fn close(&self, object: Object) -> Result<()> {
        self.free(object)
    }

    /// Makes an object belong to this process. When the process of an object has ended, and the arena runs out of
    /// slots, the object is closed; a process that uses it longer than its creator must adopt it. An object behind
    /// descriptors always belongs to those that have one.
    ///
    /// Errors: `NoSuchObject`, `Exhausted`.
    pub fn adopt(&self, object: Object) -> Result<()> {
        let peer = self.peer(bury)?;
        self.hand_to(object, peer)
    }
}
