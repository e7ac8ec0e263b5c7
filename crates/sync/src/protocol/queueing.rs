// SPDX-License-Identifier: MIT OR Apache-2.0
//! Joins several queues in one step.
//!
//! # Role
//! A wait registers with one object after the other: an entry into the wait set, then the flag. To all others it must
//! join all queues at one instant. If it counted in each queue from its entry on, with the ticket that it drew before,
//! a pulse before its last entry could miss it, and yet it would be served before somebody who queued earlier. So its
//! word says `Queueing` until it is in all queues, and nobody gives it anything. A thread that would have served it
//! withdraws it instead, and it restarts with a new ticket.
//!
//! # Picture
//! ```text
//!  look        ticket      entry, flag     entry, flag        stand
//! ---|------------|-------------|---------------|---------------|-----> Waiting
//!  versions       |         object 0        object 1        own word: Queueing -> Waiting
//!                 |                             |
//!              instant 1                    instant 2
//! ```
//! * Instant 1, if every object still had the version of the check when its flag was raised.
//! * Instant 2, otherwise: allowed only if nobody has drawn a ticket since instant 1.
//!
//! # Transitions
//! Those of the waiter's word from `Queueing`, see [`crate::format::waiter_word`]. A wait that was disturbed
//! [`QUEUEING_TRIES`] times is `Waiting` from its ticket on: so others cannot keep it out of its queues for ever, but
//! it may be served too early, as above.
//!
//! # Invariants
//! * I-queue-1: from raising an object's flag until the instant, no operation on that object came to serve this wait,
//!   because a scan that meets it withdraws it. So an object that could not be taken when its flag was raised cannot be
//!   taken at the instant either (for a wait-all, one such object is enough).
//! * I-queue-2: tickets are in the order of the instants. Instant 1 is that of the ticket; at instant 2 every other
//!   ticket is older, or is drawn later.
//! * I-queue-3: a queueing wait may claim an available object for itself, like a waiting one (C1), because the objects
//!   before it in the list could not be taken at that moment (I-queue-1).
//!
//! A wait for one object ([`super::wait_one`]) is `Waiting` from its ticket on: nobody can tell when it joined a single queue,
//! as long as the waiters in it are served in the order of their tickets.
//!
//! # Order
//! * O-set as in [`crate::protocol::claim`].
//! * O-queue: the flags are raised (exchange) before the ticket counter is read (load). A wait that this one could
//!   overtake was queued before a signal that missed this one. The exchange of the flag comes after that signal, so the
//!   read sees its ticket. A wait whose ticket the read does not see has its own instant later.
//!
//! # Death
//! Before the instant the wait is in no queue: scans withdraw it, or find it marked by the kernel
//! ([`crate::format::waiter_word`]).

use core::num::NonZeroU64;

use super::admission::try_everything;
use super::claim::help;
use super::epoch::{Epoch, is_last_ticket};
use super::look::{Look, look, look_for_all};
use super::request::Request;
use crate::arena::Arena;
use crate::arena::wait_set::Place;
use crate::format::entry::Entry;
use crate::format::layout::ObjectSlot;
use crate::format::limits::{LIST_MAX, QUEUEING_TRIES};
use crate::format::object_word::{Claimant, ObjectWord, W, WA};
use crate::format::waiter_word::WaiterState;
use crate::planted::{Bug, planted};
use crate::{Error, Object, Result, observe};

/// A place in a wait set, and the entry that was put there.
pub(crate) type Registered<'a> = (Place<'a>, Entry);
/// The places of one wait, one for each object and for the alert.
pub(crate) type Places<'a> = [Option<Registered<'a>>];
/// A wait for at most so many needs only a short list of places: a long one takes longer to empty than a short wait.
pub(crate) const FEW: usize = 4;

/// Takes a wait out of its queues.
pub(super) fn empty(places: &Places<'_>) {
    for (place, entry) in places.iter().flatten() {
        place.empty(*entry);
    }
}

/// The state of a wait that is joining its queues.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Joined {
    /// It is in all of them, since one instant.
    AllQueues,
    /// It is not: it is decided already, or it was disturbed and must be retried.
    Disturbed,
}

/// What has become of the flag of one object.
#[must_use]
pub(super) enum Raised {
    /// It is up; the word before. (The slot of a closed object is left as it is.)
    Over(ObjectWord),
    /// The wait is decided.
    Decided,
}

