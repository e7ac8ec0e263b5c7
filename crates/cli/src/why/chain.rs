//! For whom a thread waits, and for whom that one waits in turn.

use std::collections::{HashMap, HashSet};

use ntux_sync::Object;
use ntux_sync::inspect::why::{Case, Fate, Obstacle};
use ntux_sync::inspect::{LastSignal, Mode, WaitState, WaitView, WakeView};
use serde::Serialize;

use super::log::{Logs, Told};
use super::verdict::{Party, Teller, Thing};
use crate::arenas::scene::{Doer, slot_of};
use crate::arenas::signaled::When;

/// Threads of one chain: a thousand lines tell nobody anything.
const LONGEST: usize = 200;
/// From a thread to the last one that is shown.
const DEEPEST: usize = 40;

/// A thread, and what it waits for.
#[derive(Serialize)]
pub struct Chain {
    #[serde(flatten)]
    pub party: Party,
    pub condition: &'static str,
    /// It stands further up, too: a cycle, or a second way to the same thread.
    pub repeated: bool,
    /// For how many seconds it has slept.
    pub asleep_s: Option<f64>,
    /// In how many seconds its wait ends by itself; none if it does not.
    pub ends_in_s: Option<f64>,
    /// "any" or "all"; none if it does not wait.
    pub mode: Option<&'static str>,
    pub waits_for: Vec<Step>,
    pub alert: Option<Thing>,
}

/// An object that a thread waits for.
#[derive(Serialize)]
pub struct Step {
    #[serde(flatten)]
    pub thing: Thing,
    pub obstacle: &'static str,
    pub owner: Option<u32>,
    /// Who signaled it last, or acquired it last if it is a mutex. None: unknown, or nobody.
    pub last_by: Option<Doer>,
    /// Nobody has signaled it, or acquired it, since it was created.
    pub is_new: bool,
    /// When it was last signaled. Of a mutex nothing is said.
    pub last_signal: When,
    /// The last time that it has woken anybody: how many seconds ago, and who signaled it.
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
    pub teller: &'a Teller<'a>,
    pub case: &'a Case<'a>,
    logs: &'a Logs,
    met: HashSet<u32>,
    signals: HashMap<Object, (LastSignal, When)>,
}

impl<'a> Follower<'a> {
    pub fn new(teller: &'a Teller<'a>, case: &'a Case<'a>, logs: &'a Logs) -> Follower<'a> {
        Follower { teller, case, logs, met: HashSet::new(), signals: HashMap::new() }
    }

    pub fn follow(&mut self, waiter: u32) -> Chain {
        self.met.clear();
        self.chain(waiter, 0)
    }

    fn chain(&mut self, waiter: u32, depth: usize) -> Chain {
        let repeated = !self.met.insert(waiter);
        let mut chain = Chain {
            party: self.teller.party(waiter),
            condition: self.condition(waiter),
            repeated,
            asleep_s: None,
            ends_in_s: None,
            mode: None,
            waits_for: Vec::new(),
            alert: None,
        };
        let Some(place) = self.teller.scene.snapshot.waiter(waiter) else { return chain };
        (chain.asleep_s, chain.ends_in_s) = (self.teller.scene.asleep_s(place), self.teller.scene.ends_in_s(place));
        let WaitView::Objects { owner, mode, objects, alert } = &place.wait else { return chain };
        chain.mode = Some(if *mode == Mode::All { "all" } else { "any" });
        chain.alert = alert.map(|alert| self.teller.thing(alert));
        if !repeated {
            chain.waits_for = objects.iter().map(|&object| self.step(waiter, object, *owner, depth)).collect();
        }
        chain
    }

    fn step(&mut self, waiter: u32, object: Object, owner: u32, depth: usize) -> Step {
        let obstacle = self.case.obstacle(object, owner);
        let (word, owner) = match obstacle {
            Obstacle::Owned(owner) => ("owned", Some(owner)),
            Obstacle::NotSignaled => ("not signaled", None),
            Obstacle::Closed => ("closed", None),
            Obstacle::Nothing => ("available", None),
            Obstacle::Unclear => ("changing", None),
        };
        let places = owner.map_or(&[][..], |owner| self.case.places(owner));
        let cut = !places.is_empty() && (depth == DEEPEST || self.met.len() >= LONGEST);
        let owners = if cut { Vec::new() } else { places.iter().map(|&place| self.chain(place, depth + 1)).collect() };
        let scene = self.teller.scene;
        let wake = |wake: WakeView| Wake { ago_s: scene.ago_s(wake.at), by: scene.name_of(wake.by) };
        let last_wake = scene.last_wake(object).map(wake);
        let logged = self.logged(object);
        let (thing, last_by, is_new) = (self.teller.thing(object), scene.doer(object), scene.is_new(object));
        let last_signal = self.last_signal(waiter, object);
        Step { thing, obstacle: word, owner, last_by, is_new, last_signal, last_wake, logged, owners, cut }
    }

    /// When an object was last signaled for which this thread waits.
    fn last_signal(&mut self, waiter: u32, object: Object) -> When {
        let scene = self.teller.scene;
        let (last, when) = self.signals.entry(object).or_insert_with(|| When::of(scene, object));
        When { during_wait: last.was_during(waiter), ..*when }
    }

    fn logged(&self, object: Object) -> Vec<Logged> {
        let scene = self.teller.scene;
        let told = |told: &Told| Logged {
            operation: told.operation,
            ago_s: scene.ago_s(told.at_ns),
            by: scene.thread_here(told.pid, told.thread),
        };
        let last = self.logs.last(slot_of(object));
        last.map_or(Vec::new(), |(signal, reset)| {
            [Some(signal), reset.as_ref()].into_iter().flatten().map(told).collect()
        })
    }

    fn condition(&self, waiter: u32) -> &'static str {
        let state = self.teller.scene.snapshot.waiter(waiter).map(|waiter| waiter.state);
        match (self.case.fate(waiter), state) {
            (Fate::Gone, _) => "ended",
            (Fate::Stopped, _) => "stopped",
            (_, Some(WaitState::Waiting | WaitState::Queueing)) => "waiting",
            (_, Some(WaitState::Satisfied { owed: true, .. })) => "not woken yet",
            (_, Some(WaitState::Requesting(_))) => "signaling",
            _ => "in no wait",
        }
    }
}
