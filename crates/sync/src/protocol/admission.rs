// SPDX-License-Identifier: MIT OR Apache-2.0
//! Wait-all: one operation at a time per arena, which any thread can complete.
//!
//! # Role
//! An attempt to satisfy a wait-all takes several objects, for every observer in one step. A signal on an object with
//! wait-all waiters, and the first attempt of a wait-all itself, are *announced* in one word of the arena, the
//! admission word. It admits one operation at a time. Any thread that meets the operation, or one of its claims, helps
//! to complete it, so no thread can block it. Nothing else that offers an object uses this file: without wait-all
//! waiters it costs nothing. The modules beside it: the announced signal (`announced`), one attempt (`attempt`). The
//! word: [`crate::format::admission_word`].
//!
//! # Picture
//! ```text
//! low:   63        52 51       35 34   32 31            0
//!       +------------+-----------+-------+---------------+
//!       | step (low) | requester | phase |    attempt    |
//!       +------------+-----------+-------+---------------+
//! high:  63         57 56       40 39                   0
//!       +-------------+-----------+-----------------------+
//!       | step (high) | candidate |        ticket         |
//!       +-------------+-----------+-----------------------+
//! ```
//! * attempt: counts all attempts; names the claims of the current one. Changes with every attempt.
//! * step: how many attempts the current operation has made before this one; attempt - step names the *operation*.
//! * requester: the waiter that made the request. candidate, ticket: the wait-all waiter that is being tried; in
//!   `Scan`, the one tried last.
//!
//! # Transitions
//! | phase | step, by anyone | next phase |
//! | --- | --- | --- |
//! | Idle | a requester admits itself: `Apply` for a signal, `Try` for a wait-all's own first attempt | |
//! | Apply | claim the object as origin together with the signal's effect (`OriginIdle`: it offers nothing); give the requester its result | Scan, or End |
//! | Scan | while something is on offer, find the next wait-all waiter by ticket | Try, or End |
//! | Try | open the attempt on the candidate's word; claim each of its objects; decide on the candidate's word; consume, or give back; some claims trail | Scan, or End |
//! | End | offer what is left to wait-any waiters ([`crate::protocol::claim`]) and see them satisfied, or let the origin rest | Idle |
//!
//! # Invariants
//! * I-adm-1: only the admitted operation offers anything on its origin, so a failed attempt has nothing to restore.
//! * I-adm-2: an attempt is decided on one word, the candidate's: success, failure, deadline and alert exclude one
//!   another.
//! * I-adm-3: a claim of a finished attempt (*orphan*) stands on an object that was at rest and available, so removing
//!   it needs no scan. A successful attempt leaves none, because the object's word changed. A trailing claim (I-adm-5)
//!   has given its unit away, and needs no scan either.
//! * I-adm-4: the candidate's list does not change while the admission word names the candidate, because its thread
//!   helps first.
//! * I-adm-5: while the operation has more to offer, the objects that it took for one wait-all stay claimed, under the
//!   operation's number (the claims *trail*). A thread that meets such a claim completes the operation first (C6). So a
//!   visible effect has happened for all waiters that the operation satisfies.
//!
//! # Order
//! O-adm: a helper reads the admission word again after the object's word and before it changes the object. If the
//! operation was still running then, the change is right; if the object has changed since, the exchange fails.
//!
//! # Death
//! After any step, a thread that meets the admission word or one of its claims continues. Nobody gets a dead
//! requester's slot before its operation is complete ([`help_admission_of`]).

mod announced;
mod attempt;

use super::claim::{Found, help, help_claim, put};
use super::detached::Owners;
use super::epoch::{begin, withdraw};
use super::scan::{Ahead, Offered, clear, offer};
use super::waiter::{Waiter, enroll};
use crate::arena::Arena;
use crate::format::admission_word::{Admission, NOBODY, Phase};
use crate::format::layout::{ObjectSlot, WaiterSlot};
use crate::format::mark::Mark;
use crate::format::object_word::{Claimant, ObjectWord, WA};
use crate::format::ticket::Ticket;
use crate::format::waiter_word::WaiterState;
use crate::kind::{Kind, Signal};
use crate::observe::marks;
use crate::{Error, Object, Result};
use announced::{applied, decode, encode, result};

/// Returns true if a wait-all waiter may find something to take.
fn is_on_offer(kind: Kind, word: ObjectWord) -> bool {
    word.claimant() == Claimant::Origin && kind.is_on_offer(word)
}

