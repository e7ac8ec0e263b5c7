// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which survivors may sleep, which are owed a wake, and how late it comes.

use std::io;
use std::time::{Duration, Instant};

use ntux_sync::inspect::{Claim, Value, WaitState};
use ntux_sync::spec::Outcome;

use super::play::{Play, Result, wrong};
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
        let Some(until) = Task::new(mailbox.thread()).sleeps_until() else { return Ok(false) };
        let wait = self.scenario.sleepers[actor - SLEEPERS.start];
        let named = (0..self.scenario.objects.len() as u8).filter(|&object| wait.names(object));
        let wakes_in_time =
            named.filter_map(|object| snapshot.object(self.stage.board.object(object).index())).all(|seen| {
                match (&seen.value, seen.claim) {
                    (Value::Timer(timer), Claim::None) => {
                        timer.due.is_none_or(|due| until <= due.at_ns.saturating_add(LATER_NS))
                    }
                    _ => true,
                }
            });
        Ok(wakes_in_time && self.judge.sleeps(actor))
    }
}
