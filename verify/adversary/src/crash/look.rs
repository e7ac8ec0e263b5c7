// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks a snapshot of the arena while a victim is stopped, or after its death.
//!
//! Nobody runs, so all objects are of the same instant. The objects at rest, taken together, must have the values of
//! one state of the model. No unit may be missing from a semaphore that is claimed for a waiter: the word counts the
//! model's units and those on offer. A sleeping survivor must be shown asleep in all its queues, or as owed a wake.

use std::collections::HashSet;
use std::os::fd::AsFd;

use ntux_sync::Object;
use ntux_sync::inspect::{
    Claim, Life, ObjectView, Presence, Snapshot, Standing, Value, View, WaitState, WaitView, WaiterView,
};
use ntux_sync::spec::{self, Semaphore};

use super::judge::Judge;
use super::play::{Play, Result, Victim, wrong};
use super::stage::SLEEPERS;

/// How the onlooker looks.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Eyes {
    Good,
    // Planted faults, which must be found.
    /// Takes what is on its way for what is at rest
    NoUnits,
    /// Overlooks that a wake is owed
    NoWakes,
    /// Overlooks that a thread is back, and asks nobody whether it sleeps
    OldNotes,
    /// Overlooks that an operation is half-way
    NoClaims,
    /// Takes what is requested for what is under way
    Hasty,
    /// Does not know who has ended, or is stopped
    NoDeaths,
}

impl Play<'_> {
    /// Looks at the arena as another process would, and compares with what must hold.
    pub(super) fn look(&mut self) -> Result<()> {
        self.settle_victims()?;
        let snapshot = self.stage.view.snapshot().map_err(std::io::Error::other)?;
        self.looks += 1;
        let seen: Vec<_> = (0..self.scenario.objects.len())
            .map(|number| {
                snapshot.object(self.stage.board.object(number as u8).0 as u32).filter(|seen| seen.life == Life::Live)
            })
            .collect();
        if let Some(restless) = snapshot.objects.iter().find(|object| !object.stable || !object.queue_is_whole) {
            return wrong(format!("nobody moves, and an onlooker sees {restless:?}"));
        }
        if !self.judge.explains(&seen, self.stage.eyes) {
            return wrong(format!("an onlooker sees {seen:?}, which the model does not allow"));
        }
        for actor in self.asleep.clone() {
            if !self.takes(actor) {
                self.look_at_sleeper(&snapshot, actor)?;
            }
        }
        self.look_at_detached(&snapshot)?;
        self.find(&snapshot)
    }

    /// Waits without a thread of living processes are there, or have ended, as the model says. (One that a victim was registering may be in a
    /// place that still has its name.)
    pub(super) fn look_at_detached(&mut self, snapshot: &Snapshot) -> Result<()> {
        let stands = |victim: &Victim| !victim.is_over;
        if self.scenario.delivery.is_none() || self.victims.iter().any(|victim| victim.registers() || stands(victim)) {
            return Ok(());
        }
        let is_there = |waiter: &&WaiterView| {
            let is_alive = snapshot.peer(waiter.peer).is_some_and(|peer| peer.presence == Presence::Alive);
            is_alive && goes_on_without_a_thread(waiter)
        };
        let seen: Vec<_> = snapshot.waiters.iter().filter(is_there).collect();
        let results = seen.iter().filter(|waiter| waiter.state != WaitState::Waiting).count();
        match self.judge.are_detached(seen.len(), results) {
            true => Ok(()),
            false => wrong(format!(
                "an onlooker sees these waits without a thread, which the model does not allow: {seen:?}"
            )),
        }
    }

    /// Returns whether another object may have the slot of this one, whose queue is then not shown: a second victim makes
    /// objects before its operation.
    fn may_be_reused(&self, object: Object) -> bool {
        self.victims.len() > 1 && self.stage.arena.kind(object).is_err()
    }

    fn look_at_sleeper(&mut self, snapshot: &Snapshot, actor: usize) -> Result<()> {
        let number = self.stage.board.mailbox(actor).number();
        let wait = self.scenario.sleepers[actor - SLEEPERS.start];
        let Some(waiter) = snapshot.waiters.iter().find(|waiter| waiter.thread == Some(number)) else {
            return wrong(format!("an onlooker does not see survivor {actor}"));
        };
        match waiter.state {
            WaitState::Satisfied { owed: true, .. } => return Ok(()),
            // The wake was sent, so it must arrive.
            WaitState::Satisfied { owed: false, .. } => return self.observe_woken(actor),
            _ => {}
        }
        let expected: Vec<Object> =
            wait.objects.as_slice().iter().map(|&number| self.stage.board.object(number)).collect();
        let WaitView::Objects { objects, alert, .. } = &waiter.wait else {
            return wrong(format!("an onlooker sees survivor {actor} as {waiter:?}"));
        };
        let alert_is_right = *alert == wait.alert.map(|number| self.stage.board.object(number));
        let is_queued = |object: &Object| {
            let places: HashSet<_> = snapshot
                .object(object.0 as u32)
                .into_iter()
                .flat_map(|seen| &seen.queue)
                .filter(|entry| entry.standing == Standing::Waiting)
                .map(|entry| (entry.waiter, entry.ticket))
                .collect();
            places.contains(&(waiter.index, waiter.ticket)) || self.may_be_reused(*object)
        };
        let is_alive = snapshot.peer(waiter.peer).is_some_and(|peer| peer.presence == Presence::Alive);
        let waits = waiter.state == WaitState::Waiting && waiter.parked && is_alive;
        if waits && *objects == expected && alert_is_right && objects.iter().chain(alert).all(is_queued) {
            return Ok(());
        }
        let seen: Vec<_> = objects.iter().map(|object| snapshot.object(object.0 as u32)).collect();
        wrong(format!("an onlooker sees survivor {actor}, which sleeps, as {waiter:?}, and its objects as {seen:?}"))
    }
}

