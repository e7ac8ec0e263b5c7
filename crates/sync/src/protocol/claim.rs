// SPDX-License-Identifier: MIT OR Apache-2.0
//! Gives an object to a waiter, in steps that any thread can complete.
//!
//! # Role
//! An operation that makes an object available while somebody waits does not publish it as available: it *claims* the
//! object for the oldest waiter. This file decides a claim on the waiter's word, and settles it on the object's word.
//! Other files: [`super::scan`] chooses the waiter, [`crate::kind`] says what an operation does to a value,
//! [`super::queueing`] registers a waiter, and [`crate::protocol::admission`] handles wait-all. Pictures:
//! [`crate::format::object_word`], [`crate::format::waiter_word`].
//!
//! # Transitions
//! | step | on | from | to | by |
//! | --- | --- | --- | --- | --- |
//! | claim | object | at rest | claimed for (waiter, tag), with the unit on offer | a signaler, or the waiter for itself |
//! | decide | waiter | `Waiting`(ticket); `Queueing`, by its own claim | `Satisfied`(object) | anyone that sees the claim |
//! | wake | | | | the decider, or anyone that meets it owed |
//! | settle | object | claimed | consumed, or on offer to the next: claimed again, or at rest | anyone that knows the decision |
//!
//! # Invariants
//! * I-claim-1: while a waiter is `Waiting`(t), a claim for (waiter, t) stays in place. So a decision by a thread that
//!   slept for hours is right, or its exchange fails.
//! * I-claim-2: no claim for (waiter, t) appears after that waiter was satisfied by the same object in epoch t.
//! * I-claim-3: a satisfied waiter ends its epoch only after it has seen the object at rest once (C2).
//! * I-claim-4: value at rest + on offer + granted and unsettled = what was released and not yet acquired.
//! * I-claim-5: at rest and available implies that no eligible wait-any waiter is in its queues.
//! * I-claim-6: registering changes the object's word only while it is at rest. So no thread falls asleep behind a
//!   claim that it has not helped.
//! * I-claim-7: the operation that satisfied a waiter completes before any step on another of that waiter's objects
//!   (C4). So for every observer, an operation that satisfies several waiters one after the other has happened for all
//!   of them or for none.
//! * I-claim-8: what is on offer by a firing of a timer is decided without a will: its waiters wake by themselves (I-timer-3 in
//!   [`super::timer`]).
//!
//! # Order
//! * O-set: a waiter puts its entry into the wait set, then changes the object's word; a signaler reads the word, then
//!   the wait set, and changes the word by compare-exchange. Either its copy has the waiter's change, and then it sees
//!   the entry, or the exchange fails. Both changes are full read-modify-writes of the same word, so the entry is
//!   visible with the flag.
//! * O-self: a waiter reads its own word after the copy of the object's word with which it claims for itself (C1).
//! * O-wake: everyone sends the wake before the settling exchange (C3), so a thread that finds the object settled may
//!   rely on it.
//! * O-signature: who decides a wait that sleeps signs before the wake, and so before anybody settles who learnt of the decision from
//!   the wake ([`crate::observe`]).
//! * O-ready: the word that a decision exchanges was read before the claim, by the scan that chose the waiter. If it has
//!   changed meanwhile (the waiter parked, withdrew, was satisfied), the exchange fails, and it is read again.
//!
//! # Death, stop
//! | after | what follows |
//! | --- | --- |
//! | claim | the next thread that touches the object decides and settles; until then the operation has not happened. A signaler decides within some ten instructions ([`put`]), and a test counts them |
//! | decide | the kernel sends the wake, if the thread died (`ntux_platform::robust`); if it is stopped, the wake is late until any operation touches this object or another one of the waiter (C4) |
//! | wake | the next thread that touches the object settles. (Who sends a wake again, for an operation that stopped there, needs no will: the word says that it is owed until it was sent) |
//! | a waiter, while it waits | the kernel marks its word: it is no longer in any queue |
//!
//! # Proof
//! Every interleaving of small programs: `verify/explore`. C1 to C6 are numbered as in `docs/internals/protocol.md`.

use ntux_platform::clock::monotonic_ns;
use ntux_platform::futex;
use ntux_platform::robust::{Head, Owed};

