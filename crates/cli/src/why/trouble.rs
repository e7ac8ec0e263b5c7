// SPDX-License-Identifier: MIT OR Apache-2.0
//! A finding with the names of the threads and objects that it concerns: as JSON, and in the sentences that people are shown.

use ntux_sync::Object;
use ntux_sync::inspect::why::{Finding, Link};
use ntux_sync::inspect::{Claim, Given, LastBy, Request, Value};
use serde::Serialize;

use super::cycle::{Link as CycleLink, Wanted};
use super::names::{Party, Stopped, Thing, list};
use crate::arenas::scene::{Owners, Scene};
use crate::arenas::words::Word;

/// A finding.
#[derive(Serialize)]
pub struct Trouble {
    kind: &'static str,
    /// It will not pass by itself.
    pub fault: bool,
    /// The sentences that people are shown.
    pub text: Vec<String>,
    threads: Vec<Party>,
    objects: Vec<Thing>,
    /// Threads that cannot continue until this is resolved.
    behind: Vec<Party>,
    /// Threads that are stopped, one of which may be the cause.
    stopped: Vec<Stopped>,
}

impl Trouble {
    pub fn of(scene: &Scene, finding: Finding) -> Trouble {
        let (threads, objects, waiting) = concerned(scene, &finding);
        let stopped = match &finding {
            Finding::StillAsleep { .. } => Stopped::all(scene, threads.first()),
            Finding::HalfWay { .. } => Stopped::all(scene, None),
            _ => Vec::new(),
        };
        let behind = Party::all(scene, waiting);
        let (kind, fault, text) = (finding.word(), finding.is_fault(), Vec::new());
        let mut trouble = Trouble { kind, fault, text, threads, objects, behind, stopped };
        trouble.text = trouble.sentences(scene, &finding);
        trouble
    }

    /// A deadlock over critical sections, and over mutexes if there are some in it.
    pub fn of_cycle(scene: &Scene, cycle: &[CycleLink]) -> Trouble {
        let mutex = |link: &CycleLink| if let Wanted::Mutex(_, object) = link.wants { Some(object) } else { None };
        let mutexes: Vec<Object> = cycle.iter().filter_map(mutex).collect();
        let sections = if mutexes.is_empty() { "over critical sections" } else { "over critical sections and mutexes" };
        let mut text = vec![format!("DEADLOCK of {} threads, {sections}:", cycle.len())];
        text.extend(cycle.iter().map(|link| cycle_text(scene, link)));
        let (threads, objects) =
            (cycle.iter().map(|link| link_party(scene, link)).collect(), Thing::all(scene, &mutexes));
        let kind = Finding::Deadlock { ring: Vec::new(), behind: Vec::new() }.word();
        Trouble { kind, fault: true, text, threads, objects, behind: Vec::new(), stopped: Vec::new() }
    }

    /// The threads that it is about, without those that wait behind them.
    pub fn threads(&self) -> &[Party] {
        &self.threads
    }

    fn sentences(&self, scene: &Scene, finding: &Finding) -> Vec<String> {
        let mut text = vec![self.sentence(scene, finding)];
        if let Finding::Deadlock { ring, .. } = finding {
            text.extend(ring.iter().zip(&self.threads).map(|(link, party)| link_text(scene, link, party)));
        }
        if !self.behind.is_empty() {
            let what = match finding {
                Finding::Deadlock { .. } => "cannot continue until it is resolved",
                _ => "wait for it",
            };
            text.push(format!("{what}: {}", list(&self.behind, Party::text)));
        }
        if !self.stopped.is_empty() {
            let stopped = list(&self.stopped, Stopped::text);
            text.push(format!("one of these stopped threads may be the cause: {stopped}"));
        }
        text
    }

    /// What is wrong, in one or two sentences.
    fn sentence(&self, scene: &Scene, finding: &Finding) -> String {
        let thread = self.threads.first().map(Party::text).unwrap_or_default();
        let objects = list(&self.objects, Thing::text);
        let owners = scene.owners();
        match finding {
            Finding::Deadlock { ring, .. } => format!("DEADLOCK of {} threads:", ring.len()),
            Finding::OwnerGone { owner, .. } => format!(
                "OWNER GONE: {objects} belongs to {}, which was {thread}. That thread has ended, and nobody has \
                 declared the mutex abandoned.",
                owners.text(*owner)
            ),
            Finding::OwnerStopped { .. } => format!("OWNER STOPPED: {objects} belongs to {thread}."),
            Finding::Closed { .. } => {
                format!("IN VAIN: {thread} waits for {objects}, which is closed, so nobody can signal it any more.")
            }
            Finding::StillAsleep { by, .. } => {
                let what = if objects.is_empty() { "all that it waited for" } else { &objects };
                let by = waker(scene, *by);
                format!("STILL ASLEEP: {thread} was given {what}, and {by} has not woken it yet.")
            }
            Finding::Unfinished { request, waiting, .. } if waiting.is_empty() => format!(
                "unfinished: {thread} has ended before it could {}, and nobody waits for that together with other \
                 objects. It has not happened; the next signal that a wait for all needs does it.",
                request_text(owners, *request)
            ),
            Finding::Unfinished { request, .. } => format!(
                "UNFINISHED: {thread} has ended before it could {}. The next signal that a wait for all needs does it.",
                request_text(owners, *request)
            ),
            Finding::HalfWay { claim, .. } => format!(
                "HALF-WAY: an operation on {objects} makes no progress: {}. Whoever uses the object next finishes it.",
                claim_text(scene, *claim)
            ),
            Finding::Stopped { .. } => format!("STOPPED: {thread} waits, and is stopped."),
            Finding::LacksOne { .. } => {
                format!("lacks one: {thread} waits for several objects at once, and only {objects} is missing.")
            }
        }
    }
}

