// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a wait without a thread asks for, and how it is given back if nobody will use it.

use ntux_sync::{Detached, Kind, Registered, Satisfied, Waiter};

use crate::{Object, Result};

/// Objects, one or all of which a wait acquires for an owner.
#[derive(Default)]
pub(crate) struct Wanted {
    pub(crate) objects: Box<[Object]>,
    pub(crate) all: bool,
    pub(crate) owner: u32,
}

impl Wanted {
    /// Registers a wait for this.
    pub(crate) fn register(
        &self,
        arena: &ntux_sync::Arena,
        waiter: &Waiter,
        queue: ntux_sync::Queue,
        key: u64,
    ) -> Result<Registered> {
        let Wanted { ref objects, all, owner } = *self;
        arena.wait_detached(waiter, queue, Detached { objects: Object::all_in_core(objects), all, owner, key })
    }

    /// Signals what was acquired, so that others get it. What was closed meanwhile is nobody's.
    pub(crate) fn give_back(&self, arena: &ntux_sync::Arena, waiter: &Waiter, satisfied: Satisfied) {
        // The index was read from shared memory.
        let one = self.objects.get(satisfied.index as usize).map(std::slice::from_ref);
        let acquired = if self.all { &self.objects[..] } else { one.unwrap_or_default() };
        for object in acquired.iter().map(|object| object.in_core()) {
            // It fails if the object was closed, or if others have signaled a semaphore up to its maximum or killed a mutex meanwhile: then
            // nothing is owed to anybody.
            let _ = match arena.kind(object) {
                Ok(Kind::Semaphore) => arena.semaphore_release(waiter, object, 1).map(drop),
                Ok(Kind::AutoEvent) => arena.event_set(waiter, object).map(drop),
                Ok(Kind::Mutex) => self.give_mutex_back(arena, waiter, object, satisfied.abandoned),
                // The first three are still signaled. A firing cannot be repeated without another arming.
                Ok(Kind::ManualEvent | Kind::ManualTimer | Kind::End | Kind::SyncTimer) => Ok(()),
                Err(closed) => Err(closed),
            };
        }
    }

    /// Unlocks a mutex. One that may have been abandoned before is abandoned again, so that the next one who gets it learns of that: of
    /// several that were acquired in one step, all that may be the one.
    fn give_mutex_back(
        &self,
        arena: &ntux_sync::Arena,
        waiter: &Waiter,
        mutex: ntux_sync::Object,
        abandoned: bool,
    ) -> Result<()> {
        // One that its owner had before was not abandoned.
        if abandoned && arena.mutex_read(waiter, mutex).is_ok_and(|state| state.count == 1) {
            return arena.mutex_kill(waiter, mutex, self.owner);
        }
        arena.mutex_unlock(waiter, mutex, self.owner).map(drop)
    }
}
