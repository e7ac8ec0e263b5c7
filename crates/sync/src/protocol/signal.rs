// SPDX-License-Identifier: MIT OR Apache-2.0
//! The operations that change an object without waiting: release, unlock, kill, set, reset, pulse.
//!
//! # Role
//! [`crate::kind`] defines what an operation does to a value, as plain functions from a word to a [`Step`]. This file
//! performs the step. Its one fast exit, for which nobody waits, is one exchange of the word that a glance has found. Otherwise the
//! step is a claim for the first waiter ([`crate::protocol::claim`]; for the only one, with the same word: [`super::hand_over`]),
//! or goes through the admission word if there is a wait-all waiter ([`crate::protocol::admission`]).
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
use super::claim::{help, help_ahead, put};
use super::hand_over::{Signaled, hand_over};
use super::scan::{Ahead, offer};
use super::waiter::Waiter;
use crate::arena::Arena;
use crate::format::layout::ObjectSlot;
use crate::format::object_word::{ObjectWord, W, WA};
use crate::kind::{Kind, Signal, Step};
use crate::observe::marks;
use crate::planted::{Bug, planted};
use crate::{Error, Object, Result, observe, spec};

/// Performs an operation. Returns the previous value. Its fast exit, for which nobody waits, is [`at_once`]. `make` of the `argument` is
/// the operation: a name by which each operation gets a copy of what follows, where it is known what it does.
#[inline(always)]
pub(crate) fn signal(
    arena: &Arena,
    waiter: &Waiter,
    object: Object,
    make: impl Fn(u32) -> Signal + Copy,
    argument: u32,
) -> Result<u32> {
    let slot = arena.object_slot(object.index()).ok_or(Error::NoSuchObject)?;
    let seen = slot.glance();
    if !seen.has(W | WA)
        && let Some(previous) = exchange_once(waiter, object, slot, seen, make(argument))
    {
        return Ok(previous);
    }
    signal_waiters(arena, waiter, object, make, argument, seen)
}

/// Performs an operation if it is one exchange: the object is at rest and changes, and nobody waits for it, or nobody who waits can
/// have it then. Returns the previous value; `None` if nothing has happened. It does not enter the kernel, panic, or help another
/// thread.
#[inline(always)]
pub(crate) fn at_once(arena: &Arena, waiter: &Waiter, object: Object, signal: Signal) -> Option<u32> {
    let slot = arena.object_slot(object.index())?;
    exchange_once(waiter, object, slot, slot.glance(), signal)
}

/// [`at_once`] if the object's word is `seen`, which was read before meta (I-object-1).
#[inline(always)]
fn exchange_once(waiter: &Waiter, object: Object, slot: &ObjectSlot, seen: ObjectWord, signal: Signal) -> Option<u32> {
    let kind = slot.kind_if_live_untimed(object).filter(|kind| signal.fits(*kind) && !seen.is_claimed())?;
    let Step::Changed { next, previous, offers } = signal.step(seen, kind, &slot.extra) else { return None };
    if offers && seen.has(W | WA) && !planted(Bug::AtOnceUnseen) {
        return None;
    }
    slot.exchange(seen, waiter.mark.performing(signal, next)).then_some(previous)
}

/// Performs an operation on an object whose word, at a glance, is `seen`: as a rule somebody waits, and as a rule one thread
/// ([`hand_over`], where the claim confirms the word), or nobody who waits can have it then.
#[inline(never)]
fn signal_waiters(
    arena: &Arena,
    waiter: &Waiter,
    object: Object,
    make: impl Fn(u32) -> Signal,
    argument: u32,
    seen: ObjectWord,
) -> Result<u32> {
    let slot = arena.object_slot(object.index()).ok_or(Error::NoSuchObject)?;
    let (signal, kind) = (make(argument), slot.kind_if_live(object).ok_or(Error::NoSuchObject)?);
    if signal.fits(kind)
        && let Step::Changed { next, previous, offers } = signal.step(seen, kind, &slot.extra)
        && !seen.is_claimed()
    {
        let by = waiter.mark.get();
        let signaled = Signaled { object, slot, kind, seen, next: marks::performed(by, signal, next), by };
        let is_done = match offers {
            true => signaled.is_for_any_waiter() && hand_over(arena, waiter, &signaled, signal)?,
            false => slot.exchange(seen, signaled.next),
        };
        if is_done {
            return Ok(previous);
        }
    }
    signal_slowly(arena, waiter, object, signal)
}

/// Performs an operation, whatever that takes.
#[cold]
pub(crate) fn signal_slowly(arena: &Arena, waiter: &Waiter, object: Object, signal: Signal) -> Result<u32> {
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
                observe::signaled(arena, object, signal);
                return announce(arena, waiter, object, signal);
            }
            Step::Changed { next, previous, offers: true } if seen.has(W) => {
                let by = waiter.mark.get();
                let signaled = Signaled { object, slot, kind, seen, next: marks::performed(by, signal, next), by };
                if serve_in_turn(arena, waiter, &signaled, signal)? {
                    return Ok(previous);
                }
            }
            Step::Changed { next, previous, .. } => {
                if slot.exchange(seen, waiter.mark.performing(signal, next)) {
                    return Ok(previous);
                }
            }
        }
    }
    Err(Error::Corrupt)
}

/// Performs an operation that makes an object available, and gives it to those who wait. Returns false if another thread has
/// changed the object's word first.
pub(super) fn serve_in_turn(arena: &Arena, waiter: &Waiter, signaled: &Signaled<'_>, signal: Signal) -> Result<bool> {
    let &Signaled { object, slot, seen, next, by, .. } = signaled;
    let mut ahead = Ahead::default();
    let offered = offer(arena, waiter, object.index(), slot, next, &mut ahead);
    let Some(left) = put(arena, waiter, object.index(), slot, seen, &offered, by) else { return Ok(false) };
    help_ahead(arena, waiter, object.index(), left, &mut ahead)?;
    if left.word.is_claimed() {
        observe::signaled(arena, object, signal);
    }
    Ok(true)
}

/// The word of an object at rest, helped if necessary, and its slot and kind. Not of a timer, which may be due.
fn at_rest<'a>(arena: &'a Arena, waiter: &Waiter, object: Object) -> Result<(&'a ObjectSlot, Kind, ObjectWord)> {
    let slot = arena.object_slot(object.index()).ok_or(Error::NoSuchObject)?;
    while waiter.budget.round() {
        let seen = slot.load();
        let kind = match slot.kind_if_live_untimed(object) {
            Some(kind) => kind,
            None => of_end(arena, slot, object)?,
        };
        if !seen.is_claimed() {
            return Ok((slot, kind, seen));
        }
        help(arena, waiter, object.index(), seen)?;
    }
    Err(Error::Corrupt)
}

/// The kind of an end. Errors: those of [`missing`].
#[cold]
fn of_end(arena: &Arena, slot: &ObjectSlot, object: Object) -> Result<Kind> {
    slot.kind_if_live(object).filter(|kind| *kind == Kind::End).ok_or_else(|| missing(arena, object))
}

/// Why there is no object of the kind that an operation is for.
#[cold]
pub(super) fn missing(arena: &Arena, object: Object) -> Error {
    arena.kind_of(object).map_or_else(|error| error, |_| Error::Invalid)
}

/// Reads an object, which must be of the `wanted` kind, and no timer.
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
