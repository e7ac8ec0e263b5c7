// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which survivors may sleep, which are owed a wake, and how late it comes.

use std::io;
use std::time::{Duration, Instant};

use ntux_sync::inspect::{Claim, Presence, Snapshot, Value, WaitState, WaitView, WaiterView};
use ntux_sync::spec::Outcome;
use ntux_sync::{New, Object};

use super::look::goes_on_without_a_thread;
use super::operation::Operation;
use super::play::{Play, Result, Victim, wrong};
use super::stage::SLEEPERS;
use crate::WAKES_AT_DEATH;
use ntux_testkit::task::{FutexWait, Task};

/// How much later than its deadline a thread may be asleep: macOS sleeps for a time, which counts from when the kernel is asked.
const LATER_NS: u64 = if WAKES_AT_DEATH { 0 } else { 1_000_000_000 };

/// How late wakes came.
#[derive(Clone, Copy, Default, Debug)]
pub struct Wakes {
    /// Waits that were granted something by a victim and woke after its end.
    pub after_a_kill: u32,
    /// The latest of them, after the kill.
    pub latest: Duration,
    /// Waits that slept on although their word had changed: beside a stopped victim, until somebody touched the object; or until their
    /// timer is due.
    pub held_back: u32,
}

impl Play<'_> {
    /// Waits until every survivor that should be awake is, and every other sleeps soundly; tells the judge.
    pub(super) fn observe(&mut self) -> Result<()> {
        for actor in self.asleep.clone() {
            self.observe_one(actor)?;
        }
        Ok(())
    }

    /// Waits until every victim that was brought to a sleep sleeps, or stands behind it.
    pub(super) fn settle_victims(&self) -> Result<()> {
        for tracee in self.victims.iter().filter_map(|victim| victim.tracee.as_ref()) {
            let task = Task::new(tracee.id());
            let start = Instant::now();
            while !tracee.is_still() && !task.is_stopped() && task.futex_wait() == FutexWait::No {
                if start.elapsed() > self.stage.patience {
                    return wrong("a victim neither sleeps nor stands".to_owned());
                }
                std::thread::sleep(Duration::from_micros(20));
            }
        }
        Ok(())
    }

    fn observe_one(&mut self, actor: usize) -> Result<()> {
        if self.takes(actor) {
            return self.observe_taker(actor);
        }
        let mailbox = self.stage.board.mailbox(actor);
        let start = Instant::now();
        loop {
            let sleep = Task::new(mailbox.thread()).futex_wait();
            if let Some(outcome) = mailbox.outcome() {
                return self.woke(actor, outcome, mailbox.finished_ns());
            }
            match sleep {
                FutexWait::Sound if self.judge.sleeps(actor) => return Ok(()),
                FutexWait::Sound => {
                    return wrong(format!("survivor {actor} sleeps on, although it was granted its wait"));
                }
                FutexWait::Owed if self.may_be_late(actor) || self.sleeps_stirred(actor)? => {
                    self.wakes.held_back += 1;
                    return Ok(());
                }
                _ if start.elapsed() > self.stage.patience => {
                    return wrong(format!("survivor {actor} was granted its wait and does not wake: {sleep:?}"));
                }
                _ => std::thread::sleep(Duration::from_micros(20)),
            }
        }
    }

    /// Returns true if this thread sleeps for a result of waits without a thread.
    pub(super) fn takes(&self, actor: usize) -> bool {
        self.takers().contains(&actor)
    }

    /// The same for a thread that sleeps at the bell of a queue. If that is not silent, there is nothing, or what there is wakes the thread
    /// in time.
    fn observe_taker(&mut self, actor: usize) -> Result<()> {
        let mailbox = self.stage.board.mailbox(actor);
        let start = Instant::now();
        loop {
            let task = Task::new(mailbox.thread());
            let (asleep, sleep) = (task.asleep(), task.futex_wait());
            if let Some(outcome) = mailbox.outcome() {
                return self.woke(actor, outcome, mailbox.finished_ns());
            }
            let is_at_the_bell = asleep.is_some_and(|asleep| !mailbox.is_at(asleep.arguments[0]));
            if is_at_the_bell && sleep != FutexWait::No && self.result_may_be_late() {
                self.wakes.held_back += u32::from(sleep == FutexWait::Owed);
                return Ok(());
            }
            let may_sleep = match sleep {
                FutexWait::No => false,
                FutexWait::Sound => true,
                FutexWait::Owed => self.is_owed_nothing(actor)? || self.has_timers() && self.wakes_in_time(actor)?,
            };
            if is_at_the_bell && may_sleep && self.judge.may_sleep(actor) && self.judge.sleeps(actor) {
                return self.outsleeps_nothing(actor);
            }
            if start.elapsed() > self.stage.patience {
                return wrong(format!(
                    "thread {actor} sleeps, although the bell was rung, or there is a result: {sleep:?}"
                ));
            }
            std::thread::sleep(Duration::from_micros(20));
        }
    }

    /// Returns true if no result is there for which this thread sleeps.
    fn is_owed_nothing(&mut self, actor: usize) -> Result<bool> {
        let snapshot = self.stage.view.snapshot().map_err(io::Error::other)?;
        self.look_at_detached(&snapshot)?;
        Ok(!self.judge.may_be_owed(actor) || self.nothing_is_there(&snapshot))
    }

    /// Returns true if no wait without a thread goes on, whatever the model allows: who was registering one is dead, and it does not stand.
    fn nothing_is_there(&self, snapshot: &Snapshot) -> bool {
        let may_change = |victim: &Victim| !victim.is_over || matches!(victim.operation, Operation::Post(_));
        self.victims.iter().any(Victim::registers)
            && !self.victims.iter().any(may_change)
            && !snapshot.waiters.iter().any(goes_on_without_a_thread)
    }

    fn has_timers(&self) -> bool {
        self.scenario.objects.iter().any(|new| matches!(new, New::Timer { .. }))
    }

    /// Returns true if a thread at a bell sleeps at most until the first of all timers is due that are at rest.
    fn wakes_in_time(&self, actor: usize) -> Result<bool> {
        let snapshot = self.stage.view.snapshot().map_err(io::Error::other)?;
        let named = (0..self.scenario.objects.len() as u8).map(|number| self.stage.board.object(number));
        Ok(self.sleeps_until_due(actor, &snapshot, named))
    }

    /// No thread sleeps at a bell beyond the time at which a timer is due for which a wait of its queue stands.
    fn outsleeps_nothing(&self, actor: usize) -> Result<()> {
        if !self.has_timers() {
            return Ok(());
        }
        let snapshot = self.stage.view.snapshot().map_err(io::Error::other)?;
        let stands = |waiter: &&WaiterView| {
            let is_alive = snapshot.peer(waiter.peer).is_some_and(|peer| peer.presence == Presence::Alive);
            waiter.queue.is_some() && waiter.state == WaitState::Waiting && is_alive
        };
        let objects = snapshot.waiters.iter().filter(stands).flat_map(|waiter| match &waiter.wait {
            WaitView::Objects { objects, .. } => objects.clone(),
            _ => vec![],
        });
        match self.sleeps_until_due(actor, &snapshot, objects) {
            true => Ok(()),
            false => wrong(format!("thread {actor} sleeps beyond the time at which a timer of its queue is due")),
        }
    }

    fn sleeps_until_due(&self, actor: usize, snapshot: &Snapshot, objects: impl IntoIterator<Item = Object>) -> bool {
        let Some(until) = Task::new(self.stage.board.mailbox(actor).thread()).sleeps_until() else { return false };
        let mut timers = objects.into_iter().filter_map(|object| snapshot.object(object.index()));
        timers.all(|seen| match (&seen.value, seen.claim) {
            (Value::Timer(timer), Claim::None) => {
                timer.due.is_none_or(|due| until <= due.at_ns.saturating_add(LATER_NS))
            }
            _ => true,
        })
    }

    /// A stopped victim may hold back a wake as long as nobody has used the object that it signaled; as long as it stands if it was woken
    /// itself, or has posted a packet.
    fn result_may_be_late(&self) -> bool {
        let mut standing = self.victims.iter().filter(|victim| !victim.is_over || !WAKES_AT_DEATH);
        standing.any(|victim| {
            let objects = 0..self.scenario.objects.len() as u8;
            let named: Vec<_> = objects.filter(|&object| victim.operation.names(object)).collect();
            !victim.operation.is_signal()
                || named.is_empty()
                || named.iter().any(|object| !self.touched.contains(object))
        })
    }

    /// Waits until a survivor to whom the wake was sent is awake.
    pub(super) fn observe_woken(&mut self, actor: usize) -> Result<()> {
        let mailbox = self.stage.board.mailbox(actor);
        match mailbox.wait(self.stage.patience) {
            Some(outcome) => self.woke(actor, outcome, mailbox.finished_ns()),
            None => wrong(format!(
                "survivor {actor} was sent a wake and sleeps on: {:?}",
                Task::new(mailbox.thread()).futex_wait()
            )),
        }
    }

    fn woke(&mut self, actor: usize, outcome: Outcome, at_ns: u64) -> Result<()> {
        self.asleep.retain(|&asleep| asleep != actor);
        if let Some(late) = self.killed_ns.and_then(|killed_ns| at_ns.checked_sub(killed_ns))
            && self.touched.is_empty()
        {
            self.wakes.after_a_kill += 1;
            self.wakes.latest = self.wakes.latest.max(Duration::from_nanos(late));
        }
        self.took(outcome);
        if self.judge.returned(actor, outcome) {
            return Ok(());
        }
        wrong(format!("survivor {actor} returned {outcome:?}, which the model does not allow"))
    }

    /// A stopped signaler may hold back the wake that it owes until somebody has used the object that it signaled; so does a
    /// killed one where the system sends no wakes for the dead.
    fn may_be_late(&self, actor: usize) -> bool {
        let wait = self.scenario.sleepers[actor - SLEEPERS.start];
        let mut standing = self.victims.iter().filter(|victim| victim.tracee.is_some() || !WAKES_AT_DEATH);
        standing.any(|victim| {
            (0..self.scenario.objects.len() as u8)
                .any(|object| victim.operation.names(object) && wait.names(object) && !self.touched.contains(&object))
        })
    }

    /// A thread that is told to look at a timer again may sleep on while that turn of the timer has not happened, and if it knows
    /// already: then it wakes by itself when the timer is due.
    fn sleeps_stirred(&mut self, actor: usize) -> Result<bool> {
        let mailbox = self.stage.board.mailbox(actor);
        let snapshot = self.stage.view.snapshot().map_err(io::Error::other)?;
        let mut waiters = snapshot.waiters.iter().filter(|waiter| waiter.thread == Some(mailbox.number()));
        if !waiters.any(|waiter| waiter.state == WaitState::Waiting) {
            return Ok(false);
        }
        let wait = self.scenario.sleepers[actor - SLEEPERS.start];
        let named = (0..self.scenario.objects.len() as u8).filter(|&object| wait.names(object));
        let named: Vec<_> = named.map(|number| self.stage.board.object(number)).collect();
        let wakes_in_time = self.sleeps_until_due(actor, &snapshot, named);
        Ok(wakes_in_time && self.judge.sleeps(actor))
    }
}
