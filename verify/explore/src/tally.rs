// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts the events of many histories.

use std::collections::HashSet;
use std::fmt::{Display, Formatter};

use ntux_sync::spec::{Answer, Operation};
use ntux_sync::{Error, Satisfied};

use crate::machine::fingerprint::Fingerprint;
use crate::monitor::Event;

/// Counts of histories and of what was in them.
#[derive(Clone, Default, Debug)]
pub struct Tally {
    /// Histories that were checked.
    pub histories: u64,
    /// Histories that no other one of the same program equals.
    pub distinct: u64,
    /// Calls that returned.
    pub operations: u64,
    /// Waits that fell asleep.
    pub blocked: u64,
    /// Waits that were satisfied by an object, by all of them, by their alert.
    pub satisfied: u64,
    /// As above.
    pub satisfied_all: u64,
    /// As above.
    pub alerts: u64,
    /// Waits that were given an abandoned mutex.
    pub abandoned: u64,
    /// Waits whose deadline ended them, polls not counted.
    pub timeouts: u64,
    /// Waits that an interrupt ended.
    pub interrupts: u64,
    /// Threads that died.
    pub deaths: u64,
    /// The history so far, and those that were over.
    history: Fingerprint,
    seen: HashSet<Fingerprint>,
}

impl Tally {
    /// A history begins.
    pub fn begin_history(&mut self) {
        self.history = Fingerprint::ZERO;
    }

    /// An event of the history in progress. `operation`: what the thread has called; none for an observer, whose calls
    /// are not counted.
    pub fn event(&mut self, event: Event, operation: Option<&Operation>) {
        self.history = self.history.followed_by(Fingerprint::of(&event));
        match event {
            Event::Asleep { .. } => self.blocked += 1,
            Event::Die { .. } => self.deaths += 1,
            Event::Return { outcome, .. } if operation.is_some() => {
                self.operations += 1;
                let wait = operation.and_then(Operation::wait);
                match (outcome, wait) {
                    (Ok(Answer::Satisfied(Satisfied { index, abandoned })), Some(wait)) => {
                        self.abandoned += u64::from(abandoned);
                        let alert = wait.alert.is_some() && index as usize == wait.objects.len();
                        match (alert, wait.all) {
                            (true, _) => self.alerts += 1,
                            (false, true) => self.satisfied_all += 1,
                            (false, false) => self.satisfied += 1,
                        }
                    }
                    (Err(Error::TimedOut), Some(wait)) => self.timeouts += u64::from(!wait.poll),
                    (Err(Error::Interrupted), _) => self.interrupts += 1,
                    _ => {}
                }
            }
            _ => {}
        }
    }

    /// The history in progress is over.
    pub fn end_history(&mut self) {
        self.histories += 1;
        self.distinct += u64::from(self.seen.insert(self.history));
    }

    /// Adds what was counted for another program.
    pub fn add(&mut self, other: &Tally) {
        self.histories += other.histories;
        self.distinct += other.distinct;
        self.operations += other.operations;
        self.blocked += other.blocked;
        self.satisfied += other.satisfied;
        self.satisfied_all += other.satisfied_all;
        self.alerts += other.alerts;
        self.abandoned += other.abandoned;
        self.timeouts += other.timeouts;
        self.interrupts += other.interrupts;
        self.deaths += other.deaths;
    }
}

impl Display for Tally {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let mut line = |what: &str, count: u64| writeln!(f, "{count:>12}  {what}");
        line("histories", self.histories)?;
        line("of them different", self.distinct)?;
        line("operations", self.operations)?;
        line("waits that blocked", self.blocked)?;
        line("waits satisfied by one object", self.satisfied)?;
        line("waits satisfied by all objects", self.satisfied_all)?;
        line("waits satisfied by their alert", self.alerts)?;
        line("abandoned mutexes acquired", self.abandoned)?;
        line("timeouts", self.timeouts)?;
        line("interrupted waits", self.interrupts)?;
        line("deaths", self.deaths)
    }
}