/// What a wait knows when it starts to queue.
pub(crate) struct Queueing {
    /// The objects' words at the last check, as far as it went.
    versions: [u64; LIST_MAX],
    seen: usize,
    /// When the wait began, if that was after the last check, and is known.
    began_ns: Option<NonZeroU64>,
    /// An object has changed since the last check.
    moved: bool,
    /// How often the wait has restarted.
    disturbed: u32,
    /// One of the objects, or the alert, is a timer; or one is a mutex at whose owner the wait must look.
    must_look: bool,
}

impl Queueing {
    pub fn new(must_look: bool) -> Queueing {
        Queueing { versions: [0; LIST_MAX], seen: 0, began_ns: None, moved: false, disturbed: 0, must_look }
    }

    /// Returns true if the thread must not sleep longer than until a timer is due, or it is time to look at an owner.
    pub fn must_look(&self) -> bool {
        self.must_look
    }

    /// Begins a check, at the first object.
    #[inline(always)]
    pub fn look_anew(&mut self) {
        self.seen = 0;
        self.began_ns = None;
        self.moved = false;
    }

    /// The wait began at this time, after the check.
    #[inline(always)]
    pub fn begins(&mut self, began_ns: Option<NonZeroU64>) {
        self.began_ns = began_ns;
    }

    /// Records the word of the next object.
    #[inline(always)]
    pub fn saw(&mut self, word: ObjectWord) {
        self.versions[self.seen] = word.low();
        self.seen += 1;
    }

    /// The recorded versions, from the first object on.
    #[inline(always)]
    pub fn versions(&self) -> &[u64] {
        &self.versions[..self.seen]
    }

    /// Counts a restart.
    pub fn disturb(&mut self) {
        self.disturbed += 1;
    }

    /// Returns true if it has restarted too often.
    pub fn is_hopeless(&self) -> bool {
        self.disturbed >= QUEUEING_TRIES || planted(Bug::QueueAtOnce)
    }

    /// The initial state of a wait for several objects.
    pub fn state(&self) -> WaiterState {
        if self.is_hopeless() { WaiterState::Waiting } else { WaiterState::Queueing }
    }

    /// The wait has joined the queue at this position, whose object had this word.
    fn joins(&mut self, epoch: &Epoch<'_>, position: usize, word: ObjectWord) {
        observe::joined(epoch.slot, position, word);
        self.moved |= self.versions().get(position) != Some(&word.low());
    }
}

/// Joins the queues of all objects, unless one of them can be taken on the way.
///
/// Errors: `Exhausted` (no room in a wait set), `Invalid`.
pub(crate) fn queue_any<'a>(
    arena: &'a Arena,
    epoch: &Epoch<'_>,
    request: &Request<'_>,
    queueing: &mut Queueing,
    places: &mut Places<'a>,
) -> Result<Joined> {
    join_any(arena, epoch, request, 0..request.length(), queueing, places)?;
    Ok(stand(arena, epoch, queueing))
}

/// Joins the queues of all objects together, and of the alert.
pub(crate) fn queue_all<'a>(
    arena: &'a Arena,
    epoch: &Epoch<'_>,
    request: &Request<'_>,
    queueing: &mut Queueing,
    places: &mut Places<'a>,
) -> Result<Joined> {
    let missing = join_all(arena, epoch, request, queueing, places)?;
    let attempts = queueing.is_hopeless();
    if attempts {
        try_everything(arena, epoch.waiter, epoch.index, epoch.slot, epoch.ticket)?;
    } else if !missing {
        queueing.disturb();
        return Ok(Joined::Disturbed);
    }
    if epoch.is_open() && request.has_alert() {
        // Objects come before the alert, and one of them is unavailable.
        join_any(arena, epoch, request, request.objects().len()..request.length(), queueing, places)?;
        if attempts && epoch.is_open() {
            try_everything(arena, epoch.waiter, epoch.index, epoch.slot, epoch.ticket)?;
        }
    }
    Ok(stand(arena, epoch, queueing))
}

/// Puts the wait into all its queues, if its ticket still gives the order.
fn stand(arena: &Arena, epoch: &Epoch<'_>, queueing: &mut Queueing) -> Joined {
    // O-since
    observe::in_line(epoch.slot, queueing.began_ns.filter(|_| !queueing.moved));
    let own = epoch.load();
    // O-queue
    let in_order = || !queueing.moved || planted(Bug::QueueMoved) || is_last_ticket(arena, epoch.ticket);
    let stands = match own.state() {
        WaiterState::Waiting => true,
        WaiterState::Queueing => in_order() && epoch.slot.exchange(own, own.queued()),
        _ => false,
    };
    if stands {
        return Joined::AllQueues;
    }
    queueing.disturb();
    Joined::Disturbed
}

