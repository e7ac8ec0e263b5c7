//! Making objects, and giving them back.

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

    /// Kind of a living object.
    ///
    /// Errors: `NoSuchObject`.
    pub fn kind(&self, object: Object) -> Result<Kind> {
        self.kind_of(object)
    }

    /// Gives an object's slot back. Waits that have begun go on to their own deadlines.
    ///
    /// Errors: `NoSuchObject`.
    pub fn close(&self, object: Object) -> Result<()> {
        self.free(object)
    }

    /// Makes this process the one that an object belongs to. An object whose process has ended is taken back when the
    /// arena runs out of slots; who goes on using it after its creator's end says so here. An object behind descriptors
    /// belongs to whoever has one, and stays so.
    ///
    /// Errors: `NoSuchObject`, `Exhausted`.
    pub fn adopt(&self, object: Object) -> Result<()> {
        let peer = self.peer(bury)?;
        self.hand_to(object, peer)
    }
}
