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
//!  who signals:   claim     announce (count of the group, ring)    decide     wake one at the bell     settle
//!  who takes:     read the bell     look at packets and counts     look at each slot of the group: satisfied? see at rest, take
//!                 nothing: silence the bell, unless it was rung since     sleep on it
//!  who arms:      read the bell     look whether there are packets, or counts that nobody has looked at
//!                 none: silence the bell, unless it was rung since     a descriptor sleeps on it
//! ```
//! # Transitions
//! | step | on | from | to | by |
//! | --- | --- | --- | --- | --- |
//! | detach | waiter | `Waiting`, the number of a thread | the same, nobody's, parked | the thread that registers |
//! | announce | queue | a count; the bell | one more; rung once more | who is about to decide a detached wait; who meets its wake owed |
//! | silence | queue | the bell, rung | silent | a thread that has read it, and found nothing after that, to take or to arm for |
//! | take | waiter | `Satisfied` | `Withdrawn` | a thread of the process, once: this one has the result |
//! | cancel | waiter | `Waiting` | `Withdrawn` | a thread of the process |
//!
//! # Invariants
//! * I-detach-1: a wait is announced after its object was claimed for it, and before it is decided. So who looks at all slots of a group
//!   after it has read the count, and helps the claims that it meets, sees each decision that was announced before, or makes it.
//! * I-detach-2: the bell is silent only if somebody has looked at everything after its last ring, and found nothing that was not taken.
//!   So as long as something is there that was rung for, the bell is rung, and the kernel wakes another sleeper if a thread dies whose
//!   will names it: one that was about to wake somebody, or one that was woken.
//! * I-detach-3: a count is noted as seen only after all slots of the group were looked at. So a thread that dies while it looks hides
//!   nothing from others. (An older count that is noted late makes others look in vain.)
//! * I-detach-4: what is announced twice, or not decided after all, makes others look in vain. So every helper can announce.
//! * I-detach-5: the exchange to `Withdrawn` is made once for each wait, after its objects were seen at rest (C2): who makes it takes the
//!   result, or has cancelled.
//! * I-detach-6: a thread that sleeps at the bell sleeps at most until the first of the timers is due for which waits of its queue stand, or
//!   are about to, and until it must look again at the owners of their mutexes ([`super::owner`]). A thread that arms one rings before the turn takes effect, one that registers a wait before that stands; the first
//!   thread that finds the bell rung wakes all others before it silences it. So a firing owes the queue no wake ([`super::timer`]).
//! * I-detach-7: a queue is closed by one exchange of its bell, which rings. A thread that finds it closed wakes all: so nobody sleeps on
//!   although the thread that closes it was stopped or killed. Any thread can go on closing it.
//! * I-detach-8: a descriptor that was armed for a queue is a sleeper at its bell, and a wake that it takes makes it readable. It stays so until
//!   a thread has found nothing, and armed it again: so no will must name the bell for it.
//! * I-detach-9: a slot of a queue has one owner after the other, and its holder says which. A thread that is late looks at the holder after
//!   it has read something there, and before it exchanges that, or says what it has seen: if the queue was still its own, what it has read was,
//!   too, and the exchange fails if the next owner has changed it since. What is rung and announced for an earlier owner makes the next one look in
//!   vain.
//! * I-detach-10: the slot of a waiter is given back once for each detached wait: the holder has its ticket.
//! * I-detach-11: a wait of a dead process, or for a queue that was closed, is given nothing. A thread that finds that out withdraws the wait
//!   whose entry it has met, and no later one in that slot.
//!
//! # Order
//! * O-deliver: a thread that delivers counts, then rings, then decides. A thread that takes reads the bell, then the counts, then the
//!   slots, and silences the bell by an exchange. Either it sees the count, or the bell was rung meanwhile, and the exchange fails, or the
//!   kernel does not let it sleep. A packet is there before it is rung for.
//! * O-free: who takes a result exchanges the waiter's word, then the holder; who has registered exchanges the holder, then reads the word.
//!   So one of them gives the slot back, if the result was taken before the thread has returned.
//! * O-closed: who closes a queue exchanges its bell, then looks at all slots; who registers a wait exchanges its word, then reads the bell.
//!   So one of them ends the wait.
//!
//! # Death, stop
//! | after | what follows |
//! | --- | --- |
//! | a registration has begun | the kernel marks the word, as for any wait: it is in no queue |
//! | detach | the wait stands, and is delivered. Nobody knows its number; it ends with its process. A thread that finds its slot to be a dead one's gives that away |
//! | announce | the kernel wakes a sleeper, which finds the claim and decides it, or nothing |
//! | decide | the same; it finds the wait satisfied |
//! | a thread has armed, or is about to | the bell is silent, or rung: the next one that looks finds out |
//! | a packet is there | the kernel wakes a sleeper, if it was rung for. Otherwise it is taken by who looks next: until then it was not posted |
//! | a thread that takes was woken | the kernel wakes another one. It does so until the thread has helped somebody: before that, the thread wakes another one itself |
//! | take, before the slot is given back | the result is lost with the thread, as that of a wait. A thread that finds no free slot takes this one |
//! | the process | whoever would give it something asks the system whether it lives, and ends its waits if not. The next one that takes its place frees its queues, and wakes whatever sleeps at their bells for it |
//! | the process, which has become another program (`execve`) | its waits stand until that program uses the arena, or ends |

