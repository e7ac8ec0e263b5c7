//! Giving an object to a waiter, in three steps that anyone may finish for anyone else.
//!
//! # Role
//! An operation that makes an object available does not publish it as available while somebody waits: it *claims* it for
//! the waiter who came first. This file chooses that waiter, decides the claim on the waiter's own word, and settles it on
//! the object's. It leaves to [`crate::signal`] what an operation does to a value, to [`crate::wait_any`] how a waiter
//! registers, and to [`crate::admission`] everything about wait-all. Pictures: [`crate::word`], [`crate::waiter_word`].
//!
//! # Transitions
//! | step | on | from | to | by |
//! | --- | --- | --- | --- | --- |
//! | claim | object | at rest | claimed for (waiter, tag), with the unit on offer | whoever signals, or the waiter for itself |
//! | decide | waiter | `Waiting`(ticket); `Queueing`, by its own claim | `Satisfied`(object) | anyone who sees the claim |
//! | wake | | | | whoever decided, or meets it owed |
//! | settle | object | claimed | consumed, or on offer to the next: claimed again, or at rest | anyone who knows the decision |
//!
//! # Invariants
//! * I-claim-1: while a waiter is `Waiting`(t), a claim for (waiter, t) stays in place. So a decision by a thread that slept
//!   for hours is either right or fails.
//! * I-claim-2: no claim for (waiter, t) appears after that waiter was satisfied by the same object in epoch t.
//! * I-claim-3: a satisfied waiter ends its epoch only after it has seen the object at rest once (C2).
//! * I-claim-4: value at rest + on offer + granted and unsettled = what was released and not yet acquired.
//! * I-claim-5: at rest and available implies that no eligible wait-any waiter is in its queues.
//! * I-claim-6: registering changes the object's word only while it is at rest. So nobody falls asleep behind a claim that it
//!   has not helped.
//! * I-claim-7: what has satisfied a waiter is over before anything happens at another of its objects (C4). So an operation
//!   that satisfies several waiters, one after the other, has happened for all of them or for none, whoever looks.
//!
//! # Order
//! * O-set: a waiter puts its entry into the wait set, then changes the object's word; a signaler reads the word, then the wait
//!   set, and changes the word by compare-exchange. Either its copy has the waiter's change, and then it sees the entry, or the
//!   exchange fails. Both changes are full read-modify-writes of the same word, so the entry is visible with the flag.
//! * O-self: a waiter reads its own word after the copy of the object's word with which it claims for itself (C1).
//! * O-wake: the wake comes before the settling exchange, by everyone (C3): whoever finds the object settled may rely on it.
//!
//! # Death, stop
//! | after | what follows |
//! | --- | --- |
//! | claim | the next one to touch the object decides and settles; until then the operation has not happened |
//! | decide | the kernel sends the wake, if the thread died (`ntux_platform::robust`); if it is stopped, the wake is late until any operation touches this object or another one of the waiter (C4) |
//! | wake | the next one to touch the object settles |
//! | a waiter, while it waits | the kernel marks its word: it is in no queue any more |
//!
//! # Proof
//! Every interleaving of small programs: `verify/explore`. C1 to C6 are numbered as in `docs/protocol.md`.

use ntux_platform::futex;

use crate::arena::Arena;
use crate::arena::format::{ObjectSlot, WaiterSlot};
use crate::arena::meta::Kind;
use crate::planted::{Bug, planted};
use crate::ticket::Ticket;
use crate::trace::What;
use crate::wait_set::{Entry, Place};
use crate::waiter::Waiter;
use crate::waiter_word::{EVERYTHING, WaiterState, WaiterWord};
use crate::word::{BROADCAST, Claimant, ObjectWord, PULSE, W};
use crate::{Error, Result, mutex};

/// Passes over a wait set in which a scan looks at the oldest entries only, before it looks at all of them in one.
const STALE_TOLERATED: u32 = 32;
/// How many of the oldest entries one pass remembers.
const AHEAD: usize = 16;

