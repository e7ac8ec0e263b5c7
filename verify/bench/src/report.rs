// SPDX-License-Identifier: MIT OR Apache-2.0
//! The report: a first screen, tables and pictures for people, one document for programs. Losing cases have their own section.

mod expectation;
mod first_screen;
mod picture;
mod table;

use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::machine::Machine;
use crate::record::{Outcome, Record, Unit};
use expectation::Expectation;

pub(crate) const FUTEX: &str = "raw futex";
pub(crate) const ADAPTIVE: &str = "adaptive futex";
pub(crate) const PARKING: &str = "parking_lot";
pub(crate) const EVENTFD: &str = "eventfd";
pub(crate) const WAITV: &str = "futex_waitv";
pub(crate) const WAITV_COUNTED: &str = "futex_waitv counted";
pub(crate) const SERVER: &str = "server";
pub(crate) const DRIVER: &str = "kernel driver";
pub(crate) const SHM: &str = "shm_open + pthread";
pub(crate) const ROBUST: &str = "robust pthread mutex";
pub(crate) const TIMERFD: &str = "timerfd";
pub(crate) const EPOLL: &str = "eventfd + epoll";
pub(crate) const CHANNEL: &str = "crossbeam-channel";
pub(crate) const PUMP: &str = "pump thread + epoll";
pub(crate) const NOTIFY: &str = "tokio Notify";
pub(crate) const LISTENER: &str = "event-listener";
pub(crate) const STD: &str = "std";
pub(crate) const PTHREAD: &str = "pthread mutex";
pub(crate) const RUST: &str = "ntux Rust";
pub(crate) const C: &str = "ntux C";
pub(crate) const DEVICE: &str = "ntux device";

/// The doors to ntux.
pub(crate) const OURS: [&str; 3] = [RUST, C, DEVICE];
/// Everybody else, the floor first.
pub(crate) const PEERS: [&str; 18] = [
    FUTEX,
    ADAPTIVE,
    PARKING,
    EVENTFD,
    WAITV,
    WAITV_COUNTED,
    SERVER,
    DRIVER,
    SHM,
    ROBUST,
    TIMERFD,
    EPOLL,
    CHANNEL,
    PUMP,
    NOTIFY,
    LISTENER,
    STD,
    PTHREAD,
];

/// A peer that took no part.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Absent {
    peer: String,
    reason: String,
    /// It should have taken part.
    failed: bool,
}

impl Absent {
    pub(crate) fn new(peer: &str, reason: String, failed: bool) -> Self {
        Self { peer: peer.to_owned(), reason, failed }
    }
}

/// One of ours beside one of theirs.
#[derive(Debug, Serialize)]
pub(crate) struct Ratio {
    pub(crate) scenario: String,
    pub(crate) ours: String,
    pub(crate) peer: String,
    /// Our median through theirs: below 1 we are ahead.
    pub(crate) ratio: f64,
    /// True if all our rounds were slower than all of theirs.
    pub(crate) lost: bool,
}

/// A whole run.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) machine: Machine,
    pub(crate) records: Vec<Record>,
    pub(crate) absent: Vec<Absent>,
    pub(crate) ratios: Vec<Ratio>,
    pub(crate) expectations: Vec<Expectation>,
}

/// What `--json` printed, as far as a report is made of it.
#[derive(Debug, Deserialize)]
pub(crate) struct Stored {
    machine: Machine,
    records: Vec<Record>,
    #[serde(default)]
    absent: Vec<Absent>,
    /// Added by hand: what else one must know of the run.
    #[serde(default)]
    pub(crate) conditions: Option<String>,
}

impl From<Stored> for Report {
    fn from(stored: Stored) -> Self {
        Self::new(stored.machine, stored.records, stored.absent)
    }
}

