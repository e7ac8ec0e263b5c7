//! Waits for one object.
//!
//! # Role
//! The common case of a wait-any. There is no order among objects to keep, and no instant at which to join several queues: the
//! thread takes the object when it finds it available, or joins its queue and sleeps.
//!
//! # Transitions
//! ```text
//!  look ----------------> taken                     one exchange
//!   |  \----------------> timed out                 not available, deadline passed, not changed between two looks
//!  spin ----------------> look                      it came free
//!   |
//!  queue -> sleep ------> satisfied | withdrawn -> leave
//! ```
//! # Invariants
//! I-any-2 and I-any-3 of [`super::wait_any`].
//!
//! # Order
//! O-set and O-self as in [`super::claim`].
//!
//! # Death
//! As in [`super::wait_any`].

use ntux_platform::clock::Deadline;

use super::epoch::{Epoch, begin};
use super::look::{Look, look};
use super::queueing::{Joined, Raised, raise_or_claim};
use super::request::Request;
use super::spin::Site;
use super::wait_any::{Round, conclude, outcome, see_at_rest};
use super::waiter::Waiter;
use crate::arena::Arena;
use crate::format::entry::Entry;
use crate::format::layout::ObjectSlot;
use crate::format::object_word::{ObjectWord, W, WA};
use crate::format::waiter_word::WaiterState;
use crate::kind::Access;
use crate::{Error, Object, Result, Satisfied};

/// A wait for the one object of a request without an alert.
struct Wait<'a> {
    arena: &'a Arena,
    waiter: &'a Waiter,
    object: Object,
    slot: &'a ObjectSlot,
    request: &'a Request<'a>,
    deadline: Deadline,
}

/// Waits for the one object of the request, which has no alert. If it is available, this is one exchange of the predicted word.
///
/// Errors: those of [`Arena::wait_any`].
#[inline(always)]
pub(super) fn wait_one(
    arena: &Arena,
    waiter: &Waiter,
    object: Object,
    request: &Request<'_>,
    deadline: Deadline,
) -> Result<Satisfied> {
    match take_at_once(arena, waiter, object, request.owner) {
        Some(satisfied) => Ok(satisfied),
        None => wait_slowly(arena, waiter, object, request, deadline),
    }
}

#[inline(always)]
fn take_at_once(arena: &Arena, waiter: &Waiter, object: Object, owner: u32) -> Option<Satisfied> {
    let slot = arena.object_slot(object.index())?;
    let seen = waiter.guess(slot, object);
    let kind = slot.kind_if_live(object)?;
    if seen.is_claimed() || !kind.is_consumed() {
        return None;
    }
    let Access::Open(next) = kind.access(seen, &slot.extra, owner) else { return None };
    let abandoned = kind.was_abandoned(seen);
    waiter.exchange_guess(slot, object, seen, next).then_some(Satisfied { index: 0, abandoned })
}

#[inline(never)]
fn wait_slowly(
    arena: &Arena,
    waiter: &Waiter,
    object: Object,
    request: &Request<'_>,
    deadline: Deadline,
) -> Result<Satisfied> {
    waiter.budget.renew();
    let slot = arena.object_slot(object.index()).ok_or(Error::Invalid)?;
    slot.kind_if_live(object).ok_or(Error::Invalid)?;
    let wait = Wait { arena, waiter, object, slot, request, deadline };
    let mut begins = true;
    while waiter.budget.round() {
        let round = match look(arena, waiter, object, request.owner)? {
            Look::Available { seen, next } => take(slot, seen, next),
            Look::Unavailable(seen) if !deadline.passed() => {
                if core::mem::take(&mut begins) {
                    waiter.spin.begin(arena.spins(), request, deadline);
                }
                // A thread that repeatedly loses the race queues when its time to spin is used up.
                if wait.comes_free(seen) { Round::Again } else { wait.queue()? }
            }
            Look::Unavailable(_) if waiter.is_interrupted() => return Err(Error::Interrupted),
            Look::Unavailable(seen) if slot.word.load_low() == seen.low() => return Err(Error::TimedOut),
            Look::Unavailable(_) => Round::Again,
        };
        if let Round::Satisfied(satisfied) = round {
            if !begins {
                waiter.spin.is_over(None);
            }
            return Ok(satisfied);
        }
    }
    Err(Error::Corrupt)
}

fn take(slot: &ObjectSlot, seen: ObjectWord, next: ObjectWord) -> Round {
    let abandoned = slot.kind().was_abandoned(seen);
    match next == seen || slot.exchange(seen, next) {
        true => Round::Satisfied(Satisfied { index: 0, abandoned }),
        false => Round::Again,
    }
}

impl Wait<'_> {
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
            matches!(kind.access(seen, &slot.extra, self.request.owner), Access::Open(_)).then_some(true)
        });
        waiter.spin.saw_changes(changes);
        comes_free
    }

    /// One round in the object's queue.
    #[inline(always)]
    fn queue(&self) -> Result<Round> {
        let &Wait { arena, waiter, object, request, deadline, .. } = self;
        // Waiting, not queueing: nobody can tell when it joined a single queue.
        let epoch = begin(arena, waiter, WaiterState::Waiting, Some(request))?;
        let entry = Entry::new(epoch.index, epoch.ticket, 0, false);
        let place = match waiter.is_interrupted() {
            true => None,
            false => Some(arena.put(&waiter.budget, object.index(), entry)),
        };
        let joined = match place {
            None => Ok(Joined::Disturbed),
            Some(Err(error)) => Err(error),
            Some(Ok(_)) => self.join(&epoch),
        };
        let decision = conclude(&epoch, joined == Ok(Joined::AllQueues), deadline);
        let satisfied = see_at_rest(arena, &epoch, request, decision);
        if let Some(Ok(place)) = place {
            place.empty(entry);
        }
        outcome(waiter, satisfied?, joined)
    }

    /// Raises the flag, unless the wait is decided on the way.
    #[inline(always)]
    fn join(&self, epoch: &Epoch<'_>) -> Result<Joined> {
        let &Wait { arena, slot, object, request, .. } = self;
        match raise_or_claim(arena, epoch, slot, object, request.owner)? {
            Raised::Over(_) if epoch.is_open() => Ok(Joined::AllQueues),
            _ => Ok(Joined::Disturbed),
        }
    }
}