use std::cell::OnceCell;

use ntux_platform::clock::Deadline;
use ntux_platform::futex;
use ntux_platform::liveness;
use ntux_platform::robust::{Head, Owed};

use super::admission::{help_admission_of, help_admission_of_then};
use super::claim::help;
use super::epoch::{Epoch, begin_in, withdraw};
use super::look::check;
use super::owner;
use super::probe::probe_one;
use super::queueing::{Joined, Places, Queueing, empty, queue_all, queue_any};
use super::request::Request;
use super::timer;
use super::wait::{Round, outcome, take};
use super::wait_all::{all_available, attempt_at_once, take_all};
use super::wait_any::look_at_all;
use super::waiter::{Waiter, bury, enroll, take_slot};
use crate::arena::Arena;
use crate::arena::packets::Packets;
use crate::arena::peers::LivenessCache;
use crate::arena::queues::Queue;
use crate::format::delivery::{Bell, DeliveredTo};
use crate::format::entry::Entry;
use crate::format::holder::Holder;
use crate::format::layout::{QueueSlot, WaiterSlot};
use crate::format::limits::{LIST_MAX, QUEUE_GROUPS_USED, RETRIES};
use crate::format::ticket::Ticket;
use crate::format::waiter_word::{EVERYTHING, WaiterState, WaiterWord};
use crate::planted::{Bug, planted};
use crate::{Error, Object, Result, Satisfied};

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

    /// The number that stands for it, for faces that know only numbers.
    pub fn to_bits(self) -> u64 {
        self.0
    }

    /// The wait for which a number stands; whether there is one, is found out by who uses it.
    pub fn from_bits(bits: u64) -> Registration {
        Registration(bits)
    }
}

/// What a registration has come to.
#[must_use = "nothing is delivered of what was satisfied at once"]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Registered {
    /// It was satisfied at once; nothing is delivered.
    Satisfied(Satisfied),
    /// It waits.
    Waits(Registration),
}

