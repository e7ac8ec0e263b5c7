// SPDX-License-Identifier: MIT OR Apache-2.0
//! Timers: who fires them, and until when a thread sleeps that waits for one.
//!
//! # Role
//! No thread has the task to fire a timer: whoever waits for it sleeps until it is due at most, and fires it then. Any other
//! thread that looks at it when it is due fires it, too. `docs/internals/timers.md` has the pictures, the transitions, the orders, and what
//! each death leaves behind. The words: [`crate::format::schedule`], [`crate::kind::timer`].
//!
//! # Invariants
//! * I-timer-1: a turn is announced only while the schedule's number is that of the object's word.
//! * I-timer-2: a thread that completes a turn has read the schedule after its copy of the object's word, and confirms that by an
//!   exchange.
//! * I-timer-3: a thread that sleeps in the queue of a timer sleeps at most until the due time that the schedule had at the last commit.
//!   So it needs nobody's wake for a firing.
//! * I-timer-4: an operation takes effect while no turn is pending and the timer is not due.
//!
//! # Order
//! * O-due: a waiter puts its entry into the wait set, parks (exchange), then reads the schedule. A thread that arms announces
//!   (exchange), then reads the wait set, then the waiter's word.
//! * O-turn: the object's word is read before the schedule, the schedule before the clock, the clock before the question whether the timer
//!   that is due is still open: one that was closed before its time does not fire.

use ntux_platform::clock::{Deadline, Due};
use ntux_platform::futex::{self, Expected};

use super::admission::announce_unanswered;
use super::claim::help;
use super::detached::Destination;
use super::epoch::{Decision, Epoch};
use super::hand_over::Signaled;
use super::owner::{Lives, Looks};
use super::queueing::Joined;
use super::request::Request;
use super::signal::{missing, serve_in_turn};
use super::wait;
use super::waiter::Waiter;
use crate::arena::Arena;
use crate::arena::schedules::Place;
use crate::format::layout::ObjectSlot;
use crate::format::object_word::{ObjectWord, W, WA};
use crate::format::schedule::{DUE_MAX, NS_PER_US, PERIOD_MAX_US, Schedule, Turn};
use crate::format::waiter_word::WaiterWord;
use crate::kind::{self, Kind, Signal, Step};
use crate::observe::marks;
use crate::planted::{Bug, planted};
use crate::{Error, Object, Result, TimerState, observe};

/// How often one look fires a timer whose period is shorter than a look.
const FIRINGS_MOST: u32 = 4;

/// A timer at rest that is not due, and has no turn pending.
struct InTime<'a> {
    kind: Kind,
    word: ObjectWord,
    place: Place<'a>,
    schedule: Schedule,
}

/// Arms a timer. `period_ns`: 0, or from one due time to the next, rounded up to microseconds.
///
/// Errors: `NoSuchObject`; `Invalid` (another kind, a period that is too long).
pub(crate) fn set(arena: &Arena, waiter: &Waiter, object: Object, due: Due, period_ns: u64) -> Result<()> {
    let period_us = period_ns.div_ceil(NS_PER_US);
    if period_us > PERIOD_MAX_US {
        return Err(Error::Invalid);
    }
    let due = Due { at_ns: due.at_ns.clamp(1, DUE_MAX), ..due };
    turn(arena, waiter, object, |schedule| schedule.armed(due, period_us))
}

/// Ends the arming of a timer.
///
/// Errors: `NoSuchObject`; `Invalid` (another kind).
pub(crate) fn cancel(arena: &Arena, waiter: &Waiter, object: Object) -> Result<()> {
    turn(arena, waiter, object, Schedule::cancelled)
}

/// Announces a turn, and completes it.
fn turn(arena: &Arena, waiter: &Waiter, object: Object, next: impl Fn(Schedule) -> Schedule) -> Result<()> {
    waiter.budget.renew();
    while waiter.budget.round() {
        let InTime { place, schedule, .. } =
            up_to_date(arena, waiter, object)?.ok_or_else(|| missing(arena, object))?;
        // I-timer-1
        if place.exchange(schedule, next(schedule)) {
            return up_to_date(arena, waiter, object).map(drop);
        }
    }
    Err(Error::Corrupt)
}