use super::admission;
use super::detached::Destination;
use super::scan::{Ahead, Offered, offer};
use super::spin::leave_stamp;
use super::waiter::Waiter;
use crate::arena::Arena;
use crate::format::layout::{ObjectSlot, WaiterSlot};
use crate::format::mark::Mark;
use crate::format::object_word::{Claimant, ObjectWord, W};
use crate::format::waiter_word::{EVERYTHING, WaiterState, WaiterWord};
use crate::kind::{self, Carried, Kind};
use crate::observe::marks;
use crate::planted::{Bug, planted};
use crate::{Error, Object, Result, observe};

/// How a claim was decided.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    /// Its waiter was given the object.
    Granted,
    /// Its waiter was given something else, or nothing: the object is on offer again.
    Refused,
}

/// An object's word, as a helping thread found it or left it there.
#[derive(Clone, Copy)]
pub(crate) struct Found {
    pub word: ObjectWord,
    /// This thread has decided the claim already: its waiter was given the object.
    granted: bool,
    /// The performer of the operation that has claimed it, if this thread knows.
    by: Mark,
}

impl Found {
    /// A word with a claim that was decided: its waiter was given the object, which this performer has signaled.
    pub(crate) fn granted(word: ObjectWord, by: Mark) -> Found {
        Found { word, granted: true, by }
    }

    /// A word with a claim that this thread has made for an operation of this performer.
    pub(crate) fn claimed(word: ObjectWord, by: Mark) -> Found {
        Found { word, granted: false, by: marks::known(by) }
    }
}

impl From<ObjectWord> for Found {
    fn from(word: ObjectWord) -> Found {
        Found { word, granted: false, by: Mark::default() }
    }
}

/// Replaces the object's word by what an offer has come to. A claim for a waiter is decided at once, and what can be
/// done for that is done before the claim: a thread that dies in between leaves an operation that has not happened.
/// `by`: who performs the operation, if that is known. Returns none if the word has changed.
pub(crate) fn put(
    arena: &Arena,
    waiter: &Waiter,
    index: u32,
    slot: &ObjectSlot,
    seen: ObjectWord,
    offered: &Offered<'_>,
    by: Mark,
) -> Option<Found> {
    let next = offered.word;
    let Some(candidate) = offered.candidate else {
        return slot.exchange(seen, next).then(|| next.advanced().into());
    };
    let kind = slot.kind();
    let satisfied = candidate.word.satisfied(index, kind.was_abandoned(next));
    let resident = observe::resident(slot, index);
    let wakes_itself = kind.wakes_itself(next);
    let decision = Decision::prepare(arena, waiter, candidate.slot, candidate.word, satisfied, resident, wakes_itself);
    if !slot.exchange(seen, next) {
        decision.drop();
        return None;
    }
    #[cfg(ntux_explore)]
    ntux_platform::explore::decides_next();
    let granted = decision.make(arena, by);
    Some(Found { granted, ..Found::claimed(next.advanced(), by) })
}

/// Finishes every claim on the object until it is at rest. Returns the word at rest.
#[inline(always)]
pub(crate) fn help(arena: &Arena, waiter: &Waiter, index: u32, seen: ObjectWord) -> Result<ObjectWord> {
    if !seen.is_claimed() {
        return Ok(seen);
    }
    help_claimed(arena, waiter, index, seen)
}

#[cold]
fn help_claimed(arena: &Arena, waiter: &Waiter, index: u32, seen: ObjectWord) -> Result<ObjectWord> {
    help_ahead(arena, waiter, index, seen.into(), &mut Ahead::default())
}

/// Finishes every claim on the object until it is at rest, for a thread that knows who comes next (`ahead`), because it has made the
/// claim itself. Returns the word at rest.
pub(crate) fn help_ahead<'a>(
    arena: &'a Arena,
    waiter: &Waiter,
    index: u32,
    found: Found,
    ahead: &mut Ahead<'a>,
) -> Result<ObjectWord> {
    let mut found = match settle_granted(arena, index, found, ahead) {
        Some(left) if !left.is_claimed() => return Ok(left),
        Some(left) => left.into(),
        None => found,
    };
    while waiter.budget.round() {
        found = match found.word.claimant() {
            Claimant::Nobody => return Ok(found.word),
            Claimant::All | Claimant::Origin | Claimant::OriginIdle => {
                admission::help_admitted(arena, waiter, index, found.word)?.into()
            }
            _ => help_claim(arena, waiter, index, found, ahead)?,
        };
    }
    Err(Error::Corrupt)
}