/// The result of a detached wait, or a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delivered {
    /// Which wait; none: a packet that was posted.
    pub registration: Option<Registration>,
    /// What the wait was given when it was registered, or what was posted.
    pub key: u64,
    /// What the wait was satisfied with; a packet has nothing here.
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
        let delivered_to = DeliveredTo(slot.queue.load());
        let (index, _) = delivered_to.queue()?;
        Some(Destination { queue: arena.queue_slot(index)?, waiter: delivered_to.waiter() })
    }

    /// The same of a wait that is being registered, or was once.
    pub(super) fn of_any(arena: &'a Arena, slot: &WaiterSlot) -> Option<Destination<'a>> {
        if slot.queue.load() == 0 { None } else { Destination::of_detached(arena, slot) }
    }

    pub(super) fn bell(&self) -> *const u32 {
        self.queue.bell.0.futex_address()
    }

    /// I-detach-1
    pub(super) fn announce(&self) {
        self.queue.announce(self.waiter);
    }

    /// A timer is about to be armed: whoever sleeps looks at it again (I-detach-6).
    pub(super) fn stir(&self) {
        self.queue.ring();
        futex::wake(self.bell(), 1);
    }
}

/// Finds out which detached waits are nobody's any more, whose results nobody will take. Asks the system once for each process.
pub(super) struct Owners<'a> {
    arena: &'a Arena,
    alive: OnceCell<LivenessCache<'a>>,
}

