// SPDX-License-Identifier: MIT OR Apache-2.0
//! Owners that end, and what becomes of their mutexes.
//!
//! # Role
//! No thread has the task to declare a mutex abandoned whose owner has ended: whoever waits for it looks from time to time whether its
//! owner lives, and *kills* it if not, as [`crate::Arena::mutex_kill`] does. So does a poll that would fail. This is so for owner ids
//! that the arena has given out ([`crate::arena::owners`]), and costs those nothing who use others.
//!
//! # Picture
//! ```text
//!  waits:   look: has it ended, says its place?    sleep 1 ms    ask the system: does it live?    sleep 2 ms    ask ... 256 ms
//! --------------------|--------------------------------|------------------|----------------------------|--------------->
//!  ended:                                                               kill: whoever is first in line has it, abandoned
//! ```
//! # Transitions
//! Those of a kill ([`super::signal`]), by any thread that wants the mutex.
//!
//! # Invariants
//! * I-end-1: a mutex is killed in the name of the owner that the thread has found ended. So it is killed once, and one that has got
//!   another owner meanwhile is left alone (I-owner-1).
//! * I-end-2: a thread that sleeps in the queue of a mutex with an id of the arena sleeps at most [`LONGEST_NS`] between two looks at its
//!   owner. So the death of an owner needs nobody's wake.
//!
//! # Death
//! That of a kill. A thread that has found an owner ended and dies before it kills leaves that to the next one that looks.

use ntux_platform::clock::{Clock, Deadline};
use ntux_platform::liveness;

use super::admission::announce_unanswered;
use super::claim::help;
use super::hand_over::Signaled;
use super::request::Request;
use super::signal::serve_in_turn;
use super::waiter::{Waiter, bury};
use crate::arena::Arena;
use crate::arena::owners::Fate;
use crate::arena::peers::LivenessCache;
use crate::format::holder::Holder;
use crate::format::layout::ObjectSlot;
use crate::format::object_word::{W, WA};
use crate::format::owner::OwnerId;
use crate::kind::{Kind, Signal, Step};
use crate::observe::marks;
use crate::planted::{Bug, planted};
use crate::{Error, Object, Result, observe};

/// Between the first two looks of a thread that sleeps, and the longest time between two.
const SHORTEST_NS: u64 = 1_000_000;
const LONGEST_NS: u64 = 256_000_000;

/// A new owner: of the calling thread, or of its process.
///
/// Errors: `Exhausted`.
pub(crate) fn create(arena: &Arena, waiter: &Waiter, of_thread: bool) -> Result<u32> {
    let thread = if of_thread { liveness::thread_id() } else { 0 };
    let by = Holder::new(arena.peer(bury)?, thread);
    let (id, unswept) = arena.take_owner(by)?;
    if unswept {
        sweep(arena, waiter, id)?;
        // Else the system was mistaken about this thread: the id is another one's.
        if !arena.swept_owner(id, by) {
            return Err(Error::Corrupt);
        }
    }
    Ok(id.number())
}

/// The owner id of the calling thread, whose waiter this is. It takes one at the first call, and again in a forked child.
///
/// Errors: `Exhausted`.
#[inline]
pub(crate) fn of_this_thread(arena: &Arena, waiter: &Waiter) -> Result<u32> {
    let (owner, lineage) = waiter.owner.get();
    if owner != 0 && lineage == liveness::lineage() {
        return Ok(owner);
    }
    let owner = create(arena, waiter, true)?;
    waiter.owner.set((owner, liveness::lineage()));
    Ok(owner)
}

/// The thread whose waiter this is uses the arena no more. Any thread may say so.
pub(crate) fn retire(arena: &Arena, waiter: &Waiter) {
    let (owner, lineage) = waiter.owner.take();
    if owner == 0 || lineage != liveness::lineage() {
        return;
    }
    // The robust list of the other one may be another thread's.
    let own = arena.waiter();
    // Fails if somebody has ended it before, or the memory makes no sense.
    let _ = end(arena, &own, owner);
    arena.retire(&own);
}

/// Ends an owner of this process: what it owns is abandoned.
///
/// Errors: `Invalid` if it is none of this process, or has ended.
pub(crate) fn end(arena: &Arena, waiter: &Waiter, owner: u32) -> Result<()> {
    let id = OwnerId::of(owner).ok_or(Error::Invalid)?;
    let peer = arena.known_peer().ok_or(Error::Invalid)?;
    if !arena.free_owner(id, peer) {
        return Err(Error::Invalid);
    }
    kill_all(arena, waiter, |named| named == owner)
}

/// Kills what earlier owners of this place own.
fn sweep(arena: &Arena, waiter: &Waiter, id: OwnerId) -> Result<()> {
    kill_all(arena, waiter, |named| OwnerId::of(named).is_some_and(|named| named.index() == id.index()))
}

fn kill_all(arena: &Arena, waiter: &Waiter, is_theirs: impl Fn(u32) -> bool) -> Result<()> {
    for index in 0..arena.objects_used() {
        waiter.budget.renew();
        let Some(slot) = arena.object_slot(index) else { break };
        let object = slot.resident(index);
        if let Some(owner) = owner_of(arena, waiter, object, slot)?.filter(|&owner| is_theirs(owner)) {
            kill(arena, waiter, object, slot, owner)?;
        }
    }
    Ok(())
}