/// Settles a claim that this thread has decided for its waiter, if that is all there is to do: nothing remains on offer. Returns
/// the word at rest, or what somebody who was faster has left.
#[inline(always)]
fn settle_granted(arena: &Arena, index: u32, found: Found, ahead: &mut Ahead<'_>) -> Option<ObjectWord> {
    let Claimant::Waiter(claimed) = found.word.claimant() else { return None };
    if !found.granted {
        return None;
    }
    let (slot, owner) = (arena.object_slot(index)?, arena.waiter_slot(claimed)?.owner());
    let kind = slot.kind();
    let rest = marks::offered(found.by, kind, rest_after(kind, found.word, owner)?);
    if slot.exchange(found.word, rest) {
        return Some(rest.advanced());
    }
    let now = slot.load();
    ahead.other_was_faster(slot.kind(), found.word, now);
    Some(now)
}

/// The word after a waiter with this owner id has been given the object, if nothing remains on offer then.
#[inline(always)]
pub(crate) fn rest_after(kind: Kind, claimed: ObjectWord, owner: u32) -> Option<ObjectWord> {
    let next = kind.consumed(claimed.unclaimed(), owner);
    let remains = next.has(W) && kind.remains_on_offer(next, true);
    (!remains).then(|| kind.rested(next))
}

/// Finishes one claim that is not part of an admitted operation. Returns the word afterwards.
pub(crate) fn help_claim<'a>(
    arena: &'a Arena,
    waiter: &Waiter,
    index: u32,
    found: Found,
    ahead: &mut Ahead<'a>,
) -> Result<Found> {
    let slot = arena.object_slot(index).ok_or(Error::Corrupt)?;
    let mut by = found.by;
    let next = match found.word.claimant() {
        Claimant::Waiter(claimed) => {
            let unclaimed = settled(arena, waiter, index, slot, found, claimed)?;
            by = unclaimed.by;
            unclaimed.offered(arena, waiter, index, slot, ahead)
        }
        Claimant::CarryUp | Claimant::CarryDown => {
            let Carried::Moved(carried) = kind::carried(slot, found.word) else { return Ok(slot.load().into()) };
            // A carry does not change the count, but it may have been made to admit a waiter.
            match carried.has(W) {
                true => offer(arena, waiter, index, slot, carried, ahead),
                false => Offered::to_nobody(carried),
            }
        }
        _ => return Err(Error::Corrupt),
    };
    if let Some(left) = put(arena, waiter, index, slot, found.word, &next, by) {
        return Ok(left);
    }
    let now = slot.load();
    ahead.other_was_faster(slot.kind(), found.word, now);
    Ok(now.into())
}

/// What a claim leaves behind: the word without it, whether something remains on offer, and who performs the operation, if that is
/// known.
struct Unclaimed {
    kind: Kind,
    word: ObjectWord,
    offers: bool,
    by: Mark,
}

/// Decides the claim for `claimed`, unless that is done.
fn settled(
    arena: &Arena,
    waiter: &Waiter,
    index: u32,
    slot: &ObjectSlot,
    found: Found,
    claimed: u32,
) -> Result<Unclaimed> {
    let (kind, seen) = (slot.kind(), found.word);
    let claimed_slot = arena.waiter_slot(claimed).ok_or(Error::Corrupt)?;
    let granted = found.granted || decide(arena, waiter, claimed_slot, index, kind, seen)? == Verdict::Granted;
    // If the claim was refused, the signature is that of another operation.
    let by = if granted { found.by.or(|| marks::who_signed(claimed_slot, seen.tag())) } else { found.by };
    let next = marks::offered(by, kind, seen.unclaimed());
    let word = if granted { kind.consumed(next, claimed_slot.owner()) } else { next };
    Ok(Unclaimed { kind, word, offers: word.has(W) && kind.remains_on_offer(word, granted), by })
}

