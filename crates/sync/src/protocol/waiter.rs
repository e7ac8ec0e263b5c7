// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thread's waiter slot in an arena: taken at the first wait, kept for later ones, and reclaimed when the thread is
//! dead. Each wait in it is an *epoch* ([`super::epoch`]).
//!
//! # Picture
//! ```text
//! holder: 63    62    51    50    49               0
//!        +-----+--------+--------+------------------+
//!        |taken|  peer  |detached| thread, ticket   |      0: free
//!        +-----+--------+--------+------------------+
//! ```
//! A wait without a thread ([`super::detached`]) has its slot itself: its ticket is there instead of a thread.
//!
//! The thread's number has as many bits as a system needs to name it for good: macOS counts threads up from its start. (The
//! waiter's word has room for 30 of them, enough for Linux's kernel to recognize the whole number.)
//!
//! # Transitions of the holder
//! | from | to | by |
//! | --- | --- | --- |
//! | free | taken | a thread that enrolls |
//! | taken | free | the same thread, between waits |
//! | taken by a thread | a detached wait's | the thread that registers it; whoever finds that thread dead, and its process alive |
//! | a detached wait's | free | who has ended that wait: its ticket is in the exchange, so nobody frees the slot of a later one |
//! | a detached wait's, which is over | taken | a thread that finds no free slot: who has ended the wait was killed before it gave the slot back |
//! | taken by a dead thread, or by a wait of a dead process | taken | another thread, which then ends the dead thread's epoch as that thread would have. It looks at a few slots before it takes one that was never used, and at all when none is left |
//!
//! # Invariants
//! * I-heir: numbers of threads are used again. A thread that was found dead can have lost its slot to a new thread with its number
//!   before the exchange that takes the slot. So the heir asks again afterwards: if a thread with that number lives, it gives the
//!   slot back untouched. A thread that lives does not look at its own holder, so it notices nothing. (An heir that is killed
//!   between the two exchanges leaves the slot in its own name: the next heir would take it for free.)
//!
//! # Death
//! If a thread dies between the exchange of the holder and the end of the old epoch, the next thread that takes the
//! slot ends the epoch. The arena's ticket counter never goes back, so no epoch of a slot is used twice.

use std::cell::Cell;
use std::marker::PhantomData;

use ntux_platform::atomic::Flag;
use ntux_platform::life::Life;
use ntux_platform::liveness;
use ntux_platform::memory::Caller;
use ntux_platform::robust::Head;

use super::admission::help_admission_of;
use super::claim::help;
use super::detached::{is_over, outlives, takes_result};
use super::epoch::withdraw;
use super::spin::AdaptiveSpin;
use crate::arena::Arena;
use crate::arena::peers::LivenessCache;
use crate::budget::WorkBudget;
use crate::format::holder::Holder;
use crate::format::layout::WaiterSlot;
use crate::format::mark::Mark;
use crate::format::ticket::Ticket;
use crate::format::waiter_word::WaiterWord;
use crate::observe::marks::OwnMark;
use crate::planted::{Bug, planted};
use crate::{Error, Object, Result};

/// A thread's waiter in one arena. [`Arena::waiter`] creates it, on and for one thread; return it with
/// [`Arena::retire`].
///
/// A slot that is not returned is reclaimed when its thread has ended and others need slots.
pub struct Waiter {
    /// Index of the slot plus one.
    slot: Cell<u32>,
    /// The lineage of the process in which the slot was taken. A forked child must not use it, even if it has the number of that process.
    lineage: Cell<u64>,
    /// The owner id of the thread, and the lineage of the process that has taken it; 0: none ([`super::owner`]).
    pub(super) owner: Cell<(u32, u64)>,
    /// By which the kernel tells of its end.
    pub(super) life: Cell<Option<Life>>,
    robust: Cell<Option<Head>>,
    interrupted: Flag,
    /// The wait in progress, for [`Waiter::interrupt`]: valid while `active` is set.
    current: Cell<*const WaiterSlot>,
    epoch: Cell<u64>,
    active: Flag,
    /// The wait in progress was withdrawn by its own thread, which was about to wake another one.
    stepped_aside: Cell<bool>,
    pub(super) thread_id: Cell<u32>,
    pub(super) mark: OwnMark,
    pub(super) sleeps: Cell<u64>,
    pub(crate) budget: WorkBudget,
    pub(crate) nested: Nested,
    pub(super) spin: AdaptiveSpin,
    thread: PhantomData<*mut ()>,
}

