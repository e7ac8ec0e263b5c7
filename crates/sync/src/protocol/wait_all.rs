// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waits for several objects at once: takes all of them in one step, or none.
//!
//! # Role
//! A wait-all that finds everything available takes it in one step ([`crate::protocol::probe`]); if somebody interferes,
//! it makes one attempt without registering, which nobody can prevent ([`crate::protocol::admission`]). If an object is
//! unavailable, it joins the queues ([`crate::protocol::queueing`]) and sleeps; signals on its objects then go through the
//! admission word and try it. Its alert is an ordinary wait-any entry, added after the others,
//! because objects come before the alert.
//!
//! # Invariants
//! * I-all-1: when the wait joins its queues, some object was unavailable since the wait raised `WA` there. So it needs
//!   no attempt of its own: any signal that changes this goes through the admission word. (A wait that was disturbed
//!   too often does not know this, so it makes an attempt after the last `WA`, and another one after its alert.)
//! * I-all-2: the list stays unchanged until the admission word no longer names this waiter (I-adm-4), and the objects
//!   are at rest.
//! * I-all-3: the alert is taken, or its queue joined, while some object is unavailable.
//!
//! Transitions, orders and deaths: [`crate::protocol::admission`], [`crate::protocol::claim`].

use ntux_platform::clock::Deadline;

use super::admission::{help_admission_of, try_everything};
use super::claim::help;
use super::epoch::{Decision, Epoch, begin};
use super::look::{check, look_for_all};
use super::owner;
use super::probe::{FEW, Target, probe_all, probe_few};
use super::queueing::{Joined, Queueing, empty, queue_all};
use super::request::Request;
use super::timer;
use super::wait::{Round, conclude, failure, outcome, see_at_rest};
use super::waiter::Waiter;
use crate::arena::Arena;
use crate::format::limits::LIST_MAX;
use crate::format::waiter_word::WaiterState;
use crate::planted::{Bug, planted};
use crate::{Error, Object, Result, Satisfied, WAIT_MAX};

/// See [`Arena::wait_all`].
pub(crate) fn wait_all(
    arena: &Arena,
    waiter: &Waiter,
    objects: &[Object],
    alert: Option<Object>,
    owner: u32,
    deadline: Deadline,
) -> Result<Satisfied> {
    waiter.budget.renew();
    let request = Request::new(objects, alert, owner)?;
    let is_short = !objects.is_empty() && objects.len() <= FEW && alert.is_none();
    if is_short && let Some(satisfied) = probe_few(arena, waiter, &request)? {
        return Ok(satisfied);
    }
    wait_all_slowly(arena, waiter, &request, deadline)
}

#[inline(never)]
fn wait_all_slowly(arena: &Arena, waiter: &Waiter, request: &Request<'_>, deadline: Deadline) -> Result<Satisfied> {
    let must_look = check(arena, request)? | owner::must_look_at_any(arena, request);
    if request.has_repeats() {
        return Err(Error::Invalid);
    }
    if request.objects().is_empty() {
        return Ok(Satisfied { index: 0, abandoned: false });
    }
    let mut queueing = Queueing::new(must_look);
    while waiter.budget.round() {
        let round = wait_all_once(arena, waiter, request, &mut queueing, deadline)?;
        if let Round::Satisfied(satisfied) = round {
            return Ok(satisfied);
        }
    }
    Err(Error::Corrupt)
}

fn wait_all_once(
    arena: &Arena,
    waiter: &Waiter,
    request: &Request<'_>,
    queueing: &mut Queueing,
    deadline: Deadline,
) -> Result<Round> {
    // Objects that became available before the deadline count, so the result is a check made after it.
    let late = deadline.passed() && !request.has_alert();
    match all_available(arena, waiter, request, queueing)? {
        false if late && queueing.must_look() && owner::came_free(arena, waiter, request)? => Ok(Round::Again),
        false if late => Err(failure(waiter)),
        true if !queueing.is_hopeless() => match take_all(arena, waiter, request, queueing)? {
            Round::Again => attempt_at_once(arena, waiter, request, queueing, late),
            taken => Ok(taken),
        },
        // An object is unavailable, or others have interfered too often.
        _ => wait_all_queued(arena, waiter, request, queueing, deadline),
    }
}

