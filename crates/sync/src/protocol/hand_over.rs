// SPDX-License-Identifier: MIT OR Apache-2.0
//! Gives an object to the only thread that waits for it: the common case of a signal, in one piece.
//!
//! # Role
//! Most queues are of one. [`super::scan`] and [`super::claim`] serve any number of waiters, whoever began, after any
//! interruption. This file serves one waiter, for the thread that signals, and leaves everything else to them, before it has
//! changed anything or with the claim in place. It decodes each word once, and it knows who waits when it settles.
//!
//! # Transitions
//! Those of [`super::claim`], and one that only this file makes:
//!
//! | step | on | from | to | by |
//! | --- | --- | --- | --- | --- |
//! | settle | object | claimed for its only waiter, which was given it | at rest, `W` cleared, whatever remains available | the thread that claimed it |
//!
//! # Invariants
//! * I-only: from the claim on nobody joins the queue (I-claim-6). Before the claim only this waiter was in it (O-set). So once
//!   the waiter has the object, nobody is left to whom the rest could be offered: the general way finds that out by a second
//!   scan, and also rests without `W`.
//!
//! # Order
//! * O-set, O-wake and O-ready as in [`super::claim`]: the object's word was read before the wait set, the wait set before the
//!   waiter's word, and that before the claim.
//!
//! # Death
//! As in [`super::claim`]: each step leaves what the same step leaves there.

use super::claim::{Decision, Found, help_ahead};
use super::scan::{Ahead, Candidate};
use super::waiter::Waiter;
use crate::arena::Arena;
use crate::format::layout::ObjectSlot;
use crate::format::mark::Mark;
use crate::format::object_word::{Claimant, ObjectWord, W, WA};
use crate::kind::{Kind, Signal};
use crate::{Object, Result, observe};

/// An object that an operation makes available: its word before, perhaps a glance, which was read before `kind`, and afterwards.
pub(super) struct Signaled<'a> {
    pub object: Object,
    pub slot: &'a ObjectSlot,
    pub kind: Kind,
    pub seen: ObjectWord,
    pub next: ObjectWord,
    /// The mark of the performer.
    pub by: Mark,
}

impl Signaled<'_> {
    /// Returns true if any thread that waits may have the object, and none waits for several together. Only then it may be handed over.
    #[inline(always)]
    pub(super) fn is_for_any_waiter(&self) -> bool {
        self.seen.has(W) && !self.seen.has(WA) && self.kind.admits_anybody(self.next)
    }
}

/// Performs the operation if one thread waits for the object, and gives the object to that thread. Returns false, and has changed
/// nothing, if another number of threads waits, if the waiter must be looked at more closely, or if the object's word is not `seen`.
#[inline(always)]
pub(super) fn hand_over(arena: &Arena, waiter: &Waiter, signaled: &Signaled<'_>, signal: Signal) -> Result<bool> {
    let &Signaled { object, slot, kind, seen, next, by } = signaled;
    let Some(only) = only_waiter(arena, object, slot) else { return Ok(false) };
    let satisfied = only.word.satisfied(object.index(), signal.abandons() && kind.was_abandoned(next));
    // No timer fires here.
    let decision = Decision::prepare(arena, waiter, only.slot, only.word, satisfied, Some(object), false);
    let claim = next.claimed_for(Claimant::Waiter(only.entry.waiter()), only.entry.ticket().tag());
    if !slot.exchange(seen, claim) {
        decision.drop();
        return Ok(false);
    }
    #[cfg(ntux_explore)]
    ntux_platform::explore::decides_next();
    // I-only
    let is_settled = decision.make(arena, by) && {
        let rest = kind.rested(kind.consumed(next.advanced(), only.slot.owner())).without(W);
        slot.exchange(claim.advanced(), rest)
    };
    if !is_settled {
        help_to_rest(arena, waiter, object.index(), slot, Found::claimed(claim.advanced(), by))?;
    }
    observe::signaled(arena, object, signal);
    Ok(true)
}

#[cold]
fn help_to_rest(arena: &Arena, waiter: &Waiter, index: u32, slot: &ObjectSlot, claimed: Found) -> Result<()> {
    waiter.budget.renew();
    let now = slot.load();
    let found = if now == claimed.word { claimed } else { now.into() };
    help_ahead(arena, waiter, index, found, &mut Ahead::default()).map(drop)
}

/// The waiter in the object's wait set, if there is exactly one, which waits for one of its objects, this one, and if
/// there is no chunk.
#[inline(always)]
fn only_waiter<'a>(arena: &'a Arena, object: Object, slot: &ObjectSlot) -> Option<Candidate<'a>> {
    let entry = arena.only_entry(slot).filter(|entry| !entry.is_all())?;
    let slot = arena.waiter_slot(entry.waiter())?;
    let word = slot.load();
    // Whether a detached one's process lives, the general way asks.
    (word.waits_since(entry.ticket()) && !word.is_detached() && slot.lists(entry, object)).then_some(Candidate {
        slot,
        word,
        entry,
    })
}
