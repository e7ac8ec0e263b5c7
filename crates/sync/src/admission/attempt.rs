//! Try: one attempt to give a wait-all everything that it waits for. The protocol is told in [`super`].

use super::word::{Admission, Phase};
use crate::arena::Arena;
use crate::arena::format::{ObjectSlot, WaiterSlot};
use crate::arena::meta::Kind;
use crate::claim::{Ahead, consumed};
use crate::planted::{Bug, planted};
use crate::wait_any::acquired;
use crate::waiter::Waiter;
use crate::waiter_word::{Attempt, EVERYTHING, WaiterState, WaiterWord};
use crate::word::{Claimant, SPILLED};
use crate::{Error, Object, Result, mutex};

/// What an attempt finds at one object.
enum Claim {
    /// Claimed by this attempt.
    Held { was_abandoned: bool },
    /// Its waiter cannot have it now.
    Unavailable,
    /// Something has changed.
    LookAgain,
}

impl Arena {
    /// Try: one look at the candidate's word, and what follows from it.
    pub(super) fn attempt(&self, waiter: &Waiter, seen: Admission) -> Result<()> {
        let Some(candidate) = self.waiter_slot(seen.candidate()) else {
            self.abort(seen);
            return Ok(());
        };
        let word = candidate.load();
        let same_epoch = word.ticket() == seen.ticket();
        match (word.state(), word.attempt(seen.attempt())) {
            (WaiterState::Waiting, Attempt::Other) if same_epoch => {
                // O-adm
                if self.admission() == seen {
                    candidate.exchange(word, word.opened(seen.attempt()));
                }
                Ok(())
            }
            (WaiterState::Waiting, Attempt::Open) if same_epoch => self.collect(waiter, seen, candidate),
            // C3 if by this attempt; if by its alert it is passed over (C4).
            (WaiterState::Satisfied, _) if same_epoch => {
                let taken = word.argument() == EVERYTHING;
                if taken {
                    self.pay(waiter, candidate, word);
                } else {
                    self.finish_elsewhere(waiter, EVERYTHING, word);
                }
                self.conclude_attempt(waiter, seen, candidate, taken)
            }
            _ => self.conclude_attempt(waiter, seen, candidate, false),
        }
    }

    /// Whether the attempt is still undecided; the candidate's word.
    fn open_word(&self, seen: Admission, candidate: &WaiterSlot) -> Option<WaiterWord> {
        let word = candidate.load();
        let open = word.state() == WaiterState::Waiting
            && word.ticket() == seen.ticket()
            && word.attempt(seen.attempt()) == Attempt::Open;
        open.then_some(word)
    }

    /// Claims the candidate's objects one after the other, then decides.
    fn collect(&self, waiter: &Waiter, seen: Admission, candidate: &WaiterSlot) -> Result<()> {
        let mut abandoned = false;
        for number in candidate.list.iter().take(candidate.count()) {
            match self.claim_for_attempt(waiter, seen, candidate, Object(number.load()))? {
                Claim::Held { was_abandoned } => abandoned |= was_abandoned,
                Claim::Unavailable => {
                    if let Some(word) = self.open_word(seen, candidate) {
                        candidate.exchange(word, word.closed());
                    }
                    return Ok(());
                }
                Claim::LookAgain => return Ok(()),
            }
        }
        if let Some(word) = self.open_word(seen, candidate) {
            self.satisfy(waiter, candidate, word, word.satisfied(EVERYTHING, abandoned));
        }
        Ok(())
    }

