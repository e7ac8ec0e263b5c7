//! Wait-all: one operation at a time per arena, carried out by whoever is there.
//!
//! # Role
//! An attempt to satisfy a wait-all takes several objects in one step for every onlooker. A signal on an object with wait-all
//! waiters, and the first attempt of a wait-all itself, are *announced* in one word of the arena, the admission word. It
//! admits one operation; everybody who meets it, or what it has claimed, carries it on to its end. So no thread can hold it
//! up. Nothing else that offers an object runs through this file: without wait-all waiters it costs nothing. Beside it: the
//! word (`word`), the signal that is carried out (`announced`), one attempt (`attempt`).
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
//! * requester: the waiter whose request is carried out. candidate, ticket: the wait-all waiter that is being tried; in
//!   `Scan`, the one tried last.
//!
//! # Transitions
//! | phase | what anyone does | then |
//! | --- | --- | --- |
//! | Idle | a requester admits itself: `Apply` for a signal, `Try` for a wait-all's own first attempt | |
//! | Apply | claim the object as origin together with the signal's effect (`OriginIdle`: it offers nothing); give the requester its result | Scan, or End |
//! | Scan | while something is on offer, find the next wait-all waiter by ticket | Try, or End |
//! | Try | open the attempt on the candidate's word; claim each of its objects; decide on the candidate's word; consume, or give back; some claims trail | Scan, or End |
//! | End | offer what is left to wait-any waiters ([`crate::claim`]) and see them satisfied, or let the origin rest | Idle |
//!
//! # Invariants
//! * I-adm-1: only the admitted operation offers anything on its origin, so a failed attempt has nothing to restore.
//! * I-adm-2: an attempt is decided on one word, the candidate's: success, failure, deadline and alert exclude one another.
//! * I-adm-3: a claim of an attempt that is over (*orphan*) sits on an object that was at rest and available, so taking it away
//!   needs no scan. A successful attempt leaves none, because the object's word moved; what trails (I-adm-5) has given its unit
//!   away, and needs no scan either.
//! * I-adm-4: the candidate's list does not change while the admission word names it: its owner helps first.
//! * I-adm-5: while the operation has more to offer, what it has taken for one wait-all stays claimed, under the operation's number
//!   (it *trails*). Whoever meets that carries the operation to its end first (C6): what shows has happened for everybody
//!   whom the operation satisfies.
//!
//! # Order
//! O-adm: a helper reads the admission word again after the object's word and before it changes the object. If the operation
//! was still running then, the change is right; if the object has changed since, the exchange fails.
//!
//! # Death
//! After any step: whoever meets the admission word or one of its claims goes on. A dead requester's slot is given to nobody
//! before its operation is over ([`Arena::help_admission_of`]).

pub(crate) mod announced;
mod attempt;
mod word;

use crate::arena::Arena;
use crate::arena::format::{ObjectSlot, WaiterSlot};
use crate::arena::meta::Kind;
use crate::claim::Ahead;
use crate::signal::Signal;
use crate::ticket::Ticket;
use crate::waiter::Waiter;
use crate::waiter_word::WaiterState;
use crate::word::{Claimant, ObjectWord, WA};
use crate::{Error, Object, Result};
use announced::{applied, decode, encode, pack, result, unpack};
use word::{Admission, NOBODY, Phase};

/// Whether a wait-all waiter may find something to take.
fn is_on_offer(kind: Kind, word: ObjectWord) -> bool {
    word.claimant() == Claimant::Origin && (kind == Kind::Mutex || word.value() != 0)
}

impl Arena {
    fn admission(&self) -> Admission {
        Admission(self.header().admission.0.load())
    }

    fn admission_exchange(&self, seen: Admission, next: Admission) -> bool {
        self.header().admission.0.compare_exchange(seen.0, next.0).is_ok()
    }

    /// Has a signal carried out, wait-all waiters first; returns the previous value.
    ///
    /// Errors: those of the signal; `Exhausted` when the thread gets no place in the arena.
    #[cold]
    pub(crate) fn announce(&self, waiter: &Waiter, object: Object, signal: Signal) -> Result<u32> {
        let (_, slot) = self.enroll(waiter)?;
        slot.request.store(pack(signal));
        slot.request_object.store(object.0);
        let epoch = self.begin(waiter, WaiterState::Requesting, None)?;
        let operation = self.admit(waiter, |attempt| {
            Some(Admission::new(Phase::Apply, attempt, 0, epoch.index, NOBODY, Ticket::default()))
        })?;
        self.help_operation(waiter, operation.ok_or(Error::Corrupt)?)?;
        let answer = epoch.load();
        if answer.state() != WaiterState::Done {
            return Err(Error::Corrupt);
        }
        let origin = self.object_slot(object.index()).ok_or(Error::Corrupt)?;
        self.help(waiter, object.index(), origin.load())?;
        decode(answer)
    }

