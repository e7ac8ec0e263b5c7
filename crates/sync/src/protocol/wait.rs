// SPDX-License-Identifier: MIT OR Apache-2.0
//! What all waits have in common: how a round takes an object, how it ends in the queues, and what has become of it.
//!
//! # Role
//! A wait is a loop of rounds. [`super::wait_one`], [`super::wait_any`] and [`super::wait_all`] differ in how they look at their objects,
//! and in how they join the queues. From there on all do the same: they sleep ([`conclude`]), see what satisfied them at rest
//! ([`see_at_rest`]), empty their places, and say whether another round is due ([`outcome`]).
//!
//! # Invariants
//! * I-wait: the epoch ends after the waiter has seen the object that satisfied it at rest (C2), and has emptied every entry.
//!
//! # Death
//! Before the thread is in its queues, nothing has happened. In its queues, the kernel marks the waiter's word
//! ([`crate::format::waiter_word`]), so that no scan chooses it and no decision satisfies it; any thread that meets its
//! entries empties them. (Without a robust list it can be given objects like a living waiter until its slot is
//! inherited.)

use ntux_platform::clock::Deadline;

use super::claim::{help, help_claim};
use super::epoch::{Decision, Epoch};
use super::queueing::Joined;
use super::request::Request;
use super::scan::Ahead;
use super::waiter::Waiter;
use crate::arena::Arena;
use crate::format::layout::ObjectSlot;
use crate::format::object_word::{Claimant, ObjectWord};
use crate::planted::{Bug, planted};
use crate::{Error, Result, Satisfied};

/// What one round of a wait has come to.
#[must_use]
pub(super) enum Round {
    /// The wait is satisfied.
    Satisfied(Satisfied),
    /// Something has changed meanwhile: the wait must be retried.
    Again,
}

/// Takes an available object, which stands at position `index` of the wait, if its word is still the one that was seen.
pub(super) fn take(slot: &ObjectSlot, seen: ObjectWord, next: ObjectWord, index: u32) -> Round {
    let abandoned = slot.kind().was_abandoned(seen);
    match next == seen || slot.exchange(seen, next) {
        true => Round::Satisfied(Satisfied { index, abandoned }),
        false => Round::Again,
    }
}

/// Sleeps if the wait is queued; withdraws it otherwise.
#[inline(never)]
pub(super) fn conclude(epoch: &Epoch<'_>, queued: bool, deadline: Deadline) -> Decision {
    let interrupted = epoch.waiter.is_interrupted();
    if !queued || interrupted || (deadline.passed() && epoch.is_open()) {
        epoch.withdraw();
    }
    epoch.sleep(deadline)
}

/// Sees the object that satisfied the wait at rest (C2). Returns what the wait was given, if anything.
pub(super) fn see_at_rest(
    arena: &Arena,
    epoch: &Epoch<'_>,
    request: &Request<'_>,
    decision: Decision,
) -> Result<Option<Satisfied>> {
    let Decision::Object { index, abandoned } = decision else {
        return Ok(None);
    };
    see_one_at_rest(arena, epoch, index, arena.object_slot(index).ok_or(Error::Corrupt)?)?;
    Ok(Some(Satisfied { index: request.position(index)?, abandoned }))
}

/// Sees an object that was given to the wait at rest (C2).
#[inline(always)]
pub(super) fn see_one_at_rest(arena: &Arena, epoch: &Epoch<'_>, index: u32, slot: &ObjectSlot) -> Result<()> {
    if !planted(Bug::OwnSettle) {
        help(arena, epoch.waiter, index, slot.load())?;
    } else if slot.load().claimant() == Claimant::Waiter(epoch.index) {
        help_claim(arena, epoch.waiter, index, slot.load().into(), &mut Ahead::default())?;
    }
    Ok(())
}

/// Returns what has become of a wait that has queued, or tried to.
///
/// Errors: why it failed; those of `joined`.
#[inline(always)]
pub(super) fn outcome(waiter: &Waiter, satisfied: Option<Satisfied>, joined: Result<Joined>) -> Result<Round> {
    let stepped_aside = waiter.starts_again();
    if let Some(satisfied) = satisfied {
        return Ok(Round::Satisfied(satisfied));
    }
    let again = stepped_aside || joined? == Joined::Disturbed;
    if again && !waiter.is_interrupted() { Ok(Round::Again) } else { Err(failure(waiter)) }
}

/// The error of a withdrawn wait.
#[cold]
pub(super) fn failure(waiter: &Waiter) -> Error {
    if waiter.is_interrupted() { Error::Interrupted } else { Error::TimedOut }
}
