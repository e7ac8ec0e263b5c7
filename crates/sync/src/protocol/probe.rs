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
//! * A failed probe is not repeated, or once ([`probe_few`]): then a wait for any queues, a wait for all makes an attempt
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
use super::notes;
use super::queueing::Queueing;
use super::request::Request;
use super::scan::Ahead;
use super::wait_any::Round;
use super::waiter::Waiter;
use crate::arena::Arena;
use crate::format::layout::ObjectSlot;
use crate::format::mark::Mark;
use crate::format::object_word::{Claimant, ObjectWord};
use crate::format::waiter_word::{ALL_PROBED, WaiterState};
use crate::kind::{Access, Kind};
use crate::planted::{Bug, planted};
use crate::{Error, Object, Result, Satisfied, WAIT_MAX};

/// A wait for at most so many objects tries [`probe_few`] first.
pub(crate) const FEW: usize = 8;

/// The first available object of a wait.
pub(crate) struct Available {
    pub position: usize,
    pub seen: ObjectWord,
    pub next: ObjectWord,
}

/// Whether the checked objects are unchanged.
#[inline(always)]
pub(crate) fn unchanged(arena: &Arena, request: &Request<'_>, queueing: &Queueing) -> bool {
    let same = |(object, &version): (Object, &u64)| {
        arena.object_slot(object.index()).is_some_and(|slot| slot.word.load_low() == version)
    };
    request.iter().zip(queueing.versions()).all(same)
}

/// Takes the object that was found if the ones before it do not change.
pub(crate) fn probe_one(
    arena: &Arena,
    waiter: &Waiter,
    request: &Request<'_>,
    queueing: &Queueing,
    found: &Available,
) -> Result<Round> {
    let index = request.get(found.position).ok_or(Error::Corrupt)?.index();
    let slot = arena.object_slot(index).ok_or(Error::Corrupt)?;
    let abandoned = slot.kind().was_abandoned(found.seen);
    let satisfied = Satisfied { index: found.position as u32, abandoned };
    if found.next == found.seen {
        // A manual-reset event is not consumed, so it suffices that the earlier objects did not change.
        return Ok(if unchanged(arena, request, queueing) { Round::Satisfied(satisfied) } else { Round::Again });
    }
    let epoch = begin(arena, waiter, WaiterState::Probing, Some(&request.without_objects()))?;
    if !slot.exchange(found.seen, claimed(&epoch, found.seen)) {
        epoch.withdraw();
        return Ok(Round::Again);
    }
    let undisturbed = || unchanged(arena, request, queueing);
    let decided = decide(&epoch, index, abandoned, undisturbed);
    let granted = decided.then(|| Granted::after(&epoch, slot.kind(), found.seen));
    settle(arena, waiter, slot, index, request.owner, granted)?;
    Ok(if decided { Round::Satisfied(satisfied) } else { Round::Again })
}

/// An object that [`probe_few`] has found available, and that a wait consumes.
#[derive(Clone, Copy)]
struct Glimpse<'a> {
    slot: &'a ObjectSlot,
    index: u32,
    kind: Kind,
    seen: ObjectWord,
}

/// Takes a few objects if all of them are available, and a wait consumes each: as [`probe_all`], with what one glance at each has
/// found. None: one is not, or somebody interfered; then nothing has happened.
#[inline(always)]
pub(crate) fn probe_few(arena: &Arena, waiter: &Waiter, request: &Request<'_>) -> Result<Option<Satisfied>> {
    let mut found = [None; FEW];
    for (found, &object) in found.iter_mut().zip(request.objects()) {
        *found = glance_at(arena, object, request.owner);
        if found.is_none() {
            return Ok(None);
        }
    }
    let found = || found.iter().map_while(|found| found.as_ref());
    let epoch = begin_with(arena, waiter, WaiterState::Probing, |slot| {
        slot.wants(request.objects().len(), request.objects().iter().copied(), request.owner);
    })?;
    // An object that occurs twice has changed when it is to be claimed again.
    let everything = found().all(|found| found.slot.exchange(found.seen, claimed(&epoch, found.seen)));
    let abandoned = found().any(|found| found.kind.was_abandoned(found.seen));
    let decided = decide(&epoch, ALL_PROBED, abandoned, || everything);
    for &Glimpse { slot, index, kind, seen } in found() {
        let granted = decided.then(|| Granted::after(&epoch, kind, seen));
        settle(arena, waiter, slot, index, request.owner, granted)?;
    }
    Ok(decided.then_some(Satisfied { index: 0, abandoned }))
}

