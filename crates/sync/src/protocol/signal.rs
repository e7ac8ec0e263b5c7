//! The operations that change an object without waiting: release, unlock, kill, set, reset, pulse.
//!
//! # Role
//! [`crate::kind`] defines what an operation does to a value, as plain functions from a word to a [`Step`]. This file
//! performs the step: at once if nobody waits, otherwise as a claim for the first waiter ([`crate::protocol::claim`]),
//! or through the admission word if there is a wait-all waiter ([`crate::protocol::admission`]).
//!
//! # Transitions of the object's word
//! | waiters | from | to |
//! | --- | --- | --- |
//! | none | at rest | at rest, new value: one exchange |
//! | wait-any | at rest | new value on offer, claimed for the first waiter |
//! | wait-all | at rest | claimed as the origin of an admitted operation, by anyone |
//!
//! The operation takes effect with its last exchange that claims or rests. It returns after it has seen the object at
//! rest, so all its waiters are satisfied by then. Orders and deaths are those of the files named above.

use super::admission::announce;
use super::at_once;
use super::claim::{help, help_ahead, put};
use super::hand_over::{Signaled, hand_over, hand_over_here};
use super::scan::{Ahead, offer};
use super::waiter::Waiter;
use crate::arena::Arena;
use crate::format::layout::ObjectSlot;
use crate::format::object_word::{ObjectWord, W, WA};
use crate::kind::{Kind, Signal, Step};
use crate::planted::{Bug, planted};
use crate::trace::{Operation, What};
use crate::{Error, Object, Result, spec};

/// Performs an operation. Returns the previous value. If nobody waits, this is one exchange of the predicted word.
#[inline(always)]
pub(crate) fn signal(arena: &Arena, waiter: &Waiter, object: Object, signal: Signal) -> Result<u32> {
    let slot = arena.object_slot(object.index()).ok_or(Error::NoSuchObject)?;
    let seen = slot.glance();
    if seen.has(W | WA) {
        return match signal.leaves_a_level(seen) {
            true => leave_a_level(arena, waiter, object, signal),
            false => signal_waiters(arena, waiter, object, signal),
        };
    }
    let kind = slot.kind_if_live(object).ok_or(Error::NoSuchObject)?;
    if !signal.fits(kind) {
        return Err(Error::Invalid);
    }
    match signal.step(seen, kind, &slot.extra) {
        Step::Changed { next, previous, .. } if !seen.is_claimed() => {
            let next = signal.performed_by(next, || waiter.mark());
            match slot.exchange(seen, next) {
                true => Ok(previous),
                false => signal_waiters(arena, waiter, object, signal),
            }
        }
        _ => signal_slowly(arena, waiter, object, signal),
    }
}

/// Performs an operation on an object for which somebody waits, or which has changed since the word that was expected: as a rule,
/// because somebody waits by now.
#[inline(always)]
fn signal_waiters(arena: &Arena, waiter: &Waiter, object: Object, signal: Signal) -> Result<u32> {
    // Each of those that programs use where threads meet has code of its own: there it is known what it does.
    match signal {
        Signal::Set => set_waiters(arena, waiter, object),
        Signal::Release(count) => release_waiters(arena, waiter, object, count),
        Signal::Unlock(owner) => unlock_waiters(arena, waiter, object, owner),
        Signal::Reset | Signal::Pulse | Signal::Kill(_) => signal_slowly(arena, waiter, object, signal),
    }
}

#[inline(never)]
fn set_waiters(arena: &Arena, waiter: &Waiter, object: Object) -> Result<u32> {
    signal_one(arena, waiter, object, Signal::Set)
}

#[inline(never)]
fn release_waiters(arena: &Arena, waiter: &Waiter, object: Object, count: u32) -> Result<u32> {
    signal_one(arena, waiter, object, Signal::Release(count))
}

#[inline(never)]
fn unlock_waiters(arena: &Arena, waiter: &Waiter, object: Object, owner: u32) -> Result<u32> {
    signal_one(arena, waiter, object, Signal::Unlock(owner))
}

/// Performs an operation: in the common case, that one thread waits, in one piece.
#[inline(always)]
fn signal_one(arena: &Arena, waiter: &Waiter, object: Object, signal: Signal) -> Result<u32> {
    let slot = arena.object_slot(object.index()).ok_or(Error::NoSuchObject)?;
    let seen = slot.load();
    let kind = slot.kind_if_live(object).ok_or(Error::NoSuchObject)?;
    if signal.fits(kind)
        && let Step::Changed { next, previous, offers: true } = signal.step(seen, kind, &slot.extra)
        && !seen.is_claimed()
        && seen.has(W)
    {
        let by = waiter.mark();
        let signaled = Signaled { object, slot, kind, seen, next: signal.performed_by(next, || by), by };
        if signaled.is_for_any_waiter() && hand_over_here(arena, waiter, &signaled, signal)? {
            return Ok(previous);
        }
    }
    signal_slowly(arena, waiter, object, signal)
}

