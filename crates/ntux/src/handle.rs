// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a handle of any kind is: an object, its arena, and a share of this process's hold on it.

use std::sync::Arc;

use ntux_platform::atomic::Flag;
use ntux_platform::liveness;
use ntux_sync::{Kind, New};

use crate::{Arena, Name, Object, Result};

/// A handle. Clones of one that holds its object share that: the last one releases it.
#[derive(Clone)]
pub(crate) struct Handle {
    pub(crate) arena: Arena,
    object: Object,
    /// None: somebody else holds the object.
    lease: Option<Arc<Lease>>,
}

/// A hold of this process on an object.
struct Lease {
    arena: Arena,
    object: Object,
    /// A forked child drops what it has inherited, and its parent still needs.
    lineage: u64,
    is_kept: Flag,
}

// SAFETY: `Flag` orders nothing between threads; it is only ever raised, and read when the last clone is dropped, which the reference
// count orders after everything else.
unsafe impl Sync for Lease {}

impl Drop for Lease {
    fn drop(&mut self) {
        if !self.is_kept.is_raised() && self.lineage == liveness::lineage() {
            // Somebody may have closed it already, by its number, or adopted it.
            let _ = self.arena.release(self.object);
        }
    }
}

impl Handle {
    /// A handle to an object that was created just now.
    pub(crate) fn owning(arena: &Arena, created: ntux_sync::Object) -> Result<Handle> {
        Ok(Handle::of_hold(arena, Object::created(created)?))
    }

    /// A handle to the object with this name, which is created if there is none; and whether it existed.
    pub(crate) fn create_named(arena: &Arena, name: Name<'_>, new: New) -> Result<(Handle, bool)> {
        let (object, existed) = arena.with_waiter(|arena, waiter| arena.create_named(waiter, name, new))?;
        Ok((Handle::owning(arena, object)?, existed))
    }

    /// A handle to the object of this kind with this name.
    pub(crate) fn open_named(arena: &Arena, name: Name<'_>, kind: Kind) -> Result<Handle> {
        Handle::owning(arena, arena.core().open_named(name, kind)?)
    }

    /// A handle to an object that this process holds from now on.
    pub(crate) fn holding(arena: &Arena, object: Object) -> Result<Handle> {
        arena.hold(object)?;
        Ok(Handle::of_hold(arena, object))
    }

    fn of_hold(arena: &Arena, object: Object) -> Handle {
        let lineage = liveness::lineage();
        let lease = Lease { arena: arena.clone(), object, lineage, is_kept: Flag::new() };
        Handle { arena: arena.clone(), object, lease: Some(Arc::new(lease)) }
    }

    /// A handle to an object that somebody else holds.
    pub(crate) fn borrowing(arena: &Arena, object: Object) -> Handle {
        Handle { arena: arena.clone(), object, lease: None }
    }

    #[inline(always)]
    pub(crate) fn object(&self) -> Object {
        self.object
    }

    /// The last drop no longer releases it.
    pub(crate) fn keep(&self) -> Object {
        if let Some(lease) = &self.lease {
            lease.is_kept.set(true);
        }
        self.object
    }

    /// Calls an operation of the core with the object and the thread's waiter.
    #[inline(always)]
    pub(crate) fn perform<R>(
        &self,
        operation: impl FnOnce(&ntux_sync::Arena, &ntux_sync::Waiter, ntux_sync::Object) -> R,
    ) -> R {
        self.arena.with_waiter(|arena, waiter| operation(arena, waiter, self.object.in_core()))
    }
}
