// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waits without a thread: registered by one, satisfied by whoever signals, and taken from a queue by any thread of the process.
//!
//! # Role
//! A *detached wait* stands in the queues of its objects like any other. No thread sleeps in it, so nobody is woken when it is
//! satisfied: that is *delivered* to its queue ([`crate::arena::queues`]), where threads of its process take the results. Everything else
//! that a wait is (what it may acquire, in which order, all objects at once) is that of [`super::queueing`], [`super::claim`] and
//! [`super::admission`], which need not know the difference.
//!
//! # Picture
//! ```text
//!  register: a slot of its own, as a wait of this thread       stand        one exchange: nobody's, parked
//! ---------|-----------------------------------------------------|---------------------|--------------> (the thread goes on)
//!
//!  who signals:   claim     announce (count of the group, bell)    decide     wake one at the bell     settle
//!  who takes:     bell      look at the counts    sleep ...        look at each slot of the group: satisfied? see at rest, take
//! ```
//! # Transitions
//! | step | on | from | to | by |
//! | --- | --- | --- | --- | --- |
//! | detach | waiter | `Waiting`, the number of a thread | the same, nobody's, parked | the thread that registers |
//! | announce | queue | a count; the bell | one more; rung | who is about to decide a detached wait; who meets its wake owed |
//! | fall asleep | queue | the bell | not rung | a thread that will sleep if it finds no count that nobody has looked at |
//! | take | waiter | `Satisfied` | `Withdrawn` | a thread of the process, once: this one has the result |
//! | cancel | waiter | `Waiting` | `Withdrawn` | a thread of the process |
//!
//! # Invariants
//! * I-detach-1: a wait is announced after its object was claimed for it, and before it is decided. So who looks at all slots of a group
//!   after it has read the count, and helps the claims that it meets, sees each decision that was announced before, or makes it.
//! * I-detach-2: between the announcement and the wake, the bell is rung, or a thread has stored the opposite after it, and looks at the
//!   counts before it sleeps. So the kernel wakes a sleeper if the signaler dies there: a will names the bell.
//! * I-detach-3: a count is noted as seen only after all slots of the group were looked at. So a thread that dies while it looks hides
//!   nothing from others. (An older count that is noted late makes others look in vain.)
//! * I-detach-4: what is announced twice, or not decided after all, makes others look in vain. So every helper can announce.
//! * I-detach-5: the exchange to `Withdrawn` is made once for each wait, after its objects were seen at rest (C2): who makes it takes the
//!   result, or has cancelled.
//!
//! # Order
//! * O-deliver: a thread that delivers counts (exchange), then rings, then decides. A thread that takes stores that the bell is not rung
//!   (exchange), then reads the counts. Either it sees the count; or the bell rings after that, and it does not fall asleep, or is woken.
//! * O-free: who takes a result exchanges the waiter's word, then the holder; who has registered exchanges the holder, then reads the word.
//!   So one of them gives the slot back, if the result was taken before the thread has returned.
//!
//! # Death, stop
//! | after | what follows |
//! | --- | --- |
//! | a registration has begun | the kernel marks the word, as for any wait: it is in no queue |
//! | detach | the wait stands, and is delivered. Nobody knows its number; it ends with its process |
//! | announce | the kernel wakes a sleeper, which finds the claim and decides it, or nothing |
//! | decide | the same; it finds the wait satisfied |
//! | a thread that takes was woken | the kernel wakes another one. It does so until the thread has helped somebody: before that, the thread wakes another one itself |
//! | take | the result is lost with the thread, as that of a wait |
//! | the process | whoever would give it something asks the system whether it lives, and ends its waits if not |

use ntux_platform::clock::Deadline;
use ntux_platform::futex;
use ntux_platform::robust::{Head, Owed};

use super::admission::help_admission_of;
use super::claim::help;
use super::epoch::{Epoch, begin_in, withdraw};
use super::look::check;
use super::probe::probe_one;
use super::queueing::{Joined, Places, Queueing, empty, queue_all, queue_any};
use super::request::Request;
use super::wait::{Round, outcome, take};
use super::wait_all::{all_available, attempt_at_once, take_all};
use super::wait_any::look_at_all;
use super::waiter::{Waiter, bury, enroll, take_slot};
use crate::arena::Arena;
use crate::arena::peers::LivenessCache;
use crate::arena::queues::{ASLEEP, Queue};
use crate::format::entry::Entry;
use crate::format::holder::Holder;
use crate::format::layout::{QueueSlot, WaiterSlot};
use crate::format::limits::{LIST_MAX, QUEUE_GROUPS_USED, RETRIES};
use crate::format::ticket::Ticket;
use crate::format::waiter_word::{EVERYTHING, WaiterState, WaiterWord};
use crate::planted::{Bug, planted};
use crate::{Error, Object, Result, Satisfied, observe};