/// The depth of other threads' operations that a thread is finishing before its own.
#[derive(Default)]
pub(crate) struct Nested {
    depth: Cell<u32>,
    operating: Cell<bool>,
}

impl Nested {
    /// Each level is another operation in progress, whose waiters came later than those of the level above. In rubbish
    /// they could form a ring.
    const DEEPEST: u32 = 8;

    /// Returns false if the limit is reached.
    pub(crate) fn enter(&self) -> bool {
        let depth = self.depth.get();
        if depth == Nested::DEEPEST {
            return false;
        }
        self.depth.set(depth + 1);
        true
    }

    pub(crate) fn leave(&self) {
        self.depth.set(self.depth.get() - 1);
    }

    /// Sets whether this thread is helping the admitted operation. Returns the old value.
    pub(crate) fn operate(&self, operating: bool) -> bool {
        self.operating.replace(operating)
    }

    pub(crate) fn is_operating(&self) -> bool {
        self.operating.get()
    }
}

impl Waiter {
    /// A waiter for the calling thread. It takes nothing from the arena before it is needed.
    pub(crate) fn new() -> Waiter {
        Waiter {
            slot: Cell::new(0),
            lineage: Cell::new(0),
            owner: Cell::new((0, 0)),
            life: Cell::new(None),
            robust: Cell::new(None),
            interrupted: Flag::new(),
            current: Cell::new(core::ptr::null()),
            epoch: Cell::new(0),
            active: Flag::new(),
            stepped_aside: Cell::new(false),
            thread_id: Cell::new(0),
            mark: OwnMark::default(),
            sleeps: Cell::new(0),
            budget: WorkBudget::default(),
            nested: Nested::default(),
            spin: AdaptiveSpin::default(),
            thread: PhantomData,
        }
    }

    /// What a forked child finds in its memory of this waiter, for checkers.
    #[cfg(ntux_explore)]
    pub fn copied_by_fork(&self) -> Waiter {
        let copy = Waiter::new();
        copy.slot.set(self.slot.get());
        copy.lineage.set(self.lineage.get());
        copy.owner.set(self.owner.get());
        copy.thread_id.set(self.thread_id.get());
        copy
    }

    /// Takes the wait in progress out of every queue, unless it is already satisfied; the wait then returns
    /// `Interrupted`. So do later waits, until [`Waiter::resume`].
    ///
    /// Async-signal-safe on the waiter's own thread: this is for signal handlers.
    pub fn interrupt(&self) {
        self.interrupted.set(true);
        self.withdraw_current();
    }

    /// A thread can register only one word with the kernel for its death: its own while it waits, or that of a thread
    /// that it is about to wake. So a waiting thread that must wake another first leaves the queues, and restarts
    /// afterwards.
    #[inline(always)]
    pub(crate) fn step_aside(&self) {
        if self.active.is_raised() && self.withdraw_current() {
            self.stepped_aside.set(true);
            #[cfg(ntux_explore)]
            ntux_platform::explore::steps_aside();
        }
    }

    /// Returns true if the wait that has just ended must be retried.
    pub(crate) fn starts_again(&self) -> bool {
        self.stepped_aside.take()
    }

    /// Begins a wait in this slot. Writes three fields in this order, because a signal handler may run between any two
    /// instructions.
    pub(super) fn begin_wait(&self, slot: &WaiterSlot, ticket: Ticket) {
        self.current.set(core::ptr::from_ref(slot));
        self.epoch.set(ticket.number());
        self.active.set(true);
    }

    /// Ends the wait in progress.
    pub(super) fn end_wait(&self) {
        self.active.set(false);
    }

    #[cold]
    fn withdraw_current(&self) -> bool {
        if !self.active.is_raised() {
            return false;
        }
        // SAFETY: `active` is raised only while a wait is in progress on this thread, which borrows the arena that the
        // slot lies in; the handler that calls this runs on top of that wait. `current` was written before.
        let slot = unsafe { &*self.current.get() };
        withdraw(slot, Ticket::new(self.epoch.get()))
    }

    /// Ends the interruption of waits.
    pub fn resume(&self) {
        self.interrupted.set(false);
    }