/// The admission word.
fn current(arena: &Arena) -> Admission {
    Admission(arena.header().admission.0.load())
}

/// Replaces the admission word, unless it has changed since it was seen.
fn replace(arena: &Arena, seen: Admission, next: Admission) -> bool {
    arena.header().admission.0.compare_exchange(seen.0, next.0).is_ok()
}

/// Performs a signal through the admission word, wait-all waiters first. Returns the previous value.
///
/// Errors: those of the signal; `Exhausted` if the arena has no waiter slot for the thread.
#[cold]
pub(crate) fn announce(arena: &Arena, waiter: &Waiter, object: Object, signal: Signal) -> Result<u32> {
    let (_, slot) = enroll(arena, waiter)?;
    slot.request.store(signal.bits());
    slot.request_object.store(object.0);
    let epoch = begin(arena, waiter, WaiterState::Requesting, None)?;
    let operation = admit(arena, waiter, |attempt| {
        Some(Admission::new(Phase::Apply, attempt, 0, epoch.index, NOBODY, Ticket::default()))
    })?;
    help_operation(arena, waiter, operation.ok_or(Error::Corrupt)?)?;
    let answer = epoch.load();
    if answer.state() != WaiterState::Done {
        return Err(Error::Corrupt);
    }
    let origin = arena.object_slot(object.index()).ok_or(Error::Corrupt)?;
    help(arena, waiter, object.index(), origin.load())?;
    decode(answer)
}

/// Performs a signal through the admission word of which nobody wants to know the result. So the thread may be waiting meanwhile: its
/// word needs no epoch for an answer.
///
/// Errors: `Exhausted` if the arena has no waiter slot for the thread.
#[cold]
pub(super) fn announce_unanswered(arena: &Arena, waiter: &Waiter, object: Object, signal: Signal) -> Result<()> {
    let (index, slot) = enroll(arena, waiter)?;
    slot.request.store(signal.bits());
    slot.request_object.store(object.0);
    let operation = admit(arena, waiter, |attempt| {
        Some(Admission::new(Phase::Apply, attempt, 0, index, NOBODY, Ticket::default()))
    })?;
    help_operation(arena, waiter, operation.ok_or(Error::Corrupt)?)
}

/// Makes the first attempt of a wait-all. Afterwards it is satisfied, or one of its objects was seen unavailable.
pub(crate) fn try_everything(
    arena: &Arena,
    waiter: &Waiter,
    index: u32,
    slot: &WaiterSlot,
    ticket: Ticket,
) -> Result<()> {
    let open = || slot.load().state() == WaiterState::Waiting && slot.load().ticket() == ticket;
    let operation =
        admit(arena, waiter, |attempt| open().then(|| Admission::new(Phase::Try, attempt, 0, index, index, ticket)))?;
    operation.map_or(Ok(()), |operation| help_operation(arena, waiter, operation))
}

/// Helps other operations until it is admitted; `make` may give up meanwhile.
fn admit(arena: &Arena, waiter: &Waiter, make: impl Fn(u32) -> Option<Admission>) -> Result<Option<u32>> {
    while waiter.budget.round() {
        let seen = current(arena);
        if seen.phase() != Phase::Idle {
            help_operation(arena, waiter, seen.operation())?;
            continue;
        }
        let Some(next) = make(seen.attempt().wrapping_add(1)) else {
            return Ok(None);
        };
        if replace(arena, seen, next) {
            return Ok(Some(next.operation()));
        }
    }
    Err(Error::Corrupt)
}

/// Helps an operation until it is complete.
fn help_operation(arena: &Arena, waiter: &Waiter, operation: u32) -> Result<()> {
    let before = waiter.nested.operate(true);
    let helped = carry_on(arena, waiter, operation);
    waiter.nested.operate(before);
    helped
}

fn carry_on(arena: &Arena, waiter: &Waiter, operation: u32) -> Result<()> {
    while waiter.budget.round() {
        let seen = current(arena);
        if seen.operation() != operation {
            return Ok(());
        }
        match seen.phase() {
            Phase::Idle => return Ok(()),
            Phase::Apply => apply(arena, waiter, seen)?,
            Phase::Scan => find_candidate(arena, waiter, seen)?,
            Phase::Try => attempt::attempt(arena, waiter, seen)?,
            Phase::End => end(arena, waiter, seen)?,
        }
    }
    Err(Error::Corrupt)
}