impl<'a> Owners<'a> {
    pub(super) fn new(arena: &'a Arena) -> Owners<'a> {
        Owners { arena, alive: OnceCell::new() }
    }

    /// Returns true if this is a detached wait of a process that is dead, or for a queue that was closed. A thread that would give it
    /// something withdraws the wait of its entry instead: by then another wait can have the slot.
    #[inline(always)]
    pub(super) fn are_gone(&self, slot: &WaiterSlot, word: WaiterWord) -> bool {
        word.is_detached() && self.is_nobodys(slot)
    }

    /// The queue says whose the wait is: an heir may have the slot in its hands.
    #[cold]
    fn is_nobodys(&self, slot: &WaiterSlot) -> bool {
        let owner = queue_of(slot).and_then(|queue| self.arena.owner_of(queue));
        owner.is_none_or(|peer| self.arena.known_peer() != Some(peer) && self.is_dead(peer))
    }

    /// Also while somebody buries it.
    fn is_dead(&self, peer: u32) -> bool {
        self.alive.get_or_init(|| LivenessCache::new(self.arena)).is_owner_dead(peer)
    }
}

/// [`Owners::are_gone`] for one wait.
#[inline(always)]
pub(super) fn is_nobodys(arena: &Arena, slot: &WaiterSlot, word: WaiterWord) -> bool {
    word.is_detached() && is_detached_nobodys(arena, slot)
}

#[cold]
fn is_detached_nobodys(arena: &Arena, slot: &WaiterSlot) -> bool {
    Owners::new(arena).is_nobodys(slot)
}

/// A new queue of this process.
///
/// Errors: `Exhausted`.
pub(crate) fn create(arena: &Arena) -> Result<Queue> {
    let peer = arena.peer(bury)?;
    arena.take_queue(peer).or_else(|_| {
        arena.bury_owners_of_queues(bury);
        arena.take_queue(peer)
    })
}

/// Cancels what waits for this queue, drops what was delivered, and gives it back.
///
/// Errors: `Invalid` if it is none of this process.
pub(crate) fn close(arena: &Arena, waiter: &Waiter, queue: Queue) -> Result<()> {
    let own = Own::of_any(arena, queue)?;
    let mut will = own.will(waiter);
    will.make();
    // O-closed
    if !own.slot.ring_closed(|| own.is_ours()) {
        return Err(Error::Invalid);
    }
    own.wake_all();
    will.forget();
    for index in 0..arena.waiter_pool().used() {
        waiter.budget.renew();
        if let Some((slot, seen)) = own.wait_in(index) {
            own.end(waiter, index, slot, seen.ticket())?;
            own.free(index, slot, seen.ticket());
        }
    }
    if arena.free_queue(queue, own.peer) { Ok(()) } else { Err(Error::Invalid) }
}

/// Posts a packet.
///
/// Errors: `Exhausted` if as many wait as the queue has room for; `Invalid` if it is none of this process.
pub(crate) fn post(arena: &Arena, waiter: &Waiter, queue: Queue, key: u64) -> Result<()> {
    let own = Own::of(arena, queue)?;
    let mut will = own.will(waiter);
    will.make();
    own.packets()?.post(queue.serial, key, || {
        // O-deliver
        own.slot.ring();
        futex::wake(own.bell(), 1);
    })
}

/// Registers a wait.
///
/// Errors: those of a wait; `Invalid` also if the queue is none of this process.
pub(crate) fn register(arena: &Arena, waiter: &Waiter, queue: Queue, wanted: Detached<'_>) -> Result<Registered> {
    waiter.budget.renew();
    let own = Own::of(arena, queue)?;
    let Detached { objects, all, owner, key } = wanted;
    let request = Request::new(objects, None, owner)?;
    let must_look = check(arena, &request)? | owner::must_look_at_any(arena, &request);
    if all && request.has_repeats() {
        return Err(Error::Invalid);
    }
    if all && objects.is_empty() {
        return Ok(Registered::Satisfied(Satisfied { index: 0, abandoned: false }));
    }
    enroll(arena, waiter)?;
    if must_look {
        // What a poll would find.
        owner::came_free(arena, waiter, &request)?;
    }
    let index = take_slot(arena, waiter)?;
    let slot = arena.waiter_slot(index).ok_or(Error::Corrupt)?;
    let registering = Registering { own, waiter, request, must_look, all, key, index, slot };
    let registered = registering.run();
    let Ok(Registered::Waits(registration)) = registered else {
        slot.holder.store(0);
        arena.waiter_pool().hint(index);
        return registered;
    };
    // Fails if the thread was taken for dead: then nothing waits.
    own.keep(index, slot, registration.ticket());
    // O-closed
    if let Err(closed) = Own::of(arena, queue) {
        let satisfied = own.cancel(waiter, registration).ok().flatten();
        return satisfied.map(Registered::Satisfied).ok_or(closed);
    }
    registered
}

/// A registration that is being made.
struct Registering<'a> {
    own: Own<'a>,
    waiter: &'a Waiter,
    request: Request<'a>,
    /// It has timers or ends, or mutexes at whose owners somebody must look.
    must_look: bool,
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
        let mut queueing = Queueing::new(self.must_look);
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
            slot.queue.store(self.own.delivered_to(self.index).0);
            slot.key.store(self.key);
        })?;
        let mut places = [None; LIST_MAX];
        let joined = match self.all {
            false => queue_any(arena, &epoch, &self.request, queueing, &mut places),
            true => queue_all(arena, &epoch, &self.request, queueing, &mut places),
        };
        if joined == Ok(Joined::AllQueues) && self.detach(&epoch) {
            return Ok(Once::Waits(Registration::new(self.index, epoch.ticket)));
        }
        self.undo(&epoch, &places, joined)
    }

    /// The wait stands from now on, unless it is decided.
    fn detach(&self, epoch: &Epoch<'_>) -> bool {
        if !self.must_look {
            return epoch.detach();
        }
        // I-detach-6: who looks now finds the wait also before it stands. The will of this thread names its own word still, so the wake is
        // sent before the wait stands, too.
        self.own.slot.timed.store(1);
        self.own.slot.ring();
        futex::wake(self.own.bell(), 1);
        epoch.detach()
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
    /// Errors: `Invalid` if it is none of this process, or is being closed.
    fn of(arena: &'a Arena, queue: Queue) -> Result<Own<'a>> {
        let own = Own::of_any(arena, queue)?;
        own.open_bell().map(|_| own)
    }

    /// Errors: `Invalid` if it is none of this process.
    fn of_any(arena: &'a Arena, queue: Queue) -> Result<Own<'a>> {
        let peer = arena.known_peer().ok_or(Error::Invalid)?;
        let slot = arena.queue_of(queue, peer).ok_or(Error::Invalid)?;
        Ok(Own { arena, queue, slot, peer })
    }

    /// I-detach-9
    fn is_ours(&self) -> bool {
        planted(Bug::LateOwner) || self.arena.queue_of(self.queue, self.peer).is_some()
    }

    /// What the bell is. (Not that of the next owner of the slot: I-detach-9.)
    ///
    /// Errors: `Invalid` if the queue was closed, or is being closed.
    fn open_bell(&self) -> Result<Bell> {
        let bell = self.slot.bell();
        if !self.is_ours() {
            return Err(Error::Invalid);
        }
        if bell.is_closed() {
            // I-detach-7
            self.wake_all();
            return Err(Error::Invalid);
        }
        Ok(bell)
    }

    fn bell(&self) -> *const u32 {
        self.slot.bell.0.futex_address()
    }

    fn wake_all(&self) {
        self.slot.wake_all();
    }

    fn packets(&self) -> Result<Packets<'a>> {
        self.arena.packets(self.queue.index).ok_or(Error::Corrupt)
    }

    fn will(&self, waiter: &Waiter) -> Will<'a> {
        Will { head: waiter.robust(), queue: self.slot, owed: None }
    }

    fn delivered_to(&self, waiter: u32) -> DeliveredTo {
        DeliveredTo::new(self.queue.index, self.queue.serial, waiter)
    }

    /// The waiter slot with this number, and its word, if it has a detached wait for this queue.
    fn wait_in(&self, index: u32) -> Option<(&'a WaiterSlot, WaiterWord)> {
        let slot = self.arena.waiter_slot(index)?;
        let seen = slot.load();
        (seen.is_detached() && self.has(index, slot)).then_some((slot, seen))
    }

    /// Returns true if this slot had a wait for this queue last.
    fn has(&self, index: u32, slot: &WaiterSlot) -> bool {
        let holder = Holder(slot.holder.load());
        slot.queue.load() == self.delivered_to(index).0 && holder.is_taken() && holder.peer() == self.peer
    }

    /// The slot of a wait that was registered is no thread's any more.
    fn keep(&self, index: u32, slot: &WaiterSlot, ticket: Ticket) {
        give_away(self.arena, index, slot, Holder::new(self.peer, liveness::thread_id()), ticket);
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
        Ok(satisfied.filter(|_| takes_result(slot, ticket)))
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

    /// Gives back the slot of the wait with this ticket, which is over (I-detach-10).
    fn free(&self, index: u32, slot: &WaiterSlot, ticket: Ticket) {
        let ticket = if planted(Bug::FreedTwice) { slot.load().ticket() } else { ticket };
        if slot.holder.compare_exchange(Holder::detached(self.peer, ticket).0, 0).is_ok() {
            self.arena.waiter_pool().hint(index);
        }
    }

    /// [`cancel`]
    fn cancel(&self, waiter: &Waiter, registration: Registration) -> Result<Option<Satisfied>> {
        let (index, ticket) = (registration.waiter(), registration.ticket());
        let (slot, _) = self.wait_in(index).filter(|(_, seen)| seen.ticket() == ticket).ok_or(Error::NoSuchObject)?;
        if withdraw(slot, ticket) {
            self.end(waiter, index, slot, ticket)?;
            self.free(index, slot, ticket);
            return Ok(None);
        }
        let satisfied = self.end(waiter, index, slot, ticket)?.ok_or(Error::NoSuchObject)?;
        self.free(index, slot, ticket);
        Ok(Some(satisfied))
    }

    /// When the first timer is due for which a wait of this queue stands, after those that are due have fired, and mutexes whose owners have
    /// ended were killed. `bell`: what it was before
    /// the thread looked for results.
    fn earliest_due(&self, waiter: &Waiter, bell: Bell, will: &mut Will<'_>) -> Result<Deadline> {
        if self.slot.timed.load() == 0 {
            return Ok(Deadline::Never);
        }
        // I-detach-6
        if !bell.is_silent() {
            self.wake_all();
        }
        will.forget();
        let mut due = Deadline::Never;
        for index in 0..self.arena.waiter_pool().used() {
            let Some(slot) = self.arena.waiter_slot(index).filter(|slot| slot.load().is_open()) else { continue };
            if self.has(index, slot) {
                due = timer::earliest_due(self.arena, waiter, listed(slot), due)?;
                due = due.earlier(owner::look_without_thread(self.arena, waiter, listed(slot), slot.owner())?);
            }
        }
        Ok(due)
    }

    /// Where to sleep for a thread that has found nothing since it had read the bell; none if that was rung meanwhile, or closed.
    fn quiet(&self, bell: Bell, due: Deadline) -> Option<Quiet> {
        // A bell that was rung and silenced since is another one: the timers may be others (I-detach-6).
        let expected = bell.silenced().futex();
        (bell.is_silent() || !bell.is_closed() && self.slot.silence(bell)).then_some(Quiet {
            bell: self.bell(),
            expected,
            due,
        })
    }

    /// Returns true if there is a packet, or something was delivered that nobody has looked at.
    fn may_have_some(&self) -> Result<bool> {
        Ok(self.packets()?.has_some()? || self.slot.posted().next().is_some())
    }

    /// Takes the first packet or result that it finds: by turns, so that neither starves.
    fn take_one(&self, waiter: &Waiter, will: &mut Will<'_>) -> Result<Option<Delivered>> {
        // Read once: each is looked at.
        let results_first = self.slot.is_turn_of_results();
        let first = if results_first { self.take_result(waiter, will)? } else { self.take_packet(will)? };
        let taken = match first {
            Some(taken) => Some(taken),
            None if results_first => self.take_packet(will)?,
            None => self.take_result(waiter, will)?,
        };
        if let Some(taken) = taken {
            self.slot.took(taken.registration.is_none());
        }
        Ok(taken)
    }

    fn take_packet(&self, will: &mut Will<'_>) -> Result<Option<Delivered>> {
        let packets = self.packets()?;
        // The thread may have been woken for something else, and be stopped once it has taken this. A packet that comes after that look is
        // announced after it, so the thread does not fall asleep beside it.
        if will.is_made() && !planted(Bug::WokenTakes) {
            if !packets.has_some()? {
                return Ok(None);
            }
            will.pass_on();
        }
        let Some(key) = packets.take(self.queue.serial, || self.is_ours())? else { return Ok(None) };
        Ok(Some(Delivered { registration: None, key, satisfied: Satisfied { index: 0, abandoned: false } }))
    }

    fn take_result(&self, waiter: &Waiter, will: &mut Will<'_>) -> Result<Option<Delivered>> {
        let used = || self.arena.waiter_pool().used();
        let used_before = planted(Bug::SlotsBefore).then(used);
        for (group, posted) in self.slot.posted() {
            // After the count: its wait can be in a slot that was never used before.
            let used = used_before.unwrap_or_else(used);
            if planted(Bug::SeenBefore) {
                self.slot.saw(group, posted);
            }
            for index in self.slots_of(group, used) {
                let Some((slot, seen)) = self.wait_in(index) else { continue };
                let seen = if seen.is_open() && !planted(Bug::ClaimPassedOver) {
                    self.decided(waiter, index, slot, will)?
                } else {
                    seen
                };
                if seen.state() != WaiterState::Satisfied {
                    continue;
                }
                will.pass_on();
                let key = slot.key.load();
                if let Some(satisfied) = self.end(waiter, index, slot, seen.ticket())? {
                    self.free(index, slot, seen.ticket());
                    self.slot.took_from(group);
                    let registration = Some(Registration::new(index, seen.ticket()));
                    return Ok(Some(Delivered { registration, key, satisfied }));
                }
            }
            // I-detach-3, I-detach-9
            if !self.is_ours() {
                return Err(Error::Invalid);
            }
            self.slot.saw(group, posted);
        }
        Ok(None)
    }

    /// The waiter slots of a group, from a changing one on.
    fn slots_of(&self, group: u32, used: u32) -> impl Iterator<Item = u32> {
        let slots = (group..used).step_by(QUEUE_GROUPS_USED as usize);
        let (count, turns) = (slots.len(), self.slot.turns() as usize);
        slots.cycle().skip(turns.checked_rem(count).unwrap_or(0)).take(count)
    }

    /// Helps the claims that stand on the objects of an open wait (I-detach-1). Returns its word after that.
    fn decided(&self, waiter: &Waiter, index: u32, slot: &WaiterSlot, will: &mut Will<'_>) -> Result<WaiterWord> {
        for object in listed(slot) {
            let Some(object_slot) = self.arena.object_slot(object.index()) else { continue };
            let word = object_slot.load();
            if word.is_claimed() {
                will.pass_on();
                help(self.arena, waiter, object.index(), word)?;
            }
        }
        help_admission_of_then(self.arena, waiter, index, || will.pass_on())?;
        Ok(slot.load())
    }
}

/// The slot of a registered wait is no longer that of the thread that has registered it. Fails if it has been done for that thread.
fn give_away(arena: &Arena, index: u32, slot: &WaiterSlot, thread: Holder, ticket: Ticket) {
    let kept = Holder::detached(thread.peer(), ticket);
    // O-free
    if slot.holder.compare_exchange(thread.0, kept.0).is_err() {
        return;
    }
    let seen = slot.load();
    let is_over = seen.ticket() == ticket && seen.state() == WaiterState::Withdrawn;
    if is_over && slot.holder.compare_exchange(kept.0, 0).is_ok() {
        arena.waiter_pool().hint(index);
    }
}

/// Returns true if a wait stands in the slot of a thread that has died, of a process that lives. Gives the slot away for that thread then:
/// whoever looks for the slots of the dead must not end the wait.
pub(super) fn outlives(arena: &Arena, index: u32, slot: &WaiterSlot, dead: Holder) -> bool {
    let seen = slot.load();
    let stands = seen.is_detached() && seen.state() != WaiterState::Withdrawn && dead.thread() != 0;
    if stands && !is_nobodys(arena, slot, seen) {
        give_away(arena, index, slot, dead, seen.ticket());
        return true;
    }
    false
}

/// Returns true if this is the slot of a detached wait that is over, or for a queue that was closed: who has ended it is about to give the
/// slot back, or died before. Its heir ends it.
pub(super) fn is_over(arena: &Arena, slot: &WaiterSlot, holder: Holder) -> bool {
    if !holder.is_detached() {
        return false;
    }
    let seen = slot.load();
    let is_of_no_queue = || queue_of(slot).and_then(|queue| arena.owner_of(queue)).is_none();
    holder == Holder::detached(holder.peer(), seen.ticket())
        && (seen.state() == WaiterState::Withdrawn || is_of_no_queue())
}

/// The queue of the wait that this slot has, or had.
fn queue_of(slot: &WaiterSlot) -> Option<Queue> {
    DeliveredTo(slot.queue.load()).queue().map(|(index, serial)| Queue { index, serial })
}

/// The objects of a wait.
fn listed(slot: &WaiterSlot) -> impl Iterator<Item = Object> + Clone {
    slot.list.iter().take(slot.count()).map(|object| Object(object.load()))
}

/// I-detach-5
pub(super) fn takes_result(slot: &WaiterSlot, ticket: Ticket) -> bool {
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

/// What a thread has told the kernel: to wake a sleeper of the queue if it dies.
struct Will<'a> {
    head: Head,
    queue: &'a QueueSlot,
    owed: Option<Owed>,
}

impl Will<'_> {
    fn make(&mut self) {
        if self.owed.is_none() && !planted(Bug::TakerUnwilled) {
            self.owed = Some(self.head.owe(self.queue.bell.0.futex_address()));
        }
    }

    fn forget(&mut self) {
        if let Some(owed) = self.owed.take() {
            self.head.forget(owed);
        }
    }

    /// The thread may have been woken.
    fn is_made(&self) -> bool {
        self.owed.is_some()
    }

    /// Another one looks, too, from now on: the thread is about to take something, or to help others, for which it needs the will itself.
    fn pass_on(&mut self) {
        if self.is_made() {
            futex::wake(self.queue.bell.0.futex_address(), 1);
            self.forget();
        }
    }
}

