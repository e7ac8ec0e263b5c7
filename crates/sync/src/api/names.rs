// SPDX-License-Identifier: MIT OR Apache-2.0
//! Objects by name.

use crate::arena::Arena;
use crate::arena::names::Name;
use crate::kind::{Kind, New};
use crate::protocol::create_named;
use crate::protocol::waiter::Waiter;
use crate::{Object, Result};

impl Arena {
    /// Opens the object with this name, or creates it, in one step. Returns whether it existed; then it is as it was, whatever `new` says
    /// beside its kind. This process holds it once more ([`Arena::hold`]).
    ///
    /// The name ends with the object: when no process holds it, and it is not used, unless it was made permanent
    /// ([`Arena::make_permanent`]). What only dead processes held is created anew.
    ///
    /// An arena has room for as many names as objects, but for some 32,000 at most. Those of objects that are over take none.
    ///
    /// Errors: `OtherKind`, `Invalid` (see [`New`]), `Exhausted`.
    pub fn create_named(&self, waiter: &Waiter, name: Name<'_>, new: New) -> Result<(Object, bool)> {
        create_named::create_named(self, waiter, name, new)
    }

    /// Opens the object with this name; this process holds it once more. Any event is of the kind of an event.
    ///
    /// Errors: `NoSuchName`, `OtherKind`, `Exhausted` (more processes than the arena has room for).
    pub fn open_named(&self, name: Name<'_>, kind: Kind) -> Result<Object> {
        create_named::open_named(self, name, kind)
    }
}
