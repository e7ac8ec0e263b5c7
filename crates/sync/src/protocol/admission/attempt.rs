// SPDX-License-Identifier: MIT OR Apache-2.0
//! Try: one attempt to give a wait-all all its objects. [`super`] explains the protocol.

use super::{abort, current, origin, performer, replace, serve_claims};
use crate::arena::Arena;
use crate::format::admission_word::{Admission, Phase};
use crate::format::layout::{ObjectSlot, WaiterSlot};
use crate::format::object_word::Claimant;
use crate::format::waiter_word::{Attempt, EVERYTHING, WaiterState, WaiterWord};
use crate::kind::{Access, Signal};
use crate::planted::{Bug, planted};
use crate::protocol::claim::{finish_elsewhere, give_everything, help_claim, pay};
use crate::protocol::scan::Ahead;
use crate::protocol::waiter::Waiter;
use crate::{Error, Object, Result};

/// How far an attempt that is over has come with one of its objects.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Conclusion {
    /// It holds the object no more.
    Concluded,
    /// The operation has gone on without us.
    MovedOn,
}

/// The result of an attempt at one object.
#[must_use]
enum Claim {
    /// Claimed by this attempt.
    Held { was_abandoned: bool },
    /// The waiter cannot have it now.
    Unavailable,
    /// Something has changed.
    LookAgain,
}

/// Try: reads the candidate's word and takes the next step.
pub(super) fn attempt(arena: &Arena, waiter: &Waiter, seen: Admission) -> Result<()> {
    let Some(candidate) = arena.waiter_slot(seen.candidate()) else {
        abort(arena, seen);
        return Ok(());
    };
    let word = candidate.load();
    let same_epoch = word.ticket() == seen.ticket();
    match (word.state(), word.attempt(seen.attempt())) {
        (WaiterState::Waiting, Attempt::Other) if same_epoch => {
            // O-adm
            if current(arena) == seen {
                candidate.exchange(word, word.opened(seen.attempt()));
            }
            Ok(())
        }
        (WaiterState::Waiting, Attempt::Open) if same_epoch => collect(arena, waiter, seen, candidate),
        // C3 if this attempt satisfied it; if its alert did, it is passed over (C4).
        (WaiterState::Satisfied, _) if same_epoch => {
            let taken = word.argument() == EVERYTHING;
            if taken {
                pay(arena, waiter, candidate, word);
            } else {
                finish_elsewhere(arena, waiter, EVERYTHING, word);
            }
            conclude_attempt(arena, waiter, seen, candidate, taken)
        }
        _ => conclude_attempt(arena, waiter, seen, candidate, false),
    }
}

/// Returns whether the attempt is still undecided, and the candidate's word.
fn open_word(seen: Admission, candidate: &WaiterSlot) -> Option<WaiterWord> {
    let word = candidate.load();
    let open = word.state() == WaiterState::Waiting
        && word.ticket() == seen.ticket()
        && word.attempt(seen.attempt()) == Attempt::Open;
    open.then_some(word)
}

/// Claims the candidate's objects one after the other, then decides.
fn collect(arena: &Arena, waiter: &Waiter, seen: Admission, candidate: &WaiterSlot) -> Result<()> {
    let mut abandoned = false;
    for number in candidate.list.iter().take(candidate.count()) {
        match claim_for_attempt(arena, waiter, seen, candidate, Object(number.load()))? {
            Claim::Held { was_abandoned } => abandoned |= was_abandoned,
            Claim::Unavailable => {
                if let Some(word) = open_word(seen, candidate) {
                    candidate.exchange(word, word.closed());
                }
                return Ok(());
            }
            Claim::LookAgain => return Ok(()),
        }
    }
    if let Some(word) = open_word(seen, candidate) {
        let (by, is_firing) = (performer(arena, seen), is_firing(arena, seen));
        // While the operation runs, the request is its own. Once it has gone on, the attempt is decided.
        if current(arena) == seen {
            give_everything(arena, waiter, candidate, word, abandoned, by, is_firing);
        }
    }
    Ok(())
}

