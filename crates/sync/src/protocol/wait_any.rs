//! Waiting for one of several objects.
//!
//! # Role
//! A wait that finds its first object available takes it with one exchange. Otherwise the thread either takes a later object
//! while proving that the earlier ones stayed as they were (a *probe*), or joins the queues of all
//! ([`crate::protocol::queueing`]) and sleeps.
//!
//! # Transitions
//! ```text
//!  look ----------------> taken                     first object: one exchange
//!   |  \---- probe -----> taken | queue             a later one: claim, look again at the earlier ones, decide, settle
//!   |  \----------------> timed out                 nothing available, deadline passed, nothing changed between two looks
//!  queue -> sleep ------> satisfied | withdrawn -> leave
//!     \-----------------> look                      disturbed while it queued
//! ```
//! # Invariants
//! * I-any-1: of the objects that are available at one instant the first in the list is taken. A look at several words is one
//!   instant if none of them changed until the last was seen; every change moves the sequence. (A poll that has to queue
//!   is a wait whose deadline has passed: until it withdraws it can be given an earlier object, by a pulse for example.)
//! * I-any-2: a waiter in its queues for whom an object is available has a claim on its way, or claims for itself (C1).
//! * I-any-3: the epoch ends after the object that satisfied it was seen at rest (C2) and after every entry was emptied.
//! * I-probe: while the waiter is `Probing`, whoever meets its claim withdraws it. So if the decision succeeds, nobody has seen
//!   the object since the claim; and the earlier objects were unavailable at the claim, because they were the same before
//!   and after it. A probe that fails is not repeated: the thread queues, which others cannot prevent for ever.
//!
//! # Order
//! O-set and O-arena as in [`crate::protocol::claim`].
//!
//! # Death
//! Before it is in its queues: nothing happened. In them: the kernel marks the waiter's word ([`crate::format::waiter_word`]),
//! so that no scan chooses it and no decision satisfies it any more; its entries are emptied by whoever meets them. (Without a
//! robust list: until its slot is inherited it can be given objects like a living one.) In a probe: whoever meets the claim
//! takes it away.

use ntux_platform::clock::Deadline;

use super::claim::{help, help_claim};
use super::epoch::{Decision, Epoch, begin};
use super::queueing::{Places, Queueing, queue_any};
use super::request::Request;
use super::scan::Ahead;
use super::waiter::Waiter;
use crate::arena::Arena;
use crate::format::layout::ObjectSlot;
use crate::format::limits::LIST_MAX;
use crate::format::object_word::{Claimant, ObjectWord, W, WA};
use crate::format::waiter_word::WaiterState;
use crate::kind::{Access, Kind};
use crate::planted::{Bug, planted};
use crate::{Error, Object, Result, Satisfied};

/// What a wait finds when it looks at an object.
pub(crate) enum Look {
    /// Not available; closed objects never are, but to a wait-all that began before.
    Unavailable(ObjectWord),
    /// Available: the word, and what acquiring makes of it. Equal for a manual-reset event.
    Available { seen: ObjectWord, next: ObjectWord },
}

/// What a wait finds when it looks at all its objects.
struct Found {
    position: usize,
    seen: ObjectWord,
    next: ObjectWord,
}

impl Look {
    /// The word.
    pub fn seen(&self) -> ObjectWord {
        match *self {
            Look::Unavailable(seen) | Look::Available { seen, .. } => seen,
        }
    }

    /// Whether the wait may not have it.
    pub fn is_unavailable(&self) -> bool {
        matches!(self, Look::Unavailable(_))
    }
}

/// See [`Arena::wait_any`].
#[inline]
pub(crate) fn wait_any(
    arena: &Arena,
    waiter: &Waiter,
    objects: &[Object],
    alert: Option<Object>,
    owner: u32,
    deadline: Deadline,
) -> Result<Satisfied> {
    let request = Request::new(objects, alert, owner)?;
    if let (&[object], None) = (objects, alert)
        && let Some(satisfied) = take_at_once(arena, waiter, object, owner)
    {
        return Ok(satisfied);
    }
    wait_any_slowly(arena, waiter, &request, deadline)
}

