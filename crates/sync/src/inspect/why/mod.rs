// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why threads make no progress: what two snapshots of an arena prove about waiting threads.
//!
//! # Role
//! A [`Case`] is two successive snapshots, and what the observer knows of the threads besides. It does no I/O. It says
//! what stands between a waiter and each of its objects ([`Case::obstacle`]), and what is wrong ([`Case::findings`]).
//!
//! # What does not change
//! One snapshot can show a cycle that never existed, because its parts are of several instants. So everything that a
//! finding relies on must be the same in both:
//! * a wait with the same ticket in both lasted all the time between, because no ticket is used twice;
//! * a mutex with the same owner in both had that owner all the time between, if each owner id belongs to one thread
//!   and that thread waits all the time: only the owner can unlock it;
//! * an operation that is half-way in both, with the same version of the object's word, is the same operation.
//!
//! # Threads that are still asleep
//! A thread whose wait is decided, and whose wake is not known to be sent, need not sleep: what threads write about wakes are hints
//! ([`crate::observe`]). So a caller that can ask the system says which of these threads do not sleep on the words of their
//! places ([`Case::with_awake`]); no finding names them. A stopped thread is found as stopped.
//!
//! # Waits that are stuck
//! A wait is *stuck* if no thread outside can end it. Anybody can signal an event or a semaphore, so only the following
//! waits can be stuck, and the stuck ones are the largest set that these rules allow:
//! * a wait for one of several objects, all of which are mutexes of stuck owners, or closed;
//! * a wait for all of its objects, one of which is a mutex of a stuck owner, or closed and not available.
//!
//! A stuck wait has no alert and no deadline, and its thread sleeps. An owner is stuck if its thread is stuck or has
//! ended; if several threads have its id, all of them must be. A cycle of stuck waits is a *deadlock*.
//!
//! # Cost
//! Linear in the size of the two snapshots: each wait is followed to its owners, and each owner to its waits, once.

mod stuck;

use std::collections::{HashMap, HashSet};

use super::{Claim, Given, LastBy, Life, Mode, ObjectView, Request, Snapshot, Value, WaitState, WaitView, WaiterView};
use crate::spec;
use crate::{EndState, Object, TimerState};
use stuck::Stuck;

/// What is known of a thread besides what the arena says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It is there.
    There,
    /// It is there, and is stopped.
    Stopped,
    /// It has ended.
    Gone,
    /// It cannot be seen.
    Unknown,
}

/// What a thread that has a place does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Condition {
    /// It has ended.
    Ended,
    /// It is stopped, whatever it did before.
    Stopped,
    /// It waits.
    Waiting,
    /// Its wait is satisfied, and the wake that it is owed is not known to be sent.
    WakeOwed,
    /// It has its signal carried out, wait-all waiters first.
    Signaling,
    /// It is in no wait.
    Elsewhere,
}

/// What stands between a waiter and an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Obstacle {
    /// A mutex that this owner has.
    Owned(u32),
    /// An event that is not signaled, or a semaphore without units.
    NotSignaled,
    /// It is closed and not available, so that nobody can signal it any more.
    Closed,
    /// Nothing: the object is available.
    Nothing,
    /// Unknown: an operation is half-way, or the object changed while the snapshot was taken.
    Unclear,
}

