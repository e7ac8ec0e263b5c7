// SPDX-License-Identifier: MIT OR Apache-2.0
//! An *epoch*: one wait or request of a thread, from its ticket on.
//!
//! # Role
//! An epoch begins when the thread writes a new ticket into its waiter's word; every queue that the wait joins names
//! the ticket. One exchange of that word decides it, by whatever comes first: a thread that satisfies it, its deadline,
//! its alert, a signal handler. The word and its states: [`crate::format::waiter_word`].
//!
//! # Order
//! * O-will: the thread registers the word with the kernel before the word says that the thread waits, and withdraws it
//!   after the epoch. So while a thread is in a queue, the kernel always knows which word to mark if the thread dies.
//! * `active` of the waiter is set last and cleared first, so a signal handler on this thread sees a complete epoch, or
//!   none.
//!
//! # Death
//! Before the exchange in [`begin`], nothing has begun, and the ticket is lost. After it, the kernel marks the word,
//! and the wait is no longer in any queue. After the decision, what the thread was given is lost with it
//! ([`super::waiter`] ends the epoch).

use ntux_platform::clock::Deadline;
use ntux_platform::futex::{self, Woken};
use ntux_platform::robust::Owed;

use super::request::Request;
use super::spin::Site;
use super::waiter::{Waiter, enroll};
use crate::arena::Arena;
use crate::format::layout::WaiterSlot;
use crate::format::limits::RETRIES;
use crate::format::ticket::Ticket;
use crate::format::waiter_word::{WaiterState, WaiterWord};
use crate::observe::trace::What;
use crate::planted::{Bug, planted};
use crate::{Error, Result, observe};

/// Ends an undecided wait without an object. Returns whether it was undecided, and this one.
pub(super) fn withdraw(slot: &WaiterSlot, ticket: Ticket) -> bool {
    for _ in 0..RETRIES {
        let seen = slot.load();
        let undecided = seen.is_open() || matches!(seen.state(), WaiterState::Died | WaiterState::Probing);
        if seen.ticket() != ticket || !undecided {
            return false;
        }
        if slot.exchange(seen, seen.withdrawn()) {
            return true;
        }
    }
    false
}

/// What a thread finds after it has slept, or tried to: its word, and how it was woken if it has slept.
struct Slept {
    seen: WaiterWord,
    woken: Option<Woken>,
}

impl Slept {
    #[inline(always)]
    fn has_slept(&self) -> bool {
        self.woken.is_some()
    }
}

/// A wait in progress: the slot, and the epoch.
pub(crate) struct Epoch<'a> {
    pub arena: &'a Arena,
    pub waiter: &'a Waiter,
    pub index: u32,
    pub slot: &'a WaiterSlot,
    pub ticket: Ticket,
    /// The word with which it began.
    begun: WaiterWord,
    /// What the kernel does if the thread dies now.
    will: Option<Owed>,
}

/// The decision of a wait.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Decision {
    /// Given the object with this index.
    Object { index: u32, abandoned: bool },
    /// Given all its objects.
    Everything { abandoned: bool },
    /// Withdrawn.
    Nothing,
}