/// The report of a document that `--json` printed.
pub(crate) fn stored(file: &Path) -> io::Result<Report> {
    let wrong = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", file.display()));
    let text = std::fs::read_to_string(file).map_err(wrong)?;
    Ok(serde_json::from_str::<Stored>(&text).map_err(|error| wrong(error.into()))?.into())
}

impl Report {
    pub(crate) fn new(machine: Machine, records: Vec<Record>, absent: Vec<Absent>) -> Self {
        let ratios = ratios(&records);
        let expectations = expectation::all(&records, &ratios);
        Self { machine, records, absent, ratios, expectations }
    }

    /// Measurements and peers that should have worked.
    pub(crate) fn failures(&self) -> usize {
        let records = self.records.iter().filter(|record| matches!(record.outcome, Outcome::Failed(_))).count();
        records + self.absent.iter().filter(|absent| absent.failed).count()
    }

    /// What fits on a screen: where ntux stands beside the best of its peers.
    pub(crate) fn print_first_screen(&self) -> io::Result<()> {
        let mut out = io::stdout().lock();
        first_screen::lines(self)?.iter().try_for_each(|line| writeln!(out, "{line}"))
    }

    pub(crate) fn svg(&self) -> io::Result<String> {
        picture::svg(self)
    }

    pub(crate) fn html(&self) -> io::Result<String> {
        picture::html(self)
    }

    pub(crate) fn print_tables(&self) -> io::Result<()> {
        table::print(self, &mut io::stdout().lock())
    }
}

fn ratios(records: &[Record]) -> Vec<Ratio> {
    let timed = || records.iter().filter(|record| record.unit == Unit::Nanoseconds);
    let mut ratios = Vec::new();
    for ours in timed().filter(|record| OURS.contains(&record.peer.as_str())) {
        for theirs in timed().filter(|record| record.scenario == ours.scenario) {
            let (Some(mine), Some(other)) = (ours.sample(), theirs.sample()) else { continue };
            if PEERS.contains(&theirs.peer.as_str()) {
                ratios.push(Ratio {
                    scenario: ours.scenario.clone(),
                    ours: ours.peer.clone(),
                    peer: theirs.peer.clone(),
                    ratio: mine.median / other.median,
                    lost: mine.min > other.max,
                });
            }
        }
    }
    ratios
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::measure::Sample;
    use crate::record::Group;
    use crate::scenario::{contended, uncontended, yardsticks};

    pub(super) fn record(group: Group, scenario: &str, peer: &str, rounds: [f64; 3]) -> Record {
        let outcome = Outcome::Measured(Sample::of_rounds(rounds.to_vec(), 1));
        let (scenario, peer) = (scenario.to_owned(), peer.to_owned());
        Record { group, scenario, peer, unit: Unit::Nanoseconds, outcome, detail: None }
    }

    #[test]
    fn a_loss_is_said_only_when_every_round_was_behind() {
        let zigzag = |peer, rounds| record(Group::Contended, contended::ZIGZAG, peer, rounds);
        let records = [zigzag(RUST, [5.0, 6.0, 7.0]), zigzag(WAITV, [2.0, 3.0, 4.0]), zigzag(EVENTFD, [2.0, 3.0, 5.5])];
        let found: Vec<_> = ratios(&records).into_iter().map(|ratio| (ratio.peer, ratio.ratio, ratio.lost)).collect();
        assert_eq!(found, [(WAITV.to_owned(), 2.0, true), (EVENTFD.to_owned(), 2.0, false)]);
    }

    #[test]
    fn a_promise_that_is_not_kept_is_said_to_be_missed() {
        let kept = |pair| {
            let records = [
                record(Group::Uncontended, uncontended::MUTEX, RUST, [pair; 3]),
                record(Group::Yardsticks, yardsticks::CAS_128, yardsticks::MACHINE, [10.0; 3]),
            ];
            let expectations = expectation::all(&records, &[]);
            assert_eq!(expectations.len(), 1);
            expectations[0].kept
        };
        assert!(kept(30.0));
        assert!(!kept(30.1));
    }
}