fn claim_for_attempt(
    arena: &Arena,
    waiter: &Waiter,
    seen: Admission,
    candidate: &WaiterSlot,
    object: Object,
) -> Result<Claim> {
    let Some(slot) = arena.object_slot(object.index()) else {
        return Ok(Claim::Unavailable);
    };
    let word = slot.load();
    // Even if the object was closed, because the wait began before that. But the attempt cannot continue once the slot
    // has another object. (Checked after the word: if the slot is reused later, the exchange fails.)
    if !slot.still_has(object) {
        return Ok(Claim::Unavailable);
    }
    let kind = slot.kind();
    let claimant = match word.claimant() {
        Claimant::All | Claimant::Origin if word.tag() == seen.tag() => {
            return Ok(Claim::Held { was_abandoned: kind.was_abandoned(word) });
        }
        Claimant::Nobody => Claimant::All,
        Claimant::All if seen.trails(word) => Claimant::All,
        Claimant::Origin => Claimant::Origin,
        Claimant::All | Claimant::OriginIdle => {
            // O-adm. Not of this attempt, so an orphan (I-adm-3). This does not help anybody: in rubbish the operation
            // to be helped could be the one that this attempt belongs to, and so on endlessly.
            if current(arena) == seen {
                slot.exchange(word, word.unclaimed());
            }
            return Ok(Claim::LookAgain);
        }
        _ => {
            let now = help_claim(arena, waiter, object.index(), word.into(), &mut Ahead::default())?;
            serve_claims(arena, waiter, object.index(), now)?;
            return Ok(Claim::LookAgain);
        }
    };
    let owner = candidate.owner();
    let claim = match kind.access(word, &slot.extra, owner) {
        Access::Open(_) => word.claimed_for(claimant, seen.tag()),
        Access::Carry(carry) => word.claimed_for(carry, 0),
        Access::Closed => {
            let stale = kind.access_depends_on_beside(word) && slot.load() != word;
            return Ok(if stale { Claim::LookAgain } else { Claim::Unavailable });
        }
    };
    // O-adm: the attempt is undecided, so a thread that later finds it decided also finds this claim, or the exchange
    // failed.
    let claimed = open_word(seen, candidate).is_some() && slot.exchange(word, claim);
    // Continues with the next object: this claim stays while the attempt is undecided.
    Ok(match claimed && claim.claimant() == claimant {
        true => Claim::Held { was_abandoned: kind.was_abandoned(claim) },
        false => Claim::LookAgain,
    })
}

/// Consumes the objects of a successful attempt, or returns those of a failed one. Then the attempt is complete.
fn conclude_attempt(
    arena: &Arena,
    waiter: &Waiter,
    seen: Admission,
    candidate: &WaiterSlot,
    taken: bool,
) -> Result<()> {
    let owner = candidate.owner();
    let trails = goes_on(arena, seen, taken) && (taken || seen.step() > 1);
    for number in candidate.list.iter().take(candidate.count()) {
        let index = Object(number.load()).index();
        if let Some(slot) = arena.object_slot(index)
            && conclude_object(arena, waiter, seen, slot, owner, taken, trails)? == Conclusion::MovedOn
        {
            return Ok(());
        }
    }
    let next = if seen.step() == 0 { Phase::End } else { Phase::Scan };
    replace(arena, seen, seen.in_phase(next));
    Ok(())
}

/// Returns true if the operation is the firing of a timer, so that those who wait for it wake by themselves.
fn is_firing(arena: &Arena, seen: Admission) -> bool {
    let origin = origin(arena, seen).filter(|_| seen.has_origin());
    origin.is_some_and(|(.., signal)| matches!(signal, Signal::Fire(_)))
}

/// Returns true if the operation has more to offer after this attempt. All helpers agree, because until the operation continues
/// only this attempt's taking changes its origin.
fn goes_on(arena: &Arena, seen: Admission, taken: bool) -> bool {
    let Some((slot, ..)) = origin(arena, seen).filter(|_| seen.has_origin() && !planted(Bug::NoTrail)) else {
        return false;
    };
    let word = slot.load();
    let to_be_taken = taken && word.tag() == seen.tag();
    let kind = slot.kind();
    word.claimant() == Claimant::Origin && kind.offers_several(word, to_be_taken)
}

/// Consumes what a successful attempt holds, or gives back what a failed one does.
fn conclude_object(
    arena: &Arena,
    waiter: &Waiter,
    seen: Admission,
    slot: &ObjectSlot,
    owner: u32,
    taken: bool,
    trails: bool,
) -> Result<Conclusion> {
    while waiter.budget.round() {
        let word = slot.load();
        let is_held = match word.claimant() {
            Claimant::All => word.tag() == seen.tag(),
            Claimant::Origin => word.tag() == seen.tag() && taken,
            _ => false,
        };
        if !is_held {
            return Ok(Conclusion::Concluded);
        }
        // O-adm
        if current(arena) != seen {
            return Ok(Conclusion::MovedOn);
        }
        let next = if taken { slot.kind().consumed(word, owner) } else { word };
        let next = match word.claimant() {
            // Any number but this attempt's, so that no attempt holds the claim. Numbers wrap, so none is reserved for
            // "no attempt".
            Claimant::Origin => next.claimed_for(Claimant::Origin, seen.tag().wrapping_sub(1)),
            _ if trails => next.claimed_for(Claimant::All, seen.operation()),
            _ => next.unclaimed(),
        };
        slot.exchange(word, next);
    }
    Err(Error::Corrupt)
}