/// Something that is wrong, or that will not resolve without help.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Finding {
    /// Threads that wait for each other.
    Deadlock {
        /// In the order in which they wait for each other, where that is one ring.
        ring: Vec<Link>,
        /// Waiters that cannot continue while the deadlock lasts.
        behind: Vec<u32>,
    },
    /// A mutex whose owner has ended, and which nobody has declared abandoned.
    OwnerGone {
        /// The mutex.
        object: Object,
        /// Its owner.
        owner: u32,
        /// The place that the owner's thread had. None: it has never waited; the mutex says who it was.
        place: Option<u32>,
        /// Its waiters.
        waiting: Vec<u32>,
    },
    /// A waiter that can only be satisfied by objects that are closed.
    Closed {
        /// The waiter.
        waiter: u32,
        /// What it waits for in vain.
        objects: Vec<Object>,
    },
    /// A waiter that was given what it waited for, and still sleeps: its wake is delayed. It has not run since, and nothing known of it
    /// says that it does not sleep.
    StillAsleep {
        /// The waiter.
        waiter: u32,
        /// What it was given.
        given: Given,
        /// The thread that was to wake it, if it has come as far as to say so.
        by: LastBy,
    },
    /// An operation of a thread that has ended, which was announced to wait-all waiters: the next thread that signals
    /// an object which one of them needs carries it out. Until then it has not happened, so it holds up only its waiters.
    Unfinished {
        /// The place of the thread.
        waiter: u32,
        /// The operation.
        request: Request,
        /// The waiters for all of several objects, one of which is the operation's.
        waiting: Vec<u32>,
    },
    /// An operation on an object that is half-way and makes no progress. The next thread that uses the object finishes
    /// it. If the object is closed, only its waiters miss what the operation would have given; without any, nobody does.
    HalfWay {
        /// The object.
        object: Object,
        /// How far it has come.
        claim: Claim,
        /// The object's waiters.
        waiting: Vec<u32>,
    },
    /// A waiter whose thread is stopped in its wait; it may have been given what it waits for meanwhile.
    Stopped {
        /// The waiter.
        waiter: u32,
    },
    /// A mutex whose owner is stopped, while others wait for it.
    OwnerStopped {
        /// The mutex.
        object: Object,
        /// Its owner.
        owner: u32,
        /// The place of its owner's thread. None: it has never waited; the mutex says who it is.
        place: Option<u32>,
        /// Its waiters.
        waiting: Vec<u32>,
    },
    /// A wait for all of its objects that lacks one: the others are available.
    LacksOne {
        /// The waiter.
        waiter: u32,
        /// What it lacks.
        object: Object,
    },
}

/// One thread of a deadlock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Link {
    /// The waiter.
    pub waiter: u32,
    /// Which of its objects the others of the deadlock own.
    pub wants: Vec<Object>,
}

/// How careful the findings are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Care {
    Full,
    /// Treats a wait for any of several objects as a wait for all: a planted fault, which tests must find.
    #[cfg(test)]
    AnyIsAll,
    /// Takes no wait for one that a deadline ends: another one.
    #[cfg(test)]
    NoDeadlines,
    /// Believes a single snapshot: another planted fault.
    #[cfg(test)]
    OneSnapshot,
}

impl Finding {
    /// Returns true if it will not resolve by itself. (A wait for all that lacks one object may be what the program
    /// wants; an operation that has not happened matters only to its waiters.)
    pub fn is_fault(&self) -> bool {
        match self {
            Finding::LacksOne { .. } => false,
            Finding::Unfinished { waiting, .. } => !waiting.is_empty(),
            _ => true,
        }
    }

    /// Returns true if it can pass although nobody helps: the thread that is to go on gets no processor, or a tracer has stopped it for a
    /// moment. This thread may also be the one that is to learn of a death (Wine's server), or a waiter that is itself being ended.
    pub fn may_pass(&self) -> bool {
        self.is_fault() && !matches!(self, Finding::Deadlock { .. })
    }
}

impl Care {
    fn takes_any_for_all(self) -> bool {
        #[cfg(test)]
        return self == Care::AnyIsAll;
        #[cfg(not(test))]
        false
    }

    fn overlooks_deadlines(self) -> bool {
        #[cfg(test)]
        return self == Care::NoDeadlines;
        #[cfg(not(test))]
        false
    }

    fn believes_one_snapshot(self) -> bool {
        #[cfg(test)]
        return self == Care::OneSnapshot;
        #[cfg(not(test))]
        false
    }
}

/// Two snapshots of an arena, and what is known besides.
pub struct Case<'a> {
    before: &'a Snapshot,
    after: &'a Snapshot,
    fates: HashMap<u32, Fate>,
    /// What is known of threads that acquired mutexes, by peer and number.
    takers: HashMap<(u32, u32), Fate>,
    /// The places whose threads do not sleep on their words, as the system says.
    awake: HashSet<u32>,
    /// The places whose threads have waited in the name of an owner, by the owner.
    places: HashMap<u32, Vec<u32>>,
    /// Waiters that slept in the same wait in both snapshots.
    asleep: HashSet<u32>,
    /// The fate that all threads of an owner share.
    owners: HashMap<u32, Fate>,
    care: Care,
}

