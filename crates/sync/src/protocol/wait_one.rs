// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waits for one object.
//!
//! # Role
//! The common case of a wait-any, unless the object is a timer.
//! Its fast exit ([`at_once`]) is one exchange of the word that a glance has found. There is no order among objects to keep, and no instant at which to join several queues: the
//! thread takes the object when it finds it available, or joins its queue and sleeps. A thread that finds it unavailable and does
//! not spin goes straight to the queue, with the word that it has seen; only if that word changes meanwhile does it look again.
//!
//! # Transitions
//! ```text
//!  look ----------------> taken                     one exchange
//!   |  \----------------> timed out                 not available, deadline passed, not changed between two looks
//!  spin ----------------> look                      it came free
//!   |
//!  queue -> sleep ------> satisfied | withdrawn -> out of the queue
//! ```
//! # Invariants
//! I-any-2 of [`super::wait_any`], I-wait of [`super::wait`].
//!
//! # Order
//! O-set and O-self as in [`super::claim`].
//!
//! # Death
//! That of any wait ([`super::wait`]).

use core::num::NonZeroU64;

use ntux_platform::clock::Deadline;

use super::epoch::{Decision, Epoch, begin_with};
use super::look::{Look, look};
use super::owner;
use super::queueing::{Joined, Raised, raise, raise_or_claim};
use super::request::Request;
use super::spin::Site;
use super::timer;
use super::wait::{Round, conclude, outcome, see_one_at_rest, take};
use super::wait_any::wait_any_slowly;
use super::waiter::Waiter;
use crate::arena::Arena;
use crate::arena::wait_set::Place;
use crate::format::entry::Entry;
use crate::format::layout::ObjectSlot;
use crate::format::object_word::{ObjectWord, W, WA};
use crate::format::waiter_word::WaiterState;
use crate::kind::Access;
use crate::{Error, Object, Result, Satisfied, observe};

/// A wait for one object.
struct Wait<'a> {
    arena: &'a Arena,
    waiter: &'a Waiter,
    object: Object,
    slot: &'a ObjectSlot,
    owner: u32,
    deadline: Deadline,
}

/// What a glance at the object has come to.
enum Glance {
    Taken(Satisfied),
    /// It was not available if it had this word, which an exchange can confirm.
    Missing(ObjectWord),
    Unknown,
}

/// Waits for one object. `owner`: not 0.
///
/// Errors: those of [`Arena::wait_any`].
#[inline(always)]
pub(super) fn wait_one(
    arena: &Arena,
    waiter: &Waiter,
    object: Object,
    owner: u32,
    deadline: Deadline,
) -> Result<Satisfied> {
    let slot = arena.object_slot(object.index()).ok_or(Error::Invalid)?;
    let wait = Wait { arena, waiter, object, slot, owner, deadline };
    match exchange_once(waiter, object, slot, owner) {
        Glance::Taken(satisfied) => Ok(satisfied),
        Glance::Missing(seen) => wait.queue_at_once(seen),
        Glance::Unknown => wait.look_first(),
    }
}

/// Acquires an object if that is one exchange: the object is at rest, available to this owner, which is not 0, and consumed by a wait. (A
/// manual-reset event does not change, so no exchange could confirm that it was signaled.) `None` if nothing has happened. It does not
/// enter the kernel, panic, or help another thread.
#[inline(always)]
pub(crate) fn at_once(arena: &Arena, waiter: &Waiter, object: Object, owner: u32) -> Option<Satisfied> {
    match exchange_once(waiter, object, arena.object_slot(object.index())?, owner) {
        Glance::Taken(satisfied) => Some(satisfied),
        Glance::Missing(_) | Glance::Unknown => None,
    }
}

/// [`at_once`], and what it has found.
#[inline(always)]
fn exchange_once(waiter: &Waiter, object: Object, slot: &ObjectSlot, owner: u32) -> Glance {
    // Before meta (I-object-1).
    let seen = slot.glance();
    let Some(kind) = slot.kind_if_live_untimed(object).filter(|_| !seen.is_claimed()) else { return Glance::Unknown };
    match kind.access(seen, &slot.extra, owner) {
        Access::Open(next) if kind.is_consumed() => {
            let next = waiter.mark.taking(kind, next);
            let abandoned = kind.was_abandoned(seen);
            match slot.exchange(seen, next) {
                true => Glance::Taken(Satisfied { index: 0, abandoned }),
                false => Glance::Unknown,
            }
        }
        Access::Closed if !kind.access_depends_on_beside(seen) => Glance::Missing(seen),
        _ => Glance::Unknown,
    }
}