/// As [`signal`] of a mutex that its owner keeps: whoever waits goes on waiting.
#[inline(never)]
fn leave_a_level(arena: &Arena, waiter: &Waiter, object: Object, signal: Signal) -> Result<u32> {
    match at_once::signal(arena, waiter, object, signal) {
        Some(previous) => Ok(previous),
        None => signal_slowly(arena, waiter, object, signal),
    }
}

#[cold]
fn signal_slowly(arena: &Arena, waiter: &Waiter, object: Object, signal: Signal) -> Result<u32> {
    waiter.budget.renew();
    let slot = arena.object_slot(object.index()).ok_or(Error::NoSuchObject)?;
    while waiter.budget.round() {
        let seen = slot.load();
        let kind = slot.kind_if_live(object).ok_or(Error::NoSuchObject)?;
        if !signal.fits(kind) {
            return Err(Error::Invalid);
        }
        if seen.is_claimed() {
            help(arena, waiter, object.index(), seen)?;
            continue;
        }
        match signal.step(seen, kind, &slot.extra) {
            // The data beside the word may belong to the slot's next object.
            Step::Refused(_) if slot.load() != seen => {}
            Step::Refused(error) => return Err(error),
            Step::Unchanged(previous) => return Ok(previous),
            Step::Carry(claimant) => {
                slot.exchange(seen, seen.claimed_for(claimant, 0));
            }
            Step::Changed { offers: true, .. } if seen.has(WA) && !planted(Bug::WaitAllUnseen) => {
                arena.trace(|| signal.event(object));
                return announce(arena, waiter, object, signal);
            }
            Step::Changed { next, previous, offers: true } if seen.has(W) => {
                let by = waiter.mark();
                let signaled = Signaled { object, slot, kind, seen, next: signal.performed_by(next, || by), by };
                let is_handed_over = signaled.is_for_any_waiter() && hand_over(arena, waiter, &signaled, signal)?;
                if is_handed_over || serve_in_turn(arena, waiter, &signaled, signal)? {
                    return Ok(previous);
                }
            }
            Step::Changed { next, previous, .. } => {
                if slot.exchange(seen, signal.performed_by(next, || waiter.mark())) {
                    return Ok(previous);
                }
            }
        }
    }
    Err(Error::Corrupt)
}

/// Performs an operation that makes an object available, and gives it to those who wait. Returns false if another thread has
/// changed the object's word first.
#[inline(never)]
fn serve_in_turn(arena: &Arena, waiter: &Waiter, signaled: &Signaled<'_>, signal: Signal) -> Result<bool> {
    let &Signaled { object, slot, seen, next, by, .. } = signaled;
    let mut ahead = Ahead::default();
    let offered = offer(arena, waiter, object.index(), slot, next, &mut ahead);
    let Some(left) = put(arena, waiter, object.index(), slot, seen, &offered, by) else { return Ok(false) };
    help_ahead(arena, waiter, object.index(), left, &mut ahead)?;
    if left.word.is_claimed() {
        // Not earlier: nothing that can wait is done between a claim and its decision.
        arena.trace(|| signal.event(object));
    }
    Ok(true)
}

impl Signal {
    /// The event that a thread changed an object for which somebody waits.
    #[inline(always)]
    pub(super) fn event(self, object: Object) -> What {
        let operation = match self {
            Signal::Set => Operation::Set,
            Signal::Reset => Operation::Reset,
            Signal::Pulse => Operation::Pulse,
            Signal::Release(_) => Operation::Release,
            Signal::Unlock(_) => Operation::Unlock,
            Signal::Kill(_) => Operation::Kill,
        };
        What::Signals { object: object.index(), operation }
    }
}

/// The word of an object at rest, helped if necessary, and its slot and kind.
fn at_rest<'a>(arena: &'a Arena, waiter: &Waiter, object: Object) -> Result<(&'a ObjectSlot, Kind, ObjectWord)> {
    let slot = arena.object_slot(object.index()).ok_or(Error::NoSuchObject)?;
    while waiter.budget.round() {
        let seen = slot.load();
        let kind = slot.kind_if_live(object).ok_or(Error::NoSuchObject)?;
        if !seen.is_claimed() {
            return Ok((slot, kind, seen));
        }
        help(arena, waiter, object.index(), seen)?;
    }
    Err(Error::Corrupt)
}

/// Reads an object, which must be of the `wanted` kind.
///
/// Errors: `NoSuchObject`, `Invalid` (another kind), `Corrupt`.
pub(crate) fn read(
    arena: &Arena,
    waiter: &Waiter,
    object: Object,
    wanted: impl Fn(Kind) -> bool,
) -> Result<spec::Value> {
    waiter.budget.renew();
    while waiter.budget.round() {
        let (slot, kind, word) = at_rest(arena, waiter, object)?;
        if !wanted(kind) {
            return Err(Error::Invalid);
        }
        if !kind.value_depends_on_beside(word) {
            return kind.value(word, 0).ok_or(Error::Corrupt);
        }
        let extra = slot.extra.load();
        // The data beside the word belongs to it only if the word is unchanged.
        if slot.load() == word {
            return kind.value(word, extra).ok_or(Error::Corrupt);
        }
    }
    Err(Error::Corrupt)
}