/// One exchange at a single object, of what is probably there.
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
fn wait_any_slowly(arena: &Arena, waiter: &Waiter, request: &Request<'_>, deadline: Deadline) -> Result<Satisfied> {
    waiter.budget.renew();
    check(arena, request)?;
    let mut may_spin = true;
    let mut queueing = Queueing::new();
    while waiter.budget.round() {
        let found = look_at_all(arena, waiter, request, &mut queueing)?;
        let satisfied = match found {
            Some(found) if found.position == 0 || planted(Bug::NaivePoll) => take(arena, request, &found),
            Some(found) => match probe(arena, waiter, request, &queueing, &found)? {
                None => wait_any_queued(arena, waiter, request, &mut queueing, deadline)?,
                probed => probed,
            },
            // Only once: a thread that is beaten to it again and again must get into the queue some time.
            None if !deadline.passed() => match core::mem::take(&mut may_spin) && comes_free(arena, waiter, request) {
                true => None,
                false => wait_any_queued(arena, waiter, request, &mut queueing, deadline)?,
            },
            None if waiter.is_interrupted() => return Err(Error::Interrupted),
            None if unchanged(arena, request, &queueing) => return Err(Error::TimedOut),
            None => None,
        };
        if let Some(satisfied) = satisfied {
            return Ok(satisfied);
        }
    }
    Err(Error::Corrupt)
}

/// Every object is known, or nothing happens.
pub(crate) fn check(arena: &Arena, request: &Request<'_>) -> Result<()> {
    let known = |object: Object| arena.kind_of(object).is_ok();
    if request.iter().all(known) { Ok(()) } else { Err(Error::Invalid) }
}

/// Looks at one object, after helping it to rest.
pub(crate) fn look(arena: &Arena, waiter: &Waiter, object: Object, owner: u32) -> Result<Look> {
    look_at(arena, waiter, object, owner, ObjectSlot::kind_if_live)
}

/// As [`look`], for a wait-all: closed or not, the wait began before that.
pub(crate) fn look_for_all(arena: &Arena, waiter: &Waiter, object: Object, owner: u32) -> Result<Look> {
    look_at(arena, waiter, object, owner, |slot, object| slot.still_has(object).then(|| slot.kind()))
}

/// `kind`: of the object, if it is there for this wait.
#[inline(always)]
fn look_at(
    arena: &Arena,
    waiter: &Waiter,
    object: Object,
    owner: u32,
    kind: impl Fn(&ObjectSlot, Object) -> Option<Kind>,
) -> Result<Look> {
    let slot = arena.object_slot(object.index()).ok_or(Error::Invalid)?;
    while waiter.budget.round() {
        let seen = slot.load();
        let Some(kind) = kind(slot, object) else {
            return Ok(Look::Unavailable(seen));
        };
        if seen.is_claimed() {
            help(arena, waiter, object.index(), seen)?;
            continue;
        }
        match kind.access(seen, &slot.extra, owner) {
            Access::Open(next) => return Ok(Look::Available { seen, next }),
            Access::Carry(carry) => {
                slot.exchange(seen, seen.claimed_for(carry, 0));
            }
            Access::Closed if kind.access_depends_on_beside(seen) && slot.load() != seen => {}
            Access::Closed => return Ok(Look::Unavailable(seen)),
        }
    }
    Err(Error::Corrupt)
}

/// The first available object; the words of those before it.
#[inline(always)]
fn look_at_all(
    arena: &Arena,
    waiter: &Waiter,
    request: &Request<'_>,
    queueing: &mut Queueing,
) -> Result<Option<Found>> {
    queueing.look_anew();
    for (position, object) in request.iter().enumerate() {
        match look(arena, waiter, object, request.owner)? {
            Look::Available { seen, next } => return Ok(Some(Found { position, seen, next })),
            Look::Unavailable(seen) => queueing.saw(seen),
        }
    }
    Ok(None)
}

/// Whether the objects that were seen are still as they were.
#[inline(always)]
fn unchanged(arena: &Arena, request: &Request<'_>, queueing: &Queueing) -> bool {
    let same = |(object, &version): (Object, &u64)| {
        arena.object_slot(object.index()).is_some_and(|slot| slot.word.load_low() == version)
    };
    planted(Bug::NaivePoll) || request.iter().zip(queueing.versions()).all(same)
}

/// Takes the first object: nothing stands before it.
fn take(arena: &Arena, request: &Request<'_>, found: &Found) -> Option<Satisfied> {
    let slot = arena.object_slot(request.get(found.position)?.index())?;
    let taken = found.next == found.seen || slot.exchange(found.seen, found.next);
    taken.then(|| Satisfied { index: found.position as u32, abandoned: slot.kind().was_abandoned(found.seen) })
}