impl Unclaimed {
    /// The word that settles the claim.
    fn offered<'a>(
        &self,
        arena: &'a Arena,
        waiter: &Waiter,
        index: u32,
        slot: &'a ObjectSlot,
        ahead: &mut Ahead<'a>,
    ) -> Offered<'a> {
        match self.offers {
            true => offer(arena, waiter, index, slot, self.word, ahead),
            false => Offered::to_nobody(self.kind.rested(self.word)),
        }
    }
}

/// How the claim with this tag was decided. Makes the decision if it is open, and sends the wake.
fn decide(
    arena: &Arena,
    waiter: &Waiter,
    slot: &WaiterSlot,
    object: u32,
    kind: Kind,
    claimed: ObjectWord,
) -> Result<Verdict> {
    let (tag, wakes_itself) = (claimed.tag(), kind.wakes_itself(claimed));
    while waiter.budget.round() {
        let seen = slot.load();
        if seen.ticket().tag() != tag {
            return Ok(Verdict::Refused);
        }
        match seen.state() {
            // Queueing: its own claim.
            WaiterState::Waiting | WaiterState::Queueing => {
                let satisfied = seen.satisfied(object, kind.was_abandoned(claimed));
                // Whose operation it is, only the thread knows that made the claim.
                let resident = arena.object_slot(object).and_then(|slot| observe::resident(slot, object));
                let decision = Decision::prepare(arena, waiter, slot, seen, satisfied, resident, wakes_itself);
                if decision.make(arena, Mark::default()) {
                    return Ok(Verdict::Granted);
                }
            }
            // A probe of a waiter that has not registered: it was met, so it fails.
            WaiterState::Probing => {
                slot.exchange(seen, seen.withdrawn());
            }
            WaiterState::Satisfied => {
                // Only the probe itself claims in its name: it is in no queue.
                if seen.has_probed_all() && !planted(Bug::ProbeRefused) {
                    return Ok(Verdict::Granted);
                }
                if seen.argument() != object {
                    finish_elsewhere(arena, waiter, object, seen);
                    return Ok(Verdict::Refused);
                }
                if !planted(Bug::SettleWake) {
                    // C3
                    pay(arena, waiter, slot, seen);
                }
                return Ok(Verdict::Granted);
            }
            _ => return Ok(Verdict::Refused),
        }
    }
    Err(Error::Corrupt)
}

/// Gives a waiter all its objects, and wakes it. `by`: who performs the operation. `wakes_itself`: whoever waits for it does
/// ([`Kind::wakes_itself`]).
pub(crate) fn give_everything(
    arena: &Arena,
    waiter: &Waiter,
    slot: &WaiterSlot,
    seen: WaiterWord,
    abandoned: bool,
    by: Mark,
    wakes_itself: bool,
) {
    let next = seen.satisfied(EVERYTHING, abandoned);
    if Decision::prepare(arena, waiter, slot, seen, next, None, wakes_itself).make(arena, by) && next.is_owed() {
        slot.exchange(next, next.paid());
    }
}

/// A decision that a thread is about to make: what must be done before it is done. From [`Decision::prepare`] until after
/// the wake, the kernel sends the wake if the thread dies and the waiter was satisfied.
#[must_use]
pub(super) struct Decision<'a> {
    slot: &'a WaiterSlot,
    seen: WaiterWord,
    next: WaiterWord,
    /// The object that is given, for onlookers.
    object: Option<Object>,
    /// If a wake will be owed.
    wake: Option<Wake<'a>>,
}

/// A wake that will be sent: what the kernel does if this thread dies before, unless the waiter wakes by itself; and the time.
struct Wake<'a> {
    will: Option<(Head, Owed)>,
    now_ns: u64,
    /// The queue of a detached wait, whose bell is what the will names.
    destination: Option<Destination<'a>>,
}

impl<'a> Wake<'a> {
    #[inline(always)]
    fn prepare(
        waiter: &Waiter,
        slot: &WaiterSlot,
        destination: Option<Destination<'a>>,
        wakes_itself: bool,
    ) -> Wake<'a> {
        if !wakes_itself {
            waiter.step_aside();
        }
        let now_ns = if cfg!(ntux_explore) { 0 } else { monotonic_ns() };
        let will = (!wakes_itself).then(|| {
            let robust = waiter.robust();
            let named = destination.filter(|_| !planted(Bug::DeliveryUnwilled));
            (robust, robust.owe(bell_of(slot, named)))
        });
        Wake { will, now_ns, destination }
    }

    #[inline(always)]
    fn forget(self) {
        if let Some((robust, owed)) = self.will {
            robust.forget(owed);
        }
    }
}

