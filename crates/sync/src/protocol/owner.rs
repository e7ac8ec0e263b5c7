// SPDX-License-Identifier: MIT OR Apache-2.0
//! Owners that end, and what becomes of their mutexes.
//!
//! # Role
//! No thread has the task to declare a mutex abandoned whose owner has ended: whoever waits for it *kills* it then, as
//! [`crate::Arena::mutex_kill`] does. So does a poll that would fail. A thread that has slept for a millisecond sleeps on the *life* of the
//! owner, too, and is woken when that ends ([`crate::arena::owners`]); and it looks from time to time whether the owner lives, for systems
//! and ends of which no wake tells. This is so for owner ids that the arena has given out, and costs those nothing who use others.
//!
//! # Picture
//! ```text
//!  waits:   look: has it ended?    sleep 1 ms    look: ask the system, too    sleep on the lives, 2 ms    look ...    256 ms
//! ----------------|--------------------------------|------------------------------------|------------------------------->
//!  ended:                                              kill: whoever is first in line has it, abandoned
//! ```
//! Whose lives: of the owner, and of who is before this thread in the queue, since that one owns the mutex next of all who may.
//!
//! # Transitions
//! Those of a kill ([`super::signal`]), by any thread that wants the mutex.
//!
//! # Invariants
//! * I-end-1: a mutex is killed in the name of the owner that the thread has found ended. So it is killed once, and one that has got
//!   another owner meanwhile is left alone (I-owner-1).
//! * I-end-2: a thread that sleeps in the queue of a mutex with an id of the arena sleeps at most [`LONGEST_NS`] between two looks at its
//!   owner. So the end of an owner needs nobody's wake.
//! * I-end-3: who finds that a life has ended wakes all who sleep on it before it sleeps again: the kernel wakes one.
//!
//! # Order
//! O-end: a thread parks, then reads the mutex and the life of its owner, and sleeps only while that is unchanged (the kernel compares). Who
//! ends an owner changes its life, then wakes.
//!
//! # Death
//! That of a kill. A thread that has found an owner ended and dies before it kills, or before it has woken the others, leaves that to the
//! next look of each.

use ntux_platform::clock::{Clock, Deadline};
use ntux_platform::futex::{BESIDE_MAX, Expected};
use ntux_platform::life::Life;
use ntux_platform::liveness;

use super::admission::announce_unanswered;
use super::claim::help;
use super::epoch::Epoch;
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

/// A new owner, of the calling process.
///
/// Errors: `Exhausted`.
pub(crate) fn create(arena: &Arena, waiter: &Waiter) -> Result<u32> {
    let by = Holder::new(arena.peer(bury)?, 0);
    take(arena, waiter, by).map(OwnerId::number)
}

/// Takes an id that no object names.
fn take(arena: &Arena, waiter: &Waiter, by: Holder) -> Result<OwnerId> {
    let (id, unswept) = arena.take_owner(by)?;
    if unswept {
        sweep(arena, waiter, id)?;
        // Else the system was mistaken about this thread: the id is another one's.
        if !arena.swept_owner(id, by) {
            return Err(Error::Corrupt);
        }
    }
    Ok(id)
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
    let by = Holder::new(arena.peer(bury)?, liveness::thread_id());
    let id = take(arena, waiter, by)?;
    waiter.life.set(arena.have_life_marked(id, by, waiter.robust()));
    waiter.owner.set((id.number(), liveness::lineage()));
    Ok(id.number())
}

/// The thread whose waiter this is uses the arena no more. Its owner ends, if this is that thread; otherwise it ends when that thread does.
pub(crate) fn retire(arena: &Arena, waiter: &Waiter) {
    let (owner, lineage) = waiter.owner.take();
    let Some(thread) = holder_here(arena).filter(|_| lineage == liveness::lineage()) else { return };
    let Some(id) = OwnerId::of(owner) else { return };
    match waiter.life.take() {
        // Only its thread takes it out of its list: with the waiter, at last.
        Some(life) if !life.is_here() => waiter.life.set(Some(life)),
        life => end_life(life),
    }
    // Fails in another thread.
    let _ = arena.end_owner(id, thread);
}

/// Ends an owner of this process, or of this thread.
///
/// Errors: `Invalid` if it is none of these, or has ended.
pub(crate) fn end(arena: &Arena, waiter: &Waiter, owner: u32) -> Result<()> {
    let (id, thread) = OwnerId::of(owner).zip(holder_here(arena)).ok_or(Error::Invalid)?;
    if waiter.owner.get() == (owner, liveness::lineage()) {
        waiter.owner.take();
        end_life(waiter.life.take());
    }
    if arena.end_owner(id, thread) { Ok(()) } else { Err(Error::Invalid) }
}

fn end_life(life: Option<Life>) {
    if let Some(life) = life.filter(|_| !planted(Bug::EndUntold)) {
        life.end();
    }
}

/// The calling thread, if its process is registered.
fn holder_here(arena: &Arena) -> Option<Holder> {
    arena.known_peer().map(|peer| Holder::new(peer, liveness::thread_id()))
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
    request.iter().any(|object| {
        let kind = arena.object_slot(object.index()).and_then(|slot| slot.kind_if_live(object));
        kind == Some(Kind::Mutex)
    })
}

/// How thoroughly an owner is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    /// At its place and its life only: no system call.
    Place,
    /// The system is asked.
    System,
}