impl Judge {
    /// Returns whether one state has these values, or None: the object does not live, or nobody can say.
    fn explains(&mut self, seen: &[Option<&ObjectView>], eyes: Eyes) -> bool {
        self.any_state(|state| {
            let mut objects = seen.iter().enumerate();
            objects.all(|(id, seen)| seen.is_none_or(|seen| is_explained(state.value(id), seen, eyes)))
        })
    }
}

fn is_explained(model: &spec::Value, seen: &ObjectView, eyes: Eyes) -> bool {
    match (model, &seen.value, seen.claim) {
        (_, Value::Rubbish, _) => false,
        (model, value, Claim::None) => is_same(model, value),
        (model, value, _) if eyes == Eyes::NoUnits => is_same(model, value),
        (spec::Value::Semaphore(model), Value::Semaphore(Semaphore { count, max }), Claim::Waiter { index, .. }) => {
            model.max == *max && model.count == count.saturating_sub(on_their_way(seen, index))
        }
        (_, _, claim) => claim != Claim::Rubbish,
    }
}

/// Units that the word of a claimed semaphore still counts, though nobody else can have them: that of the claim, and
/// one for each of those who are next.
fn on_their_way(seen: &ObjectView, claimant: u32) -> u32 {
    1 + seen.waiting().filter(|entry| !entry.all && entry.waiter != claimant).count() as u32
}

fn is_same(model: &spec::Value, value: &Value) -> bool {
    match (model, value) {
        (spec::Value::Semaphore(model), Value::Semaphore(value)) => model == value,
        (spec::Value::Mutex(model), Value::Mutex(value)) => model == value,
        (spec::Value::Event(model), Value::Event(value)) => model == value,
        (spec::Value::End(model), Value::End(value)) => model == value,
        (spec::Value::Timer(model), Value::Timer(value)) => {
            let due = value.due.map(|due| due.at_ns);
            (model.manual, model.signaled, model.due) == (value.manual, value.signaled, due)
        }
        _ => false,
    }
}

/// The arena as an onlooker has it.
pub fn open(arena: &ntux_sync::Arena) -> std::io::Result<View> {
    let fd = arena.fd().expect("an arena that was created keeps its descriptor");
    View::open(fd.as_fd()).map_err(std::io::Error::other)
}

/// Returns true if this is a wait without a thread that waits, or has a result.
pub(super) fn goes_on_without_a_thread(waiter: &WaiterView) -> bool {
    waiter.queue.is_some() && matches!(waiter.state, WaitState::Waiting | WaitState::Satisfied { .. })
}
