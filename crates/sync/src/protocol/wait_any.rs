// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waits for one of several objects. (For a single one: [`super::wait_one`].)
//!
//! # Role
//! A wait that finds its first object available takes it with one exchange. Otherwise the thread either takes a later
//! object while proving that the earlier ones have not changed (a *probe*, [`crate::protocol::probe`]), or joins all
//! queues ([`crate::protocol::queueing`]) and sleeps.
//!
//! # Transitions
//! ```text
//!  look ----------------> taken                     first object: one exchange
//!   |  \---- probe -----> taken | queue             a later one: claim, look again at the earlier ones, decide, settle
//!   |  \----------------> timed out                 nothing available, deadline passed, nothing changed between two looks
//!  queue -> sleep ------> satisfied | withdrawn -> out of its queues
//!     \-----------------> look                      disturbed while it queued
//! ```
//! # Invariants
//! * I-any-1: of the objects that are available at one instant, the first in the list is taken. A check of several
//!   words is one instant if none of them changed until the last was read; every change increments the sequence. (A
//!   poll that must queue is a wait whose deadline has passed: until it withdraws, it can be given an earlier object,
//!   for example by a pulse.)
//! * I-any-2: if an object is available for a waiter in its queues, a claim for the waiter is in progress, or the
//!   waiter claims for itself (C1).
//!
//! # Order
//! O-set and O-self as in [`crate::protocol::claim`].
//!
//! # Death
//! That of any wait ([`super::wait`]). In a probe, any thread that meets the claim removes it.

use ntux_platform::clock::Deadline;

use super::epoch::{Epoch, begin};
use super::look::{Look, check, look};
use super::owner;
use super::probe::{Available, probe_one, unchanged};
use super::queueing::{FEW, Joined, Places, Queueing, empty, queue_any};
use super::request::Request;
use super::timer;
use super::wait::{Round, conclude, outcome, see_at_rest, take};
use super::wait_one::wait_one;
use super::waiter::Waiter;
use crate::arena::Arena;
use crate::format::limits::LIST_MAX;
use crate::format::waiter_word::WaiterState;
use crate::{Error, Object, Result, Satisfied};

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
    match (objects, alert) {
        (&[object], None) if owner != 0 => wait_one(arena, waiter, object, owner, deadline),
        _ => wait_any_slowly(arena, waiter, &Request::new(objects, alert, owner)?, deadline),
    }
}

#[inline(never)]
pub(super) fn wait_any_slowly(
    arena: &Arena,
    waiter: &Waiter,
    request: &Request<'_>,
    deadline: Deadline,
) -> Result<Satisfied> {
    waiter.budget.renew();
    let must_look = check(arena, request)? | owner::must_look_at_any(arena, request);
    let (mut begins, mut queueing) = (true, Queueing::new(must_look));
    while waiter.budget.round() {
        let found = look_at_all(arena, waiter, request, &mut queueing)?;
        let round = match found {
            Some(found) if found.position == 0 => {
                let slot = request.get(found.position).and_then(|object| arena.object_slot(object.index()));
                take(slot.ok_or(Error::Corrupt)?, found.seen, found.next, found.position as u32)
            }
            Some(found) => match probe_one(arena, waiter, request, &queueing, &found)? {
                Round::Again => wait_any_queued(arena, waiter, request, &mut queueing, deadline)?,
                probed => probed,
            },
            None if !deadline.passed() => {
                if core::mem::take(&mut begins) {
                    waiter.spin.begin(arena.spins(), request.first(), deadline);
                    queueing.begins(waiter.spin.began_ns());
                }
                wait_any_queued(arena, waiter, request, &mut queueing, deadline)?
            }
            None if waiter.is_interrupted() => return Err(Error::Interrupted),
            None if !unchanged(arena, request, &queueing) => Round::Again,
            None if queueing.must_look() && owner::came_free(arena, waiter, request)? => Round::Again,
            None => return Err(Error::TimedOut),
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

/// Returns the first available object, and the words of those before it.
#[inline(always)]
pub(super) fn look_at_all(
    arena: &Arena,
    waiter: &Waiter,
    request: &Request<'_>,
    queueing: &mut Queueing,
) -> Result<Option<Available>> {
    queueing.look_anew();
    for (position, object) in request.iter().enumerate() {
        match look(arena, waiter, object, request.owner)? {
            Look::Available { seen, next } => return Ok(Some(Available { position, seen, next })),
            Look::Unavailable(seen) => queueing.saw(seen),
        }
    }
    Ok(None)
}

/// One round in the queues of all objects.
fn wait_any_queued(
    arena: &Arena,
    waiter: &Waiter,
    request: &Request<'_>,
    queueing: &mut Queueing,
    deadline: Deadline,
) -> Result<Round> {
    let state = if request.length() > 1 { queueing.state() } else { WaiterState::Waiting };
    let epoch = begin(arena, waiter, state, Some(request))?;
    match request.length() {
        0..=FEW => wait_any_in_places(&epoch, request, queueing, deadline, &mut [None; FEW]),
        _ => wait_any_in_many_places(&epoch, request, queueing, deadline),
    }
}

#[inline(never)]
fn wait_any_in_many_places(
    epoch: &Epoch<'_>,
    request: &Request<'_>,
    queueing: &mut Queueing,
    deadline: Deadline,
) -> Result<Round> {
    wait_any_in_places(epoch, request, queueing, deadline, &mut [None; LIST_MAX])
}

fn wait_any_in_places<'a>(
    epoch: &Epoch<'a>,
    request: &Request<'_>,
    queueing: &mut Queueing,
    deadline: Deadline,
    places: &mut Places<'a>,
) -> Result<Round> {
    let arena = epoch.arena;
    let joined = queue_any(arena, epoch, request, queueing, places);
    let (decision, joined) = match queueing.must_look() {
        false => (conclude(epoch, joined == Ok(Joined::AllQueues), deadline), joined),
        true => timer::conclude(epoch, request, joined, deadline),
    };
    let satisfied = see_at_rest(arena, epoch, request, decision);
    empty(&places[..request.length()]);
    outcome(epoch.waiter, satisfied?, joined)
}