/// The owner of a live mutex, at rest; none if it has none, or is none.
fn owner_of(arena: &Arena, waiter: &Waiter, object: Object, slot: &ObjectSlot) -> Result<Option<u32>> {
    while waiter.budget.round() {
        let seen = slot.load();
        if slot.kind_if_live(object) != Some(Kind::Mutex) {
            return Ok(None);
        }
        if !seen.is_claimed() {
            return Ok(Some(seen.value()).filter(|&owner| owner != 0));
        }
        help(arena, waiter, object.index(), seen)?;
    }
    Err(Error::Corrupt)
}

/// Declares that this owner of a mutex has ended, and gives the mutex to those who wait. The thread may be waiting itself.
fn kill(arena: &Arena, waiter: &Waiter, object: Object, slot: &ObjectSlot, owner: u32) -> Result<()> {
    while waiter.budget.round() {
        let seen = slot.load();
        let signal = Signal::Kill(if planted(Bug::KillsHeir) { seen.value() } else { owner });
        let Some(kind) = slot.kind_if_live(object).filter(|kind| *kind == Kind::Mutex) else { return Ok(()) };
        if seen.is_claimed() {
            help(arena, waiter, object.index(), seen)?;
            continue;
        }
        // I-end-1
        let Step::Changed { next, .. } = signal.step(seen, kind, &slot.extra) else { return Ok(()) };
        if seen.has(WA) {
            observe::signaled(arena, object, signal);
            return announce_unanswered(arena, waiter, object, signal);
        }
        let by = waiter.mark.get();
        let next = marks::performed(by, signal, next);
        let is_done = match seen.has(W) {
            true => serve_in_turn(arena, waiter, &Signaled { object, slot, kind, seen, next, by }, signal)?,
            false => slot.exchange(seen, next),
        };
        if is_done {
            return Ok(());
        }
    }
    Err(Error::Corrupt)
}

/// Returns true if a thread that waits with this owner id for this object must look at the owner of that.
#[inline(always)]
pub(super) fn must_look(arena: &Arena, owner: u32, kind: Kind) -> bool {
    OwnerId::is_arenas(owner) && kind == Kind::Mutex && arena.has_owners()
}

/// The same for a wait for several.
#[inline(always)]
pub(super) fn must_look_at_any(arena: &Arena, request: &Request<'_>) -> bool {
    OwnerId::is_arenas(request.owner) && arena.has_owners() && has_mutex(arena, request)
}

#[cold]
fn has_mutex(arena: &Arena, request: &Request<'_>) -> bool {
    request.objects().iter().any(|&object| {
        let kind = arena.object_slot(object.index()).and_then(|slot| slot.kind_if_live(object));
        kind == Some(Kind::Mutex)
    })
}

/// How thoroughly an owner is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    /// At its place only: no system call.
    Place,
    /// The system is asked.
    System,
}

/// A poll has found none of these available: kills those whose owners have ended. Returns whether one of them was, so that another look
/// is due.
#[cold]
pub(super) fn came_free(arena: &Arena, waiter: &Waiter, request: &Request<'_>) -> Result<bool> {
    Ok(must_look_at_any(arena, request) && kill_ended(arena, waiter, request.objects(), Look::System)?)
}

fn kill_ended(arena: &Arena, waiter: &Waiter, objects: &[Object], how: Look) -> Result<bool> {
    let mut killed = false;
    let mut living = Living::new(arena);
    for &object in objects {
        let Some(slot) = arena.object_slot(object.index()) else { continue };
        let Some(owner) = owner_of(arena, waiter, object, slot)? else { continue };
        if living.has_ended(owner, how) {
            kill(arena, waiter, object, slot, owner)?;
            killed = true;
        }
    }
    Ok(killed)
}

/// Which owners live: the system is asked once for each.
struct Living<'a> {
    arena: &'a Arena,
    cache: Option<LivenessCache<'a>>,
}

impl<'a> Living<'a> {
    fn new(arena: &'a Arena) -> Living<'a> {
        Living { arena, cache: None }
    }

    fn has_ended(&mut self, owner: u32, how: Look) -> bool {
        match self.arena.fate_of(owner) {
            None => false,
            Some(Fate::Ended) => true,
            Some(Fate::Unless(_)) if how == Look::Place || planted(Bug::OwnerUnasked) => false,
            Some(Fate::Unless(holder)) => {
                let cache = self.cache.get_or_insert_with(|| LivenessCache::new(self.arena));
                cache.is_thread_dead(holder.peer(), holder.thread())
            }
        }
    }
}

/// When a thread that sleeps looks at the owners of its mutexes.
pub(super) struct Looks {
    /// From the last look to the next one; 0 before the first.
    interval_ns: u64,
    /// None: never.
    next_ns: Option<u64>,
}

impl Looks {
    pub(super) fn new(arena: &Arena, request: &Request<'_>) -> Looks {
        Looks { interval_ns: 0, next_ns: must_look_at_any(arena, request).then_some(0) }
    }

    pub(super) fn are_due(&self) -> bool {
        self.next_ns.is_some_and(|next_ns| Clock::Monotonic.now_ns() >= next_ns)
    }

    /// Until when the thread may sleep.
    pub(super) fn next(&self) -> Deadline {
        self.next_ns.map_or(Deadline::Never, Deadline::Monotonic)
    }

    /// Kills the mutexes of this wait whose owners have ended. The thread may get one of them.
    pub(super) fn look(&mut self, arena: &Arena, waiter: &Waiter, request: &Request<'_>) -> Result<()> {
        let how = if self.interval_ns == 0 { Look::Place } else { Look::System };
        kill_ended(arena, waiter, request.objects(), how)?;
        self.interval_ns = (2 * self.interval_ns).clamp(SHORTEST_NS, LONGEST_NS);
        self.next_ns = Some(Clock::Monotonic.now_ns().saturating_add(self.interval_ns));
        Ok(())
    }
}