/// The oldest wait-any entries of a wait set, as one pass found them: whom a broadcast or a release of many units serves next.
///
/// Good for as long as nobody can have joined the queue since then: while the object has not been at rest, or, in a broadcast,
/// which serves everybody. Others may have served some of them meanwhile: each is looked at again before it is offered
/// anything.
#[derive(Default)]
pub(crate) struct Ahead<'a> {
    entries: [Option<(Place<'a>, Entry)>; AHEAD],
    next: usize,
}

impl<'a> Ahead<'a> {
    fn forget(&mut self) {
        self.entries = Default::default();
        self.next = 0;
    }

    /// Somebody else has changed the object's word, from `seen` to `now`, before the last one was offered anything.
    ///
    /// If each of several helpers had to gather anew whenever another one is faster, they would go through the wait set once
    /// for each waiter, and not once for sixteen.
    fn other_was_faster(&mut self, kind: Kind, seen: ObjectWord, now: ObjectWord) {
        if has_served_only(kind, seen, now) {
            self.next = self.next.saturating_sub(1);
        } else {
            self.forget();
        }
    }

    fn next(&mut self) -> Option<(Place<'a>, Entry)> {
        let entry = (*self.entries.get(self.next)?)?;
        self.next += 1;
        Some(entry)
    }

    /// False if there are none. In a broadcast the order does not matter, since all are served before any of them returns
    /// (C2): the pass may end early.
    fn gather(&mut self, places: impl Iterator<Item = Place<'a>>, broadcast: bool) -> bool {
        self.forget();
        let mut count = 0;
        for place in places {
            if broadcast && count == AHEAD {
                break;
            }
            let Some(entry) = place.entry().filter(|entry| !entry.is_all()) else { continue };
            let is_older = |other: &Option<(Place<'a>, Entry)>| {
                other.is_some_and(|(_, other)| entry.ticket().is_before(other.ticket()))
            };
            // Most entries are younger than the oldest few: one comparison tells.
            if count == AHEAD && !is_older(&self.entries[AHEAD - 1]) {
                continue;
            }
            let position = self.entries[..count].iter().position(is_older).unwrap_or(count);
            count = (count + 1).min(AHEAD);
            self.entries[position..count].rotate_right(1);
            self.entries[position] = Some((place, entry));
        }
        count > 0
    }
}

/// Whom a scan found.
pub(crate) struct Scan {
    /// The eligible waiter who came first.
    candidate: Option<(u32, Ticket)>,
    /// Somebody waits, eligible or not.
    anyone: bool,
}

impl Arena {
    /// Finishes whatever claims the object, until it is at rest; returns the word at rest.
    pub(crate) fn help(&self, waiter: &Waiter, index: u32, seen: ObjectWord) -> Result<ObjectWord> {
        if !seen.is_claimed() {
            return Ok(seen);
        }
        self.help_ahead(waiter, index, seen, &mut Ahead::default())
    }

    /// As [`Arena::help`], by someone who has made the claim itself and knows who comes next.
    pub(crate) fn help_ahead<'a>(
        &'a self,
        waiter: &Waiter,
        index: u32,
        seen: ObjectWord,
        ahead: &mut Ahead<'a>,
    ) -> Result<ObjectWord> {
        let mut seen = seen;
        while waiter.budget.round() {
            seen = match seen.claimant() {
                Claimant::Nobody => return Ok(seen),
                Claimant::All | Claimant::Origin | Claimant::OriginIdle => self.help_admitted(waiter, index, seen)?,
                _ => self.help_claim(waiter, index, seen, ahead)?,
            };
        }
        Err(Error::Corrupt)
    }

    /// Finishes one claim that is not part of an admitted operation; returns what the word is then.
    pub(crate) fn help_claim<'a>(
        &'a self,
        waiter: &Waiter,
        index: u32,
        seen: ObjectWord,
        ahead: &mut Ahead<'a>,
    ) -> Result<ObjectWord> {
        let slot = self.object_slot(index).ok_or(Error::Corrupt)?;
        let next = match seen.claimant() {
            Claimant::Waiter(claimed) => self.settled(waiter, index, slot, seen, claimed, ahead)?,
            Claimant::CarryUp | Claimant::CarryDown => {
                let Some(carried) = mutex::carried(slot, seen)? else { return Ok(slot.load()) };
                // A carry changes no count, but it may have been made to let a waiter in.
                if carried.has(W) { self.offer(waiter, index, slot, carried, ahead) } else { carried }
            }
            _ => return Err(Error::Corrupt),
        };
        if slot.exchange(seen, next) {
            return Ok(next.advanced());
        }
        let now = slot.load();
        ahead.other_was_faster(slot.kind(), seen, now);
        Ok(now)
    }

    /// Decides the claim for `claimed` and returns the word that settles it.
    fn settled<'a>(
        &'a self,
        waiter: &Waiter,
        index: u32,
        slot: &'a ObjectSlot,
        seen: ObjectWord,
        claimed: u32,
        ahead: &mut Ahead<'a>,
    ) -> Result<ObjectWord> {
        let kind = slot.kind();
        let abandoned = mutex::was_abandoned(kind, seen);
        let claimed_slot = self.waiter_slot(claimed).ok_or(Error::Corrupt)?;
        let granted = self.decide(waiter, claimed_slot, seen.tag(), index, abandoned)?;
        let next = seen.unclaimed();
        let next = if granted { consumed(kind, next, claimed_slot.owner()) } else { next };
        let offers = next.has(W) && remains_on_offer(kind, next, granted);
        Ok(if offers { self.offer(waiter, index, slot, next, ahead) } else { rested(kind, next) })
    }

    /// Whether the claim with this tag was granted; makes the decision if it is open, and sends the wake.
    fn decide(&self, waiter: &Waiter, slot: &WaiterSlot, tag: u32, object: u32, abandoned: bool) -> Result<bool> {
        while waiter.budget.round() {
            let seen = slot.load();
            if seen.ticket().tag() != tag {
                return Ok(false);
            }
            match seen.state() {
                // Queueing: its own claim.
                WaiterState::Waiting | WaiterState::Queueing => {
                    if self.satisfy(waiter, slot, seen, seen.satisfied(object, abandoned)) {
                        return Ok(true);
                    }
                }
                // Somebody tries to take the object without having registered: met, so failed.
                WaiterState::Probing => {
                    slot.exchange(seen, seen.withdrawn());
                }
                WaiterState::Satisfied => {
                    let granted = seen.argument() == object;
                    if !granted {
                        self.finish_elsewhere(waiter, object, seen);
                    } else if !planted(Bug::SettleWake) {
                        // C3
                        self.pay(waiter, slot, seen);
                    }
                    return Ok(granted);
                }
                _ => return Ok(false),
            }
        }
        Err(Error::Corrupt)
    }

    /// Satisfies a waiter and wakes it. The kernel owes the wake from before the decision until after it.
    pub(crate) fn satisfy(&self, waiter: &Waiter, slot: &WaiterSlot, seen: WaiterWord, next: WaiterWord) -> bool {
        let grant = slot.grant(next);
        if !next.is_owed() {
            let decided = slot.exchange(seen, next);
            if decided {
                self.trace(grant);
            }
            return decided;
        }
        waiter.step_aside();
        let robust = waiter.robust();
        let owed = robust.owe(slot.word.futex_address());
        let decided = slot.exchange(seen, next);
        if decided {
            // Before the wake: the waiter would report first that it runs.
            self.trace(grant);
            futex::wake(slot.word.futex_address(), 1);
        }
        robust.forget(owed);
        if decided {
            slot.exchange(next, next.paid());
        }
        decided
    }

    /// Sends the wake that a satisfied waiter is owed, if any.
    pub(crate) fn pay(&self, waiter: &Waiter, slot: &WaiterSlot, seen: WaiterWord) {
        if !seen.is_owed() {
            return;
        }
        // Who looks at its own word is awake.
        if !waiter.is_at(slot) {
            self.wake(waiter, slot);
        }
        slot.exchange(seen, seen.paid());
    }

    fn wake(&self, waiter: &Waiter, slot: &WaiterSlot) {
        waiter.step_aside();
        let robust = waiter.robust();
        let owed = robust.owe(slot.word.futex_address());
        futex::wake(slot.word.futex_address(), 1);
        robust.forget(owed);
        self.trace(What::Wakes { thread: slot.holder.load() as u32 });
    }

    /// Offers what an unclaimed word has available: the word with a claim for the first eligible waiter, or at rest.
    /// To be confirmed by an exchange from the word that was current when this was called.
    pub(crate) fn offer<'a>(
        &'a self,
        waiter: &Waiter,
        index: u32,
        slot: &'a ObjectSlot,
        word: ObjectWord,
        ahead: &mut Ahead<'a>,
    ) -> ObjectWord {
        let kind = slot.kind();
        let scan = self.scan(waiter, index, slot, kind, word, ahead);
        let Some((candidate, ticket)) = scan.candidate else {
            let rest = rested(kind, word);
            return if scan.anyone { rest } else { rest.without(W) };
        };
        if kind == Kind::Mutex && mutex::must_carry_up(word) {
            return word.claimed_for(Claimant::CarryUp, 0);
        }
        word.claimed_for(Claimant::Waiter(candidate), ticket.tag())
    }

    /// Looks for the eligible wait-any waiter who came first. Finishes on the way what has satisfied those who are
    /// passed over (C4), and empties the places of those whose epoch is over.
    fn scan<'a>(
        &'a self,
        waiter: &Waiter,
        index: u32,
        slot: &'a ObjectSlot,
        kind: Kind,
        word: ObjectWord,
        ahead: &mut Ahead<'a>,
    ) -> Scan {
        let everybody_may = kind != Kind::Mutex || word.value() == 0;
        if !everybody_may || planted(Bug::Lifo) {
            return self.scan_each(waiter, index, slot, kind, word);
        }
        for _ in 0..STALE_TOLERATED {
            while let Some((place, entry)) = ahead.next() {
                if self.stands(waiter, index, slot, place, entry) {
                    return Scan { candidate: Some((entry.waiter(), entry.ticket())), anyone: true };
                }
            }
            if !ahead.gather(self.places(waiter, slot), kind == Kind::ManualEvent && word.has(BROADCAST)) {
                return Scan { candidate: None, anyone: false };
            }
        }
        self.scan_each(waiter, index, slot, kind, word)
    }

    /// Whether an entry stands for a wait; empties its place if not.
    fn stands(&self, waiter: &Waiter, index: u32, slot: &ObjectSlot, place: Place<'_>, entry: Entry) -> bool {
        let Some(other) = self.waiter_slot(entry.waiter()) else {
            place.empty(entry);
            return false;
        };
        let seen = other.met(entry);
        let stands = other.backs(seen, entry, slot.resident(index));
        if !stands {
            self.clear(waiter, index, place, entry, seen);
        }
        stands
    }

    fn scan_each(&self, waiter: &Waiter, index: u32, slot: &ObjectSlot, kind: Kind, word: ObjectWord) -> Scan {
        let mut scan = Scan { candidate: None, anyone: false };
        for place in self.places(waiter, slot) {
            let Some(entry) = place.entry().filter(|entry| !entry.is_all()) else { continue };
            let is_later = |(_, first): (u32, Ticket)| {
                if planted(Bug::Lifo) { entry.ticket().is_before(first) } else { first.is_before(entry.ticket()) }
            };
            if scan.candidate.is_some_and(is_later) || !self.stands(waiter, index, slot, place, entry) {
                continue;
            }
            scan.anyone = true;
            let owner = self.waiter_slot(entry.waiter()).map_or(0, WaiterSlot::owner);
            if kind != Kind::Mutex || mutex::admits(slot, word, owner) {
                scan.candidate = Some((entry.waiter(), entry.ticket()));
            }
        }
        scan
    }

    /// C4: a waiter is passed over here, at the object `index`, because something else has satisfied it. That operation has
    /// happened then: it is brought to its end before anything else happens here, so this waiter runs, and everybody else whom
    /// the operation satisfies is satisfied.
    pub(crate) fn finish_elsewhere(&self, waiter: &Waiter, index: u32, seen: WaiterWord) {
        if planted(Bug::NoWakeHelp) || !waiter.nested.enter() {
            return;
        }
        // What fails here because the work budget is used up fails in the operation that is in progress, too.
        let _ = match satisfied_by(seen).map(|other| (other, self.object_slot(other))) {
            Some((other, Some(slot))) if other != index => self.help(waiter, other, slot.load()).map(drop),
            Some(_) => Ok(()),
            None => self.help_admission(waiter),
        };
        waiter.nested.leave();
    }

    /// Empties a place whose waiter does not wait for this object any more, after finishing what has satisfied it.
    pub(crate) fn clear(&self, waiter: &Waiter, index: u32, place: Place<'_>, entry: Entry, seen: WaiterWord) {
        let same_epoch = seen.ticket() == entry.ticket();
        if same_epoch && seen.state() == WaiterState::Satisfied {
            self.finish_elsewhere(waiter, index, seen);
        }
        // A waiter that is still `Waiting` with this ticket put its entry for an object that this slot held before.
        place.empty(entry);
    }
}