    /// From now on the thread leaves its mark. A system call.
    pub(crate) fn name_itself(&self, arena: &Arena) {
        self.mark.make(|| {
            let thread = liveness::thread_id();
            arena.known_peer().map_or(Mark::of_thread(thread), |peer| Mark::of(Holder::new(peer, thread)))
        });
    }

    /// The process of the calling thread is registered in this slot.
    pub(crate) fn belongs_to(&self, peer: u32) {
        let own = self.mark.get();
        if own.thread() == 0 || own != Mark::of(Holder::new(peer, own.thread().into())) {
            self.mark.make(|| Mark::of(Holder::new(peer, liveness::thread_id())));
        }
    }

    /// Returns true if the calling process is the one with this lineage.
    #[inline(always)]
    fn is_in(&self, lineage: u64) -> bool {
        self.mark.is_told_of(lineage) || own_lineage() == lineage
    }

    /// The calling thread, as far as its mark tells.
    pub(crate) fn caller(&self) -> Caller {
        let is_first = self.mark.get().thread() == liveness::process_id();
        if is_first { Caller::FirstThread } else { Caller::AnyThread }
    }

    /// How often waits of this waiter have entered the kernel to sleep.
    pub fn sleeps(&self) -> u64 {
        self.sleeps.get()
    }

    /// Returns true if waits are interrupted.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.is_raised()
    }

    /// Returns true if the wait in progress, if any, is in this slot.
    pub(crate) fn is_at(&self, slot: &WaiterSlot) -> bool {
        self.active.is_raised() && core::ptr::eq(self.current.get(), slot)
    }

    #[inline(always)]
    pub(crate) fn robust(&self) -> Head {
        self.robust.get().unwrap_or_else(|| self.find_robust())
    }

    #[cold]
    fn find_robust(&self) -> Head {
        let head = Head::of_this_thread();
        self.robust.set(Some(head));
        head
    }
}

/// Which process this is, of those that can have a copy of a [`Waiter`].
#[inline(always)]
fn own_lineage() -> u64 {
    if planted(Bug::NumberTrusted) { liveness::process_id().into() } else { liveness::lineage() }
}

/// Returns a thread's slot. The waiter may be used again; it then takes a new slot.
pub(crate) fn retire(arena: &Arena, waiter: &Waiter) {
    let index = waiter.slot.take().wrapping_sub(1);
    let Some(slot) = arena.waiter_slot(index) else {
        return;
    };
    if waiter.lineage.get() == own_lineage() {
        slot.holder.store(0);
        arena.waiter_pool().hint(index);
    }
}

/// Returns the slot of a waiter; takes one at the first call, and in a forked child.
///
/// Errors: `Exhausted`.
#[inline(always)]
pub(crate) fn enroll<'a>(arena: &'a Arena, waiter: &Waiter) -> Result<(u32, &'a WaiterSlot)> {
    let known = waiter.slot.get().wrapping_sub(1);
    match arena.waiter_slot(known) {
        Some(slot) if waiter.is_in(waiter.lineage.get()) => Ok((known, slot)),
        _ => enroll_anew(arena, waiter),
    }
}

#[cold]
fn enroll_anew<'a>(arena: &'a Arena, waiter: &Waiter) -> Result<(u32, &'a WaiterSlot)> {
    let index = take_slot(arena, waiter)?;
    waiter.slot.set(index + 1);
    waiter.lineage.set(own_lineage());
    waiter.thread_id.set(WaiterWord::number_of(liveness::thread_id()));
    // A fork copies the thread, but not its robust list.
    waiter.robust.set(None);
    Ok((index, arena.waiter_slot(index).ok_or(Error::Corrupt)?))
}

/// Takes a slot for the calling thread, beside any that it has.
pub(super) fn take_slot(arena: &Arena, waiter: &Waiter) -> Result<u32> {
    let mine = Holder::new(arena.peer(bury)?, liveness::thread_id());
    waiter.mark.make(|| Mark::of(mine));
    let take = |index| arena.waiter_slot(index).is_some_and(|slot| slot.holder.compare_exchange(0, mine.0).is_ok());
    let from_dead = |index| inherit_if_gone(arena, index, mine);
    let index = match arena.waiter_pool().find(take, from_dead) {
        Some(index) => index,
        None => inherit_slot(arena, mine).ok_or(Error::Exhausted)?,
    };
    if !planted(Bug::HeirBlind) {
        end_epoch(arena, waiter, index)?;
    }
    Ok(index)
}