impl Epoch<'_> {
    #[inline(always)]
    pub(crate) fn load(&self) -> WaiterWord {
        self.slot.load()
    }

    /// Returns true if the wait is undecided.
    #[inline(always)]
    pub(crate) fn is_open(&self) -> bool {
        self.load().is_open()
    }

    /// Returns how it ended; none while it is undecided. Rubbish in the word counts as withdrawn.
    pub(crate) fn decision(&self) -> Option<Decision> {
        self.decision_in(self.load())
    }

    #[inline(always)]
    pub(super) fn decision_in(&self, seen: WaiterWord) -> Option<Decision> {
        if seen.ticket() != self.ticket {
            return Some(Decision::Nothing);
        }
        if let Some(index) = seen.satisfied_by() {
            return Some(Decision::Object { index, abandoned: seen.is_abandoned() });
        }
        match seen.state() {
            WaiterState::Waiting | WaiterState::Queueing => None,
            WaiterState::Satisfied => Some(Decision::Everything { abandoned: seen.is_abandoned() }),
            WaiterState::Died => self.is_mistaken_for_dead(),
            _ => Some(Decision::Nothing),
        }
    }

    /// The kernel mistook another thread's death for ours: one of another namespace with our number.
    #[cold]
    fn is_mistaken_for_dead(&self) -> Option<Decision> {
        self.waiter.step_aside();
        None
    }

    pub(crate) fn withdraw(&self) -> bool {
        withdraw(self.slot, self.ticket)
    }

    /// From now on the wait is nobody's ([`super::detached`]). Returns false if it is decided.
    pub(super) fn detach(&self) -> bool {
        observe::falls_asleep(self.slot, Deadline::Never);
        for _ in 0..RETRIES {
            let seen = self.load();
            if seen.ticket() != self.ticket || !seen.is_open() {
                return false;
            }
            if self.slot.exchange(seen, seen.detached()) {
                return true;
            }
        }
        false
    }

    /// Sleeps until the wait is decided, or withdraws it when its deadline passes.
    #[inline(always)]
    pub(crate) fn sleep(&self, deadline: Deadline) -> Decision {
        if self.waiter.spin.looks() {
            self.look();
        }
        let seen = self.load();
        let decision = self.decision_in(seen).unwrap_or_else(|| self.sleep_undecided(seen, deadline));
        self.waiter.spin.is_over(Some(self.slot));
        decision
    }

    /// [`Epoch::sleep`] for a wait that has just begun: probably nobody has changed its word. Parking finds out.
    #[inline(always)]
    pub(crate) fn sleep_at_once(&self, deadline: Deadline) -> Decision {
        if self.waiter.spin.looks() {
            return self.sleep_after_looking(deadline);
        }
        let decision = self.sleep_undecided(self.begun, deadline);
        self.waiter.spin.is_over(Some(self.slot));
        decision
    }

    #[inline(never)]
    fn sleep_after_looking(&self, deadline: Deadline) -> Decision {
        self.sleep(deadline)
    }

    /// [`Epoch::sleep`] for a wait that was undecided when its word was `seen`. Most waits sleep once.
    #[inline(always)]
    fn sleep_undecided(&self, seen: WaiterWord, deadline: Deadline) -> Decision {
        let slept = self.sleep_once(seen, deadline, false);
        if slept.has_slept()
            && let Some(decision) = self.decision_in(slept.seen)
        {
            self.woke(decision);
            return decision;
        }
        self.sleep_on(slept, deadline)
    }

    #[cold]
    fn sleep_on(&self, mut slept: Slept, deadline: Deadline) -> Decision {
        let mut has_slept = false;
        while self.waiter.budget.round() {
            has_slept |= slept.has_slept();
            let seen = slept.woken.map_or(slept.seen, |woken| self.stirs(slept.seen, woken, deadline));
            if let Some(decision) = self.decision_in(seen) {
                if has_slept {
                    self.woke(decision);
                }
                return decision;
            }
            slept = self.sleep_once(seen, deadline, has_slept);
        }
        Decision::Nothing
    }

    /// Sleeps until somebody may have changed the word.
    #[inline(always)]
    fn sleep_once(&self, seen: WaiterWord, deadline: Deadline, has_slept: bool) -> Slept {
        if !seen.is_parked() && !self.park(seen, deadline) {
            return Slept { seen: self.load(), woken: None };
        }
        self.waiter.sleeps.set(self.waiter.sleeps.get() + 1);
        observe::sleeps(self.arena, self.slot, has_slept);
        self.waiter.spin.sleeps();
        let woken = futex::wait(self.slot.word.futex_address(), seen.parked().futex(), deadline);
        Slept { seen: self.load(), woken: Some(woken) }
    }

    /// Woken undecided, at this word: ends the wait if its deadline has passed. Returns the word then.
    fn stirs(&self, now: WaiterWord, woken: Woken, deadline: Deadline) -> WaiterWord {
        // A word that changes constantly would keep the kernel from checking the deadline.
        if woken == Woken::TimedOut || deadline.passed() {
            self.withdraw();
            return self.load();
        }
        if now.is_parked() {
            // By a signal, or spuriously: a long wait may see any number of these.
            self.waiter.budget.renew();
        }
        now
    }

    /// Says what a wait that has slept has come to. Most are given one object.
    #[inline(always)]
    pub(super) fn woke(&self, decision: Decision) {
        match decision {
            Decision::Object { index, .. } => observe::woke(self.arena, self.slot, What::Acquires { object: index }),
            Decision::Everything { .. } => observe::woke(self.arena, self.slot, What::AcquiresAll),
            Decision::Nothing => observe::woke(self.arena, self.slot, What::GivesUp),
        }
    }

    /// Says that the thread sleeps, unless its word has changed.
    #[inline(always)]
    fn park(&self, seen: WaiterWord, deadline: Deadline) -> bool {
        // O-notes: before the word says that the thread sleeps.
        observe::falls_asleep(self.slot, deadline);
        self.slot.exchange(seen, seen.parked())
    }

    /// Spins on the own word.
    #[cold]
    pub(super) fn look(&self) {
        let before = self.load();
        if before.is_open() {
            let is_decided = || self.slot.word.load_low() != before.0.low && self.decision().is_some();
            self.waiter.spin.look(Site::Queued, || is_decided().then_some(true));
        }
    }
}