/// Reads a timer.
///
/// Errors: `NoSuchObject`; `Invalid` (another kind).
pub(crate) fn read(arena: &Arena, waiter: &Waiter, object: Object) -> Result<TimerState> {
    waiter.budget.renew();
    let slot = arena.object_slot(object.index()).ok_or(Error::NoSuchObject)?;
    while waiter.budget.round() {
        let timer = up_to_date(arena, waiter, object)?.ok_or_else(|| missing(arena, object))?;
        // The schedule belongs to the word only if that is unchanged.
        if slot.load() == timer.word {
            return kind::timer::state(timer.kind, timer.word, timer.schedule).ok_or(Error::Corrupt);
        }
    }
    Err(Error::Corrupt)
}

/// The word of a live timer, helped to rest, with all turns complete, and not due at a time after it was read. None if it is not live.
#[cold]
pub(super) fn in_time(arena: &Arena, waiter: &Waiter, object: Object) -> Result<Option<ObjectWord>> {
    Ok(up_to_date(arena, waiter, object)?.map(|timer| timer.word))
}

/// Completes a turn that is pending, and fires the timer if it is due. None if the object is not a live timer.
fn up_to_date<'a>(arena: &'a Arena, waiter: &Waiter, object: Object) -> Result<Option<InTime<'a>>> {
    let Some(slot) = arena.object_slot(object.index()) else { return Ok(None) };
    let mut firings = 0;
    while waiter.budget.round() {
        let word = slot.load();
        let Some(kind) = slot.kind_if_live(object).filter(|kind| kind.is_timer()) else { return Ok(None) };
        if word.is_claimed() {
            help(arena, waiter, object.index(), word)?;
            continue;
        }
        // O-turn
        let place = arena.schedule(object.index()).ok_or(Error::Corrupt)?;
        let schedule = place.load();
        let number = kind::timer::number(word);
        if schedule.number() == Schedule::number_after(number) {
            commit(arena, waiter, object, slot, Pending { kind, word, schedule })?;
            continue;
        }
        // Otherwise the word is an old one, or rubbish.
        if schedule.number() == number {
            let now_ns = schedule.due().map(|due| due.clock.now_ns());
            let is_due = schedule.due().zip(now_ns).filter(|(due, now_ns)| due.at_ns <= *now_ns);
            match is_due {
                Some((_, now_ns)) if firings < FIRINGS_MOST && !planted(Bug::DueUnseen) => {
                    // It was due while it was open.
                    if slot.kind_if_live(object).is_none() {
                        return Ok(None);
                    }
                    firings += u32::from(place.exchange(schedule, schedule.fired(now_ns)));
                }
                _ => return Ok(Some(InTime { kind, word, place, schedule })),
            }
        }
    }
    Err(Error::Corrupt)
}

/// A timer whose last announced turn has not taken effect while its word is this one.
struct Pending {
    kind: Kind,
    word: ObjectWord,
    schedule: Schedule,
}

/// Completes the turn, unless another thread is faster.
fn commit(arena: &Arena, waiter: &Waiter, object: Object, slot: &ObjectSlot, pending: Pending) -> Result<()> {
    let Pending { word, schedule, .. } = pending;
    let number = schedule.number();
    match schedule.turn() {
        Turn::Fire => return fire(arena, waiter, object, slot, pending),
        Turn::Arm if planted(Bug::ArmUntold) => {
            slot.exchange(word, kind::timer::armed(word, number));
        }
        Turn::Arm if planted(Bug::ArmBeforeTelling) => {
            slot.exchange(word, kind::timer::armed(word, number));
            tell(arena, waiter, object, slot);
        }
        Turn::Arm => {
            tell(arena, waiter, object, slot);
            slot.exchange(word, kind::timer::armed(word, number));
        }
        Turn::Postpone => {
            slot.exchange(word, kind::timer::armed(word, number));
        }
        Turn::Cancel => {
            slot.exchange(word, kind::timer::cancelled(word, number));
        }
    }
    Ok(())
}

/// Signals the timer, and gives it to those who wait.
fn fire(arena: &Arena, waiter: &Waiter, object: Object, slot: &ObjectSlot, pending: Pending) -> Result<()> {
    let Pending { kind, word: seen, schedule } = pending;
    let signal = Signal::Fire(schedule.number());
    let Step::Changed { next, offers, .. } = signal.step(seen, kind, &slot.extra) else { return Ok(()) };
    if offers && seen.has(WA) {
        observe::signaled(arena, object, signal);
        return announce_unanswered(arena, waiter, object, signal);
    }
    let by = waiter.mark.get();
    let next = marks::performed(by, signal, next);
    if offers && seen.has(W) {
        return serve_in_turn(arena, waiter, &Signaled { object, slot, kind, seen, next, by }, signal).map(drop);
    }
    slot.exchange(seen, next);
    Ok(())
}