/// A detached wait, for its process. Never 0; never used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Registration(u64);

impl Registration {
    fn new(waiter: u32, ticket: Ticket) -> Registration {
        Registration(Entry::new(waiter, ticket, 0, false).0)
    }

    fn waiter(self) -> u32 {
        Entry(self.0).waiter()
    }

    fn ticket(self) -> Ticket {
        Entry(self.0).ticket()
    }
}

/// What a registration has come to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Registered {
    /// It was satisfied at once; nothing is delivered.
    Satisfied(Satisfied),
    /// It waits.
    Waits(Registration),
}

/// The result of a detached wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delivered {
    /// Which one.
    pub registration: Registration,
    /// What it was given when it was registered.
    pub key: u64,
    /// What it was satisfied with.
    pub satisfied: Satisfied,
}

/// What is registered.
#[derive(Clone, Copy)]
pub struct Detached<'a> {
    /// The objects, as of a wait.
    pub objects: &'a [Object],
    /// All of them in one step, instead of any.
    pub all: bool,
    /// The owner id for mutexes.
    pub owner: u32,
    /// Comes back with the result; means nothing here.
    pub key: u64,
}

/// Which queue, and for which waiter slot: what [`WaiterSlot::queue`] holds while the slot's word says that its wait is detached.
fn belongs(queue: Queue, waiter: u32) -> u32 {
    waiter << 16 | (queue.0 + 1)
}

/// Where the result of a detached wait is delivered.
#[derive(Clone, Copy)]
pub(super) struct Destination<'a> {
    queue: &'a QueueSlot,
    waiter: u32,
}

impl<'a> Destination<'a> {
    /// None if the wait is a thread's.
    #[inline(always)]
    pub(super) fn of(arena: &'a Arena, slot: &WaiterSlot, word: WaiterWord) -> Option<Destination<'a>> {
        if word.is_detached() { Destination::of_detached(arena, slot) } else { None }
    }

    #[cold]
    fn of_detached(arena: &'a Arena, slot: &WaiterSlot) -> Option<Destination<'a>> {
        let belongs = slot.queue.load();
        let queue = arena.queue_slot((belongs & 0xffff).checked_sub(1)?)?;
        Some(Destination { queue, waiter: belongs >> 16 })
    }

    pub(super) fn bell(&self) -> *const u32 {
        self.queue.bell.0.futex_address()
    }

    /// I-detach-1
    pub(super) fn announce(&self) {
        self.queue.announce(self.waiter);
    }
}

/// Returns true if this is a detached wait of a process that is dead.
pub(super) fn is_of_the_dead(arena: &Arena, slot: &WaiterSlot, word: WaiterWord) -> bool {
    word.is_detached() && is_of_dead_process(arena, Holder(slot.holder.load()).peer())
}

#[cold]
fn is_of_dead_process(arena: &Arena, peer: u32) -> bool {
    arena.known_peer() != Some(peer) && LivenessCache::new(arena).is_peer_dead(peer)
}

/// A new queue of this process.
///
/// Errors: `Exhausted`.
pub(crate) fn create(arena: &Arena) -> Result<Queue> {
    arena.take_queue(arena.peer(bury)?)
}

/// Cancels what waits for this queue, drops what was delivered, and gives it back.
///
/// Errors: `Invalid` if it is none of this process.
pub(crate) fn close(arena: &Arena, waiter: &Waiter, queue: Queue) -> Result<()> {
    let own = Own::of(arena, queue)?;
    for index in 0..arena.waiter_pool().used() {
        waiter.budget.renew();
        if let Some((slot, seen)) = own.wait_in(index) {
            own.end(waiter, index, slot, seen.ticket())?;
            own.free(index, slot);
        }
    }
    if arena.free_queue(queue, own.peer) { Ok(()) } else { Err(Error::Invalid) }
}

/// Registers a wait.
///
/// Errors: those of a wait; `Invalid` also if a timer is among the objects, or the queue is none of this process.
pub(crate) fn register(arena: &Arena, waiter: &Waiter, queue: Queue, wanted: Detached<'_>) -> Result<Registered> {
    waiter.budget.renew();
    let own = Own::of(arena, queue)?;
    let Detached { objects, all, owner, key } = wanted;
    let request = Request::new(objects, None, owner)?;
    if check(arena, &request)? || all && request.has_repeats() {
        return Err(Error::Invalid);
    }
    if all && objects.is_empty() {
        return Ok(Registered::Satisfied(Satisfied { index: 0, abandoned: false }));
    }
    enroll(arena, waiter)?;
    let index = take_slot(arena, waiter)?;
    let slot = arena.waiter_slot(index).ok_or(Error::Corrupt)?;
    let registering = Registering { own, waiter, request, all, key, index, slot };
    let registered = registering.run();
    match registered {
        // Fails if the thread was taken for dead: then nothing waits.
        Ok(Registered::Waits(registration)) => own.keep(index, slot, registration.ticket()),
        _ => {
            slot.holder.store(0);
            arena.waiter_pool().hint(index);
        }
    }
    registered
}

/// A registration that is being made.
struct Registering<'a> {
    own: Own<'a>,
    waiter: &'a Waiter,
    request: Request<'a>,
    all: bool,
    key: u64,
    index: u32,
    slot: &'a WaiterSlot,
}

/// What one round has come to.
enum Once {
    Waits(Registration),
    Round(Round),
}

impl<'a> Registering<'a> {
    fn run(&self) -> Result<Registered> {
        let mut queueing = Queueing::new(false);
        while self.waiter.budget.round() {
            let once = if self.all { self.all_once(&mut queueing)? } else { self.any_once(&mut queueing)? };
            match once {
                Once::Waits(registration) => return Ok(Registered::Waits(registration)),
                Once::Round(Round::Satisfied(satisfied)) => return Ok(Registered::Satisfied(satisfied)),
                Once::Round(Round::Again) => {}
            }
        }
        Err(Error::Corrupt)
    }

