// SPDX-License-Identifier: MIT OR Apache-2.0
//! Owners that end, what becomes of their mutexes, and who waits for their ends.
//!
//! # Role
//! No thread has the task to declare a mutex abandoned whose owner has ended: whoever waits for it *kills* it then, as
//! [`crate::Arena::mutex_kill`] does. So does a poll that would fail. A thread that has slept for a millisecond sleeps on the *life* of the
//! owner, too, and is woken when that ends ([`crate::arena::owners`]); and it looks from time to time whether the owner lives, for systems
//! and ends of which no wake tells. This is so for owner ids that the arena has given out, and costs those nothing who use others.
//!
//! A thread that waits for the *end* of an owner ([`crate::kind::end`]) does the same, whatever its own id is: what it finds ended it signals.
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
//! Those of a kill, or of an end that is signaled ([`super::signal`]), by any thread that wants the object.
//!
//! # Invariants
//! * I-end-1: a mutex is killed in the name of the owner that the thread has found ended. So it is killed once, and one that has got
//!   another owner meanwhile is left alone (I-owner-1).
//! * I-end-2: a thread that sleeps in the queue of a mutex with an id of the arena, or in that of an end, sleeps at most [`LONGEST_NS`]
//!   between two looks at its owner. So the end of an owner needs nobody's wake.
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

/// Kills what earlier owners of this place own, and signals their ends.
fn sweep(arena: &Arena, waiter: &Waiter, id: OwnerId) -> Result<()> {
    conclude_all(arena, waiter, |named| OwnerId::of(named).is_some_and(|named| named.index() == id.index()))
}

fn conclude_all(arena: &Arena, waiter: &Waiter, is_theirs: impl Fn(u32) -> bool) -> Result<()> {
    for index in 0..arena.objects_used() {
        waiter.budget.renew();
        let Some(slot) = arena.object_slot(index) else { break };
        let object = slot.resident(index);
        if let Some(owner) = owner_of(arena, waiter, object, slot)?.filter(|&owner| is_theirs(owner)) {
            conclude(arena, waiter, object, slot, owner)?;
        }
    }
    Ok(())
}

/// The owner whose end changes a live object, at rest: that of a mutex, or of an end that has not come. None if there is none.
fn owner_of(arena: &Arena, waiter: &Waiter, object: Object, slot: &ObjectSlot) -> Result<Option<u32>> {
    while waiter.budget.round() {
        let seen = slot.load();
        let Some(kind) = slot.kind_if_live(object) else { return Ok(None) };
        if seen.is_claimed() {
            help(arena, waiter, object.index(), seen)?;
            continue;
        }
        let owner = kind.ends_with(seen, &slot.extra);
        // The data beside the word may belong to the slot's next object.
        if kind == Kind::Mutex || slot.load() == seen {
            return Ok(Some(owner).filter(|&owner| owner != 0));
        }
    }
    Err(Error::Corrupt)
}

/// Declares that this owner of a mutex has ended, and gives the mutex to those who wait; or signals the end of this owner. The thread may
/// be waiting itself.
fn conclude(arena: &Arena, waiter: &Waiter, object: Object, slot: &ObjectSlot, owner: u32) -> Result<()> {
    while waiter.budget.round() {
        let seen = slot.load();
        let (kind, signal) = match slot.kind_if_live(object) {
            // I-end-1
            Some(Kind::Mutex) => {
                (Kind::Mutex, Signal::Kill(if planted(Bug::KillsHeir) { seen.value() } else { owner }))
            }
            // It has one owner as long as it lives.
            Some(Kind::End) => (Kind::End, Signal::Finish),
            _ => return Ok(()),
        };
        if seen.is_claimed() {
            help(arena, waiter, object.index(), seen)?;
            continue;
        }
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
    OwnerId::is_arenas(request.owner) && arena.has_owners() && has_one(arena, request.iter(), Kind::Mutex)
}

/// Returns true if a wait that is known to have a timer or an end, or mutexes at whose owners it must look, must look at owners.
fn looks_at_owners(arena: &Arena, request: &Request<'_>) -> bool {
    let has_end = has_one(arena, request.iter(), Kind::End) && !planted(Bug::EndUnasked);
    has_end || must_look_at_any(arena, request)
}

#[cold]
fn has_one(arena: &Arena, mut objects: impl Iterator<Item = Object>, kind: Kind) -> bool {
    objects.any(|object| arena.object_slot(object.index()).and_then(|slot| slot.kind_if_live(object)) == Some(kind))
}

/// How thoroughly an owner is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    /// At its place and its life only: no system call.
    Place,
    /// The system is asked.
    System,
}

