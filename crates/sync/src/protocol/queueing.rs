//! Joining several queues in one step.
//!
//! # Role
//! A wait registers with one object after the other: an entry into the wait set, then the flag. To everybody else it must have
//! joined all queues at one instant. If it counted in each queue from its own entry on, with the ticket that it drew before, it
//! could be passed by a pulse that comes before its last entry and yet be served before somebody who queued earlier. So
//! its word says `Queueing` until it is in all queues, and nobody gives it anything. Whoever would have served it withdraws it
//! instead, and it begins again with a new ticket.
//!
//! # Picture
//! ```text
//!  look        ticket      entry, flag     entry, flag        stand
//! ---|------------|-------------|---------------|---------------|-----> Waiting
//!  versions       |         object 0        object 1        own word: Queueing -> Waiting
//!                 |                             |
//!              instant 1                    instant 2
//! ```
//! * Instant 1, if every object still had its version from the look when its flag was raised.
//! * Instant 2, otherwise: allowed only if nobody has drawn a ticket since instant 1.
//!
//! # Transitions
//! Those of the waiter's word from `Queueing`, see [`crate::format::waiter_word`]. A wait that was disturbed [`QUEUEING_TRIES`]
//! times is `Waiting` from its ticket on: it cannot be kept out of its queues by others for ever, and may be served too early,
//! as above.
//!
//! # Invariants
//! * I-queue-1: from the flag of an object until it stands, the wait was the next one to be served by no operation on that
//!   object: a scan that comes to it withdraws it. So an object that could not be taken when its flag was raised cannot be
//!   taken at the instant either (for a wait-all: one such object is enough).
//! * I-queue-2: tickets are in the order of the instants. Instant 1 is that of the ticket; behind instant 2 every other
//!   ticket is older, or is drawn later.
//! * I-queue-3: what is available while a wait is queueing it may claim for itself, as one that waits (C1): everything before
//!   it in the list could not be taken at that moment (I-queue-1).
//!
//! A wait for one object is `Waiting` from its ticket on: of one queue alone nobody can tell when it was joined, as long as
//! those who are in it are served in the order of their tickets.
//!
//! # Order
//! * O-set as in [`crate::protocol::claim`].
//! * O-queue: the flags are raised (exchange) before the ticket counter is looked at (load). A wait that this one could
//!   overtake was queued before a signal that missed this one: the exchange of the flag comes after that signal, and so the
//!   look sees its ticket. One whose ticket the look does not see has its own instant later.
//!
//! # Death
//! Until it stands the wait is in no queue: scans withdraw it, or find it marked by the kernel
//! ([`crate::format::waiter_word`]).

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
use crate::{Error, Object, Result};

/// A place in a wait set, and the entry that was put there.
pub(crate) type Registered<'a> = (Place<'a>, Entry);
/// The places of one wait.
pub(crate) type Places<'a> = [Option<Registered<'a>>; LIST_MAX];

/// What a wait that joins its queues has come to.
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
enum Raised {
    /// It is up; the word before. (The slot of a closed object is left as it is.)
    Over(ObjectWord),
    /// The wait is decided.
    Decided,
}

/// What a wait knows when it begins to queue.
pub(crate) struct Queueing {
    /// The objects' words at the last look, as far as it went.
    versions: [u64; LIST_MAX],
    seen: usize,
    /// An object was not any more as at the last look.
    moved: bool,
    /// How often the wait has begun again.
    disturbed: u32,
}

impl Queueing {
    pub fn new() -> Queueing {
        Queueing { versions: [0; LIST_MAX], seen: 0, moved: false, disturbed: 0 }
    }

    /// Looks begin, at the first object.
    #[inline(always)]
    pub fn look_anew(&mut self) {
        self.seen = 0;
        self.moved = false;
    }

    /// The word of the next object.
    #[inline(always)]
    pub fn saw(&mut self, word: ObjectWord) {
        self.versions[self.seen] = word.low();
        self.seen += 1;
    }

    /// The versions that were seen, from the first object on.
    #[inline(always)]
    pub fn versions(&self) -> &[u64] {
        &self.versions[..self.seen]
    }

