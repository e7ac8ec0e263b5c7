// SPDX-License-Identifier: MIT OR Apache-2.0
//! One run: which scenarios, how much effort, and the records so far.

use std::io;

use crate::measure::{Effort, Sample};
use crate::progress;
use crate::record::{Group, Outcome, Record, Unit};

/// A scenario that takes longer is stuck: the process says so, and is ended by SIGALRM.
const SCENARIO_SECONDS_MAX: u32 = 120;

/// The run in progress.
pub(crate) struct Bench {
    pub(crate) effort: Effort,
    pub(crate) records: Vec<Record>,
    only: Option<String>,
    peer: String,
}

impl Bench {
    pub(crate) fn new(effort: Effort, only: Option<String>) -> Self {
        Self { effort, records: Vec::new(), only, peer: String::new() }
    }

    /// What follows is measured for `peer`.
    pub(crate) fn peer(&mut self, peer: &str) -> &mut Self {
        self.peer = peer.to_owned();
        self
    }

    /// Measures nanoseconds, if the scenario is asked for.
    pub(crate) fn time(&mut self, group: Group, name: &str, measure: impl FnOnce(Effort) -> io::Result<Sample>) {
        self.times(group, [name], |effort| measure(effort).map(|sample| [sample]));
    }

    /// Measures several times at once.
    pub(crate) fn times<const N: usize>(
        &mut self,
        group: Group,
        names: [&str; N],
        measure: impl FnOnce(Effort) -> io::Result<[Sample; N]>,
    ) {
        self.run(group, Unit::Nanoseconds, names, measure);
    }

    /// Measures, or notes why not, one record for each name.
    pub(crate) fn run<const N: usize>(
        &mut self,
        group: Group,
        unit: Unit,
        names: [&str; N],
        measure: impl FnOnce(Effort) -> io::Result<[Sample; N]>,
    ) {
        if !names.iter().any(|name| self.wanted(name)) {
            return;
        }
        self.announce(names[0]);
        let outcomes = match measure(self.effort) {
            Ok(samples) => samples.map(Outcome::Measured),
            Err(error) => names.map(|_| refusal(&error)),
        };
        self.at_rest();
        for (name, outcome) in names.into_iter().zip(outcomes) {
            self.record(group, unit, name, outcome, None);
        }
    }

    /// Returns whether `--only` lets the scenario through for the current peer.
    pub(crate) fn wanted(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|only| self.title(name).contains(only.as_str()))
    }

    fn title(&self, name: &str) -> String {
        format!("{name}: {}", self.peer)
    }

    /// Shows what is being measured, and starts the watchdog.
    pub(crate) fn announce(&self, name: &str) {
        progress::show(&self.title(name));
        progress::watch(&self.title(name), SCENARIO_SECONDS_MAX);
    }

    /// Stops the watchdog.
    pub(crate) fn at_rest(&self) {
        progress::unwatch();
    }

    /// Adds a record.
    pub(crate) fn record(&mut self, group: Group, unit: Unit, name: &str, outcome: Outcome, detail: Option<String>) {
        let (scenario, peer) = (name.to_owned(), self.peer.clone());
        self.records.push(Record { group, scenario, peer, unit, outcome, detail });
    }
}

/// Tells what cannot be from what should have been.
pub(crate) fn refusal(error: &io::Error) -> Outcome {
    match error.raw_os_error() {
        Some(libc::EMFILE | libc::ENFILE) => Outcome::Impossible("a descriptor each: too many".into()),
        _ if error.kind() == io::ErrorKind::Unsupported => Outcome::Impossible(error.to_string()),
        _ => Outcome::Failed(error.to_string()),
    }
}