impl Drop for Will<'_> {
    fn drop(&mut self) {
        self.forget();
    }
}

/// Takes the result of a detached wait, or a packet, from a queue, or waits for one.
///
/// Errors: `TimedOut`; `Invalid` if it is no queue of this process.
pub(crate) fn collect(arena: &Arena, waiter: &Waiter, queue: Queue, deadline: Deadline) -> Result<Delivered> {
    waiter.budget.renew();
    let own = Own::of_any(arena, queue)?;
    let mut will = own.will(waiter);
    let mut before = None;
    while waiter.budget.round() {
        // O-deliver: a bell that is closed after that is not silenced.
        let bell = own.open_bell()?;
        if before.replace(bell) != Some(bell) {
            // Others get on.
            waiter.budget.renew();
        }
        if let Some(found) = own.take_one(waiter, &mut will)? {
            return Ok(found);
        }
        let due = own.earliest_due(waiter, bell, &mut will)?;
        if deadline.passed() {
            // A timer may just have fired for one of the waits.
            return own.take_one(waiter, &mut will)?.ok_or(Error::TimedOut);
        }
        let bell = if planted(Bug::SilencedLate) { own.slot.bell() } else { bell };
        if let Some(quiet) = own.quiet(bell, due) {
            will.make();
            futex::wait_until_due(quiet.bell, quiet.expected, deadline, due);
            waiter.budget.renew();
        }
    }
    Err(Error::Corrupt)
}