impl Wait<'_> {
    /// Queues without another look, unless the thread spins. `seen`: as in [`Wait::queue`].
    #[inline(never)]
    fn queue_at_once(&self, seen: ObjectWord) -> Result<Satisfied> {
        let &Wait { arena, waiter, object, deadline, .. } = self;
        waiter.budget.renew();
        if deadline.passed() {
            return self.look_and_queue(false);
        }
        waiter.spin.begin(arena.spins(), object, deadline);
        if waiter.spin.looks() {
            return self.look_and_queue(true);
        }
        match self.queue(seen, waiter.spin.began_ns())? {
            Round::Satisfied(satisfied) => Ok(satisfied),
            Round::Again => self.look_and_queue(true),
        }
    }

    /// Begins a wait of which the glance knows nothing.
    #[inline(never)]
    fn look_first(&self) -> Result<Satisfied> {
        let kind = self.slot.kind_if_live(self.object).ok_or(Error::Invalid)?;
        self.waiter.budget.renew();
        if kind.is_timed() {
            return wait_any_slowly(self.arena, self.waiter, &self.request()?, self.deadline);
        }
        self.look_and_queue(false)
    }

    /// Takes the object, or queues for it, until one of them succeeds. `spins`: the adaptive spin of this wait has begun.
    #[cold]
    fn look_and_queue(&self, mut spins: bool) -> Result<Satisfied> {
        let &Wait { arena, waiter, object, slot, owner, deadline } = self;
        while waiter.budget.round() {
            let round = match look(arena, waiter, object, owner)? {
                Look::Available { seen, next } => take(slot, seen, next, 0),
                Look::Unavailable(seen) if !deadline.passed() => {
                    if !core::mem::replace(&mut spins, true) {
                        waiter.spin.begin(arena.spins(), object, deadline);
                    }
                    // A thread that repeatedly loses the race queues when its time to spin is used up.
                    if self.comes_free(seen) { Round::Again } else { self.queue(seen, None)? }
                }
                Look::Unavailable(_) if waiter.is_interrupted() => return Err(Error::Interrupted),
                Look::Unavailable(seen) if slot.word.load_low() != seen.low() => Round::Again,
                Look::Unavailable(_) if self.must_look() && self.came_free()? => Round::Again,
                Look::Unavailable(_) => return Err(Error::TimedOut),
            };
            if let Round::Satisfied(satisfied) = round {
                if spins {
                    waiter.spin.is_over(None);
                }
                return Ok(satisfied);
            }
        }
        Err(Error::Corrupt)
    }

    /// Spins on an unavailable object for a while before the thread queues for it. A thread that takes the object without
    /// having queued needs no hand-over; once a thread is in the queue every unlock must hand over and wake, and two busy
    /// threads continue so for ever. Nobody is overtaken: as soon as another thread queues, this one does, too.
    fn comes_free(&self, before: ObjectWord) -> bool {
        let &Wait { waiter, slot, .. } = self;
        let kind = slot.kind();
        let mut changes = 0;
        let comes_free = waiter.spin.look(Site::Object, || {
            if waiter.spin.looks_rarely() {
                slot.word.expect_exchange();
            }
            let seen = slot.load();
            changes = before.changes_until(seen);
            if seen.has(W | WA) || seen.is_claimed() || waiter.is_interrupted() {
                return Some(false);
            }
            matches!(kind.access(seen, &slot.extra, self.owner), Access::Open(_)).then_some(true)
        });
        waiter.spin.saw_changes(changes);
        comes_free
    }

    /// One round in the object's queue. `seen`: a word with which the object was unavailable. `since`: a time after it was read, if there
    /// is one already.
    #[inline(always)]
    fn queue(&self, seen: ObjectWord, since: Option<NonZeroU64>) -> Result<Round> {
        let &Wait { arena, waiter, object, slot, owner, deadline } = self;
        // Waiting, not queueing: nobody can tell when it joined a single queue.
        let epoch = begin_with(arena, waiter, WaiterState::Waiting, |slot| slot.wants_one(object, owner))?;
        let entry = Entry::new(epoch.index, epoch.ticket, 0, false);
        // From now on an interrupt withdraws the wait at once; an earlier one ends it here.
        if waiter.is_interrupted() {
            return self.end_unqueued(&epoch, Ok(Joined::Disturbed));
        }
        let place = match arena.put(&waiter.budget, object.index(), slot, entry) {
            Ok(place) => place,
            Err(error) => return self.end_unqueued(&epoch, Err(error)),
        };
        let joined = self.join(&epoch, seen, since);
        let decision = match joined {
            Ok(Joined::AllQueues) if self.must_look() => return self.sleep_and_look(&epoch, place, entry),
            Ok(Joined::AllQueues) => epoch.sleep_at_once(deadline),
            _ => conclude(&epoch, false, deadline),
        };
        let satisfied = self.see_at_rest(&epoch, decision);
        place.empty(entry);
        outcome(waiter, satisfied?, joined)
    }

    /// Returns true if the thread must look at the owner of the object while it sleeps.
    #[inline(always)]
    fn must_look(&self) -> bool {
        owner::must_look(self.arena, self.owner, self.slot.kind())
    }

    #[cold]
    #[inline(never)]
    fn came_free(&self) -> Result<bool> {
        owner::came_free(self.arena, self.waiter, &self.request()?)
    }

    /// The rest of a round in the queue of a mutex whose owner may end without telling anybody.
    #[cold]
    fn sleep_and_look(&self, epoch: &Epoch<'_>, place: Place<'_>, entry: Entry) -> Result<Round> {
        let (decision, joined) = timer::conclude(epoch, &self.request()?, Ok(Joined::AllQueues), self.deadline);
        let satisfied = self.see_at_rest(epoch, decision);
        place.empty(entry);
        outcome(self.waiter, satisfied?, joined)
    }

    fn request(&self) -> Result<Request<'_>> {
        Request::new(core::slice::from_ref(&self.object), None, self.owner)
    }

    /// The end of a round without a place in the queue.
    #[cold]
    fn end_unqueued(&self, epoch: &Epoch<'_>, joined: Result<Joined>) -> Result<Round> {
        let decision = conclude(epoch, false, self.deadline);
        outcome(self.waiter, self.see_at_rest(epoch, decision)?, joined)
    }

    /// Raises the flag, unless the wait is decided on the way. If the word is still the one that was `seen`, an exchange is all.
    #[inline(always)]
    fn join(&self, epoch: &Epoch<'_>, seen: ObjectWord, since: Option<NonZeroU64>) -> Result<Joined> {
        let &Wait { arena, slot, object, owner, .. } = self;
        // O-set
        if raise(slot, seen) {
            // O-since
            self.joined(epoch, seen, since);
            return Ok(Joined::AllQueues);
        }
        match raise_or_claim(arena, epoch, slot, object, owner)? {
            Raised::Over(seen) => {
                self.joined(epoch, seen, None);
                Ok(Joined::AllQueues)
            }
            Raised::Decided => Ok(Joined::Disturbed),
        }
    }

    #[inline(always)]
    fn joined(&self, epoch: &Epoch<'_>, seen: ObjectWord, since: Option<NonZeroU64>) {
        observe::joined(epoch.slot, 0, seen);
        observe::in_line(epoch.slot, since);
    }

    /// [`super::wait::see_at_rest`], where there is one object only.
    #[inline(always)]
    fn see_at_rest(&self, epoch: &Epoch<'_>, decision: Decision) -> Result<Option<Satisfied>> {
        match decision {
            Decision::Object { index, abandoned } if index == self.object.index() => {
                see_one_at_rest(self.arena, epoch, index, self.slot)?;
                Ok(Some(Satisfied { index: 0, abandoned }))
            }
            Decision::Nothing => Ok(None),
            _ => Err(Error::Corrupt),
        }
    }
}