    /// One more time to begin again.
    pub fn disturb(&mut self) {
        self.disturbed += 1;
    }

    /// Whether it has begun again too often.
    pub fn is_hopeless(&self) -> bool {
        self.disturbed >= QUEUEING_TRIES || planted(Bug::QueueAtOnce)
    }

    /// In which state a wait for several objects begins.
    pub fn state(&self) -> WaiterState {
        if self.is_hopeless() { WaiterState::Waiting } else { WaiterState::Queueing }
    }

    fn compare(&mut self, position: usize, word: ObjectWord) {
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

/// As [`queue_any`], for all objects together and the alert.
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
        // Objects come before the alert; one of them is missing.
        join_any(arena, epoch, request, request.objects().len()..request.length(), queueing, places)?;
        if attempts && epoch.is_open() {
            try_everything(arena, epoch.waiter, epoch.index, epoch.slot, epoch.ticket)?;
        }
    }
    Ok(stand(arena, epoch, queueing))
}

/// From now on the wait is in all its queues, if its ticket still tells the order.
fn stand(arena: &Arena, epoch: &Epoch<'_>, queueing: &mut Queueing) -> Joined {
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
        // An interrupt from now on withdraws the wait at once; one from before ends it here, before it is in any queue.
        if !epoch.is_open() || epoch.waiter.is_interrupted() {
            return Ok(());
        }
        if request.is_repeated(position) {
            continue;
        }
        let object = request.get(position).ok_or(Error::Corrupt)?;
        let slot = arena.object_slot(object.index()).ok_or(Error::Invalid)?;
        let entry = Entry::new(epoch.index, epoch.ticket, position, false);
        if !planted(Bug::FlagFirst) {
            places[position] = Some((arena.put(&epoch.waiter.budget, object.index(), entry)?, entry));
        }
        if let Raised::Over(seen) = raise_or_claim(arena, epoch, slot, object, request.owner)? {
            queueing.compare(position, seen);
        }
        if planted(Bug::FlagFirst) {
            places[position] = Some((arena.put(&epoch.waiter.budget, object.index(), entry)?, entry));
        }
    }
    Ok(())
}

/// Raises `W`, or claims the object for the waiter itself if it is available.
fn raise_or_claim(arena: &Arena, epoch: &Epoch<'_>, slot: &ObjectSlot, object: Object, owner: u32) -> Result<Raised> {
    while epoch.waiter.budget.round() {
        match look(arena, epoch.waiter, object, owner)? {
            Look::Unavailable(seen) if slot.kind_if_live(object).is_none() => return Ok(Raised::Over(seen)),
            Look::Unavailable(seen) => {
                let raised = planted(Bug::NoRegisterBump) && seen.has(W) || slot.exchange(seen, seen.with(W));
                if raised {
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
    // C1: the own word after the copy of the object's.
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

/// Puts an entry for all objects together into the wait set of each. Returns whether one of them could not be taken when its flag
/// was raised.
fn join_all<'a>(
    arena: &'a Arena,
    epoch: &Epoch<'_>,
    request: &Request<'_>,
    queueing: &mut Queueing,
    places: &mut Places<'a>,
) -> Result<bool> {
    let mut missing = false;
    for (position, &object) in request.objects().iter().enumerate() {
        let entry = Entry::new(epoch.index, epoch.ticket, position, true);
        places[position] = Some((arena.put(&epoch.waiter.budget, object.index(), entry)?, entry));
        let look = raise_all(arena, epoch, object, request.owner)?;
        missing |= look.is_unavailable();
        queueing.compare(position, look.seen());
    }
    Ok(missing)
}

/// Raises `WA`. Returns what stood there.
fn raise_all(arena: &Arena, epoch: &Epoch<'_>, object: Object, owner: u32) -> Result<Look> {
    let slot = arena.object_slot(object.index()).ok_or(Error::Invalid)?;
    while epoch.waiter.budget.round() {
        let look = look_for_all(arena, epoch.waiter, object, owner)?;
        // A slot that is another object's by now is let alone.
        if !slot.still_has(object) || slot.exchange(look.seen(), look.seen().with(WA)) {
            return Ok(look);
        }
    }
    Err(Error::Corrupt)
}