/// Takes the slot of a thread whose number nobody has any more. One question for the kernel: it does not notice a number that
/// somebody else has by now, as [`inherit_slot`] does.
#[cold]
fn inherit_if_gone(arena: &Arena, index: u32, mine: Holder) -> bool {
    let Some(slot) = arena.waiter_slot(index) else { return false };
    let holder = Holder(slot.holder.load());
    let is_gone = || arena.is_thread_gone(holder.peer(), holder.thread(), mine.peer());
    if is_over(arena, slot, holder) {
        return slot.holder.compare_exchange(holder.0, mine.0).is_ok();
    }
    holder.is_taken()
        && is_gone()
        && !outlives(arena, index, slot, holder)
        && take_from_dead(slot, holder, mine, is_gone)
}

/// Takes a free slot, or that of a dead thread.
#[cold]
fn inherit_slot(arena: &Arena, mine: Holder) -> Option<u32> {
    let cache = LivenessCache::new(arena);
    arena.waiter_pool().search(|index| {
        arena.waiter_slot(index).is_some_and(|slot| {
            let holder = Holder(slot.holder.load());
            let is_dead = || cache.is_thread_dead(holder.peer(), holder.thread());
            match holder.is_free() || is_over(arena, slot, holder) {
                true => slot.holder.compare_exchange(holder.0, mine.0).is_ok(),
                false => {
                    is_dead() && !outlives(arena, index, slot, holder) && take_from_dead(slot, holder, mine, is_dead)
                }
            }
        })
    })
}

/// Takes the slot of a thread that was found dead, unless a living one has it by now (I-heir).
pub(super) fn take_from_dead(slot: &WaiterSlot, dead: Holder, mine: Holder, is_dead: impl FnOnce() -> bool) -> bool {
    if slot.holder.compare_exchange(dead.0, mine.0).is_err() {
        return false;
    }
    let taken = planted(Bug::HeirTrusts) || is_dead();
    if !taken {
        // Fails if its thread has returned the slot meanwhile.
        let _ = slot.holder.compare_exchange(mine.0, dead.0);
    }
    taken
}

/// Ends the last epoch of a slot, as its thread would have.
pub(super) fn end_epoch(arena: &Arena, waiter: &Waiter, index: u32) -> Result<()> {
    let slot = arena.waiter_slot(index).ok_or(Error::Corrupt)?;
    withdraw(slot, slot.load().ticket());
    help_admission_of(arena, waiter, index)?;
    let ended = slot.load();
    let all = if ended.has_probed_all() { slot.count() } else { 0 };
    let all = slot.list.iter().take(all).map(|object| Object(object.load()).index());
    for object in ended.satisfied_by().into_iter().chain(all) {
        if let Some(object_slot) = arena.object_slot(object) {
            help(arena, waiter, object, object_slot.load())?;
        }
    }
    if ended.is_detached() {
        // Nobody will: the next wait in this slot must not be taken for satisfied.
        takes_result(slot, ended.ticket());
    }
    Ok(())
}

/// Returns everything that a dead process owned.
pub(crate) fn bury(arena: &Arena, peer: u32) -> Result<()> {
    bury_waiters(arena, peer)?;
    arena.bury_queues(peer, || true);
    arena.bury_owners(peer, || true);
    arena.bury_objects(peer);
    Ok(())
}

/// Frees the waiter slots of a dead process. Only the process that has its peer slot now may do so.
fn bury_waiters(arena: &Arena, peer: u32) -> Result<()> {
    let pool = arena.waiter_pool();
    let undertaker = Waiter::new();
    undertaker.budget.renew();
    let mine = Holder::new(peer, liveness::thread_id());
    for index in 0..pool.used() {
        let slot = arena.waiter_slot(index).ok_or(Error::Corrupt)?;
        let holder = Holder(slot.holder.load());
        let is_theirs = !holder.is_free() && holder.peer() == peer;
        // Takes the slot first, because another heir may be waiting in it already.
        if is_theirs && slot.holder.compare_exchange(holder.0, mine.0).is_ok() {
            end_epoch(arena, &undertaker, index)?;
            slot.holder.store(0);
            pool.hint(index);
        }
    }
    Ok(())
}
