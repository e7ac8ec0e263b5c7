// SPDX-License-Identifier: MIT OR Apache-2.0
//! For whom a thread waits, and for whom the owner of what it waits for waits in turn.

use std::collections::{HashMap, HashSet};

use ntux_sync::Object;
use ntux_sync::inspect::why::{Case, Condition, Obstacle};
use ntux_sync::inspect::{LastSignal, Mode, WaitView, WakeView};
use ntux_sync::trace::Operation;
use serde::Serialize;

use super::addresses::{AddressWait, Subject};
use super::log::{Entry, Logs};
use super::names::{Party, Thing};
use crate::arenas::scene::{Doer, Scene};
use crate::arenas::signaled::When;
use crate::arenas::words;

/// Threads of one chain: a thousand lines tell nobody anything.
const LONGEST: usize = 200;
/// From a thread to the last one that is shown.
const DEEPEST: usize = 40;

/// A thread, and what it waits for.
#[derive(Serialize)]
pub struct Chain {
    #[serde(flatten)]
    pub party: Party,
    #[serde(serialize_with = "words::word")]
    pub condition: Condition,
    /// It stands further up, too: a cycle, or a second way to the same thread.
    pub repeated: bool,
    /// For how many seconds it has slept.
    pub asleep_s: Option<f64>,
    /// In how many seconds its wait ends by itself; none if it does not.
    pub ends_in_s: Option<f64>,
    /// None: it does not wait.
    #[serde(serialize_with = "words::word_if_any")]
    pub mode: Option<Mode>,
    pub waits_for: Vec<Step>,
    pub alert: Option<Thing>,
    /// What it waits for in its program's memory, if that is seen.
    pub address_wait: Option<Subject>,
}

/// An object that a thread waits for.
#[derive(Serialize)]
pub struct Step {
    #[serde(flatten)]
    pub thing: Thing,
    #[serde(serialize_with = "words::word")]
    pub obstacle: Obstacle,
    pub owner: Option<u32>,
    /// The thread that signaled it last, or acquired it last if it is a mutex. None: unknown, or nobody.
    pub last_by: Option<Doer>,
    /// Nobody has signaled it, or acquired it, since it was created.
    pub is_new: bool,
    /// When it was last signaled; all unknown if it is a mutex.
    pub last_signal: When,
    /// The last time that it has woken anybody: how many seconds ago, and which thread signaled it.
    pub last_wake: Option<Wake>,
    /// The last signal of which the log of a program tells, and the reset behind it.
    pub logged: Vec<Logged>,
    /// The threads that are known to wait, or to have waited, as this owner.
    pub owners: Vec<Chain>,
    /// There are more, which are left out.
    pub cut: bool,
}

/// The last wake that an object has sent.
#[derive(Serialize)]
pub struct Wake {
    pub ago_s: f64,
    pub by: Option<String>,
}

/// An operation of which a log tells.
#[derive(Serialize)]
pub struct Logged {
    pub operation: &'static str,
    pub ago_s: f64,
    pub by: String,
}

/// Follows chains.
pub struct Follower<'a> {
    scene: &'a Scene,
    case: &'a Case<'a>,
    logs: &'a Logs,
    address_waits: &'a [AddressWait],
    met: HashSet<u32>,
    signals: HashMap<Object, (LastSignal, When)>,
}

impl<'a> Follower<'a> {
    pub fn new(scene: &'a Scene, case: &'a Case<'a>, logs: &'a Logs, address_waits: &'a [AddressWait]) -> Follower<'a> {
        Follower { scene, case, logs, address_waits, met: HashSet::new(), signals: HashMap::new() }
    }

    pub fn follow(&mut self, waiter: u32) -> Chain {
        self.met.clear();
        self.chain(waiter, 0)
    }

    fn chain(&mut self, waiter: u32, depth: usize) -> Chain {
        let repeated = !self.met.insert(waiter);
        let mut chain = Chain {
            party: Party::of(self.scene, waiter),
            condition: self.case.condition(waiter),
            repeated,
            asleep_s: None,
            ends_in_s: None,
            mode: None,
            waits_for: Vec::new(),
            alert: None,
            address_wait: None,
        };
        let is_its = |wait: &&AddressWait| (Some(wait.pid), Some(wait.thread)) == (chain.party.pid, chain.party.thread);
        chain.address_wait = self.address_waits.iter().find(is_its).map(|wait| wait.subject.clone());
        let Some(place) = self.scene.snapshot.waiter(waiter) else { return chain };
        (chain.asleep_s, chain.ends_in_s) = (self.scene.asleep_s(place), self.scene.ends_in_s(place));
        let WaitView::Objects { owner, mode, objects, alert } = &place.wait else { return chain };
        chain.mode = Some(if *mode == Mode::All { Mode::All } else { Mode::Any });
        chain.alert = alert.map(|alert| Thing::of(self.scene, alert));
        if !repeated {
            chain.waits_for = objects.iter().map(|&object| self.step(waiter, object, *owner, depth)).collect();
        }
        chain
    }

    fn step(&mut self, waiter: u32, object: Object, owner: u32, depth: usize) -> Step {
        let obstacle = self.case.obstacle(object, owner);
        let owner = if let Obstacle::Owned(owner) = obstacle { Some(owner) } else { None };
        let places = owner.map_or(&[][..], |owner| self.case.places(owner));
        let cut = !places.is_empty() && (depth == DEEPEST || self.met.len() >= LONGEST);
        let owners = if cut { Vec::new() } else { places.iter().map(|&place| self.chain(place, depth + 1)).collect() };
        let scene = self.scene;
        let wake = |wake: WakeView| Wake { ago_s: scene.ago_s(wake.at), by: scene.name_of(wake.by) };
        let last_wake = scene.last_wake(object).map(wake);
        let logged = self.logged(object);
        let (thing, last_by, is_new) = (Thing::of(scene, object), scene.doer(object), scene.is_new(object));
        let last_signal = self.last_signal(waiter, object);
        Step { thing, obstacle, owner, last_by, is_new, last_signal, last_wake, logged, owners, cut }
    }

    /// When an object was last signaled for which this thread waits.
    fn last_signal(&mut self, waiter: u32, object: Object) -> When {
        let scene = self.scene;
        let (last, when) = self.signals.entry(object).or_insert_with(|| When::of(scene, object));
        When { during_wait: last.was_during(waiter), ..*when }
    }

    fn logged(&self, object: Object) -> Vec<Logged> {
        let scene = self.scene;
        let logged = |entry: &Entry| Logged {
            operation: done(entry.operation),
            ago_s: scene.ago_s(entry.at_ns),
            by: scene.thread_here(entry.pid, entry.thread),
        };
        let last = self.logs.last(object.index());
        last.map_or(Vec::new(), |(signal, reset)| {
            [Some(signal), reset.as_ref()].into_iter().flatten().map(logged).collect()
        })
    }
}

/// What was done to an object.
fn done(operation: Operation) -> &'static str {
    match operation {
        Operation::Set => "set",
        Operation::Reset => "reset",
        Operation::Pulse => "pulsed",
        Operation::Release => "released",
        Operation::Unlock => "unlocked",
        Operation::Kill => "abandoned",
        Operation::Fire => "fired",
        Operation::Finish => "finished",
        Operation::Report => "reported",
    }
}
