// SPDX-License-Identifier: MIT OR Apache-2.0
//! Takes objects that a look has found available, in one step and in no queue.
//!
//! # Role
//! A wait for any that finds a later object available must take it at an instant at which the earlier ones are not. A
//! wait for all that finds all of them available must take them at one instant. A *probe* claims what is to be taken in
//! the name of a waiter that says `Probing`, looks again at the objects that it has not claimed, and decides on the
//! waiter's own word. It needs no admission word, and disturbs nobody who waits.
//!
//! # Transitions
//! | step | on | from | to | by |
//! | --- | --- | --- | --- | --- |
//! | begin | waiter | | `Probing` | its thread |
//! | claim | each object that is consumed | at rest, as it was seen | claimed for the waiter | its thread |
//! | check | the other objects | | | its thread |
//! | decide | waiter | `Probing` | `Satisfied` | its thread |
//! | give up | waiter | `Probing` | `Withdrawn` | anyone that meets a claim; its thread |
//! | settle | object | claimed | consumed if decided; at rest, or on offer again, if not | anyone ([`super::claim`]) |
//!
//! If nothing is to be consumed (manual-reset events), the check alone decides.
//!
//! # Invariants
//! * I-probe: while the waiter is `Probing`, any thread that meets one of its claims withdraws it. So if the decision
//!   succeeds, nobody has seen a claimed object since its claim. The objects that it did not claim were the same before
//!   the first claim and after the last one. So the instant after the last claim is that of the probe.
//! * I-probe-all: after the decision each claim for the waiter counts as granted, also if its thread is dead; nobody
//!   else claims in its name, because it is in no queue. Its place goes to nobody before all of them are settled.
//! * A failed probe is not repeated, except one of [`probe_few`], once: then a wait for any queues, a wait for all makes an attempt
//!   ([`super::admission`]). Others cannot prevent that for ever.
//!
//! # Order
//! O-self as in [`super::claim`]: the own word is read before the other objects are checked again, and the decision is
//! an exchange of it.
//!
//! # Death
//! Before the decision: nothing has happened. Any thread that meets a claim removes it. After it: the operation has
//! happened as a whole. Any thread that meets a claim consumes the object; what the thread was given is lost with it.

use super::claim::{Found, help_ahead, rest_after};
use super::epoch::{Epoch, begin, begin_with};
use super::queueing::Queueing;
use super::request::Request;
use super::scan::Ahead;
use super::wait::Round;
use super::waiter::Waiter;
use crate::arena::Arena;
use crate::format::layout::ObjectSlot;
use crate::format::object_word::{Claimant, ObjectWord};
use crate::format::waiter_word::{ALL_PROBED, WaiterState};
use crate::kind::{Access, Kind};
use crate::observe::marks;
use crate::planted::{Bug, planted};
use crate::{Error, Object, Result, Satisfied};

/// A wait for at most so many objects tries [`probe_few`] first.
pub(crate) const FEW: usize = 8;

/// The first available object of a wait.
pub(crate) struct Available {
    pub position: usize,
    pub seen: ObjectWord,
    pub next: ObjectWord,
}

/// Returns true if the checked objects are unchanged.
#[inline(always)]
pub(crate) fn unchanged(arena: &Arena, request: &Request<'_>, queueing: &Queueing) -> bool {
    let same = |(object, &version): (Object, &u64)| {
        arena.object_slot(object.index()).is_some_and(|slot| slot.word.load_low() == version)
    };
    request.iter().zip(queueing.versions()).all(same)
}

/// An available object that a probe is to take, as it was seen.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    slot: &'a ObjectSlot,
    index: u32,
    kind: Kind,
    seen: ObjectWord,
}