    /// Makes the first attempt of a wait-all. Afterwards it is satisfied, or one of its objects was seen unavailable.
    pub(crate) fn try_everything(&self, waiter: &Waiter, index: u32, slot: &WaiterSlot, ticket: Ticket) -> Result<()> {
        let open = || slot.load().state() == WaiterState::Waiting && slot.load().ticket() == ticket;
        let operation =
            self.admit(waiter, |attempt| open().then(|| Admission::new(Phase::Try, attempt, 0, index, index, ticket)))?;
        operation.map_or(Ok(()), |operation| self.help_operation(waiter, operation))
    }

    /// Waits for its turn by helping others; `make` may give up meanwhile.
    fn admit(&self, waiter: &Waiter, make: impl Fn(u32) -> Option<Admission>) -> Result<Option<u32>> {
        while waiter.budget.round() {
            let seen = self.admission();
            if seen.phase() != Phase::Idle {
                self.help_operation(waiter, seen.operation())?;
                continue;
            }
            let Some(next) = make(seen.attempt().wrapping_add(1)) else {
                return Ok(None);
            };
            if self.admission_exchange(seen, next) {
                return Ok(Some(next.operation()));
            }
        }
        Err(Error::Corrupt)
    }

    /// Carries an operation on until it is over.
    fn help_operation(&self, waiter: &Waiter, operation: u32) -> Result<()> {
        let before = waiter.nested.operate(true);
        let helped = self.carry_on(waiter, operation);
        waiter.nested.operate(before);
        helped
    }

    fn carry_on(&self, waiter: &Waiter, operation: u32) -> Result<()> {
        while waiter.budget.round() {
            let seen = self.admission();
            if seen.operation() != operation {
                return Ok(());
            }
            match seen.phase() {
                Phase::Idle => return Ok(()),
                Phase::Apply => self.apply(waiter, seen)?,
                Phase::Scan => self.find_candidate(waiter, seen)?,
                Phase::Try => self.attempt(waiter, seen)?,
                Phase::End => self.end(waiter, seen)?,
            }
        }
        Err(Error::Corrupt)
    }

    /// Carries on whatever is admitted, unless this thread does that already: a wait-all is satisfied by the operation that is
    /// admitted, or by one that is over.
    pub(crate) fn help_admission(&self, waiter: &Waiter) -> Result<()> {
        match waiter.nested.is_operating() {
            true => Ok(()),
            false => self.help_operation(waiter, self.admission().operation()),
        }
    }

    /// Carries on whatever names this waiter.
    pub(crate) fn help_admission_of(&self, waiter: &Waiter, index: u32) -> Result<()> {
        while waiter.budget.round() {
            let seen = self.admission();
            if !seen.names(index) {
                return Ok(());
            }
            self.help_operation(waiter, seen.operation())?;
        }
        Err(Error::Corrupt)
    }

    /// Met an object that an admitted operation has claimed; returns what its word is afterwards.
    pub(crate) fn help_admitted(&self, waiter: &Waiter, index: u32, seen: ObjectWord) -> Result<ObjectWord> {
        let slot = self.object_slot(index).ok_or(Error::Corrupt)?;
        let running = self.admission();
        let is_current = match seen.claimant() {
            Claimant::All => seen.tag() == running.tag() || running.trails(seen),
            _ => self.origin(running).is_some_and(|(_, object, _)| object.index() == index),
        };
        if running.phase() != Phase::Idle && is_current {
            self.help_operation(waiter, running.operation())?;
        } else if self.admission() == running {
            // An orphan (I-adm-3). An origin without its operation cannot be, unless somebody scribbled.
            slot.exchange(seen, seen.unclaimed());
        }
        Ok(slot.load())
    }

    /// Slot, object and signal of an operation's origin.
    fn origin(&self, seen: Admission) -> Option<(&ObjectSlot, Object, Signal)> {
        let requester = self.waiter_slot(seen.requester())?;
        let object = Object(requester.request_object.load());
        let signal = unpack(requester.request.load())?;
        Some((self.object_slot(object.index())?, object, signal))
    }

    /// An operation that makes no sense is ended: somebody scribbled over it.
    fn abort(&self, seen: Admission) {
        self.admission_exchange(seen, seen.in_phase(Phase::Idle));
    }