/// Looks at all objects. Returns whether all are available. Inlined: a poll for all does nothing else.
#[inline(always)]
pub(super) fn all_available(
    arena: &Arena,
    waiter: &Waiter,
    request: &Request<'_>,
    queueing: &mut Queueing,
) -> Result<bool> {
    queueing.look_anew();
    let mut missing = false;
    for &object in request.objects() {
        let look = look_for_all(arena, waiter, object, request.owner)?;
        queueing.saw(look.seen());
        missing |= look.is_unavailable();
    }
    if let Some(alert) = request.alert() {
        queueing.saw(look_for_all(arena, waiter, alert, request.owner)?.seen());
    }
    Ok(!missing)
}

/// Takes all objects, which the look found available, if none has changed since. Not inlined: a thread does not sleep with its list on
/// the stack, and a wait that finds an object missing makes none.
#[inline(never)]
pub(super) fn take_all(arena: &Arena, waiter: &Waiter, request: &Request<'_>, queueing: &Queueing) -> Result<Round> {
    let mut found = [None; WAIT_MAX];
    for ((&object, &version), found) in request.objects().iter().zip(queueing.versions()).zip(&mut found) {
        let target = Target::at(arena, object).ok_or(Error::Corrupt)?;
        if !target.is_as_seen(version) && !planted(Bug::TakeUnseen) {
            return Ok(Round::Again);
        }
        *found = Some(target);
    }
    probe_all(arena, waiter, request, &found[..request.objects().len()])
}

/// One attempt, in no queue. If `late`, its failure is the result, unless a timer is among the objects.
pub(super) fn attempt_at_once(
    arena: &Arena,
    waiter: &Waiter,
    request: &Request<'_>,
    queueing: &mut Queueing,
    late: bool,
) -> Result<Round> {
    let epoch = begin(arena, waiter, WaiterState::Waiting, Some(request))?;
    let tried = try_everything(arena, waiter, epoch.index, epoch.slot, epoch.ticket);
    // Still undecided: an object was unavailable.
    let failed = epoch.withdraw();
    let decision = epoch.decision().unwrap_or(Decision::Nothing);
    let satisfied = see_all_at_rest(arena, &epoch, request, decision)?;
    waiter.starts_again();
    queueing.disturb();
    match satisfied {
        // An attempt fires no timers: one that was armed meanwhile may be due.
        None if failed && late && !queueing.must_look() => tried.and(Err(failure(waiter))),
        None => tried.and(Ok(Round::Again)),
        Some(satisfied) => Ok(Round::Satisfied(satisfied)),
    }
}

fn wait_all_queued(
    arena: &Arena,
    waiter: &Waiter,
    request: &Request<'_>,
    queueing: &mut Queueing,
    deadline: Deadline,
) -> Result<Round> {
    waiter.spin.begin(arena.spins(), request.first(), deadline);
    queueing.begins(waiter.spin.began_ns());
    let epoch = begin(arena, waiter, queueing.state(), Some(request))?;
    let mut places = [None; LIST_MAX];
    let joined = queue_all(arena, &epoch, request, queueing, &mut places);
    let (decision, joined) = match queueing.must_look() {
        false => (conclude(&epoch, joined == Ok(Joined::AllQueues), deadline), joined),
        true => timer::conclude(&epoch, request, joined, deadline),
    };
    let satisfied = see_all_at_rest(arena, &epoch, request, decision);
    empty(&places[..request.length()]);
    outcome(waiter, satisfied?, joined)
}

/// Completes the operation that satisfied the wait, and sees every object at rest (C2, I-all-2).
fn see_all_at_rest(
    arena: &Arena,
    epoch: &Epoch<'_>,
    request: &Request<'_>,
    decision: Decision,
) -> Result<Option<Satisfied>> {
    if !(planted(Bug::TimeoutLeave) && decision == Decision::Nothing) {
        help_admission_of(arena, epoch.waiter, epoch.index)?;
    }
    match decision {
        Decision::Everything { abandoned } => {
            for &object in request.objects() {
                let slot = arena.object_slot(object.index()).ok_or(Error::Corrupt)?;
                help(arena, epoch.waiter, object.index(), slot.load())?;
            }
            Ok(Some(Satisfied { index: 0, abandoned }))
        }
        decision => see_at_rest(arena, epoch, request, decision),
    }
}