/// Stirs everybody who may be asleep in the queue of this timer, so that they look at its schedule again.
fn tell(arena: &Arena, waiter: &Waiter, object: Object, slot: &ObjectSlot) {
    // O-due
    for entry in arena.places(&waiter.budget, slot).filter_map(|place| place.entry()) {
        let Some(other) = arena.waiter_slot(entry.waiter()) else { continue };
        if other.stir(entry, object) {
            futex::wake(other.word.futex_address(), 1);
        }
        // Also if it does not stand yet: it may have been looked at.
        if let Some(destination) = Destination::of_any(arena, other) {
            destination.stir();
        }
    }
}

/// [`wait::conclude`] for a wait that has timers or ends among its objects, or mutexes at whose owners it must look. An error takes the place
/// of `joined`.
#[cold]
pub(super) fn conclude(
    epoch: &Epoch<'_>,
    request: &Request<'_>,
    joined: Result<Joined>,
    deadline: Deadline,
) -> (Decision, Result<Joined>) {
    if joined != Ok(Joined::AllQueues) || epoch.waiter.is_interrupted() {
        return (wait::conclude(epoch, false, deadline), joined);
    }
    match sleep(epoch, request, deadline) {
        Ok(decision) => (decision, joined),
        Err(error) => {
            epoch.withdraw();
            (epoch.decision().unwrap_or(Decision::Nothing), Err(error))
        }
    }
}

/// Sleeps until the wait is decided, or withdraws it when its deadline passes. Fires the timers that become due meanwhile, and kills the
/// mutexes whose owners have ended, or signals their ends.
fn sleep(epoch: &Epoch<'_>, request: &Request<'_>, deadline: Deadline) -> Result<Decision> {
    let &Epoch { arena, waiter, slot, .. } = epoch;
    if waiter.spin.looks() {
        epoch.look();
    }
    let mut looks = Looks::new(arena, request);
    let (mut has_slept, parks_late) = (false, planted(Bug::ParkLate));
    let decision = loop {
        if !waiter.budget.round() {
            return Err(Error::Corrupt);
        }
        let seen = epoch.load();
        if let Some(decision) = epoch.decision_in(seen) {
            break decision;
        }
        if looks.are_due() {
            // It may give the mutex to itself, and owes itself no wake.
            if !seen.is_parked() || epoch.slot.exchange(seen, seen.unparked()) {
                looks.look(arena, waiter, request)?;
            }
            continue;
        }
        let parked = seen.parked_unstirred();
        if seen != parked && !parks_late && !park(epoch, seen, deadline) {
            continue;
        }
        // O-due
        let due = earliest_due(arena, waiter, request.iter(), looks.next())?;
        if deadline.passed() {
            epoch.withdraw();
            continue;
        }
        let lives = looks.are_watched().then(|| Lives::of(epoch, request));
        if let Some(None) = lives {
            looks.hasten();
            continue;
        }
        let lives = lives.flatten();
        if parks_late && seen != parked && !park(epoch, seen, deadline) {
            continue;
        }
        waiter.sleeps.set(waiter.sleeps.get() + 1);
        observe::sleeps(arena, slot, has_slept);
        waiter.spin.sleeps();
        let due = if planted(Bug::SleepsOn) { Deadline::Never } else { due };
        let own = Expected { address: slot.word.futex_address(), value: parked.futex() };
        futex::wait_beside(own, lives.as_ref().map_or(&[], Lives::words), deadline, due);
        has_slept = true;
        // By a signal, or for a timer that it did not get: a long wait may see any number of these.
        waiter.budget.renew();
    };
    waiter.spin.is_over(Some(slot));
    if has_slept {
        epoch.woke(decision);
    }
    Ok(decision)
}

/// Says that the thread sleeps, and is about to look at its timers, unless its word has changed.
fn park(epoch: &Epoch<'_>, seen: WaiterWord, deadline: Deadline) -> bool {
    // O-notes
    observe::falls_asleep(epoch.slot, deadline);
    epoch.slot.exchange(seen, seen.parked_unstirred())
}

/// When the first of these timers is due, after those that are due have fired; `earliest` if that is before.
pub(super) fn earliest_due(
    arena: &Arena,
    waiter: &Waiter,
    objects: impl Iterator<Item = Object>,
    earliest: Deadline,
) -> Result<Deadline> {
    objects.into_iter().try_fold(earliest, |earliest, object| {
        let due = up_to_date(arena, waiter, object)?.and_then(|timer| timer.schedule.due());
        Ok(due.map_or(earliest, |due| earliest.earlier(due.deadline())))
    })
}