/// A poll has found none of these available: kills those whose owners have ended. Returns whether one of them was, so that another look
/// is due.
#[cold]
pub(super) fn came_free(arena: &Arena, waiter: &Waiter, request: &Request<'_>) -> Result<bool> {
    Ok(must_look_at_any(arena, request) && kill_ended(arena, waiter, request.iter(), Look::System)?)
}

/// A mutex was found to have this owner: kills it if that has ended. Returns whether that was so.
pub(crate) fn killed_if_ended(arena: &Arena, waiter: &Waiter, object: Object, owner: u32) -> Result<bool> {
    Ok(OwnerId::is_arenas(owner) && kill_ended(arena, waiter, [object].into_iter(), Look::System)?)
}

/// Kills those mutexes of a wait without a thread whose owners have ended. Returns when somebody must look again, at the latest.
pub(super) fn look_without_thread(
    arena: &Arena,
    waiter: &Waiter,
    objects: impl Iterator<Item = Object>,
    owner: u32,
) -> Result<Deadline> {
    if !OwnerId::is_arenas(owner) {
        return Ok(Deadline::Never);
    }
    kill_ended(arena, waiter, objects, Look::System)?;
    Ok(Deadline::Monotonic(Clock::Monotonic.now_ns().saturating_add(LONGEST_NS)))
}

fn kill_ended(arena: &Arena, waiter: &Waiter, objects: impl Iterator<Item = Object>, how: Look) -> Result<bool> {
    let mut killed = false;
    let mut living = Living::new(arena);
    for object in objects {
        let Some(slot) = arena.object_slot(object.index()) else { continue };
        let Some(owner) = owner_of(arena, waiter, object, slot)? else { continue };
        if living.has_ended(owner, how) {
            // I-end-3
            if !planted(Bug::OneTold) {
                arena.tell_end(owner);
            }
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
            Some(Fate::Unless(..)) if how == Look::Place || planted(Bug::OwnerUnasked) => false,
            Some(Fate::Unless(holder, _)) => {
                let cache = self.cache.get_or_insert_with(|| LivenessCache::new(self.arena));
                cache.is_thread_dead(holder.peer(), holder.thread())
            }
        }
    }
}

/// When a thread that sleeps looks at the owners of its mutexes, and on whose lives it sleeps.
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

    /// Returns true if the thread has slept for so long that it sleeps on lives, too.
    pub(super) fn are_watched(&self) -> bool {
        self.next_ns.is_some() && self.interval_ns > SHORTEST_NS && !planted(Bug::LifeUnwatched)
    }

    /// An owner has ended: a look is due.
    pub(super) fn hasten(&mut self) {
        self.next_ns = Some(0);
    }

    /// Kills the mutexes of this wait whose owners have ended. The thread may get one of them.
    pub(super) fn look(&mut self, arena: &Arena, waiter: &Waiter, request: &Request<'_>) -> Result<()> {
        let how = if self.interval_ns == 0 { Look::Place } else { Look::System };
        kill_ended(arena, waiter, request.iter(), how)?;
        self.interval_ns = (2 * self.interval_ns).clamp(SHORTEST_NS, LONGEST_NS);
        self.next_ns = Some(Clock::Monotonic.now_ns().saturating_add(self.interval_ns));
        Ok(())
    }
}

/// The lives on which a thread sleeps beside its own word.
pub(super) struct Lives {
    words: [Expected; BESIDE_MAX],
    count: usize,
}

impl Lives {
    /// Those of the owners of the mutexes of this wait, and of those who are before it in their queues. None if one has ended, or something
    /// is halfway, which may be who has died: a look is due.
    #[inline(never)]
    pub(super) fn of(epoch: &Epoch<'_>, request: &Request<'_>) -> Option<Lives> {
        let mut lives = Lives { words: [Expected { address: core::ptr::null(), value: 0 }; BESIDE_MAX], count: 0 };
        for object in request.iter() {
            let slot = epoch.arena.object_slot(object.index());
            let Some(slot) = slot.filter(|slot| slot.kind_if_live(object) == Some(Kind::Mutex)) else { continue };
            // O-end
            let seen = slot.load();
            if seen.is_claimed() || !lives.watch(epoch.arena, seen.value()) {
                return None;
            }
            // One that has ended already, and waits all the same, is looked at when it owns the mutex.
            let _ = before_in_line(epoch, slot).map(|owner| lives.watch(epoch.arena, owner));
        }
        Some(lives)
    }

    /// Returns false if this owner has ended.
    fn watch(&mut self, arena: &Arena, owner: u32) -> bool {
        match arena.fate_of(owner) {
            Some(Fate::Ended) => return false,
            Some(Fate::Unless(_, life)) => {
                if let Some(place) = self.words.get_mut(self.count) {
                    *place = life;
                    self.count += 1;
                }
            }
            None => {}
        }
        true
    }

    pub(super) fn words(&self) -> &[Expected] {
        &self.words[..self.count]
    }
}

/// The owner id with which the last of those waits who are in this queue before the wait of this epoch.
fn before_in_line(epoch: &Epoch<'_>, slot: &ObjectSlot) -> Option<u32> {
    let &Epoch { arena, waiter, ticket, .. } = epoch;
    if planted(Bug::NextUnwatched) {
        return None;
    }
    let entries = arena.places(&waiter.budget, slot).filter_map(|place| place.entry());
    let before = entries.filter(|entry| entry.ticket().is_before(ticket));
    let last = before.reduce(|last, entry| if last.ticket().is_before(entry.ticket()) { entry } else { last })?;
    let other = arena.waiter_slot(last.waiter())?;
    let word = other.load();
    (word.ticket() == last.ticket() && word.is_open()).then(|| other.owner())
}
