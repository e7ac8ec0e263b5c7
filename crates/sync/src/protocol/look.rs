//! What a wait finds when it looks at an object: helped to rest first, and changed in no other way but by a carry that an
//! acquisition needs.

use super::claim::help;
use super::request::Request;
use super::waiter::Waiter;
use crate::arena::Arena;
use crate::format::layout::ObjectSlot;
use crate::format::object_word::ObjectWord;
use crate::kind::{Access, Kind};
use crate::{Error, Object, Result};

/// What a wait finds when it looks at an object.
#[must_use]
pub(crate) enum Look {
    /// Not available; closed objects never are, but to a wait-all that began before.
    Unavailable(ObjectWord),
    /// Available: the word, and what acquiring makes of it. Equal for a manual-reset event.
    Available { seen: ObjectWord, next: ObjectWord },
}

impl Look {
    /// The word.
    pub fn seen(&self) -> ObjectWord {
        match *self {
            Look::Unavailable(seen) | Look::Available { seen, .. } => seen,
        }
    }

    /// Whether the wait may not have it.
    pub fn is_unavailable(&self) -> bool {
        matches!(self, Look::Unavailable(_))
    }
}

/// Refuses a wait that names an object that is not there; nothing happens then.
///
/// Errors: `Invalid`.
pub(crate) fn check(arena: &Arena, request: &Request<'_>) -> Result<()> {
    let known = |object: Object| arena.kind_of(object).is_ok();
    if request.iter().all(known) { Ok(()) } else { Err(Error::Invalid) }
}

/// Looks at one object, after helping it to rest.
pub(crate) fn look(arena: &Arena, waiter: &Waiter, object: Object, owner: u32) -> Result<Look> {
    look_at(arena, waiter, object, owner, ObjectSlot::kind_if_live)
}

/// As [`look`], for a wait-all: closed or not, the wait began before that.
pub(crate) fn look_for_all(arena: &Arena, waiter: &Waiter, object: Object, owner: u32) -> Result<Look> {
    look_at(arena, waiter, object, owner, |slot, object| slot.still_has(object).then(|| slot.kind()))
}

/// `kind`: of the object, if it is there for this wait.
#[inline(always)]
fn look_at(
    arena: &Arena,
    waiter: &Waiter,
    object: Object,
    owner: u32,
    kind: impl Fn(&ObjectSlot, Object) -> Option<Kind>,
) -> Result<Look> {
    let slot = arena.object_slot(object.index()).ok_or(Error::Invalid)?;
    while waiter.budget.round() {
        let seen = slot.load();
        let Some(kind) = kind(slot, object) else {
            return Ok(Look::Unavailable(seen));
        };
        if seen.is_claimed() {
            help(arena, waiter, object.index(), seen)?;
            continue;
        }
        match kind.access(seen, &slot.extra, owner) {
            Access::Open(next) => return Ok(Look::Available { seen, next }),
            Access::Carry(carry) => {
                slot.exchange(seen, seen.claimed_for(carry, 0));
            }
            Access::Closed if kind.access_depends_on_beside(seen) && slot.load() != seen => {}
            Access::Closed => return Ok(Look::Unavailable(seen)),
        }
    }
    Err(Error::Corrupt)
}
