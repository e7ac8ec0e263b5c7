// SPDX-License-Identifier: MIT OR Apache-2.0
//! Creates, holds, releases, adopts and closes objects.

use crate::arena::Arena;
use crate::arena::lifetime::Lifetime;
use crate::kind::{Kind, New};
use crate::protocol::create::create_object;
use crate::protocol::waiter::{Waiter, bury};
use crate::{Error, Object, Result};

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

    /// Creates a timer, which is neither signaled nor armed; see [`Arena::create_new`].
    pub fn timer_create(&self, waiter: &Waiter, manual: bool) -> Result<Object> {
        self.create_new(waiter, New::Timer { manual })
    }

    /// Returns the kind of a live object.
    ///
    /// Errors: `NoSuchObject`.
    pub fn kind(&self, object: Object) -> Result<Kind> {
        self.kind_of(object)
    }

    /// Closes an object, whoever holds it. Waits that have begun continue until their own deadlines.
    ///
    /// Errors: `NoSuchObject`.
    pub fn close(&self, object: Object) -> Result<()> {
        self.free(object)
    }

    /// Adds a hold of this process. The object lives until [`Arena::release`] has been called as often, or the process
    /// ends. A process holds each object that it created once. One exchange; the first hold beside the creator's is
    /// three.
    ///
    /// A forked child holds nothing of what its parent holds.
    ///
    /// Errors: `NoSuchObject`, also if nobody holds the object any more, `Invalid` (behind descriptors), `Exhausted` (more processes than
    /// the arena has room for).
    pub fn hold(&self, object: Object) -> Result<()> {
        let peer = self.peer(bury)?;
        self.hold_by(object, peer)
    }

    /// This process takes part in the arena from now on, as it does with its first call that creates, holds or waits: others can hold
    /// objects for it ([`Arena::hold_for`]).
    ///
    /// Errors: `Exhausted` (more processes than the arena has room for).
    pub fn take_part(&self) -> Result<()> {
        self.peer(bury).map(drop)
    }

    /// Adds a hold of another process: as if that had called [`Arena::hold`], which it need not know of. So an object can be handed to a
    /// process, and outlives who does that. `process` is the number that the system knows it by in the caller's namespace. It must take part
    /// in the arena already ([`Arena::take_part`]). What it is given, later programs that it executes have, too; its forked children do not.
    ///
    /// A caller that is killed meanwhile may leave the hold. One that is told that there is no such process, because the process has ended
    /// meanwhile, may leave a hold of another one, which came into its place. Either ends with the process that has it.
    ///
    /// Errors: those of [`Arena::hold`]; `NoSuchProcess`, also if the system does not say whether the process lives.
    pub fn hold_for(&self, object: Object, process: u32) -> Result<()> {
        let peer = self.peer(bury)?;
        self.hold_for_process(object, process, peer)
    }

    /// How often this process holds the object. If more than four processes do, or it does more than 61 times, the number may be higher; 0
    /// is always right.
    ///
    /// Errors: those of [`Arena::hold`].
    pub fn holds(&self, object: Object) -> Result<u32> {
        let peer = self.peer(bury)?;
        let holds = self.holds_of(object, peer)?;
        self.other_places(peer).try_fold(holds, |sum, place| Ok(sum.saturating_add(self.holds_of(object, place)?)))
    }

    /// Takes a hold of this process away. When no process holds the object any more, it ends: at once, or, if a wait
    /// runs on it or somebody owns it, some time after the last such wait is over and it has no owner.
    ///
    /// Errors: `NoSuchObject`; `NotHeld`; those of [`Arena::hold`].
    #[inline]
    pub fn release(&self, object: Object) -> Result<()> {
        match self.known_peer() {
            Some(peer) if self.end_at_once(object, peer) => Ok(()),
            _ => self.release_shared(object, true),
        }
    }

    /// The same, but an owner does not keep the object: as in NT, a mutex is gone when nobody holds it.
    ///
    /// Errors: those of [`Arena::release`].
    pub fn release_from_owner(&self, object: Object) -> Result<()> {
        match self.known_peer() {
            Some(peer) if self.end_at_once(object, peer) => Ok(()),
            _ => self.release_shared(object, false),
        }
    }

    #[cold]
    fn release_shared(&self, object: Object, owner_keeps: bool) -> Result<()> {
        let peer = self.peer(bury)?;
        let released = self.drop_hold(object, peer, owner_keeps);
        if released != Err(Error::NotHeld) {
            return released;
        }
        // Another process may have put it into another place of this one.
        let mut elsewhere = self.other_places(peer).map(|place| self.drop_hold(object, place, owner_keeps));
        elsewhere.find(|released| *released != Err(Error::NotHeld)).unwrap_or(released)
    }

    /// Makes an object belong to this process. When the process of an object has ended, and the arena runs out of
    /// slots, the object is closed; a process that uses it longer than its creator must adopt it, or hold it ([`Arena::hold`]). This
    /// takes the creator's hold; if several processes hold the object, it adds one, unless this process has one. An object behind
    /// descriptors always belongs to those that have one.
    ///
    /// Errors: `NoSuchObject`, `Exhausted`.
    pub fn adopt(&self, object: Object) -> Result<()> {
        let peer = self.peer(bury)?;
        self.hand_to(object, peer)
    }

    /// The object lives although no process holds it, until [`Arena::make_temporary`] or [`Arena::close`]; its name with it.
    ///
    /// Errors: those of [`Arena::hold`] but `Exhausted`.
    pub fn make_permanent(&self, object: Object) -> Result<()> {
        self.keep(object)
    }

    /// The object lives as long as a process holds it, or it is used, as before [`Arena::make_permanent`]. It ends if none does.
    ///
    /// Errors: those of [`Arena::hold`].
    pub fn make_temporary(&self, object: Object) -> Result<()> {
        let peer = self.peer(bury)?;
        self.keep_no_more(object, peer)
    }
}
