// SPDX-License-Identifier: MIT OR Apache-2.0
//! Creates an object by its name, or opens the one that has it: one step, in which the object gets the name, or is found.
//!
//! The names, their transitions and what a death leaves behind: [`crate::arena::names`].

use super::create::create_object;
use super::waiter::{Waiter, bury};
use crate::arena::Arena;
use crate::arena::lifetime::Lifetime;
use crate::arena::names::Name;
use crate::format::limits::RETRIES;
use crate::kind::{Kind, New, Start};
use crate::{Error, Object, Result};

/// The object with this name, which this process now holds once more; and whether it existed.
///
/// Errors: `Invalid` (see [`New`]), `OtherKind`, `Exhausted`.
pub(crate) fn create_named(arena: &Arena, waiter: &Waiter, name: Name<'_>, new: New) -> Result<(Object, bool)> {
    let start = new.start()?;
    let peer = arena.peer(bury)?;
    let search = arena.search_of(name);
    let group = arena.group(search)?;
    // The new object, and the place that is reserved for its name.
    let mut made = None;
    for _ in 0..RETRIES {
        // I-name-1
        let head = arena.settled(group);
        match arena.hold_named(group, search, start.kind, peer) {
            Ok(None) => {}
            found => {
                undo(arena, made);
                return found?.map(|object| (object, true)).ok_or(Error::Corrupt);
            }
        }
        let (object, place) = match made {
            Some(made) => made,
            None => make(arena, waiter, start, |object| arena.reserve_name(group, search, object, peer))?,
        };
        if arena.announce_name(group, head, object, place) {
            return Ok((object, false));
        }
        made = Some((object, place));
    }
    undo(arena, made);
    Err(Error::Corrupt)
}

/// The object of this kind with this name, which this process now holds once more.
///
/// Errors: `NoSuchName`, `OtherKind`, `Exhausted`.
pub(crate) fn open_named(arena: &Arena, name: Name<'_>, kind: Kind) -> Result<Object> {
    let peer = arena.peer(bury)?;
    let search = arena.search_of(name);
    let group = arena.used_group(search).ok_or(Error::NoSuchName)?;
    // I-name-1
    arena.settled(group);
    arena.hold_named(group, search, kind, peer)?.ok_or(Error::NoSuchName)
}

/// Creates an object, and reserves a place for its name.
fn make(
    arena: &Arena,
    waiter: &Waiter,
    start: Start,
    reserve: impl Fn(Object) -> Result<u32>,
) -> Result<(Object, u32)> {
    let object = create_object(arena, waiter, start, Lifetime::Process)?;
    match reserve(object) {
        Ok(place) => Ok((object, place)),
        Err(error) => {
            undo(arena, Some((object, 0)));
            Err(error)
        }
    }
}

/// Ends an object that has no name, and that nobody knows: with it goes the place that was reserved.
fn undo(arena: &Arena, made: Option<(Object, u32)>) {
    if let Some((object, _)) = made {
        let _ = arena.free(object);
    }
}