/// The threads and objects of a finding, and the places of the threads behind.
fn concerned<'a>(scene: &Scene, finding: &'a Finding) -> (Vec<Party>, Vec<Thing>, &'a [u32]) {
    let thread = |&waiter: &u32| vec![Party::of(scene, waiter)];
    let thing = |&object: &Object| vec![Thing::of(scene, object)];
    match finding {
        Finding::Deadlock { ring, behind } => {
            let mut wanted: Vec<Object> = Vec::new();
            for &object in ring.iter().flat_map(|link| &link.wants) {
                if !wanted.contains(&object) {
                    wanted.push(object);
                }
            }
            let threads = ring.iter().map(|link| Party::of(scene, link.waiter)).collect();
            (threads, Thing::all(scene, &wanted), behind)
        }
        Finding::OwnerGone { object, owner, place, waiting }
        | Finding::OwnerStopped { object, owner, place, waiting } => {
            (vec![Party::owner(scene, *object, *owner, *place)], thing(object), waiting)
        }
        Finding::Closed { waiter, objects } => (thread(waiter), Thing::all(scene, objects), &[]),
        Finding::StillAsleep { waiter, given, .. } => {
            let object = match *given {
                Given::Slot(slot) => scene.snapshot.object(slot).map(|seen| seen.object),
                Given::Everything | Given::Rubbish => None,
            };
            (thread(waiter), Thing::all(scene, object.as_slice()), &[])
        }
        Finding::Unfinished { waiter, waiting, .. } => (thread(waiter), Vec::new(), waiting),
        Finding::HalfWay { object, waiting, .. } => (Vec::new(), thing(object), waiting),
        Finding::Stopped { waiter } => (thread(waiter), Vec::new(), &[]),
        Finding::LacksOne { waiter, object } => (thread(waiter), thing(object), &[]),
    }
}

fn link_text(scene: &Scene, link: &Link, party: &Party) -> String {
    let wants: Vec<String> = link.wants.iter().map(|&object| owned(scene, object)).collect();
    format!("{} waits for {}", party.text_with_owner(), wants.join(", and for "))
}

fn link_party(scene: &Scene, link: &CycleLink) -> Party {
    match &link.wants {
        Wanted::Mutex(place, _) => Party::of(scene, *place),
        Wanted::Section(wait) => Party::of_address_wait(scene, wait),
    }
}

fn cycle_text(scene: &Scene, link: &CycleLink) -> String {
    let party = link_party(scene, link);
    let wants = match &link.wants {
        Wanted::Mutex(_, object) => owned(scene, *object),
        Wanted::Section(wait) => wait.subject.text(wait.pid),
    };
    format!("{} waits for {wants}", party.text_with_owner())
}

/// A mutex and its owner.
fn owned(scene: &Scene, object: Object) -> String {
    let of = match scene.snapshot.object(object.index()).map(|seen| &seen.value) {
        Some(Value::Mutex(mutex)) => format!(" of {}", scene.owners().text(mutex.owner)),
        Some(Value::End(end)) => format!(" of {}", scene.owners().text(end.owner)),
        _ => String::new(),
    };
    format!("{}{of}", Thing::of(scene, object).text())
}

fn waker(scene: &Scene, by: LastBy) -> String {
    scene.name_of(by).unwrap_or_else(|| "whoever was to wake it".to_owned())
}

fn claim_text(scene: &Scene, claim: Claim) -> String {
    match claim {
        Claim::Waiter { index, .. } => format!("it is on its way to {}", Party::of(scene, index).text()),
        Claim::All { .. } => "a wait for all is being decided".to_owned(),
        Claim::Signal { .. } => "it is being signaled".to_owned(),
        Claim::Turn { .. } => "it is being armed, cancelled or fired".to_owned(),
        Claim::Carry | Claim::None | Claim::Rubbish => "its recursion count is being written".to_owned(),
    }
}

fn request_text(owners: Owners, request: Request) -> String {
    match request {
        Request::Set(object) => format!("set event #{}", object.index()),
        Request::Reset(object) => format!("reset event #{}", object.index()),
        Request::Pulse(object) => format!("pulse event #{}", object.index()),
        Request::Release(object, units) => format!("release semaphore #{} by {units}", object.index()),
        Request::Unlock(object, owner) => format!("unlock mutex #{} of {}", object.index(), owners.text(owner)),
        Request::Kill(object, owner) => {
            format!("declare mutex #{} of {} abandoned", object.index(), owners.text(owner))
        }
        Request::Fire(object) => format!("fire timer #{}", object.index()),
        Request::Finish(object) => format!("signal end #{}", object.index()),
        Request::Report(object, code) => format!("report {code:#x} to end #{}", object.index()),
        Request::Rubbish => "do something that is rubbish".to_owned(),
    }
}