    fn claim_for_attempt(
        &self,
        waiter: &Waiter,
        seen: Admission,
        candidate: &WaiterSlot,
        object: Object,
    ) -> Result<Claim> {
        let Some(slot) = self.object_slot(object.index()) else {
            return Ok(Claim::Unavailable);
        };
        let word = slot.load();
        // Closed or not: the wait began before that. It cannot go on once the slot is another object's. (Looked at after the
        // word: if it changes hands from here on, the exchange fails.)
        if !slot.still_has(object) {
            return Ok(Claim::Unavailable);
        }
        let kind = slot.kind();
        let claimant = match word.claimant() {
            Claimant::All | Claimant::Origin if word.tag() == seen.tag() => {
                return Ok(Claim::Held { was_abandoned: mutex::was_abandoned(kind, word) });
            }
            Claimant::Nobody => Claimant::All,
            Claimant::All if seen.trails(word) => Claimant::All,
            Claimant::Origin => Claimant::Origin,
            Claimant::All | Claimant::OriginIdle => {
                // O-adm. Not of this attempt, so an orphan (I-adm-3). Nobody is helped here: in a memory of rubbish the
                // operation to be helped could be the one that this attempt belongs to, and so on without end.
                if self.admission() == seen {
                    slot.exchange(word, word.unclaimed());
                }
                return Ok(Claim::LookAgain);
            }
            _ => {
                let now = self.help_claim(waiter, object.index(), word, &mut Ahead::default())?;
                self.serve_claims(waiter, object.index(), now)?;
                return Ok(Claim::LookAgain);
            }
        };
        let owner = candidate.owner();
        let claim = match mutex::access(word, &slot.extra, owner) {
            mutex::Access::Carry if kind == Kind::Mutex => word.claimed_for(Claimant::CarryUp, 0),
            _ if acquired(slot, kind, word, owner).is_none() => {
                // What lies beside the word belongs to it only if the word is still the same.
                let stale = word.has(SPILLED) && slot.load() != word;
                return Ok(if stale { Claim::LookAgain } else { Claim::Unavailable });
            }
            _ => word.claimed_for(claimant, seen.tag()),
        };
        // O-adm: the attempt is undecided, so whoever finds it decided later finds this claim too, or its exchange failed.
        let claimed = self.open_word(seen, candidate).is_some() && slot.exchange(word, claim);
        // The next object can be looked at right away: as long as the attempt is undecided this claim stays.
        Ok(match claimed && claim.claimant() == claimant {
            true => Claim::Held { was_abandoned: mutex::was_abandoned(kind, claim) },
            false => Claim::LookAgain,
        })
    }

    /// Consumes what a successful attempt holds, or gives back what a failed one does; then the attempt is over.
    fn conclude_attempt(&self, waiter: &Waiter, seen: Admission, candidate: &WaiterSlot, taken: bool) -> Result<()> {
        let owner = candidate.owner();
        let trails = self.goes_on(seen, taken) && (taken || seen.step() > 1);
        for number in candidate.list.iter().take(candidate.count()) {
            let index = Object(number.load()).index();
            if let Some(slot) = self.object_slot(index)
                && !self.conclude_object(waiter, seen, slot, owner, taken, trails)?
            {
                return Ok(());
            }
        }
        let next = if seen.step() == 0 { Phase::End } else { Phase::Scan };
        self.admission_exchange(seen, seen.in_phase(next));
        Ok(())
    }

    /// Whether the operation has more to offer after this attempt than one waiter can take. All helpers say the same: until the
    /// operation goes on its origin changes by this attempt's taking only.
    fn goes_on(&self, seen: Admission, taken: bool) -> bool {
        let Some((slot, ..)) = self.origin(seen).filter(|_| seen.has_origin() && !planted(Bug::NoTrail)) else {
            return false;
        };
        let word = slot.load();
        let to_be_taken = taken && word.tag() == seen.tag();
        match slot.kind() {
            _ if word.claimant() != Claimant::Origin => false,
            Kind::Semaphore => word.value() > u32::from(to_be_taken),
            Kind::ManualEvent => true,
            Kind::AutoEvent | Kind::Mutex => false,
        }
    }

    /// False when the operation has gone on without us.
    fn conclude_object(
        &self,
        waiter: &Waiter,
        seen: Admission,
        slot: &ObjectSlot,
        owner: u32,
        taken: bool,
        trails: bool,
    ) -> Result<bool> {
        while waiter.budget.round() {
            let word = slot.load();
            let is_held = match word.claimant() {
                Claimant::All => word.tag() == seen.tag(),
                Claimant::Origin => word.tag() == seen.tag() && taken,
                _ => false,
            };
            if !is_held {
                return Ok(true);
            }
            // O-adm
            if self.admission() != seen {
                return Ok(false);
            }
            let next = if taken { consumed(slot.kind(), word, owner) } else { word };
            let next = match word.claimant() {
                // Held by no attempt any more: any number but this one's. Numbers wrap, so none is free for "no attempt".
                Claimant::Origin => next.claimed_for(Claimant::Origin, seen.tag().wrapping_sub(1)),
                _ if trails => next.claimed_for(Claimant::All, seen.operation()),
                _ => next.unclaimed(),
            };
            slot.exchange(word, next);
        }
        Err(Error::Corrupt)
    }
}
