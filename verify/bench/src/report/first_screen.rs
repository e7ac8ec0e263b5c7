// SPDX-License-Identifier: MIT OR Apache-2.0
//! The first screen of a report: each scenario beside the best of the peers that can do it, the worst first.

use std::io;

use comfy_table::{Table, presets};

use super::table::duration;
use super::{DEVICE, PEERS, RUST, Report};
use crate::grid::{aligned, distinct};
use crate::record::{Record, Unit};

/// Lines of a screen.
const LINES_MOST: usize = 40;
/// Lines besides the rows and the promises: the machine, the table's head, what was left out, where there is more.
const LINES_AROUND: usize = 9;
/// Missed promises that are told; each takes two lines, because one would be wider than a terminal.
const MISSED_MOST: usize = 6;

/// A scenario, and how far ntux is behind (above 1) or ahead of the best peer.
struct Row<'a> {
    scenario: &'a str,
    rust_ns: f64,
    device_ns: Option<f64>,
    best: &'a str,
    best_ns: f64,
}

impl Row<'_> {
    fn ratio(&self) -> f64 {
        self.rust_ns / self.best_ns
    }
}

/// All lines.
pub(super) fn lines(report: &Report) -> io::Result<Vec<String>> {
    let mut head = Vec::new();
    report.machine.print("sync", &mut head)?;
    let mut lines: Vec<_> = String::from_utf8_lossy(&head).lines().map(str::to_owned).collect();
    let mut rows = rows(&report.records);
    rows.sort_by(|one, other| other.ratio().total_cmp(&one.ratio()));
    let missed: Vec<_> = report.expectations.iter().filter(|expectation| !expectation.kept).collect();
    let kept = report.expectations.len() - missed.len();
    let shown = rows.len().min(LINES_MOST - LINES_AROUND - 2 * missed.len().min(MISSED_MOST));
    if !rows.is_empty() {
        lines.push(
            "Medians, beside the fastest peer that can do it (a ratio below 1: ntux is ahead); worst first".into(),
        );
        lines.extend(table(&rows[..shown]).to_string().lines().map(|line| line.trim_end().to_owned()));
    }
    if let Some(next) = rows.get(shown) {
        lines.push(format!("and {} more, {:.2} and below", rows.len() - shown, next.ratio()));
    }
    lines.push(format!("Promises: {kept} kept, {} missed", missed.len()));
    let told = missed.iter().take(MISSED_MOST);
    lines.extend(told.flat_map(|missed| [format!("  MISSED {}", missed.promise), format!("    {}", missed.found)]));
    match report.failures() {
        0 => {}
        failures => lines.push(format!("{failures} measurements FAILED")),
    }
    lines.push("--full prints all tables, --svg FILE and --html FILE draw them".into());
    Ok(lines)
}

fn rows(records: &[Record]) -> Vec<Row<'_>> {
    let timed = || records.iter().filter(|record| record.unit == Unit::Nanoseconds);
    let scenarios = distinct(timed().map(|record| record.scenario.as_str()));
    let row = |scenario| {
        let of = |peer: &str| {
            let record = timed().find(|record| record.scenario == scenario && record.peer == peer);
            record.and_then(Record::sample).map(|sample| sample.median).filter(|median| *median > 0.0)
        };
        let peers = PEERS.into_iter().filter_map(|peer| Some((peer, of(peer)?)));
        let (best, best_ns) = peers.min_by(|one, other| one.1.total_cmp(&other.1))?;
        Some(Row { scenario, rust_ns: of(RUST)?, device_ns: of(DEVICE), best, best_ns })
    };
    scenarios.into_iter().filter_map(row).collect()
}

fn table(rows: &[Row<'_>]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_header(["", "ratio", RUST, DEVICE, "best peer", ""]);
    for row in rows {
        table.add_row([
            row.scenario.to_owned(),
            format!("{:.2}", row.ratio()),
            duration(row.rust_ns),
            row.device_ns.map_or_else(|| "-".into(), duration),
            duration(row.best_ns),
            row.best.to_owned(),
        ]);
    }
    aligned(table)
}

#[cfg(test)]
mod tests {
    use super::super::expectation::Expectation;
    use super::super::tests::record;
    use super::super::{Absent, FUTEX, WAITV};
    use super::*;
    use crate::machine::Machine;
    use crate::record::Group;

    fn report(scenarios: usize) -> Report {
        let of = |peer: &'static str, ns: f64| {
            move |number: usize| {
                record(Group::Contended, &format!("scenario {number}"), peer, [ns * (number + 1) as f64; 3])
            }
        };
        let mut records: Vec<_> = (0..scenarios).map(of(RUST, 1e3)).collect();
        records.extend((0..scenarios).map(|number| of(FUTEX, 5e5 / ((number + 1) * (number + 1)) as f64)(number)));
        records.extend((0..scenarios).map(of(WAITV, 1e9)));
        Report::new(Machine::describe(), records, Vec::<Absent>::new())
    }

    #[test]
    fn the_first_screen_fits_on_a_screen_and_begins_with_the_worst() {
        for scenarios in [0, 1, 20, 500] {
            let lines = lines(&report(scenarios)).unwrap();
            assert!(lines.len() <= LINES_MOST, "{} lines: {lines:#?}", lines.len());
        }
        let lines = lines(&report(500)).unwrap();
        let first = lines.iter().position(|line| line.contains("scenario")).unwrap();
        assert!(lines[first].contains("scenario 499 "), "{lines:#?}");
        assert!(lines[first + 1].contains("scenario 498 "), "{lines:#?}");
        assert!(lines.iter().any(|line| line.starts_with("and ") && line.contains("more")));
    }

    #[test]
    fn missed_promises_fit_on_the_screen_too() {
        let mut report = report(500);
        report.expectations = (0..20).map(|_| missed("a promise".repeat(9), "what was found".repeat(6))).collect();
        let lines = lines(&report).unwrap();
        assert!(lines.len() <= LINES_MOST, "{} lines: {lines:#?}", lines.len());
        assert!(lines.iter().all(|line| line.chars().count() <= 100), "{lines:#?}");
        assert_eq!(lines.iter().filter(|line| line.contains("MISSED")).count(), MISSED_MOST);
    }

    fn missed(promise: String, found: String) -> Expectation {
        Expectation { promise, found, kept: false }
    }

    #[test]
    fn the_best_peer_is_named() {
        let report = report(1);
        let found = rows(&report.records);
        assert_eq!((found[0].best, found[0].ratio()), (FUTEX, 1e3 / 5e5));
    }
}