impl Drop for Epoch<'_> {
    fn drop(&mut self) {
        self.waiter.end_wait();
        if let Some(will) = self.will.take() {
            self.waiter.robust().forget(will);
        }
    }
}

/// Begins an epoch. Nobody else changes the waiter's word before this.
pub(crate) fn begin<'a>(
    arena: &'a Arena,
    waiter: &'a Waiter,
    state: WaiterState,
    request: Option<&Request<'_>>,
) -> Result<Epoch<'a>> {
    begin_with(arena, waiter, state, |slot| {
        if let Some(request) = request {
            slot.wants(request.objects().len(), request.iter(), request.owner);
        }
    })
}

/// Begins an epoch; `write` writes into the slot what is wanted.
#[inline(always)]
pub(crate) fn begin_with<'a>(
    arena: &'a Arena,
    waiter: &'a Waiter,
    state: WaiterState,
    write: impl FnOnce(&WaiterSlot),
) -> Result<Epoch<'a>> {
    begin_in(arena, waiter, enroll(arena, waiter)?, state, write)
}

/// The same in a slot that the thread has besides its own.
#[inline(always)]
pub(super) fn begin_in<'a>(
    arena: &'a Arena,
    waiter: &'a Waiter,
    (index, slot): (u32, &'a WaiterSlot),
    state: WaiterState,
    write: impl FnOnce(&WaiterSlot),
) -> Result<Epoch<'a>> {
    let ticket = draw(arena)?;
    write(slot);
    let named = if planted(Bug::NoWill) { core::ptr::null() } else { slot.word.futex_address() };
    let will = waiter.robust().owe(named);
    let word = WaiterWord::new(state, ticket, waiter.thread_id.get());
    for _ in 0..RETRIES {
        // The exchange confirms both halves.
        if slot.exchange(WaiterWord(slot.word.glance()), word) {
            waiter.begin_wait(slot, ticket);
            return Ok(Epoch { arena, waiter, index, slot, ticket, begun: word, will: Some(will) });
        }
    }
    waiter.robust().forget(will);
    Err(Error::Corrupt)
}

/// Returns true if no ticket was drawn after this one.
pub(crate) fn is_last_ticket(arena: &Arena, ticket: Ticket) -> bool {
    Ticket::new(arena.header().ticket.0.load()) == ticket
}

/// Draws the next ticket. Number 0 is skipped, because an empty place of a wait set is 0.
#[inline(always)]
fn draw(arena: &Arena) -> Result<Ticket> {
    let mut drawn = (0..RETRIES).map(|_| Ticket::new(arena.header().ticket.0.fetch_add(1).wrapping_add(1)));
    drawn.find(|ticket| ticket.number() != 0).ok_or(Error::Corrupt)
}