/// A poll has found none of these available: kills those whose owners have ended, and signals the ends that have come. Returns whether
/// there was one, so that another look is due.
#[cold]
pub(super) fn came_free(arena: &Arena, waiter: &Waiter, request: &Request<'_>) -> Result<bool> {
    Ok(looks_at_owners(arena, request) && conclude_ended(arena, waiter, request.iter(), Look::System)?)
}

/// A mutex was found to have this owner, or an end to be that of this owner: kills it, or signals it, if that has ended. Returns whether
/// that was so.
pub(crate) fn concluded_if_ended(arena: &Arena, waiter: &Waiter, object: Object, owner: u32) -> Result<bool> {
    Ok(OwnerId::is_arenas(owner) && conclude_ended(arena, waiter, [object].into_iter(), Look::System)?)
}

/// Kills those mutexes of a wait without a thread whose owners have ended, and signals the ends that have come. Returns when somebody must
/// look again, at the latest.
pub(super) fn look_without_thread(
    arena: &Arena,
    waiter: &Waiter,
    objects: impl Iterator<Item = Object> + Clone,
    owner: u32,
) -> Result<Deadline> {
    if !OwnerId::is_arenas(owner) && !has_one(arena, objects.clone(), Kind::End) {
        return Ok(Deadline::Never);
    }
    conclude_ended(arena, waiter, objects, Look::System)?;
    Ok(Deadline::Monotonic(Clock::Monotonic.now_ns().saturating_add(LONGEST_NS)))
}

fn conclude_ended(arena: &Arena, waiter: &Waiter, objects: impl Iterator<Item = Object>, how: Look) -> Result<bool> {
    let mut concluded = false;
    let mut living = Living::new(arena);
    for object in objects {
        let Some(slot) = arena.object_slot(object.index()) else { continue };
        let Some(owner) = owner_of(arena, waiter, object, slot)? else { continue };
        if living.has_ended(owner, how) {
            // I-end-3
            if !planted(Bug::OneTold) {
                arena.tell_end(owner);
            }
            conclude(arena, waiter, object, slot, owner)?;
            concluded = true;
        }
    }
    Ok(concluded)
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
        Looks { interval_ns: 0, next_ns: looks_at_owners(arena, request).then_some(0) }
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

    /// Kills the mutexes of this wait whose owners have ended, and signals the ends that have come. The thread may get one of them.
    pub(super) fn look(&mut self, arena: &Arena, waiter: &Waiter, request: &Request<'_>) -> Result<()> {
        let how = if self.interval_ns == 0 { Look::Place } else { Look::System };
        conclude_ended(arena, waiter, request.iter(), how)?;
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
    /// Those of the owners of the mutexes of this wait, of those who are before it in their queues, and of those whose ends it waits for. None
    /// if one has ended, or something is halfway, which may be who has died: a look is due.
    #[inline(never)]
    pub(super) fn of(epoch: &Epoch<'_>, request: &Request<'_>) -> Option<Lives> {
        let mut lives = Lives { words: [Expected { address: core::ptr::null(), value: 0 }; BESIDE_MAX], count: 0 };
        for object in request.iter() {
            let Some(slot) = epoch.arena.object_slot(object.index()) else { continue };
            // O-end
            let seen = slot.load();
            let Some(kind) = slot.kind_if_live(object).filter(|kind| kind.can_end()) else { continue };
            if seen.is_claimed() || !lives.watch(epoch.arena, kind.ends_with(seen, &slot.extra)) {
                return None;
            }
            if kind == Kind::End {
                continue;
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