impl<'a> Case<'a> {
    /// `fates`: what is known of the threads, by the indices of their places; nothing of the others.
    pub fn new(before: &'a Snapshot, after: &'a Snapshot, fates: HashMap<u32, Fate>) -> Case<'a> {
        Case::with_care(before, after, fates, Care::Full)
    }

    /// What is known of the threads that acquired mutexes last, by the index of their peer and their number.
    pub fn with_takers(self, takers: HashMap<(u32, u32), Fate>) -> Case<'a> {
        Case { takers, ..self }
    }

    /// The places whose threads do not sleep on the words of their places, at some moment between the snapshots: they run, or sleep
    /// elsewhere.
    pub fn with_awake(self, awake: HashSet<u32>) -> Case<'a> {
        Case { awake, ..self }
    }

    fn with_care(before: &'a Snapshot, after: &'a Snapshot, fates: HashMap<u32, Fate>, care: Care) -> Case<'a> {
        let mut places: HashMap<u32, Vec<u32>> = HashMap::new();
        for waiter in after.waiters.iter().filter(|waiter| waiter.thread.is_some() && waiter.owner != 0) {
            places.entry(waiter.owner).or_default().push(waiter.index);
        }
        let fate = |place: &u32| fates.get(place).copied().unwrap_or(Fate::Unknown);
        let shared = |(&owner, places): (&u32, &Vec<u32>)| {
            let first = fate(places.first()?);
            places.iter().all(|place| fate(place) == first).then_some((owner, first))
        };
        let owners = places.iter().filter_map(shared).collect();
        let (takers, awake, asleep) = (HashMap::new(), HashSet::new(), HashSet::new());
        let mut case = Case { before, after, fates, takers, awake, places, asleep, owners, care };
        let asleep = |waiter: &&WaiterView| case.sleeps(waiter) && case.is_same(waiter);
        case.asleep = after.waiters.iter().filter(asleep).map(|waiter| waiter.index).collect();
        case
    }

    /// What is known of the thread that has this place.
    pub fn fate(&self, waiter: u32) -> Fate {
        self.fates.get(&waiter).copied().unwrap_or(Fate::Unknown)
    }

    /// What the thread that has this place does.
    pub fn condition(&self, waiter: u32) -> Condition {
        match (self.fate(waiter), self.after.waiter(waiter).map(|waiter| waiter.state)) {
            (Fate::Gone, _) => Condition::Ended,
            (Fate::Stopped, _) => Condition::Stopped,
            (_, Some(WaitState::Waiting | WaitState::Queueing)) => Condition::Waiting,
            (_, Some(WaitState::Satisfied { owed: true, .. })) => Condition::WakeOwed,
            (_, Some(WaitState::Requesting(_))) => Condition::Signaling,
            _ => Condition::Elsewhere,
        }
    }

    /// The places whose threads have waited in the name of this owner; none if no such thread has ever had to wait.
    pub fn places(&self, owner: u32) -> &[u32] {
        self.places.get(&owner).map_or(&[], Vec::as_slice)
    }

    /// Returns true if a mutex of this owner may belong to a thread that never had to wait, while all threads that have waited in the
    /// owner's name have ended: the name of a thread that has ended is given to another one. This later thread then acquired the mutex
    /// last, unless the thread that did waits in another name, and has handed the mutex over.
    fn may_be_anothers(&self, mutex: Object, owner: u32) -> bool {
        let Some(seen) = self.after.object(mutex.index()).filter(|seen| seen.object == mutex) else { return false };
        let LastBy::Thread { peer: Some(peer), thread } = seen.last_by else { return false };
        let is_taker = |place: &&WaiterView| (place.peer, place.thread) == (peer, Some(u64::from(thread)));
        let has_waited = self.after.waiters.iter().filter(is_taker).any(|place| place.owner != 0);
        let is_there = matches!(self.fate_of_taker(seen), Some(Fate::There | Fate::Stopped));
        self.owners.get(&owner) == Some(&Fate::Gone) && is_there && !has_waited
    }

    /// Returns true if the waiter slept in the same wait in both snapshots.
    pub fn is_asleep(&self, waiter: u32) -> bool {
        self.asleep.contains(&waiter)
    }

    /// What stands between a wait in the name of `owner` and this object of it.
    pub fn obstacle(&self, object: Object, owner: u32) -> Obstacle {
        let Some(now) = self.after.object(object.index()) else { return Obstacle::Unclear };
        if !now.stable || now.claim != Claim::None {
            return Obstacle::Unclear;
        }
        if now.object != object {
            return Obstacle::Closed;
        }
        let obstacle = match &now.value {
            Value::Semaphore(spec::Semaphore { count: 0, .. }) => Obstacle::NotSignaled,
            Value::Event(spec::Event { signaled: false, .. }) => Obstacle::NotSignaled,
            Value::Timer(TimerState { signaled: false, .. }) => Obstacle::NotSignaled,
            Value::End(EndState { ended: false, .. }) => Obstacle::NotSignaled,
            Value::Mutex(mutex) if mutex.owner != 0 && (mutex.owner != owner || mutex.count == u32::MAX) => {
                Obstacle::Owned(mutex.owner)
            }
            Value::Semaphore(_) | Value::Event(_) | Value::Mutex(_) | Value::Timer(_) | Value::End(_) => {
                Obstacle::Nothing
            }
            Value::Undecided | Value::Rubbish => Obstacle::Unclear,
        };
        match now.life {
            Life::Closed if obstacle != Obstacle::Nothing => Obstacle::Closed,
            _ => obstacle,
        }
    }

    /// What is wrong, the worst first.
    pub fn findings(&self) -> Vec<Finding> {
        let mut findings = Stuck::of(self).findings();
        findings.extend(self.after.objects.iter().filter_map(|object| self.ownership(object)));
        findings.extend(self.after.waiters.iter().filter_map(|waiter| self.state(waiter)));
        findings.extend(self.after.objects.iter().filter_map(|object| self.half_way(object)));
        findings.extend(self.after.waiters.iter().filter_map(|waiter| self.lacks_one(waiter)));
        findings
    }

    /// Sleeps in a wait whose objects are known. An alert that no queue shows could stand in a part that is rubbish.
    fn sleeps(&self, waiter: &WaiterView) -> bool {
        let is_known = matches!(waiter.wait, WaitView::Objects { mode: Mode::Any | Mode::All, .. });
        let is_asleep = waiter.state == WaitState::Waiting && waiter.parked && waiter.thread.is_some();
        is_asleep && is_known && waiter.stable && self.fate(waiter.index) != Fate::Gone
    }

    /// Returns true if a place was in the same wait, or operation, and state in both snapshots.
    fn is_same(&self, waiter: &WaiterView) -> bool {
        if self.care.believes_one_snapshot() {
            return true;
        }
        self.before.waiter(waiter.index).is_some_and(|before| {
            let holder = |waiter: &WaiterView| (waiter.thread, waiter.peer);
            (before.ticket, before.state, before.parked) == (waiter.ticket, waiter.state, waiter.parked)
                && holder(before) == holder(waiter)
        })
    }

    /// What stands between a wait in the name of `owner` and this object of it, in both snapshots; `Unclear` if they differ.
    fn lasting_obstacle(&self, object: Object, owner: u32) -> Obstacle {
        let now = self.obstacle(object, owner);
        let is_lasting = self.care.believes_one_snapshot() || Obstacle::before(self.before, object, now);
        if is_lasting { now } else { Obstacle::Unclear }
    }

    /// Returns the waiters that slept for this object in both snapshots.
    fn waiting(&self, object: &ObjectView) -> Vec<u32> {
        object.waiting().map(|entry| entry.waiter).filter(|&waiter| self.is_asleep(waiter)).collect()
    }

    fn ownership(&self, object: &ObjectView) -> Option<Finding> {
        let Value::Mutex(spec::Mutex { owner, .. }) = object.value else { return None };
        let (waiting, place) = (self.waiting(object), self.places(owner).first().copied());
        let fate = if place.is_some() { *self.owners.get(&owner)? } else { self.fate_of_taker(object)? };
        if self.lasting_obstacle(object.object, 0) != Obstacle::Owned(owner) || waiting.is_empty() {
            return None;
        }
        let object = object.object;
        match fate {
            Fate::Gone if self.may_be_anothers(object, owner) => None,
            Fate::Gone => Some(Finding::OwnerGone { object, owner, place, waiting }),
            Fate::Stopped => Some(Finding::OwnerStopped { object, owner, place, waiting }),
            Fate::There | Fate::Unknown => None,
        }
    }

    /// The fate of the thread that acquired a mutex. None: it is not known which thread that was.
    fn fate_of_taker(&self, mutex: &ObjectView) -> Option<Fate> {
        let LastBy::Thread { peer: Some(peer), thread } = mutex.last_by else { return None };
        let before = self.before.object(mutex.object.index())?;
        (before.last_by == mutex.last_by).then_some(*self.takers.get(&(peer, thread))?)
    }

    fn state(&self, waiter: &WaiterView) -> Option<Finding> {
        if !self.is_same(waiter) || waiter.thread.is_none() {
            return None;
        }
        let (index, fate) = (waiter.index, self.fate(waiter.index));
        match waiter.state {
            WaitState::Waiting | WaitState::Satisfied { owed: true, .. } if fate == Fate::Stopped => {
                Some(Finding::Stopped { waiter: index })
            }
            WaitState::Satisfied { given, owed: true, by, .. }
                if fate != Fate::Gone && !self.awake.contains(&index) =>
            {
                Some(Finding::StillAsleep { waiter: index, given, by })
            }
            WaitState::Requesting(request) if fate == Fate::Gone && self.is_admitted(index) => {
                Some(Finding::Unfinished { waiter: index, request, waiting: self.waiting_for_all(request) })
            }
            _ => None,
        }
    }

    /// Returns the waiters that slept in both snapshots for this operation's object together with others.
    fn waiting_for_all(&self, request: Request) -> Vec<u32> {
        let object =
            request.object().and_then(|object| self.after.object(object.index()).filter(|seen| seen.object == object));
        let entries = object.into_iter().flat_map(|object| object.waiting()).filter(|entry| entry.all);
        entries.map(|entry| entry.waiter).filter(|&waiter| self.is_asleep(waiter)).collect()
    }

    /// Returns true if the operation of this waiter was under way in both snapshots. A request that was not admitted is
    /// known to nobody: it is as if the thread had ended before.
    fn is_admitted(&self, waiter: u32) -> bool {
        [self.before, self.after].iter().all(|snapshot| snapshot.admission.requester == Some(waiter))
    }

    fn half_way(&self, object: &ObjectView) -> Option<Finding> {
        let before = self.before.object(object.object.index())?;
        let state = |seen: &ObjectView| (seen.object, seen.version, seen.claim);
        let stands_still = object.stable && state(before) == state(object);
        let is_half_way = !matches!(object.claim, Claim::None | Claim::Rubbish);
        let matters = object.life != Life::Closed || object.waiting().next().is_some();
        (stands_still && is_half_way && matters).then(|| Finding::HalfWay {
            object: object.object,
            claim: object.claim,
            waiting: self.waiting(object),
        })
    }

    fn lacks_one(&self, waiter: &WaiterView) -> Option<Finding> {
        let WaitView::Objects { owner, mode: Mode::All, objects, .. } = &waiter.wait else { return None };
        if !self.is_asleep(waiter.index) || objects.len() < 2 {
            return None;
        }
        let mut missing = objects.iter().filter(|&&object| self.lasting_obstacle(object, *owner) != Obstacle::Nothing);
        let object = *missing.next()?;
        let is_clear = self.lasting_obstacle(object, *owner) != Obstacle::Unclear;
        (is_clear && missing.next().is_none()).then_some(Finding::LacksOne { waiter: waiter.index, object })
    }
}