    fn any_once(&self, queueing: &mut Queueing) -> Result<Once> {
        let (arena, request) = (self.own.arena, &self.request);
        match look_at_all(arena, self.waiter, request, queueing)? {
            Some(found) if found.position == 0 => {
                let slot = request.get(0).and_then(|object| arena.object_slot(object.index()));
                Ok(Once::Round(take(slot.ok_or(Error::Corrupt)?, found.seen, found.next, 0)))
            }
            Some(found) => match probe_one(arena, self.waiter, request, queueing, &found)? {
                Round::Again => self.queue_once(queueing),
                taken => Ok(Once::Round(taken)),
            },
            None => self.queue_once(queueing),
        }
    }

    fn all_once(&self, queueing: &mut Queueing) -> Result<Once> {
        let (arena, request) = (self.own.arena, &self.request);
        if all_available(arena, self.waiter, request, queueing)? && !queueing.is_hopeless() {
            let round = match take_all(arena, self.waiter, request, queueing)? {
                Round::Again => attempt_at_once(arena, self.waiter, request, queueing, false)?,
                taken => taken,
            };
            return Ok(Once::Round(round));
        }
        self.queue_once(queueing)
    }

    /// One round in the queues of all objects.
    fn queue_once(&self, queueing: &mut Queueing) -> Result<Once> {
        let several = self.all || self.request.length() > 1;
        let state = if several { queueing.state() } else { WaiterState::Waiting };
        let arena = self.own.arena;
        let epoch = begin_in(arena, self.waiter, (self.index, self.slot), state, |slot| {
            slot.wants(self.request.objects().len(), self.request.iter(), self.request.owner);
            slot.queue.store(belongs(self.own.queue, self.index));
            slot.key.store(self.key);
        })?;
        let mut places = [None; LIST_MAX];
        let joined = match self.all {
            false => queue_any(arena, &epoch, &self.request, queueing, &mut places),
            true => queue_all(arena, &epoch, &self.request, queueing, &mut places),
        };
        if joined == Ok(Joined::AllQueues) && epoch.detach() {
            return Ok(Once::Waits(Registration::new(self.index, epoch.ticket)));
        }
        self.undo(&epoch, &places, joined)
    }

    /// It was decided before it was detached, or disturbed.
    fn undo(&self, epoch: &Epoch<'_>, places: &Places<'_>, joined: Result<Joined>) -> Result<Once> {
        epoch.withdraw();
        let satisfied = self.own.end(self.waiter, self.index, self.slot, epoch.ticket)?;
        empty(&places[..self.request.length()]);
        outcome(self.waiter, satisfied, joined).map(Once::Round)
    }
}

/// A queue of this process.
#[derive(Clone, Copy)]
struct Own<'a> {
    arena: &'a Arena,
    queue: Queue,
    slot: &'a QueueSlot,
    peer: u32,
}

