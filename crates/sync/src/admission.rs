//! Wait-all: one operation at a time per arena, carried out by whoever is there.
//!
//! # Role
//! An attempt to satisfy a wait-all takes several objects in one step for every onlooker. A signal on an object with wait-all
//! waiters, and the first attempt of a wait-all itself, are *announced* in one word of the arena, the admission word. It
//! admits one operation; everybody who meets it, or what it has claimed, carries it on to its end. So no thread can hold it
//! up. Nothing else that offers an object runs through this file: without wait-all waiters it costs nothing.
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
//! | Try | open the attempt on the candidate's word; claim each of its objects; decide on the candidate's word; consume, or give back | Scan, or End |
//! | End | offer what is left to wait-any waiters ([`crate::claim`]), or let the origin rest | Idle |
//!
//! # Invariants
//! * I-adm-1: only the admitted operation offers anything on its origin, so a failed attempt has nothing to restore.
//! * I-adm-2: an attempt is decided on one word, the candidate's: success, failure, deadline and alert exclude one another.
//! * I-adm-3: a claim of an attempt that is over (*orphan*) sits on an object that was at rest and available, so taking it away
//!   needs no scan. A successful attempt leaves none, because the object's word moved.
//! * I-adm-4: the candidate's list does not change while the admission word names it: its owner helps first.
//!
//! # Order
//! O-adm: a helper reads the admission word again after the object's word and before it changes the object. If the operation
//! was still running then, the change is right; if the object has changed since, the exchange fails.
//!
//! # Death
//! After any step: whoever meets the admission word or one of its claims goes on. A dead requester's slot is given to nobody
//! before its operation is over ([`Arena::help_admission_of`]).

use ntux_platform::atomic::Pair;

use crate::arena::Arena;
use crate::arena::format::{ObjectSlot, WaiterSlot};
use crate::arena::objects::Kind;
use crate::claim::{Ahead, consumed};
use crate::planted::{Bug, planted};
use crate::signal::{Signal, Step};
use crate::ticket::{Attempt, EVERYTHING, State, Ticket, WaiterWord};
use crate::wait_any::acquired;
use crate::waiter::Waiter;
use crate::word::{Claimant, ObjectWord, WA};
use crate::{Error, Object, Result, mutex};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Idle,
    Apply,
    Scan,
    Try,
    End,
}

/// A copy of the admission word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Admission(Pair);

impl Admission {
    fn new(phase: Phase, attempt: u32, step: u32, requester: u32, candidate: u32, ticket: Ticket) -> Admission {
        let phase: u64 = match phase {
            Phase::Idle => 0,
            Phase::Apply => 1,
            Phase::Scan => 2,
            Phase::Try => 3,
            Phase::End => 4,
        };
        let low = u64::from(attempt) | phase << 32 | u64::from(requester & 0x1_ffff) << 35 | u64::from(step) << 52;
        let high = ticket.number() | u64::from(candidate & 0x1_ffff) << 40 | u64::from(step >> 12 & 0x7f) << 57;
        Admission(Pair { low, high })
    }

    fn phase(self) -> Phase {
        match self.0.low >> 32 & 0x7 {
            1 => Phase::Apply,
            2 => Phase::Scan,
            3 => Phase::Try,
            4 => Phase::End,
            _ => Phase::Idle,
        }
    }

    fn attempt(self) -> u32 {
        self.0.low as u32
    }

    fn requester(self) -> u32 {
        (self.0.low >> 35) as u32 & 0x1_ffff
    }

    fn step(self) -> u32 {
        (self.0.low >> 52) as u32 | ((self.0.high >> 57) as u32 & 0x7f) << 12
    }

    fn candidate(self) -> u32 {
        (self.0.high >> 40) as u32 & 0x1_ffff
    }

    fn ticket(self) -> Ticket {
        Ticket::new(self.0.high)
    }

    /// Names the operation: the attempt that it began with.
    fn operation(self) -> u32 {
        self.attempt().wrapping_sub(self.step())
    }