/// Helps the admitted operation, if any, unless this thread is doing so already. A wait-all is satisfied by the
/// admitted operation, or by a completed one.
pub(crate) fn help_admission(arena: &Arena, waiter: &Waiter) -> Result<()> {
    match waiter.nested.is_operating() {
        true => Ok(()),
        false => help_operation(arena, waiter, current(arena).operation()),
    }
}

/// Helps any operation that names this waiter.
pub(crate) fn help_admission_of(arena: &Arena, waiter: &Waiter, index: u32) -> Result<()> {
    help_admission_of_then(arena, waiter, index, || {})
}

/// The same; `before` is called before anything is done for others.
pub(super) fn help_admission_of_then(
    arena: &Arena,
    waiter: &Waiter,
    index: u32,
    mut before: impl FnMut(),
) -> Result<()> {
    while waiter.budget.round() {
        let seen = current(arena);
        if !seen.names(index) {
            return Ok(());
        }
        before();
        help_operation(arena, waiter, seen.operation())?;
    }
    Err(Error::Corrupt)
}

/// Called for an object that an admitted operation has claimed. Returns its word afterwards.
pub(crate) fn help_admitted(arena: &Arena, waiter: &Waiter, index: u32, seen: ObjectWord) -> Result<ObjectWord> {
    let slot = arena.object_slot(index).ok_or(Error::Corrupt)?;
    let running = current(arena);
    let is_current = match seen.claimant() {
        Claimant::All => seen.tag() == running.tag() || running.trails(seen),
        _ => origin(arena, running).is_some_and(|(_, object, _)| object.index() == index),
    };
    if running.phase() != Phase::Idle && is_current {
        help_operation(arena, waiter, running.operation())?;
    } else if current(arena) == running {
        // An orphan (I-adm-3). An origin without its operation is rubbish.
        slot.exchange(seen, seen.unclaimed());
    }
    Ok(slot.load())
}

/// Slot, object and signal of an operation's origin.
fn origin(arena: &Arena, seen: Admission) -> Option<(&ObjectSlot, Object, Signal)> {
    let requester = arena.waiter_slot(seen.requester())?;
    let object = Object(requester.request_object.load());
    let signal = Signal::of_bits(requester.request.load())?;
    Some((arena.object_slot(object.index())?, object, signal))
}

/// The performer of an operation is its requester, whoever carries it out.
fn performer(arena: &Arena, seen: Admission) -> Mark {
    marks::of_holder(arena, seen.requester())
}

/// Ends an operation that is rubbish.
fn abort(arena: &Arena, seen: Admission) {
    replace(arena, seen, seen.in_phase(Phase::Idle));
}

/// Apply: the effect, the requester's result.
fn apply(arena: &Arena, waiter: &Waiter, seen: Admission) -> Result<()> {
    let Some((slot, object, signal)) = origin(arena, seen) else {
        abort(arena, seen);
        return Ok(());
    };
    let word = slot.load();
    let is_origin = matches!(word.claimant(), Claimant::Origin | Claimant::OriginIdle);
    if is_origin && word.tag() == seen.tag() {
        return answer(arena, seen, result(signal, object, slot, word), word.claimant() == Claimant::Origin);
    }
    // O-adm
    if current(arena) != seen {
        return Ok(());
    }
    match word.claimant() {
        Claimant::Nobody => {
            slot.exchange(word, applied(signal, object, slot, word, seen.tag()));
        }
        Claimant::All | Claimant::Origin | Claimant::OriginIdle => {
            slot.exchange(word, word.unclaimed());
        }
        _ => {
            let now = help_claim(arena, waiter, object.index(), word.into(), &mut Ahead::default())?;
            serve_claims(arena, waiter, object.index(), now)?;
        }
    }
    Ok(())
}

fn answer(arena: &Arena, seen: Admission, result: Result<u32>, offered: bool) -> Result<()> {
    let requester = arena.waiter_slot(seen.requester()).ok_or(Error::Corrupt)?;
    let word = requester.load();
    // Read after the requester's word: while the operation runs, the request is that of this operation.
    if current(arena) != seen {
        return Ok(());
    }
    if word.state() == WaiterState::Requesting {
        let (code, value) = encode(result);
        if !requester.exchange(word, word.done(code, value)) {
            return Ok(());
        }
    }
    replace(arena, seen, seen.in_phase(if offered { Phase::Scan } else { Phase::End }));
    Ok(())
}

