//! What is done by one exchange, or not at all: an operation for which nobody waits, a wait that takes its one object.
//!
//! # Role
//! The first lines of the tables in [`super::signal`] and [`super::wait_one`], which do everything else, and say why something cannot
//! be done. For those two, and for a caller to whom a call that does no more than this is worth a way of its own (the preloaded
//! library). Nothing here enters the kernel, panics, or helps another thread.
//!
//! # Order, death
//! The word is read before meta (I-object-1). Before the exchange nothing has happened, and after it everything has.

use super::waiter::Waiter;
use crate::arena::Arena;
use crate::format::layout::ObjectSlot;
use crate::format::object_word::{ObjectWord, W, WA};
use crate::kind::{Access, Signal, Step};
use crate::planted::{Bug, planted};
use crate::{Object, Satisfied};

/// Performs an operation, and returns the previous value. `None` if nothing has happened.
#[inline(always)]
pub(crate) fn signal(arena: &Arena, waiter: &Waiter, object: Object, signal: Signal) -> Option<u32> {
    let slot = arena.object_slot(object.index())?;
    let seen = slot.glance();
    let kind = slot.kind_if_live(object).filter(|kind| signal.fits(*kind) && !seen.is_claimed())?;
    let Step::Changed { next, previous, offers } = signal.step(seen, kind, &slot.extra) else { return None };
    if offers && seen.has(W | WA) && !planted(Bug::AtOnceUnseen) {
        return None;
    }
    let next = signal.performed_by(next, || waiter.mark());
    slot.exchange(seen, next).then_some(previous)
}

/// What a glance at an object, for a wait for it alone, has come to.
pub(super) enum Glance {
    Taken(Satisfied),
    /// It was not available if it had this word, which an exchange can confirm.
    Missing(ObjectWord),
    Unknown,
}

/// Takes an object, by an owner that is not 0, if it seems to be available. (A manual-reset event does not change, so no exchange could
/// confirm that it was signaled.)
#[inline(always)]
pub(super) fn take(waiter: &Waiter, object: Object, slot: &ObjectSlot, owner: u32) -> Glance {
    let seen = slot.glance();
    let Some(kind) = slot.kind_if_live(object).filter(|_| !seen.is_claimed()) else { return Glance::Unknown };
    match kind.access(seen, &slot.extra, owner) {
        Access::Open(next) if kind.is_consumed() => {
            let next = kind.taken_by(next, || waiter.mark());
            let abandoned = kind.was_abandoned(seen);
            match slot.exchange(seen, next) {
                true => Glance::Taken(Satisfied { index: 0, abandoned }),
                false => Glance::Unknown,
            }
        }
        Access::Closed if !kind.access_depends_on_beside(seen) => Glance::Missing(seen),
        _ => Glance::Unknown,
    }
}

/// As [`take`], of an object that is named. `None` if nothing has happened.
#[inline(always)]
pub(crate) fn acquire(arena: &Arena, waiter: &Waiter, object: Object, owner: u32) -> Option<Satisfied> {
    match take(waiter, object, arena.object_slot(object.index())?, owner) {
        Glance::Taken(satisfied) => Some(satisfied),
        Glance::Missing(_) | Glance::Unknown => None,
    }
}
