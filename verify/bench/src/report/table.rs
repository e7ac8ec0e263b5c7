// SPDX-License-Identifier: MIT OR Apache-2.0
//! The report as tables. A cell is the median of the rounds, and below it the fastest and the slowest round.

use std::io::{self, Write};

use comfy_table::Table;

use super::{
    CHANNEL, EPOLL, EVENTFD, FUTEX, LISTENER, NOTIFY, OURS, PEERS, PUMP, RUST, Report, SERVER, TIMERFD, WAITV,
    WAITV_COUNTED,
};
use crate::grid::{aligned, distinct, grid};
use crate::record::{Group, Outcome, Record, Unit};

/// Behind the floor is not behind a rival: the floor cannot do what the others do.
const RIVALS: [&str; 11] =
    [EVENTFD, WAITV, WAITV_COUNTED, SERVER, TIMERFD, EPOLL, CHANNEL, PUMP, NOTIFY, LISTENER, super::DRIVER];

pub(crate) fn print(report: &Report, out: &mut impl Write) -> io::Result<()> {
    report.machine.print("sync", out)?;
    writeln!(out, "Each cell: median of the rounds, below it the fastest and the slowest round. us = microseconds.")?;
    for group in Group::ALL {
        let records: Vec<_> = report.records.iter().filter(|record| record.group == group).collect();
        if !records.is_empty() {
            writeln!(out, "\n{}\n{}", group.title(), matrix(&records))?;
        }
    }
    comparison(report, out)?;
    losses(report, out)?;
    expectations(report, out)?;
    not_measured(report, out)
}

/// Scenarios down, peers across.
fn matrix(records: &[&Record]) -> Table {
    let peers = distinct(records.iter().map(|record| record.peer.as_str()));
    let scenarios = distinct(records.iter().map(|record| record.scenario.as_str()));
    let mut table = grid(std::iter::once("").chain(peers.iter().copied()));
    for scenario in scenarios {
        let cells = peers.iter().map(|peer| {
            let record = records.iter().find(|record| record.scenario == scenario && record.peer == *peer);
            record.map_or_else(String::new, |record| cell(record))
        });
        table.add_row(std::iter::once(scenario.to_owned()).chain(cells));
    }
    aligned(table)
}

fn cell(record: &Record) -> String {
    match (&record.outcome, &record.detail, record.unit) {
        (Outcome::Impossible(_), ..) => "-".into(),
        (Outcome::Failed(_), ..) => "FAILED".into(),
        (Outcome::Measured(sample), Some(detail), _) if sample.median > 0.0 => {
            format!("{}\n{detail}", number(sample.median))
        }
        (Outcome::Measured(sample), _, Unit::Nanoseconds) => {
            let (scale, unit) = scale(sample.median);
            let [median, min, max] = [sample.median, sample.min, sample.max].map(|ns| number(ns / scale));
            format!("{median} {unit}\n{min}..{max}")
        }
        (Outcome::Measured(sample), ..) => number(sample.median),
    }
}

/// The Rust interface beside each peer.
fn comparison(report: &Report, out: &mut impl Write) -> io::Result<()> {
    let ratios: Vec<_> = report.ratios.iter().filter(|ratio| ratio.ours == RUST).collect();
    if ratios.is_empty() {
        return Ok(());
    }
    let peers: Vec<_> = PEERS.into_iter().filter(|peer| ratios.iter().any(|ratio| ratio.peer == *peer)).collect();
    let mut table = grid(std::iter::once("").chain(peers.iter().copied()));
    for scenario in distinct(ratios.iter().map(|ratio| ratio.scenario.as_str())) {
        let cells = peers.iter().map(|peer| {
            let ratio = ratios.iter().find(|ratio| ratio.scenario == scenario && ratio.peer == *peer);
            ratio.map_or_else(String::new, |ratio| compared(ratio.ratio))
        });
        table.add_row(std::iter::once(scenario.to_owned()).chain(cells));
    }
    writeln!(out, "\n{RUST} beside each peer (medians)\n{}", aligned(table))
}

fn compared(ratio: f64) -> String {
    if ratio > 1.0 { format!("{ratio:.2} x slower") } else { format!("{:.2} x faster", 1.0 / ratio) }
}

/// Where a rival was faster in every round.
fn losses(report: &Report, out: &mut impl Write) -> io::Result<()> {
    let lost = |ours: &str| {
        let ratios = report.ratios.iter().filter(move |ratio| ratio.lost);
        let ours = ours.to_owned();
        ratios.filter(move |ratio| ratio.ours == ours && RIVALS.contains(&ratio.peer.as_str()))
    };
    writeln!(out, "\nWhere ntux loses to a rival (its fastest round behind the rival's slowest; {FUTEX} is no rival)")?;
    if !OURS.iter().any(|ours| lost(ours).next().is_some()) {
        return writeln!(out, "  nowhere in this run");
    }
    for ratio in OURS.iter().flat_map(|ours| lost(ours)) {
        writeln!(out, "  {} to {}, {:.2} x: {}", ratio.ours, ratio.peer, ratio.ratio, ratio.scenario)?;
    }
    Ok(())
}

fn expectations(report: &Report, out: &mut impl Write) -> io::Result<()> {
    if report.expectations.is_empty() {
        return Ok(());
    }
    let mut table = grid(["promise", "found", ""]);
    for expectation in &report.expectations {
        let verdict = if expectation.kept { "kept" } else { "MISSED" };
        table.add_row([&expectation.promise, &expectation.found, verdict]);
    }
    writeln!(out, "\nWhat ntux promises of itself\n{table}")
}

fn not_measured(report: &Report, out: &mut impl Write) -> io::Result<()> {
    let mut reasons = Vec::new();
    for record in &report.records {
        let (word, reason) = match &record.outcome {
            Outcome::Measured(_) => continue,
            Outcome::Impossible(reason) => ("cannot", reason),
            Outcome::Failed(reason) => ("FAILED", reason),
        };
        reasons.push(format!("  {} {word}: {} ({reason})", record.peer, record.scenario));
    }
    for absent in &report.absent {
        reasons.push(format!("  {} took no part: {}", absent.peer, absent.reason));
    }
    if reasons.is_empty() { Ok(()) } else { writeln!(out, "\nNot measured\n{}", reasons.join("\n")) }
}

/// A duration, with a unit that suits it.
pub(super) fn duration(ns: f64) -> String {
    let (scale, unit) = scale(ns);
    format!("{} {unit}", number(ns / scale))
}

/// By what to divide nanoseconds so that the number is short, and what they are then.
fn scale(ns: f64) -> (f64, &'static str) {
    match ns {
        ns if ns < 1e3 => (1.0, "ns"),
        ns if ns < 1e6 => (1e3, "us"),
        _ => (1e6, "ms"),
    }
}

/// Three significant digits, or all before the point.
fn number(value: f64) -> String {
    match value {
        value if value < 10.0 => format!("{value:.2}"),
        value if value < 100.0 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_a_unit_that_suits_them() {
        assert_eq!([1.234, 12.34, 123.4, 1234.5].map(number), ["1.23", "12.3", "123", "1234"]);
        assert_eq!([999.0, 1e3, 1e6].map(|ns| scale(ns).1), ["ns", "us", "ms"]);
    }
}