impl Obstacle {
    /// Returns true if it was there in an earlier snapshot, too.
    fn before(earlier: &Snapshot, object: Object, now: Obstacle) -> bool {
        let Some(seen) = earlier.object(object.index()) else { return false };
        match (now, &seen.value) {
            (Obstacle::Unclear, _) => false,
            (Obstacle::Closed, _) => seen.object != object || seen.life == Life::Closed,
            _ if seen.object != object || !seen.stable || seen.claim != Claim::None => false,
            (Obstacle::Owned(owner), Value::Mutex(mutex)) => mutex.owner == owner,
            (Obstacle::NotSignaled, Value::Event(event)) => !event.signaled,
            (Obstacle::NotSignaled, Value::Timer(timer)) => !timer.signaled,
            (Obstacle::Nothing, Value::Timer(timer)) => timer.signaled,
            (Obstacle::NotSignaled, Value::End(end)) => !end.ended,
            (Obstacle::Nothing, Value::End(end)) => end.ended,
            (Obstacle::NotSignaled, Value::Semaphore(semaphore)) => semaphore.count == 0,
            (Obstacle::Nothing, Value::Event(event)) => event.signaled,
            (Obstacle::Nothing, Value::Semaphore(semaphore)) => semaphore.count != 0,
            (Obstacle::Nothing, Value::Mutex(_)) => true,
            _ => false,
        }
    }
}

#[cfg(all(test, not(ntux_explore)))]
mod tests;