/// Where, and until when, a thread would sleep that has found nothing in a queue: for a descriptor that sleeps instead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Quiet {
    /// The word. It stays where it is as long as the arena is mapped.
    pub bell: *const u32,
    /// Nothing was delivered or posted while the word has this value, and nobody was woken at it.
    pub expected: u32,
    /// When a timer is due for which a wait of the queue stands.
    pub due: Deadline,
}

/// Takes nothing. Returns where to sleep until something may be in the queue; none if that is so now.
///
/// Errors: `Invalid` if it is no queue of this process.
pub(crate) fn arm(arena: &Arena, waiter: &Waiter, queue: Queue) -> Result<Option<Quiet>> {
    waiter.budget.renew();
    let own = Own::of_any(arena, queue)?;
    let mut will = own.will(waiter);
    // O-deliver
    let bell = own.open_bell()?;
    if own.may_have_some()? && !planted(Bug::ArmedBlindly) {
        return Ok(None);
    }
    let due = own.earliest_due(waiter, bell, &mut will)?;
    Ok(own.quiet(bell, due))
}

/// Cancels a detached wait. Returns what it was given, if it was satisfied before and nobody has taken the result.
///
/// Errors: `NoSuchObject` if its result was taken, it was cancelled, or it is none of this process.
pub(crate) fn cancel(arena: &Arena, waiter: &Waiter, registration: Registration) -> Result<Option<Satisfied>> {
    let slot = arena.waiter_slot(registration.waiter()).ok_or(Error::NoSuchObject)?;
    let queue = queue_of(slot).ok_or(Error::NoSuchObject)?;
    let own = Own::of(arena, queue).map_err(|_| Error::NoSuchObject)?;
    waiter.budget.renew();
    own.cancel(waiter, registration)
}