impl<'a> Own<'a> {
    /// Errors: `Invalid` if it is none of this process.
    fn of(arena: &'a Arena, queue: Queue) -> Result<Own<'a>> {
        let peer = arena.known_peer().ok_or(Error::Invalid)?;
        let slot = arena.queue_of(queue, peer).ok_or(Error::Invalid)?;
        Ok(Own { arena, queue, slot, peer })
    }

    /// What the slot of a detached wait says of who has it.
    fn holder(&self) -> Holder {
        Holder::new(self.peer, 0)
    }

    /// The waiter slot with this number, and its word, if it has a detached wait for this queue.
    fn wait_in(&self, index: u32) -> Option<(&'a WaiterSlot, WaiterWord)> {
        let slot = self.arena.waiter_slot(index)?;
        let seen = slot.load();
        let is_ours = seen.is_detached()
            && slot.queue.load() == belongs(self.queue, index)
            && Holder(slot.holder.load()).peer() == self.peer;
        is_ours.then_some((slot, seen))
    }

    /// The slot of a wait that was registered is no thread's any more.
    fn keep(&self, index: u32, slot: &WaiterSlot, ticket: Ticket) {
        // O-free
        let mine = slot.holder.load();
        if slot.holder.compare_exchange(mine, self.holder().0).is_ok() {
            let seen = slot.load();
            if seen.ticket() == ticket && seen.state() == WaiterState::Withdrawn {
                self.free(index, slot);
            }
        }
    }

    /// Ends the wait with this ticket, which is decided or withdrawn. Returns what it was given, if this call takes that.
    fn end(&self, waiter: &Waiter, index: u32, slot: &WaiterSlot, ticket: Ticket) -> Result<Option<Satisfied>> {
        let arena = self.arena;
        withdraw(slot, ticket);
        help_admission_of(arena, waiter, index)?;
        let seen = slot.load();
        if seen.ticket() != ticket {
            return Ok(None);
        }
        let satisfied = match seen.satisfied_by() {
            Some(object) => {
                let object_slot = arena.object_slot(object).ok_or(Error::Corrupt)?;
                help(arena, waiter, object, object_slot.load())?;
                let position = listed(slot).position(|listed| listed.index() == object);
                // Otherwise somebody was faster, and another wait has the slot by now.
                position.map(|position| Satisfied { index: position as u32, abandoned: seen.is_abandoned() })
            }
            None if seen.state() == WaiterState::Satisfied && seen.argument() == EVERYTHING => {
                for object in listed(slot) {
                    let object_slot = arena.object_slot(object.index()).ok_or(Error::Corrupt)?;
                    help(arena, waiter, object.index(), object_slot.load())?;
                }
                Some(Satisfied { index: 0, abandoned: seen.is_abandoned() })
            }
            None => None,
        };
        self.leave_queues(waiter, index, slot, ticket);
        Ok(satisfied.filter(|_| is_taken_by_us(slot, ticket)))
    }

    /// Empties its places.
    fn leave_queues(&self, waiter: &Waiter, index: u32, slot: &WaiterSlot, ticket: Ticket) {
        for object in listed(slot) {
            let Some(object_slot) = self.arena.object_slot(object.index()) else { continue };
            for place in self.arena.places(&waiter.budget, object_slot) {
                if let Some(entry) = place.entry().filter(|entry| (entry.waiter(), entry.ticket()) == (index, ticket)) {
                    place.empty(entry);
                }
            }
        }
    }

    /// Gives back the slot of a wait that is over.
    fn free(&self, index: u32, slot: &WaiterSlot) {
        if slot.holder.compare_exchange(self.holder().0, 0).is_ok() {
            self.arena.waiter_pool().hint(index);
        }
    }

    /// Takes the first result that it finds.
    fn take_one(&self, waiter: &Waiter, will: &mut Will) -> Result<Option<Delivered>> {
        let used_before = if planted(Bug::SlotsBefore) { self.arena.waiter_pool().used() } else { 0 };
        for (group, posted) in self.slot.posted() {
            // After the count: its wait can be in a slot that was never used before.
            let used = if planted(Bug::SlotsBefore) { used_before } else { self.arena.waiter_pool().used() };
            if planted(Bug::SeenBefore) {
                self.slot.saw(group, posted);
            }
            for index in (group..used).step_by(QUEUE_GROUPS_USED as usize) {
                let Some((slot, seen)) = self.wait_in(index) else { continue };
                let seen = if seen.is_open() && !planted(Bug::ClaimPassedOver) {
                    self.decided(waiter, index, slot, will)?
                } else {
                    seen
                };
                if seen.state() != WaiterState::Satisfied {
                    continue;
                }
                will.pass_on(self.slot);
                let key = slot.key.load();
                if let Some(satisfied) = self.end(waiter, index, slot, seen.ticket())? {
                    self.free(index, slot);
                    let registration = Registration::new(index, seen.ticket());
                    return Ok(Some(Delivered { registration, key, satisfied }));
                }
            }
            // I-detach-3
            self.slot.saw(group, posted);
        }
        Ok(None)
    }

    /// Helps the claims that stand on the objects of an open wait (I-detach-1). Returns its word after that.
    fn decided(&self, waiter: &Waiter, index: u32, slot: &WaiterSlot, will: &mut Will) -> Result<WaiterWord> {
        for object in listed(slot) {
            let Some(object_slot) = self.arena.object_slot(object.index()) else { continue };
            let word = object_slot.load();
            if word.is_claimed() {
                will.pass_on(self.slot);
                help(self.arena, waiter, object.index(), word)?;
            }
        }
        help_admission_of(self.arena, waiter, index)?;
        Ok(slot.load())
    }
}

/// The objects of a wait.
fn listed(slot: &WaiterSlot) -> impl Iterator<Item = Object> {
    slot.list.iter().take(slot.count()).map(|object| Object(object.load()))
}

/// I-detach-5
fn is_taken_by_us(slot: &WaiterSlot, ticket: Ticket) -> bool {
    for _ in 0..RETRIES {
        let seen = slot.load();
        if seen.ticket() != ticket || seen.state() != WaiterState::Satisfied {
            return planted(Bug::TakenTwice);
        }
        if slot.exchange(seen, seen.withdrawn()) {
            return true;
        }
    }
    false
}

/// What a thread that takes from a queue has told the kernel: to wake another one if it dies.
struct Will {
    head: Head,
    owed: Option<Owed>,
}

impl Will {
    fn make(&mut self, queue: &QueueSlot) {
        if self.owed.is_none() {
            self.owed = Some(self.head.owe(queue.bell.0.futex_address()));
        }
    }