/// The word at which somebody sleeps for this wait: its own, or that of its queue.
#[inline(always)]
fn bell_of(slot: &WaiterSlot, destination: Option<Destination<'_>>) -> *const u32 {
    destination.map_or_else(|| slot.word.futex_address(), |destination| destination.bell())
}

impl<'a> Decision<'a> {
    /// `object`: the one that is given, if it is one and onlookers are to know. `wakes_itself`: the waiter needs no will
    /// ([`Kind::wakes_itself`]).
    #[inline(always)]
    pub(super) fn prepare(
        arena: &'a Arena,
        waiter: &Waiter,
        slot: &'a WaiterSlot,
        seen: WaiterWord,
        next: WaiterWord,
        object: Option<Object>,
        wakes_itself: bool,
    ) -> Decision<'a> {
        let wake = next.is_owed().then(|| {
            let destination = Destination::of(arena, slot, seen);
            Wake::prepare(waiter, slot, destination, wakes_itself)
        });
        leave_stamp(slot, wake.as_ref().map(|wake| wake.now_ns));
        Decision { slot, seen, next, object, wake }
    }

    /// Makes it, and wakes the waiter. `by`: who performs the operation, if that is known. Returns whether this call made it. The word
    /// still says that the wake is owed: who settles the claim does so at once, and who meets it before wakes the waiter once more.
    #[inline(always)]
    pub(super) fn make(self, arena: &Arena, by: Mark) -> bool {
        if let Some(destination) = self.wake.as_ref().and_then(|wake| wake.destination) {
            destination.announce();
        }
        let decided = self.slot.exchange(self.seen, self.next);
        if decided {
            self.made(arena, by);
        } else {
            self.drop();
        }
        decided
    }

    #[inline(always)]
    fn made(self, arena: &Arena, by: Mark) {
        let Decision { slot, seen, next, object, wake } = self;
        // O-signature: the woken thread may be the one that settles the claim.
        observe::decided(arena, slot, seen, object, by, wake.as_ref().map(|wake| wake.now_ns));
        if let Some(wake) = wake {
            futex::wake(bell_of(slot, wake.destination), 1);
            wake.forget();
            observe::woken(slot, next);
        }
    }

    /// It is not made by this thread.
    pub(super) fn drop(self) {
        if let Some(wake) = self.wake {
            wake.forget();
        }
    }
}

/// Sends the wake that a satisfied waiter is owed, if any. The kernel need not know: until the wake was sent, the word says that it is owed.
pub(crate) fn pay(arena: &Arena, waiter: &Waiter, slot: &WaiterSlot, seen: WaiterWord) {
    if !seen.is_owed() {
        return;
    }
    // A thread that reads its own word is awake.
    if !waiter.is_at(slot) {
        let destination = Destination::of(arena, slot, seen);
        destination.inspect(Destination::announce);
        futex::wake(bell_of(slot, destination), 1);
        observe::wakes_again(arena, slot);
    }
    slot.exchange(seen, seen.paid());
}

/// C4: a waiter is passed over here, at the object `index`, because another operation has satisfied it. Completes that
/// operation before anything else happens here, so that this waiter wakes and all its other waiters are satisfied.
pub(crate) fn finish_elsewhere(arena: &Arena, waiter: &Waiter, index: u32, seen: WaiterWord) {
    if planted(Bug::NoWakeHelp) || !waiter.nested.enter() {
        return;
    }
    // If the work budget is spent here, the current operation fails, too.
    let _ = match seen.satisfied_by().map(|other| (other, arena.object_slot(other))) {
        Some((other, Some(slot))) if other != index => help(arena, waiter, other, slot.load()).map(drop),
        Some(_) => Ok(()),
        None => admission::help_admission(arena, waiter),
    };
    waiter.nested.leave();
}

#[cfg(all(test, not(ntux_explore)))]
mod tests;
