// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `ntux why` may say, and must say, of an arena in which a victim stands still or was killed.
//!
//! Nobody moves, so one snapshot stands for both of those that the analysis compares. It is compared with what the
//! harness knows by itself: which survivors the kernel shows asleep although their word has changed, which victim was
//! killed or is stopped and in which operation, and which owners the model allows. As `ntux why` does, it tells the analysis which threads
//! the kernel does not show asleep on a futex.
//!
//! | finding | must be there | is true only |
//! | --- | --- | --- |
//! | still asleep | for a survivor, or a victim that fell asleep, that the kernel calls owed a wake | for such a thread |
//! | half-way | for an object that has a claim, unless it is closed and nobody waits for it | for such an object |
//! | unfinished | for a killed victim whose signal was admitted | if it is the victim's operation, and admitted, with those who wait for all |
//! | stopped | for a stopped victim that waits, or was given what it waited for and has not run since | for a stopped victim that waits |
//! | owner gone, owner stopped | | if the model allows that owner, and it is the victim that was killed, or stands |
//! | in vain | | where the victim closes an object |
//! | lacks one | | for a wait for all |
//! | deadlock | | never: no scenario has one |
//!
//! When the survivors have used every object that they know, and everybody has come to an end, none of these may be half-way any
//! more, and nobody may wait for what is unfinished: a signal that was announced to threads that wait for all, and that no such thread
//! needs any more, is carried out when its place is used. When the sweep has used every place, nothing at all may be left. Whatever was
//! found before: the notes of a thread that goes on late must accuse nobody.

use std::collections::{HashMap, HashSet};

use ntux_sync::inspect::why::{Case, Fate, Finding};
use ntux_sync::inspect::{Claim, Life, ObjectView, Request, Snapshot, WaitState, WaiterView};
use ntux_sync::{Object, spec};
use ntux_testkit::task::{FutexWait, Task};

use super::look::Eyes;
use super::operation::Operation;
use super::play::{Play, Result, wrong};
use super::stage::SLEEPERS;

/// How often each thing was found.
#[derive(Clone, Copy, Default, Debug)]
pub struct Found {
    pub still_asleep: u64,
    pub half_way: u64,
    pub unfinished: u64,
    pub stopped: u64,
}

impl Found {
    pub fn add(&mut self, other: &Found) {
        self.still_asleep += other.still_asleep;
        self.half_way += other.half_way;
        self.unfinished += other.unfinished;
        self.stopped += other.stopped;
    }

    fn count(&mut self, finding: &Finding) {
        match finding {
            Finding::StillAsleep { .. } => self.still_asleep += 1,
            Finding::HalfWay { .. } => self.half_way += 1,
            Finding::Unfinished { .. } => self.unfinished += 1,
            Finding::Stopped { .. } => self.stopped += 1,
            _ => {}
        }
    }
}

/// A thread's number in /proc, by the one that the core knows. As XNU is simulated, that is its lower part.
fn in_proc(number: u64) -> u32 {
    const LOWER: u64 = (1 << 22) - 1;
    (if cfg!(ntux_simulated_macos) { number & LOWER } else { number }) as u32
}