    /// The thread is about to help others, for which it needs the will itself: another one looks, too.
    fn pass_on(&mut self, queue: &QueueSlot) {
        if let Some(owed) = self.owed.take() {
            futex::wake(queue.bell.0.futex_address(), 1);
            self.head.forget(owed);
        }
    }
}

impl Drop for Will {
    fn drop(&mut self) {
        if let Some(owed) = self.owed.take() {
            self.head.forget(owed);
        }
    }
}

/// Takes the result of a detached wait from a queue, or waits for one.
///
/// Errors: `TimedOut`; `Invalid` if it is no queue of this process.
pub(crate) fn collect(arena: &Arena, waiter: &Waiter, queue: Queue, deadline: Deadline) -> Result<Delivered> {
    let own = Own::of(arena, queue)?;
    waiter.budget.renew();
    let mut will = Will { head: waiter.robust(), owed: None };
    while waiter.budget.round() {
        if let Some(found) = own.take_one(waiter, &mut will)? {
            return Ok(found);
        }
        if deadline.passed() {
            return Err(Error::TimedOut);
        }
        will.make(own.slot);
        own.slot.falls_asleep();
        if own.slot.posted().next().is_none() {
            futex::wait(own.slot.bell.0.futex_address(), ASLEEP, deadline);
            waiter.budget.renew();
        }
    }
    Err(Error::Corrupt)
}

/// Cancels a detached wait. Returns what it was given, if it was satisfied before and nobody has taken the result.
///
/// Errors: `NoSuchObject` if its result was taken, it was cancelled, or it is none of this process.
pub(crate) fn cancel(arena: &Arena, waiter: &Waiter, registration: Registration) -> Result<Option<Satisfied>> {
    let (index, ticket) = (registration.waiter(), registration.ticket());
    let slot = arena.waiter_slot(index).ok_or(Error::NoSuchObject)?;
    let queue = Queue((slot.queue.load() & 0xffff).checked_sub(1).ok_or(Error::NoSuchObject)?);
    let own = Own::of(arena, queue).map_err(|_| Error::NoSuchObject)?;
    let (slot, _) = own.wait_in(index).filter(|(_, seen)| seen.ticket() == ticket).ok_or(Error::NoSuchObject)?;
    waiter.budget.renew();
    if withdraw(slot, ticket) {
        observe::woke(arena, slot, observe::trace::What::GivesUp);
        own.end(waiter, index, slot, ticket)?;
        own.free(index, slot);
        return Ok(None);
    }
    let satisfied = own.end(waiter, index, slot, ticket)?.ok_or(Error::NoSuchObject)?;
    own.free(index, slot);
    Ok(Some(satisfied))
}
