//! What is done by one exchange, or not at all: an operation for which nobody waits, a wait that takes its one object.
//!
//! # Role
//! For a caller to whom a call that does no more than this is worth a way of its own (the preloaded library). These are the first
//! lines of the tables in [`super::signal`] and [`super::wait_one`], which do everything else, and say why something cannot be done.
//! Nothing here enters the kernel, panics, or helps another thread.
//!
//! # Order, death
//! The word is read before meta (I-object-1). Before the exchange nothing has happened, and after it everything has.

use super::waiter::Waiter;
use crate::arena::Arena;
use crate::format::object_word::{W, WA};
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

/// Takes an object, by an owner that is not 0. `None` if nothing has happened. (A manual-reset event does not change, so no exchange could
/// confirm that it was signaled.)
#[inline(always)]
pub(crate) fn acquire(arena: &Arena, waiter: &Waiter, object: Object, owner: u32) -> Option<Satisfied> {
    let slot = arena.object_slot(object.index())?;
    let seen = slot.glance();
    let kind = slot.kind_if_live(object).filter(|kind| kind.is_consumed() && !seen.is_claimed())?;
    let Access::Open(next) = kind.access(seen, &slot.extra, owner) else { return None };
    let next = kind.taken_by(next, || waiter.mark());
    let satisfied = Satisfied { index: 0, abandoned: kind.was_abandoned(seen) };
    slot.exchange(seen, next).then_some(satisfied)
}