    /// Apply: the effect, the requester's result.
    fn apply(&self, waiter: &Waiter, seen: Admission) -> Result<()> {
        let Some((slot, object, signal)) = self.origin(seen) else {
            self.abort(seen);
            return Ok(());
        };
        let word = slot.load();
        let is_origin = matches!(word.claimant(), Claimant::Origin | Claimant::OriginIdle);
        if is_origin && word.tag() == seen.tag() {
            return self.answer(seen, result(signal, object, slot, word), word.claimant() == Claimant::Origin);
        }
        // O-adm
        if self.admission() != seen {
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
                let now = self.help_claim(waiter, object.index(), word, &mut Ahead::default())?;
                self.serve_claims(waiter, object.index(), now)?;
            }
        }
        Ok(())
    }

    fn answer(&self, seen: Admission, result: Result<u32>, offered: bool) -> Result<()> {
        let requester = self.waiter_slot(seen.requester()).ok_or(Error::Corrupt)?;
        let word = requester.load();
        // Looked at after the requester's word: while the operation runs, its request is the one of this operation.
        if self.admission() != seen {
            return Ok(());
        }
        if word.state() == WaiterState::Requesting {
            let (code, value) = encode(result);
            if !requester.exchange(word, word.done(code, value)) {
                return Ok(());
            }
        }
        self.admission_exchange(seen, seen.in_phase(if offered { Phase::Scan } else { Phase::End }));
        Ok(())
    }

    /// Scan: the wait-all waiter that is tried next.
    fn find_candidate(&self, waiter: &Waiter, seen: Admission) -> Result<()> {
        let Some((slot, object, _)) = self.origin(seen) else {
            self.abort(seen);
            return Ok(());
        };
        let candidate = if is_on_offer(slot.kind(), slot.load()) {
            let tried = (seen.step() > 0).then(|| seen.ticket());
            self.first_waiting_for_all(waiter, object.index(), slot, tried)
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
        self.admission_exchange(seen, next);
        Ok(())
    }

    fn first_waiting_for_all(
        &self,
        waiter: &Waiter,
        index: u32,
        slot: &ObjectSlot,
        tried: Option<Ticket>,
    ) -> Option<(u32, Ticket)> {
        let object = slot.resident(index);
        let mut first: Option<(u32, Ticket)> = None;
        for place in self.places(waiter, slot) {
            let Some(entry) = place.entry().filter(|entry| entry.is_all()) else {
                continue;
            };
            let Some(other) = self.waiter_slot(entry.waiter()) else {
                continue;
            };
            let word = other.met(entry);
            if !other.backs(word, entry, object) {
                self.clear(waiter, index, place, entry, word);
                continue;
            }
            let is_untried = tried.is_none_or(|tried| tried.is_before(entry.ticket()));
            if is_untried && first.is_none_or(|(_, ticket)| entry.ticket().is_before(ticket)) {
                first = Some((entry.waiter(), entry.ticket()));
            }
        }
        first
    }

    /// End: what is left goes to wait-any waiters.
    fn end(&self, waiter: &Waiter, seen: Admission) -> Result<()> {
        let Some((slot, object, _)) = self.origin(seen).filter(|_| seen.has_origin()) else {
            self.admission_exchange(seen, seen.in_phase(Phase::Idle));
            return Ok(());
        };
        let word = slot.load();
        if !matches!(word.claimant(), Claimant::Origin | Claimant::OriginIdle) {
            self.serve_claims(waiter, object.index(), word)?;
            self.admission_exchange(seen, seen.in_phase(Phase::Idle));
            return Ok(());
        }
        // O-adm
        if self.admission() != seen {
            return Ok(());
        }
        // While the object is claimed as origin nobody raises the flag, so an empty wait set means that it is stale.
        let next = match self.places(waiter, slot).any(|place| place.entry().is_some_and(|entry| entry.is_all())) {
            true => word.unclaimed(),
            false => word.unclaimed().without(WA),
        };
        let next = match is_on_offer(slot.kind(), word) {
            true => self.offer(waiter, object.index(), slot, next, &mut Ahead::default()),
            false => crate::claim::rested(slot.kind(), next),
        };
        slot.exchange(word, next);
        Ok(())
    }

    /// Helps claims for wait-any waiters until there is none; at the end of an operation they are satisfied before it is over
    /// (C6). Only such claims are helped here: an admitted operation could be this one, in a memory of rubbish.
    fn serve_claims(&self, waiter: &Waiter, index: u32, seen: ObjectWord) -> Result<()> {
        let (mut seen, mut ahead) = (seen, Ahead::default());
        while waiter.budget.round() {
            if !matches!(seen.claimant(), Claimant::Waiter(_) | Claimant::CarryUp | Claimant::CarryDown) {
                return Ok(());
            }
            seen = self.help_claim(waiter, index, seen, &mut ahead)?;
        }
        Err(Error::Corrupt)
    }
}