#[inline(always)]
fn glance_at(arena: &Arena, object: Object, owner: u32) -> Option<Glimpse<'_>> {
    let slot = arena.object_slot(object.index())?;
    // The exchange confirms both halves.
    let seen = slot.glance();
    let kind = slot.kind_if_live(object)?;
    let is_available = !seen.is_claimed() && matches!(kind.access(seen, &slot.extra, owner), Access::Open(_));
    (is_available && kind.is_consumed()).then_some(Glimpse { slot, index: object.index(), kind, seen })
}

/// Takes all objects, which were available at the last check, if none of them has changed since.
pub(crate) fn probe_all(arena: &Arena, waiter: &Waiter, request: &Request<'_>, queueing: &Queueing) -> Result<Round> {
    let is_consumed = |object: &Object| arena.object_slot(object.index()).is_none_or(|slot| slot.kind().is_consumed());
    if !request.objects().iter().any(is_consumed) {
        let taken = Satisfied { index: 0, abandoned: false };
        return Ok(if all_but_claimed(arena, request, queueing) { Round::Satisfied(taken) } else { Round::Again });
    }
    let epoch = begin(arena, waiter, WaiterState::Probing, Some(request))?;
    let mut signaled_by = [Mark::default(); WAIT_MAX];
    let claimed = claim_each(arena, &epoch, request, queueing, &mut signaled_by);
    let abandoned = claimed.is_some_and(|claimed| claimed.abandoned);
    let undisturbed = || claimed.is_some_and(|claimed| claimed.everything || all_but_claimed(arena, request, queueing));
    let decided = decide(&epoch, ALL_PROBED, abandoned, undisturbed);
    settle_each(arena, &epoch, request, decided, &signaled_by)?;
    Ok(if decided { Round::Satisfied(Satisfied { index: 0, abandoned }) } else { Round::Again })
}

fn claimed(epoch: &Epoch<'_>, seen: ObjectWord) -> ObjectWord {
    seen.claimed_for(Claimant::Waiter(epoch.index), epoch.ticket.tag())
}

fn is_own(epoch: &Epoch<'_>, word: ObjectWord) -> bool {
    word.claimant() == Claimant::Waiter(epoch.index) && word.tag() == epoch.ticket.tag()
}

/// Decides the probe if nobody has met it, and it is `undisturbed`; gives it up if not.
fn decide(epoch: &Epoch<'_>, given: u32, abandoned: bool, undisturbed: impl FnOnce() -> bool) -> bool {
    let probing = epoch.load();
    let decided = (undisturbed() || planted(Bug::ProbeBlind))
        && probing.state() == WaiterState::Probing
        && epoch.slot.exchange(probing, probing.satisfied(given, abandoned));
    if !decided {
        epoch.withdraw();
    }
    decided
}

/// What a probe for all has claimed.
#[derive(Clone, Copy)]
struct Claimed {
    /// One of them was abandoned.
    abandoned: bool,
    /// There is no object that it did not claim.
    everything: bool,
}