impl WaiterSlot {
    /// The event that this waiter was satisfied.
    fn grant(&self, word: WaiterWord) -> What {
        let thread = self.holder.load() as u32;
        match satisfied_by(word) {
            Some(object) => What::Grants { object, thread },
            None => What::GrantsAll { thread },
        }
    }
}

/// The word after a waiter with this owner id has taken its share.
pub(crate) fn consumed(kind: Kind, word: ObjectWord, owner: u32) -> ObjectWord {
    match kind {
        Kind::Semaphore => word.with_value(word.value().wrapping_sub(1)),
        Kind::Mutex => mutex::acquired(word, owner),
        Kind::AutoEvent => word.with_value(0).without(PULSE),
        Kind::ManualEvent => word,
    }
}

/// Whether something is left for others after a claim was granted or refused.
fn remains_on_offer(kind: Kind, word: ObjectWord, granted: bool) -> bool {
    match kind {
        Kind::Semaphore => word.value() > 0,
        // Also after it was granted: others with the same owner id may enter too.
        Kind::Mutex => true,
        Kind::AutoEvent => !granted,
        Kind::ManualEvent => word.has(BROADCAST) || !granted,
    }
}

/// Whether between two words of a claimed object nobody can have joined its queue before those who stood in its wait set all
/// the time, or it does not matter. A semaphore that had rested with a unit left would have left nobody standing (I-claim-5);
/// to rest without a unit takes a change for each that there was.
fn has_served_only(kind: Kind, seen: ObjectWord, now: ObjectWord) -> bool {
    let is_serving = matches!(now.claimant(), Claimant::Waiter(_));
    match kind {
        Kind::ManualEvent => is_serving && now.has(BROADCAST),
        Kind::Semaphore => is_serving && seen.changes_until(now) <= u64::from(seen.value()),
        Kind::Mutex | Kind::AutoEvent => false,
    }
}

/// The word when the operation that offered it is over.
pub(crate) fn rested(kind: Kind, word: ObjectWord) -> ObjectWord {
    match kind {
        Kind::AutoEvent | Kind::ManualEvent if word.has(PULSE) => word.with_value(0).without(PULSE | BROADCAST),
        Kind::AutoEvent | Kind::ManualEvent => word.without(BROADCAST),
        Kind::Semaphore | Kind::Mutex => word,
    }
}

/// Which object satisfied a waiter.
pub(crate) fn satisfied_by(seen: WaiterWord) -> Option<u32> {
    (seen.state() == WaiterState::Satisfied && seen.argument() != EVERYTHING).then(|| seen.argument())
}

#[cfg(all(test, not(ntux_explore)))]
mod tests;