    fn in_phase(self, phase: Phase) -> Admission {
        Admission::new(phase, self.attempt(), self.step(), self.requester(), self.candidate(), self.ticket())
    }

    /// The next attempt of the same operation.
    fn trying(self, candidate: u32, ticket: Ticket) -> Admission {
        let (attempt, step) = (self.attempt().wrapping_add(1), self.step() + 1);
        Admission::new(Phase::Try, attempt, step, self.requester(), candidate, ticket)
    }

    /// A wait-all's own first attempt has no origin.
    fn has_origin(self) -> bool {
        self.candidate() != self.requester() || self.step() > 0
    }

    /// Tag of the claims of this attempt.
    fn tag(self) -> u32 {
        if planted(Bug::NoAttempt) { self.ticket().tag() } else { self.attempt() }
    }

    fn names(self, waiter: u32) -> bool {
        self.phase() != Phase::Idle && (self.requester() == waiter || self.candidate() == waiter)
    }
}

/// Candidate of an operation that tries nobody.
const NOBODY: u32 = 0x1_ffff;

/// How a request is stored in its waiter's slot.
fn pack(signal: Signal) -> u64 {
    let (number, argument) = match signal {
        Signal::Set => (1u64, 0),
        Signal::Reset => (2, 0),
        Signal::Pulse => (3, 0),
        Signal::Release(count) => (4, count),
        Signal::Unlock(owner) => (5, owner),
        Signal::Kill(owner) => (6, owner),
    };
    number << 32 | u64::from(argument)
}

fn unpack(bits: u64) -> Option<Signal> {
    let argument = bits as u32;
    match bits >> 32 {
        1 => Some(Signal::Set),
        2 => Some(Signal::Reset),
        3 => Some(Signal::Pulse),
        4 => Some(Signal::Release(argument)),
        5 => Some(Signal::Unlock(argument)),
        6 => Some(Signal::Kill(argument)),
        _ => None,
    }
}

/// What the requester is told; stored in its word as a code and a value.
fn encode(result: Result<u32>) -> (u8, u32) {
    match result {
        Ok(previous) => (0, previous),
        Err(Error::Overflow) => (1, 0),
        Err(Error::NotOwner) => (2, 0),
        Err(_) => (3, 0),
    }
}

fn decode(word: WaiterWord) -> Result<u32> {
    match word.code() {
        0 => Ok(word.argument()),
        1 => Err(Error::Overflow),
        2 => Err(Error::NotOwner),
        _ => Err(Error::NoSuchObject),
    }
}

/// The result of a signal, read off the word that it left behind: the same for every helper.
fn result(signal: Signal, object: Object, slot: &ObjectSlot, word: ObjectWord) -> Result<u32> {
    let offered = word.claimant() == Claimant::Origin;
    match signal {
        _ if !offered && slot.kind_if_live(object).is_none() => Err(Error::NoSuchObject),
        Signal::Set | Signal::Pulse => Ok(u32::from(!offered)),
        Signal::Reset => Ok(word.value()),
        Signal::Release(count) if offered => Ok(word.value().wrapping_sub(count)),
        Signal::Release(0) => Ok(word.value()),
        Signal::Release(_) => Err(Error::Overflow),
        Signal::Unlock(_) if word.value() == 0 && offered => Ok(1),
        Signal::Unlock(owner) if word.value() == owner => Ok(mutex::count(word, &slot.extra).wrapping_add(1)),
        Signal::Kill(_) if offered => Ok(0),
        Signal::Unlock(_) | Signal::Kill(_) => Err(Error::NotOwner),
    }
}