impl Play<'_> {
    /// Runs the analysis on what an onlooker sees, and compares with what is so.
    pub(super) fn find(&mut self, snapshot: &Snapshot) -> Result<()> {
        let awake = if self.stage.eyes == Eyes::OldNotes { HashSet::new() } else { self.awake(snapshot) };
        let findings = self.findings(snapshot, awake);
        for finding in &findings {
            self.found.count(finding);
            if !self.is_true(snapshot, finding)? {
                return wrong(format!("the analysis says {finding:?}, which is not so"));
            }
        }
        for missing in self.expected(snapshot) {
            if !findings.contains(&missing) {
                return wrong(format!("the analysis does not say {missing:?}, but {findings:?}"));
            }
        }
        Ok(())
    }

    /// The survivors used every object that they know: no operation is half-way any more. An object that only a dead process knew is as that process left it
    /// until its place is used again.
    pub(super) fn find_nothing_left(&self) -> Result<()> {
        let objects = self.scenario.objects.len() + self.scenario.orphans.len();
        let known: Vec<_> = (0..objects).map(|number| self.stage.board.object(number as u8)).collect();
        self.find_none("everything was used since", |finding| match finding {
            Finding::HalfWay { object, .. } => known.contains(object),
            finding => finding.is_fault(),
        })
    }

    /// Every place was used.
    pub(super) fn find_nothing_at_all(&self) -> Result<()> {
        self.find_none("every place was used since", |_| true)
    }

    fn find_none(&self, since: &str, concerns: impl Fn(&Finding) -> bool) -> Result<()> {
        let snapshot = self.stage.view.snapshot().map_err(std::io::Error::other)?;
        let is_left = |finding: &Finding| !matches!(finding, Finding::LacksOne { .. }) && concerns(finding);
        // The arena's notes alone must say so: everybody has run since.
        match self.findings(&snapshot, HashSet::new()).into_iter().find(is_left) {
            Some(left) => wrong(format!("{since}, and the analysis still says {left:?}")),
            None => Ok(()),
        }
    }

    fn findings(&self, snapshot: &Snapshot, awake: HashSet<u32>) -> Vec<Finding> {
        let seen = self.stage.eyes.see(snapshot);
        let fates = if self.stage.eyes == Eyes::NoDeaths { HashMap::new() } else { self.fates(&seen) };
        Case::new(&seen, &seen, fates).with_awake(awake).findings()
    }

    /// The threads that seem to be owed a wake, and that the kernel does not show asleep on a futex.
    fn awake(&self, snapshot: &Snapshot) -> HashSet<u32> {
        let is_owed = |waiter: &&WaiterView| matches!(waiter.state, WaitState::Satisfied { owed: true, .. });
        // A survivor that is back sleeps on the futex of its mailbox.
        let is_awake = |waiter: &&WaiterView| self.sleep_of(waiter) == FutexWait::No;
        snapshot.waiters.iter().filter(is_owed).filter(is_awake).map(|waiter| waiter.index).collect()
    }

    fn fates(&self, snapshot: &Snapshot) -> HashMap<u32, Fate> {
        let fate = |waiter: &WaiterView| match self.victim_at(waiter) {
            None => Fate::There,
            Some(victim) => match &self.victims[victim].tracee {
                None => Fate::Gone,
                Some(tracee) if tracee.is_still() || Task::new(tracee.id()).is_stopped() => Fate::Stopped,
                Some(_) => Fate::There,
            },
        };
        snapshot.waiters.iter().map(|waiter| (waiter.index, fate(waiter))).collect()
    }

    fn victim_at(&self, waiter: &WaiterView) -> Option<usize> {
        self.victims.iter().position(|victim| waiter.thread.is_some_and(|number| in_proc(number) == victim.id))
    }

    fn sleeper_at(&self, waiter: &WaiterView) -> Option<usize> {
        let is_its = |actor: &usize| waiter.thread == Some(self.stage.board.mailbox(*actor).number());
        self.asleep.iter().copied().find(is_its)
    }

    fn expected(&self, snapshot: &Snapshot) -> Vec<Finding> {
        let fates = self.fates(snapshot);
        // A victim that was stopped on its way to sleep is in the queue, and does not wait for others yet; nor does a wait without a thread.
        let is_asleep =
            |index: &u32| snapshot.waiter(*index).is_some_and(|waiter| waiter.parked && waiter.queue.is_none());
        let matters = |object: &ObjectView| object.life != Life::Closed || object.waiting().next().is_some();
        let objects = snapshot.objects.iter().filter(|object| object.claim != Claim::None && matters(object));
        let mut expected: Vec<Finding> = objects
            .map(|object| Finding::HalfWay {
                object: object.object,
                claim: object.claim,
                waiting: object.waiting().map(|entry| entry.waiter).filter(is_asleep).collect(),
            })
            .collect();
        for waiter in &snapshot.waiters {
            let (index, fate) = (waiter.index, fates.get(&waiter.index));
            expected.extend(match (waiter.state, fate) {
                (WaitState::Requesting(request), Some(Fate::Gone)) => (snapshot.admission.requester == Some(index))
                    .then(|| Finding::Unfinished {
                        waiter: index,
                        request,
                        waiting: self.waiting_for_all(snapshot, request),
                    }),
                (WaitState::Waiting | WaitState::Satisfied { owed: true, .. }, Some(Fate::Stopped)) => {
                    Some(Finding::Stopped { waiter: index })
                }
                (WaitState::Satisfied { given, by, .. }, _) if self.is_owed(waiter) => {
                    Some(Finding::StillAsleep { waiter: index, given, by })
                }
                _ => None,
            });
        }
        expected
    }

    /// Survivors and victims that sleep for all of several objects, one of which is this operation's.
    fn waiting_for_all(&self, snapshot: &Snapshot, request: Request) -> Vec<u32> {
        let object = request.object().and_then(|object| snapshot.object(object.0 as u32));
        let entries = object.into_iter().flat_map(|object| object.waiting());
        let waiters = entries.filter_map(|entry| snapshot.waiter(entry.waiter));
        let is_one = |waiter: &&WaiterView| waiter.parked && waiter.queue.is_none() && self.waits_for_all(Some(waiter));
        waiters.filter(is_one).map(|waiter| waiter.index).collect()
    }

    /// By the kernel's account. (A thread that sleeps at the bell of a queue has no wait.)
    fn is_owed(&self, waiter: &WaiterView) -> bool {
        let takes = |victim: usize| matches!(self.victims[victim].operation, Operation::Collect(_));
        let is_at_a_bell =
            self.sleeper_at(waiter).is_some_and(|actor| self.takes(actor)) || self.victim_at(waiter).is_some_and(takes);
        !is_at_a_bell && self.sleep_of(waiter) == FutexWait::Owed
    }

    fn sleep_of(&self, waiter: &WaiterView) -> FutexWait {
        let sleeper = self.sleeper_at(waiter).map(|actor| self.stage.board.mailbox(actor).thread());
        let victim = || self.victim_at(waiter).map(|victim| self.victims[victim].id);
        sleeper.or_else(victim).map_or(FutexWait::No, |thread| Task::new(thread).futex_wait())
    }

    fn is_true(&mut self, snapshot: &Snapshot, finding: &Finding) -> Result<bool> {
        let fates = self.fates(snapshot);
        let has = |place: &u32, fate: Fate| fates.get(place) == Some(&fate);
        let place = |index: &u32| snapshot.waiter(*index);
        Ok(match finding {
            Finding::Deadlock { .. } => false,
            // It is told nothing of threads that have never waited.
            Finding::OwnerGone { place: None, .. } | Finding::OwnerStopped { place: None, .. } => false,
            Finding::OwnerGone { object, owner, place: Some(place), .. } => {
                has(place, Fate::Gone) && self.may_own(*object, *owner)
            }
            Finding::OwnerStopped { object, place: Some(index), .. } => {
                let owner = place(index).map_or(0, |place| place.owner);
                has(index, Fate::Stopped) && self.may_own(*object, owner)
            }
            Finding::Closed { .. } => matches!(self.scenario.operation, Operation::Close(_)),
            Finding::StillAsleep { waiter: index, .. } => place(index).is_some_and(|waiter| self.is_owed(waiter)),
            Finding::Unfinished { waiter, request, waiting } => {
                let victim = place(waiter).and_then(|waiter| self.victim_at(waiter));
                let asked = victim.and_then(|victim| self.request_of(self.victims[victim].operation));
                let waits_for_all = |index: &u32| self.waits_for_all(place(index));
                let is_admitted = snapshot.admission.requester == Some(*waiter);
                has(waiter, Fate::Gone) && is_admitted && asked == Some(*request) && waiting.iter().all(waits_for_all)
            }
            Finding::HalfWay { object, claim, .. } => {
                let seen = snapshot.object(object.0 as u32);
                let is_so = |seen: &ObjectView| {
                    seen.claim == *claim && (seen.life != Life::Closed || seen.waiting().next().is_some())
                };
                *claim != Claim::None && seen.is_some_and(is_so)
            }
            Finding::Stopped { waiter } => has(waiter, Fate::Stopped),
            Finding::LacksOne { waiter, .. } => self.waits_for_all(place(waiter)),
        })
    }

    fn waits_for_all(&self, waiter: Option<&WaiterView>) -> bool {
        let Some(waiter) = waiter else { return false };
        if waiter.queue.is_some() {
            let waits = self.scenario.delivery.map_or(&[][..], |delivery| delivery.waits);
            let registered = waits.iter().any(|wait| wait.all);
            let registers =
                self.victims.iter().any(|victim| matches!(victim.operation, Operation::Detach(_, wait) if wait.all));
            return registered || registers;
        }
        let wait = match (self.sleeper_at(waiter), self.victim_at(waiter)) {
            (Some(actor), _) => self.scenario.sleepers.get(actor - SLEEPERS.start),
            (None, Some(victim)) => match &self.victims[victim].operation {
                Operation::Wait(wait) | Operation::Detach(_, wait) => Some(wait),
                _ => None,
            },
            (None, None) => None,
        };
        wait.is_some_and(|wait| wait.all)
    }

    fn may_own(&mut self, object: Object, owner: u32) -> bool {
        let board = self.stage.board;
        let Some(id) = (0..self.scenario.objects.len()).find(|&number| board.object(number as u8) == object) else {
            return false;
        };
        let owns = |value: &spec::Value| matches!(value, spec::Value::Mutex(mutex) if mutex.owner == owner);
        self.judge.any_state(|state| owns(state.value(id)))
    }

    /// What an operation looks like while it is requested.
    fn request_of(&self, operation: Operation) -> Option<Request> {
        let object = |number| self.stage.board.object(number);
        Some(match operation {
            Operation::Set(event) => Request::Set(object(event)),
            Operation::Reset(event) => Request::Reset(object(event)),
            Operation::Pulse(event) => Request::Pulse(object(event)),
            Operation::Release(semaphore, units) => Request::Release(object(semaphore), units),
            Operation::Unlock(mutex, owner) => Request::Unlock(object(mutex), owner),
            Operation::Kill(mutex, owner) => Request::Kill(object(mutex), owner),
            _ => return None,
        })
    }
}

impl Eyes {
    /// What an onlooker with these eyes takes a snapshot for.
    fn see(self, snapshot: &Snapshot) -> Snapshot {
        let mut seen = snapshot.clone();
        match self {
            Eyes::NoWakes => seen.waiters.iter_mut().for_each(|waiter| {
                if let WaitState::Satisfied { owed, .. } = &mut waiter.state {
                    *owed = false;
                }
            }),
            Eyes::OldNotes => seen.waiters.iter_mut().for_each(|waiter| {
                if let WaitState::Satisfied { owed, .. } = &mut waiter.state {
                    *owed = true;
                }
            }),
            Eyes::NoClaims => seen.objects.iter_mut().for_each(|object| object.claim = Claim::None),
            Eyes::Hasty => {
                let requests = |waiter: &&WaiterView| matches!(waiter.state, WaitState::Requesting(_));
                seen.admission.requester = seen.waiters.iter().find(requests).map(|waiter| waiter.index);
            }
            Eyes::Good | Eyes::NoUnits | Eyes::NoDeaths => {}
        }
        seen
    }
}
