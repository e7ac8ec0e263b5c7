// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks an object for a wait. It first helps the object to rest, and fires a timer that is due. It changes nothing else, except by a
//! carry that an acquisition needs.

use super::claim::help;
use super::request::Request;
use super::timer;
use super::waiter::Waiter;
use crate::arena::Arena;
use crate::format::layout::ObjectSlot;
use crate::format::meta::Meta;
use crate::format::object_word::ObjectWord;
use crate::kind::{Access, Kind};
use crate::{Error, Object, Result};

/// The result of checking an object.
#[must_use]
pub(crate) enum Look {
    /// Not available. Closed objects never are, except to a wait-all that began before.
    Unavailable(ObjectWord),
    /// Available: the word, and the word after acquiring it, which is the same for a manual-reset event.
    Available { seen: ObjectWord, next: ObjectWord },
}

impl Look {
    /// The word.
    pub fn seen(&self) -> ObjectWord {
        match *self {
            Look::Unavailable(seen) | Look::Available { seen, .. } => seen,
        }
    }

    /// Returns true if the wait cannot have it.
    pub fn is_unavailable(&self) -> bool {
        matches!(self, Look::Unavailable(_))
    }
}

/// Refuses a wait that names an object that does not exist, before anything happens. Returns whether one of them is a timer or an end.
///
/// Errors: `Invalid`.
pub(crate) fn check(arena: &Arena, request: &Request<'_>) -> Result<bool> {
    let slots = arena.object_slots();
    let meta_of = |object: Object| {
        let meta = slots.get(object.index() as usize)?.meta();
        meta.is_live(object).then_some(meta)
    };
    // That it is one of these is a bit of its own.
    let any = request.iter().try_fold(Meta(0), |any, object| meta_of(object).map(|meta| Meta(any.0 | meta.0)));
    any.map(Meta::is_timed).ok_or(Error::Invalid)
}

/// Checks one object, after helping it to rest.
#[inline(always)]
pub(crate) fn look(arena: &Arena, waiter: &Waiter, object: Object, owner: u32) -> Result<Look> {
    look_at(arena, waiter, object, owner, ObjectSlot::kind_if_live_untimed, ObjectSlot::kind_if_live)
}

/// Checks one object for a wait-all, after helping it to rest. It may be closed: the wait began before that.
#[inline(always)]
pub(crate) fn look_for_all(arena: &Arena, waiter: &Waiter, object: Object, owner: u32) -> Result<Look> {
    let (untimed, kind) = (ObjectSlot::kind_if_still_there_untimed, ObjectSlot::kind_if_still_there);
    look_at(arena, waiter, object, owner, untimed, kind)
}

/// `kind`: that of the object, if it exists for this wait; `untimed`: if it is neither a timer nor an end besides.
#[inline(always)]
fn look_at(
    arena: &Arena,
    waiter: &Waiter,
    object: Object,
    owner: u32,
    untimed: impl Fn(&ObjectSlot, Object) -> Option<Kind>,
    kind: fn(&ObjectSlot, Object) -> Option<Kind>,
) -> Result<Look> {
    let slot = arena.object_slot(object.index()).ok_or(Error::Invalid)?;
    while waiter.budget.round() {
        let seen = slot.load();
        let Some(kind) = untimed(slot, object) else {
            return look_at_timed(arena, waiter, object, slot, kind);
        };
        if seen.is_claimed() {
            help(arena, waiter, object.index(), seen)?;
            continue;
        }
        match kind.access(seen, &slot.extra, owner) {
            Access::Open(next) => return Ok(Look::Available { seen, next: waiter.mark.taking(kind, next) }),
            Access::Carry(carry) => {
                slot.exchange(seen, seen.claimed_for(carry, 0));
            }
            Access::Closed if kind.access_depends_on_beside(seen) && slot.load() != seen => {}
            Access::Closed => return Ok(Look::Unavailable(seen)),
        }
    }
    Err(Error::Corrupt)
}

/// [`look_at`] of a timer, which is fired first if it is due; of an end; or of no object.
#[cold]
fn look_at_timed(
    arena: &Arena,
    waiter: &Waiter,
    object: Object,
    slot: &ObjectSlot,
    kind: fn(&ObjectSlot, Object) -> Option<Kind>,
) -> Result<Look> {
    while waiter.budget.round() {
        let live = timer::in_time(arena, waiter, object)?;
        let seen = live.unwrap_or_else(|| slot.load());
        let Some(kind) = kind(slot, object) else { return Ok(Look::Unavailable(seen)) };
        if seen.is_claimed() {
            help(arena, waiter, object.index(), seen)?;
            continue;
        }
        return Ok(match kind.access_timed(seen) {
            Some(next) => Look::Available { seen, next: waiter.mark.taking(kind, next) },
            None => Look::Unavailable(seen),
        });
    }
    Err(Error::Corrupt)
}