/// Puts an entry for any of these objects into the wait set of each, unless one of them can be taken on the way.
fn join_any<'a>(
    arena: &'a Arena,
    epoch: &Epoch<'_>,
    request: &Request<'_>,
    positions: core::ops::Range<usize>,
    queueing: &mut Queueing,
    places: &mut Places<'a>,
) -> Result<()> {
    for position in positions {
        // From now on an interrupt withdraws the wait at once; an earlier one ends it here, before it is in any queue.
        if !epoch.is_open() || epoch.waiter.is_interrupted() {
            return Ok(());
        }
        if request.is_repeated(position) {
            continue;
        }
        let object = request.get(position).ok_or(Error::Corrupt)?;
        let slot = arena.object_slot(object.index()).ok_or(Error::Invalid)?;
        let entry = Entry::new(epoch.index, epoch.ticket, position, false);
        places[position] = Some((arena.put(&epoch.waiter.budget, object.index(), slot, entry)?, entry));
        if let Raised::Over(seen) = raise_or_claim(arena, epoch, slot, object, request.owner)? {
            queueing.joins(epoch, position, seen);
        }
    }
    Ok(())
}

/// Raises `W`, or claims the object for the waiter itself if it is available.
pub(super) fn raise_or_claim(
    arena: &Arena,
    epoch: &Epoch<'_>,
    slot: &ObjectSlot,
    object: Object,
    owner: u32,
) -> Result<Raised> {
    while epoch.waiter.budget.round() {
        match look(arena, epoch.waiter, object, owner)? {
            Look::Unavailable(seen) if slot.kind_if_live(object).is_none() => return Ok(Raised::Over(seen)),
            Look::Unavailable(seen) => {
                if raise(slot, seen) {
                    return Ok(Raised::Over(seen));
                }
            }
            Look::Available { seen, next } => {
                if claim_for_self(arena, epoch, slot, object, seen, next)? {
                    return Ok(Raised::Decided);
                }
            }
        }
        if !epoch.is_open() {
            return Ok(Raised::Decided);
        }
    }
    Err(Error::Corrupt)
}

/// Raises `W`, if the word is still the one that was seen.
#[inline(always)]
pub(super) fn raise(slot: &ObjectSlot, seen: ObjectWord) -> bool {
    planted(Bug::NoRegisterBump) && seen.has(W) || slot.exchange(seen, seen.with(W))
}

/// Claims an available object in the waiter's own name. Returns whether the wait is decided.
fn claim_for_self(
    arena: &Arena,
    epoch: &Epoch<'_>,
    slot: &ObjectSlot,
    object: Object,
    seen: ObjectWord,
    next: ObjectWord,
) -> Result<bool> {
    let own = epoch.load();
    // C1: reads the own word after the copy of the object's word.
    if !own.is_open() && !planted(Bug::SelfNoCheck) {
        return Ok(true);
    }
    if next == seen {
        epoch.slot.exchange(own, own.satisfied(object.index(), false));
    } else if slot.exchange(seen, seen.claimed_for(Claimant::Waiter(epoch.index), epoch.ticket.tag())) {
        help(arena, epoch.waiter, object.index(), slot.load())?;
    }
    Ok(!epoch.is_open())
}

/// Puts an entry for all objects together into the wait set of each. Returns whether one of them could not be taken
/// when its flag was raised.
fn join_all<'a>(
    arena: &'a Arena,
    epoch: &Epoch<'_>,
    request: &Request<'_>,
    queueing: &mut Queueing,
    places: &mut Places<'a>,
) -> Result<bool> {
    let mut missing = false;
    for (position, &object) in request.objects().iter().enumerate() {
        let slot = arena.object_slot(object.index()).ok_or(Error::Corrupt)?;
        let entry = Entry::new(epoch.index, epoch.ticket, position, true);
        places[position] = Some((arena.put(&epoch.waiter.budget, object.index(), slot, entry)?, entry));
        let look = raise_all(arena, epoch, object, request.owner)?;
        missing |= look.is_unavailable();
        queueing.joins(epoch, position, look.seen());
    }
    Ok(missing)
}

/// Raises `WA`. Returns what stood there.
fn raise_all(arena: &Arena, epoch: &Epoch<'_>, object: Object, owner: u32) -> Result<Look> {
    let slot = arena.object_slot(object.index()).ok_or(Error::Invalid)?;
    while epoch.waiter.budget.round() {
        let look = look_for_all(arena, epoch.waiter, object, owner)?;
        // A slot that another object uses by now is left alone.
        if !slot.still_has(object) || slot.exchange(look.seen(), look.seen().with(WA)) {
            return Ok(look);
        }
    }
    Err(Error::Corrupt)
}