/// The word that claims an object as origin, with the effect of the signal; or with a carry that must come first.
fn applied(signal: Signal, object: Object, slot: &ObjectSlot, seen: ObjectWord, tag: u32) -> ObjectWord {
    let idle = |word: ObjectWord| word.claimed_for(Claimant::OriginIdle, tag);
    let Some(kind) = slot.kind_if_live(object).filter(|&kind| signal.fits(kind)) else {
        return idle(seen);
    };
    // The flag may have been lowered since the signal was announced; a pulse must not mistake that for "nobody waits".
    match signal.step(seen.with(WA), kind, &slot.extra) {
        Step::Refused(_) | Step::Unchanged(_) => idle(seen),
        Step::Carry(claimant) => seen.claimed_for(claimant, 0),
        Step::Changed { next, offers: true, .. } => next.claimed_for(Claimant::Origin, tag),
        Step::Changed { next, offers: false, .. } => idle(next),
    }
}

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
        let epoch = self.begin(waiter, State::Requesting, None)?;
        let operation = self.admit(waiter, |attempt| {
            Some(Admission::new(Phase::Apply, attempt, 0, epoch.index, NOBODY, Ticket::default()))
        })?;
        self.help_operation(waiter, operation.ok_or(Error::Corrupt)?)?;
        let answer = epoch.load();
        if answer.state() != State::Done {
            return Err(Error::Corrupt);
        }
        let origin = self.object_slot(object.index()).ok_or(Error::Corrupt)?;
        self.help(waiter, object.index(), origin.load())?;
        decode(answer)
    }

    /// Makes the first attempt of a wait-all. Afterwards it is satisfied, or one of its objects was seen unavailable.
    pub(crate) fn try_everything(&self, waiter: &Waiter, index: u32, slot: &WaiterSlot, ticket: Ticket) -> Result<()> {
        let open = || slot.load().state() == State::Waiting && slot.load().ticket() == ticket;
        let operation =
            self.admit(waiter, |attempt| open().then(|| Admission::new(Phase::Try, attempt, 0, index, index, ticket)))?;
        operation.map_or(Ok(()), |operation| self.help_operation(waiter, operation))
    }

    /// Waits for its turn by helping others; `make` may give up meanwhile.
    fn admit(&self, waiter: &Waiter, make: impl Fn(u32) -> Option<Admission>) -> Result<Option<u32>> {
        while waiter.fuel.round() {
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
        while waiter.fuel.round() {
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

    /// Carries on whatever names this waiter.
    pub(crate) fn help_admission_of(&self, waiter: &Waiter, index: u32) -> Result<()> {
        while waiter.fuel.round() {
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
            Claimant::All => seen.tag() == running.tag(),
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
                self.help_claim(waiter, object.index(), word, &mut Ahead::default())?;
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
        if word.state() == State::Requesting {
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
        for place in self.bag(waiter, slot) {
            let Some(entry) = place.entry().filter(|entry| entry.is_all()) else {
                continue;
            };
            let Some(other) = self.waiter_slot(entry.waiter()) else {
                continue;
            };
            let word = other.load();
            if !other.backs(word, entry, object) {
                self.clear(waiter, place, entry, other, word);
                continue;
            }
            let is_untried = tried.is_none_or(|tried| tried.is_before(entry.ticket()));
            if is_untried && first.is_none_or(|(_, ticket)| entry.ticket().is_before(ticket)) {
                first = Some((entry.waiter(), entry.ticket()));
            }
        }
        first
    }

    /// Try: one look at the candidate's word, and what follows from it.
    fn attempt(&self, waiter: &Waiter, seen: Admission) -> Result<()> {
        let Some(candidate) = self.waiter_slot(seen.candidate()) else {
            self.abort(seen);
            return Ok(());
        };
        let word = candidate.load();
        let same_epoch = word.ticket() == seen.ticket();
        match (word.state(), word.attempt(seen.attempt())) {
            (State::Waiting, Attempt::Other) if same_epoch => {
                // O-adm
                if self.admission() == seen {
                    candidate.exchange(word, word.opened(seen.attempt()));
                }
                Ok(())
            }
            (State::Waiting, Attempt::Open) if same_epoch => self.collect(waiter, seen, candidate),
            // Also if its alert satisfied it: it is passed over then, so it must run (C4).
            (State::Satisfied, _) if same_epoch => {
                self.pay(waiter, candidate, word);
                self.conclude_attempt(waiter, seen, candidate, word.argument() == EVERYTHING)
            }
            _ => self.conclude_attempt(waiter, seen, candidate, false),
        }
    }

    /// Whether the attempt is still undecided; the candidate's word.
    fn open_word(&self, seen: Admission, candidate: &WaiterSlot) -> Option<WaiterWord> {
        let word = candidate.load();
        let open = word.state() == State::Waiting
            && word.ticket() == seen.ticket()
            && word.attempt(seen.attempt()) == Attempt::Open;
        open.then_some(word)
    }

    /// Claims the candidate's objects one after the other, then decides.
    fn collect(&self, waiter: &Waiter, seen: Admission, candidate: &WaiterSlot) -> Result<()> {
        let mut abandoned = false;
        for entry in candidate.list.iter().take(candidate.count()) {
            match self.claim_for_attempt(waiter, seen, candidate, Object(entry.load()))? {
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
        // Closed or not: the wait began before that. It cannot go on once the slot holds another object.
        if slot.resident(object.index()) != object {
            return Ok(Claim::Unavailable);
        }
        let kind = slot.kind();
        let claimant = match word.claimant() {
            Claimant::All | Claimant::Origin if word.tag() == seen.tag() => {
                return Ok(Claim::Held { was_abandoned: mutex::was_abandoned(kind, word) });
            }
            Claimant::Nobody => Claimant::All,
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
                self.help_claim(waiter, object.index(), word, &mut Ahead::default())?;
                return Ok(Claim::LookAgain);
            }
        };
        let owner = candidate.owner();
        let claim = match mutex::entry(word, &slot.extra, owner) {
            mutex::Entry::Carry if kind == Kind::Mutex => word.claimed_for(Claimant::CarryUp, 0),
            _ if acquired(slot, kind, word, owner).is_none() => return Ok(Claim::Unavailable),
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
        for entry in candidate.list.iter().take(candidate.count()) {
            let index = Object(entry.load()).index();
            if let Some(slot) = self.object_slot(index)
                && !self.conclude_object(waiter, seen, slot, owner, taken)?
            {
                return Ok(());
            }
        }
        let next = if seen.step() == 0 { Phase::End } else { Phase::Scan };
        self.admission_exchange(seen, seen.in_phase(next));
        Ok(())
    }

    /// False when the operation has gone on without us.
    fn conclude_object(
        &self,
        waiter: &Waiter,
        seen: Admission,
        slot: &ObjectSlot,
        owner: u32,
        taken: bool,
    ) -> Result<bool> {
        while waiter.fuel.round() {
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
                _ => next.unclaimed(),
            };
            slot.exchange(word, next);
        }
        Err(Error::Corrupt)
    }

    /// End: what is left goes to wait-any waiters.
    fn end(&self, waiter: &Waiter, seen: Admission) -> Result<()> {
        let Some((slot, object, _)) = self.origin(seen).filter(|_| seen.has_origin()) else {
            self.admission_exchange(seen, seen.in_phase(Phase::Idle));
            return Ok(());
        };
        let word = slot.load();
        if !matches!(word.claimant(), Claimant::Origin | Claimant::OriginIdle) {
            self.admission_exchange(seen, seen.in_phase(Phase::Idle));
            return Ok(());
        }
        // O-adm
        if self.admission() != seen {
            return Ok(());
        }
        // While the object is claimed as origin nobody raises the flag, so an empty bag means that it is stale.
        let next = match self.bag(waiter, slot).any(|place| place.entry().is_some_and(|entry| entry.is_all())) {
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
}

/// What an attempt finds at one object.
enum Claim {
    /// Claimed by this attempt.
    Held { was_abandoned: bool },
    /// Its waiter cannot have it now.
    Unavailable,
    /// Something has changed.
    LookAgain,
}