impl<'a> Target<'a> {
    /// None if the number is no object's.
    pub fn new(arena: &'a Arena, object: Object, seen: ObjectWord) -> Option<Target<'a>> {
        let slot = arena.object_slot(object.index())?;
        Some(Target { slot, index: object.index(), kind: slot.kind(), seen })
    }

    /// As it is now. The exchange that claims it confirms both halves of its word. None if the number is no object's.
    pub fn at(arena: &'a Arena, object: Object) -> Option<Target<'a>> {
        let slot = arena.object_slot(object.index())?;
        Some(Target { slot, index: object.index(), kind: slot.kind(), seen: slot.glance() })
    }

    /// Returns true if the object has not changed since a look that found this lower half of its word.
    pub fn is_as_seen(&self, version: u64) -> bool {
        self.seen.low() == version
    }

    fn is_consumed(&self) -> bool {
        self.kind.is_consumed()
    }
}

/// Takes the object that was found if the ones before it do not change.
#[inline(always)]
pub(super) fn probe_one(
    arena: &Arena,
    waiter: &Waiter,
    request: &Request<'_>,
    queueing: &Queueing,
    found: &Available,
) -> Result<Round> {
    let object = request.get(found.position).ok_or(Error::Corrupt)?;
    let target = Target::new(arena, object, found.seen).ok_or(Error::Corrupt)?;
    let undisturbed = || unchanged(arena, request, queueing);
    let taken = if found.next == found.seen {
        // A manual-reset event is not consumed, so it suffices that the earlier objects did not change.
        undisturbed().then_some(false)
    } else {
        let epoch = begin(arena, waiter, WaiterState::Probing, Some(&request.without_objects()))?;
        probe(&epoch, || core::iter::once(&target), target.index, request.owner, undisturbed)?
    };
    Ok(round(found.position as u32, taken))
}

/// Takes a few objects if one glance at each finds it available, and a wait consumes each. `None` if nothing has happened.
#[inline(always)]
pub(super) fn probe_few(arena: &Arena, waiter: &Waiter, request: &Request<'_>) -> Result<Option<Satisfied>> {
    let mut found = [None; FEW];
    for (found, &object) in found.iter_mut().zip(request.objects()) {
        *found = glance_at(arena, object, request.owner);
        if found.is_none() {
            return Ok(None);
        }
    }
    let epoch = begin_with(arena, waiter, WaiterState::Probing, |slot| {
        slot.wants(request.objects().len(), request.objects().iter().copied(), request.owner);
    })?;
    let found = || found.iter().map_while(|found| found.as_ref());
    let taken = probe(&epoch, found, ALL_PROBED, request.owner, || true)?;
    Ok(taken.map(|abandoned| Satisfied { index: 0, abandoned }))
}

#[inline(always)]
fn glance_at(arena: &Arena, object: Object, owner: u32) -> Option<Target<'_>> {
    let slot = arena.object_slot(object.index())?;
    // The exchange confirms both halves.
    let seen = slot.glance();
    let kind = slot.kind_if_live_untimed(object)?;
    let is_available = !seen.is_claimed() && matches!(kind.access(seen, &slot.extra, owner), Access::Open(_));
    (is_available && kind.is_consumed()).then_some(Target { slot, index: object.index(), kind, seen })
}

/// Takes all objects, which were available at the last check, if none of them has changed since.
pub(super) fn probe_all<'a>(
    arena: &Arena,
    waiter: &Waiter,
    request: &Request<'_>,
    found: &[Option<Target<'a>>],
) -> Result<Round> {
    let found = || found.iter().map_while(|found| found.as_ref());
    let undisturbed = || all_but_claimed(found());
    let taken = if found().any(Target::is_consumed) {
        let epoch = begin(arena, waiter, WaiterState::Probing, Some(request))?;
        probe(&epoch, || found().filter(|target| target.is_consumed()), ALL_PROBED, request.owner, undisturbed)?
    } else {
        undisturbed().then_some(false)
    };
    Ok(round(0, taken))
}

/// Returns true if the objects that a probe does not claim have not changed since they were seen.
fn all_but_claimed<'a>(mut found: impl Iterator<Item = &'a Target<'a>>) -> bool {
    found.all(|target| target.is_consumed() || target.slot.word.load_low() == target.seen.low())
}

/// `taken`: whether a mutex was abandoned, if the wait was given what it wanted.
fn round(index: u32, taken: Option<bool>) -> Round {
    taken.map_or(Round::Again, |abandoned| Round::Satisfied(Satisfied { index, abandoned }))
}

/// Takes the targets in one step, if the other objects are `undisturbed` after the last claim; `given` says in the waiter's word what
/// it got. Returns whether one of them was an abandoned mutex; none if nothing has happened.
#[inline(always)]
fn probe<'a, T: Iterator<Item = &'a Target<'a>>>(
    epoch: &Epoch<'_>,
    targets: impl Fn() -> T,
    given: u32,
    owner: u32,
    undisturbed: impl FnOnce() -> bool,
) -> Result<Option<bool>> {
    // An object that occurs twice has changed when it is to be claimed again.
    let all_claimed = targets().all(|target| target.slot.exchange(target.seen, claimed(epoch, target)));
    let abandoned = targets().any(|target| target.kind.was_abandoned(target.seen));
    let decided = decide(epoch, given, abandoned, || all_claimed && (undisturbed() || planted(Bug::ProbeBlind)));
    for target in targets() {
        settle(epoch, target, owner, decided)?;
    }
    Ok(decided.then_some(abandoned))
}

#[inline(always)]
fn claimed(epoch: &Epoch<'_>, target: &Target<'_>) -> ObjectWord {
    target.seen.claimed_for(Claimant::Waiter(epoch.index), epoch.ticket.tag())
}

/// Decides the probe if nobody has met it, and it is `undisturbed`; gives it up if not.
#[inline(always)]
fn decide(epoch: &Epoch<'_>, given: u32, abandoned: bool, undisturbed: impl FnOnce() -> bool) -> bool {
    let probing = epoch.load();
    let decided = undisturbed()
        && probing.state() == WaiterState::Probing
        && epoch.slot.exchange(probing, probing.satisfied(given, abandoned));
    if !decided {
        epoch.withdraw();
    }
    decided
}

/// Consumes a target of a probe that is decided, or takes the claim away. Helps other claims, too (C2).
#[inline(always)]
fn settle(epoch: &Epoch<'_>, target: &Target<'_>, owner: u32, decided: bool) -> Result<()> {
    let &Target { slot, index, kind, seen } = target;
    let found = if decided {
        let claim = claimed(epoch, target).advanced();
        // The mark stays that of the last signaler; a mutex gets that of the thread that takes it.
        let signaled_by = marks::known(seen.mark());
        let rest = rest_after(kind, claim, owner)
            .map(|rest| epoch.waiter.mark.taking(kind, marks::offered(signaled_by, kind, rest)));
        match rest {
            Some(rest) if slot.exchange(claim, rest) => return Ok(()),
            Some(_) => slot.load().into(),
            None => Found::granted(claim, signaled_by),
        }
    } else {
        slot.load().into()
    };
    if found.word.is_claimed() {
        help_ahead(epoch.arena, epoch.waiter, index, found, &mut Ahead::default())?;
    }
    Ok(())
}