/// Claims each object that is consumed; none if one has changed. A claim takes the place of the mark, which is kept in `signaled_by`.
fn claim_each(
    arena: &Arena,
    epoch: &Epoch<'_>,
    request: &Request<'_>,
    queueing: &Queueing,
    signaled_by: &mut [Mark; WAIT_MAX],
) -> Option<Claimed> {
    let mut claims = Claimed { abandoned: false, everything: true };
    for ((object, &version), signaled_by) in request.objects().iter().zip(queueing.versions()).zip(signaled_by) {
        let slot = arena.object_slot(object.index())?;
        let kind = slot.kind();
        claims.everything &= kind.is_consumed();
        if kind.is_consumed() {
            // The exchange confirms both halves.
            let seen = slot.glance();
            if seen.low() != version || !slot.exchange(seen, claimed(epoch, seen)) {
                return None;
            }
            claims.abandoned |= kind.was_abandoned(seen);
            *signaled_by = notes::known(seen.mark());
        }
    }
    Some(claims)
}

/// Whether the objects that a probe does not claim have not changed since the last check.
fn all_but_claimed(arena: &Arena, request: &Request<'_>, queueing: &Queueing) -> bool {
    request.objects().iter().zip(queueing.versions()).all(|(object, &version)| {
        let slot = arena.object_slot(object.index());
        slot.is_some_and(|slot| slot.kind().is_consumed() || slot.word.load_low() == version)
    })
}

/// Consumes each object that a probe has claimed, or returns it.
fn settle_each(
    arena: &Arena,
    epoch: &Epoch<'_>,
    request: &Request<'_>,
    decided: bool,
    signaled_by: &[Mark; WAIT_MAX],
) -> Result<()> {
    for (&object, &signaled_by) in request.objects().iter().zip(signaled_by) {
        let index = object.index();
        let slot = arena.object_slot(index).ok_or(Error::Corrupt)?;
        if !slot.kind().is_consumed() {
            continue;
        }
        // An exchange confirms it.
        let seen = slot.glance();
        let granted = || Granted { kind: slot.kind(), claim: seen, signaled_by };
        let granted = (decided && is_own(epoch, seen)).then(granted);
        settle(arena, epoch.waiter, slot, index, request.owner, granted)?;
    }
    Ok(())
}

/// An object whose claim was granted to a probe: its word with the claim, and its mark before.
struct Granted {
    kind: Kind,
    claim: ObjectWord,
    signaled_by: Mark,
}

impl Granted {
    /// That of an object whose word was `seen` before this probe claimed it.
    #[inline(always)]
    fn after(epoch: &Epoch<'_>, kind: Kind, seen: ObjectWord) -> Granted {
        Granted { kind, claim: claimed(epoch, seen).advanced(), signaled_by: notes::known(seen.mark()) }
    }

    /// The word once the probe has consumed it, if nothing remains on offer then. Who signaled it last is so still; a mutex says who has
    /// acquired it.
    #[inline(always)]
    fn consumed(&self, waiter: &Waiter, owner: u32) -> Option<ObjectWord> {
        let rest = rest_after(self.kind, self.claim, owner)?;
        Some(self.kind.taken_by(self.kind.offered_by(rest, self.signaled_by), || waiter.mark()))
    }
}

/// Consumes an object whose claim was granted; without, gives it back if a probe has claimed it.
#[inline(always)]
fn settle(
    arena: &Arena,
    waiter: &Waiter,
    slot: &ObjectSlot,
    index: u32,
    owner: u32,
    granted: Option<Granted>,
) -> Result<()> {
    let found = match granted {
        Some(granted) => match granted.consumed(waiter, owner) {
            Some(rest) if slot.exchange(granted.claim, rest) => return Ok(()),
            Some(_) => slot.load().into(),
            None => Found::granted(granted.claim, granted.signaled_by),
        },
        None => slot.load().into(),
    };
    // Other claims are helped, too (C2).
    if found.word.is_claimed() {
        help_ahead(arena, waiter, index, found, &mut Ahead::default())?;
    }
    Ok(())
}