/// Scan: the wait-all waiter that is tried next.
fn find_candidate(arena: &Arena, waiter: &Waiter, seen: Admission) -> Result<()> {
    let Some((slot, object, _)) = origin(arena, seen) else {
        abort(arena, seen);
        return Ok(());
    };
    let candidate = if is_on_offer(slot.kind(), slot.load()) {
        let tried = (seen.step() > 0).then(|| seen.ticket());
        first_waiting_for_all(arena, waiter, object.index(), slot, tried)
    } else {
        None
    };
    let next = match candidate {
        Some((candidate, ticket)) => seen.trying(candidate, ticket),
        None => {
            let attempt = seen.attempt();
            Admission::new(Phase::End, attempt, seen.step(), seen.requester(), NOBODY, seen.ticket())
        }
    };
    replace(arena, seen, next);
    Ok(())
}

fn first_waiting_for_all(
    arena: &Arena,
    waiter: &Waiter,
    index: u32,
    slot: &ObjectSlot,
    tried: Option<Ticket>,
) -> Option<(u32, Ticket)> {
    let (object, owners) = (slot.resident(index), Owners::new(arena));
    let mut first: Option<(u32, Ticket)> = None;
    for place in arena.places(&waiter.budget, slot) {
        let Some(entry) = place.entry().filter(|entry| entry.is_all()) else {
            continue;
        };
        let Some(other) = arena.waiter_slot(entry.waiter()) else {
            continue;
        };
        let word = other.met(entry);
        if !other.backs(word, entry, object) {
            clear(arena, waiter, index, place, entry, word);
            continue;
        }
        if owners.are_gone(other, word) {
            withdraw(other, entry.ticket());
            clear(arena, waiter, index, place, entry, other.load());
            continue;
        }
        let is_untried = tried.is_none_or(|tried| tried.is_before(entry.ticket()));
        if is_untried && first.is_none_or(|(_, ticket)| entry.ticket().is_before(ticket)) {
            first = Some((entry.waiter(), entry.ticket()));
        }
    }
    first
}

/// End: offers what is left to wait-any waiters.
fn end(arena: &Arena, waiter: &Waiter, seen: Admission) -> Result<()> {
    let Some((slot, object, signal)) = origin(arena, seen).filter(|_| seen.has_origin()) else {
        replace(arena, seen, seen.in_phase(Phase::Idle));
        return Ok(());
    };
    let word = slot.load();
    if !matches!(word.claimant(), Claimant::Origin | Claimant::OriginIdle) {
        serve_claims(arena, waiter, object.index(), word.into())?;
        replace(arena, seen, seen.in_phase(Phase::Idle));
        return Ok(());
    }
    // O-adm
    if current(arena) != seen {
        return Ok(());
    }
    // Nobody raises the flag while the object is claimed as origin, so an empty wait set means that the flag is stale.
    let next = match arena.places(&waiter.budget, slot).any(|place| place.entry().is_some_and(|entry| entry.is_all())) {
        true => word.unclaimed(),
        false => word.unclaimed().without(WA),
    };
    let by = performer(arena, seen);
    let next = if word.claimant() == Claimant::Origin { marks::performed(by, signal, next) } else { next };
    let next = match is_on_offer(slot.kind(), word) {
        true => offer(arena, waiter, object.index(), slot, next, &mut Ahead::default()),
        false => Offered::to_nobody(slot.kind().rested(next)),
    };
    put(arena, waiter, object.index(), slot, word, &next, by);
    Ok(())
}

/// Helps claims for wait-any waiters until there is none: an operation satisfies them before it completes (C6). It
/// helps only such claims, because in rubbish an admitted operation could be this one.
fn serve_claims(arena: &Arena, waiter: &Waiter, index: u32, found: Found) -> Result<()> {
    let (mut found, mut ahead) = (found, Ahead::default());
    while waiter.budget.round() {
        if !matches!(found.word.claimant(), Claimant::Waiter(_) | Claimant::CarryUp | Claimant::CarryDown) {
            return Ok(());
        }
        found = help_claim(arena, waiter, index, found, &mut ahead)?;
    }
    Err(Error::Corrupt)
}