/// Takes the object that was found if the ones before it stay as they were.
fn probe(
    arena: &Arena,
    waiter: &Waiter,
    request: &Request<'_>,
    queueing: &Queueing,
    found: &Found,
) -> Result<Option<Satisfied>> {
    let index = request.get(found.position).ok_or(Error::Corrupt)?.index();
    let slot = arena.object_slot(index).ok_or(Error::Corrupt)?;
    let abandoned = slot.kind().was_abandoned(found.seen);
    let satisfied = Satisfied { index: found.position as u32, abandoned };
    if found.next == found.seen {
        // A manual-reset event is not consumed: that the earlier objects did not change is enough.
        return Ok(unchanged(arena, request, queueing).then_some(satisfied));
    }
    let epoch = begin(arena, waiter, WaiterState::Probing, Some(&request.without_objects()))?;
    let claim = found.seen.claimed_for(Claimant::Waiter(epoch.index), epoch.ticket.tag());
    if !slot.exchange(found.seen, claim) {
        epoch.withdraw();
        return Ok(None);
    }
    let probing = epoch.load();
    let undisturbed = planted(Bug::ProbeBlind) || unchanged(arena, request, queueing);
    let decided = undisturbed
        && probing.state() == WaiterState::Probing
        && epoch.slot.exchange(probing, probing.satisfied(index, abandoned));
    if !decided {
        epoch.withdraw();
    }
    help(arena, waiter, index, claim.advanced())?;
    Ok(decided.then_some(satisfied))
}

/// Looks for a while at a mutex that is taken, before the thread queues for it. A mutex is mostly held for a moment; once
/// a thread is in the queue every unlock has to hand over and to wake, and two busy threads go on like that for ever.
/// Nobody is overtaken: as soon as somebody queues the thread does the same.
fn comes_free(arena: &Arena, waiter: &Waiter, request: &Request<'_>) -> bool {
    let &[object] = request.objects() else { return false };
    let Some(slot) = arena.object_slot(object.index()) else { return false };
    if request.has_alert() || !slot.kind().is_held_briefly() {
        return false;
    }
    waiter.before_queueing.spend(arena.looks_before_queueing(), || {
        let seen = slot.load();
        match (seen.has(W | WA) || waiter.is_interrupted(), seen.value() == 0) {
            (true, _) => Some(false),
            (false, free) => free.then_some(true),
        }
    })
}

/// None: it is to be started again.
fn wait_any_queued(
    arena: &Arena,
    waiter: &Waiter,
    request: &Request<'_>,
    queueing: &mut Queueing,
    deadline: Deadline,
) -> Result<Option<Satisfied>> {
    let state = if request.length() > 1 { queueing.state() } else { WaiterState::Waiting };
    let epoch = begin(arena, waiter, state, Some(request))?;
    let mut places = [None; LIST_MAX];
    let queued = queue_any(arena, &epoch, request, queueing, &mut places);
    let decision = conclude(&epoch, queued == Ok(true), deadline);
    let satisfied = see_at_rest(arena, &epoch, request, decision);
    leave(&places);
    outcome(waiter, satisfied?, queued)
}

/// Sleeps if there is anything to sleep for; withdraws otherwise.
pub(crate) fn conclude(epoch: &Epoch<'_>, queued: bool, deadline: Deadline) -> Decision {
    let interrupted = epoch.waiter.is_interrupted();
    if !queued || interrupted || (epoch.is_open() && deadline.passed()) {
        epoch.withdraw();
    }
    epoch.sleep(deadline)
}

/// Sees the object that satisfied the wait at rest (C2), and says which it was.
pub(crate) fn see_at_rest(
    arena: &Arena,
    epoch: &Epoch<'_>,
    request: &Request<'_>,
    decision: Decision,
) -> Result<Option<Satisfied>> {
    let Decision::Object { index, abandoned } = decision else {
        return Ok(None);
    };
    let slot = arena.object_slot(index).ok_or(Error::Corrupt)?;
    if !planted(Bug::OwnSettle) {
        help(arena, epoch.waiter, index, slot.load())?;
    } else if slot.load().claimant() == Claimant::Waiter(epoch.index) {
        help_claim(arena, epoch.waiter, index, slot.load(), &mut Ahead::default())?;
    }
    Ok(Some(Satisfied { index: request.position(index)?, abandoned }))
}

/// What a wait returns that has queued, or tried to; none when it is to be started again. `queued`: it was in all of them.
pub(crate) fn outcome(
    waiter: &Waiter,
    satisfied: Option<Satisfied>,
    queued: Result<bool>,
) -> Result<Option<Satisfied>> {
    let stepped_aside = waiter.starts_again();
    if satisfied.is_some() {
        return Ok(satisfied);
    }
    let again = stepped_aside || !queued?;
    if again && !waiter.is_interrupted() { Ok(None) } else { Err(failure(waiter)) }
}

/// Why a withdrawn wait failed.
pub(crate) fn failure(waiter: &Waiter) -> Error {
    if waiter.is_interrupted() { Error::Interrupted } else { Error::TimedOut }
}

/// Empties the places of a wait.
pub(crate) fn leave(places: &Places<'_>) {
    for (place, entry) in places.iter().flatten() {
        place.empty(*entry);
    }
}
