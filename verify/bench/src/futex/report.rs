// SPDX-License-Identifier: MIT OR Apache-2.0
//! The report: tables for people, one document for programs. It lists promises that were not kept, and losing cases.

use std::io::{self, Write};

use comfy_table::Table;
use serde::Serialize;

use super::contender::ALL;
use super::expectation;
use super::tokens::{self, Tokens};
use super::{Absent, Row, single};
use crate::expectation::{Expectation, table};
use crate::grid::{aligned, distinct, grid};
use crate::machine::Machine;

/// A whole run.
#[derive(Serialize)]
pub(crate) struct Report {
    machine: Machine,
    rows: Vec<Row>,
    tokens: Vec<Tokens>,
    absent: Vec<Absent>,
    expectations: Vec<Expectation>,
    losses: Vec<String>,
}

impl Report {
    pub(crate) fn new(machine: Machine, rows: Vec<Row>, tokens: Vec<Tokens>, absent: Vec<Absent>) -> Report {
        let expectations = expectation::all(&rows, &tokens);
        let losses = [expectation::losses(&rows), expectation::overtaken(&tokens)].concat();
        Report { machine, rows, tokens, absent, expectations, losses }
    }

    pub(crate) fn print_tables(&self) -> io::Result<()> {
        let mut out = io::stdout().lock();
        self.machine.print("futex", &mut out)?;
        writeln!(out, "Each cell: median of the rounds in nanoseconds, below it the fastest and the slowest round.")?;
        let is_single = |row: &&Row| [single::WAKE_NOBODY, single::DIFFERS].contains(&row.scenario.as_str());
        let is_vector = |row: &&Row| row.scenario.starts_with("vector");
        let of = |is: &dyn Fn(&&Row) -> bool| self.rows.iter().filter(|row| is(row)).collect::<Vec<_>>();
        writeln!(out, "\nOne thread\n{}", by_contender(&of(&is_single)))?;
        writeln!(out, "\nOne thread, vectors\n{}", by_scenario(&of(&is_vector)))?;
        let crowds = by_scenario(&of(&|row| !is_single(row) && !is_vector(row)));
        writeln!(out, "\nCrowds, for each thread or wait\n{crowds}")?;
        let absent = &self.absent;
        absent
            .iter()
            .try_for_each(|Absent { scenario, reason }| writeln!(out, "Not measured: {scenario}: {reason}"))?;
        writeln!(
            out,
            "\nProducers x consumers x objects: thousands of tokens in a second; for each token: microseconds of\n\
             processor time, threads switched, waits in vain. Paced: also microseconds until it was taken, median and\n\
             99th of 100.\n{}",
            self.tokens_table()
        )?;
        writeln!(out, "\nWhat was expected, and what was found\n{}", table(&self.expectations))?;
        writeln!(out, "\nWhere ntux was behind")?;
        if self.losses.is_empty() {
            writeln!(out, "  nowhere in this run")?;
        }
        self.losses.iter().try_for_each(|loss| writeln!(out, "  {loss}"))
    }

    fn tokens_table(&self) -> Table {
        let mut table = grid([&["load"], &tokens::CONTENDERS[..]].concat());
        for first in self.tokens.iter().filter(|tokens| tokens.contender == tokens::EVENTFD) {
            let load = first.load;
            let paced = if load.paced { ", paced" } else { "" };
            let title = format!("{} x {} x {}{paced}", load.producers, load.consumers, load.objects);
            let cells = tokens::CONTENDERS.into_iter().map(|name| {
                let tokens = self.tokens.iter().find(|tokens| tokens.contender == name && tokens.load == load);
                tokens.map_or_else(String::new, tokens_cell)
            });
            table.add_row(std::iter::once(title).chain(cells));
        }
        aligned(table)
    }
}

fn tokens_cell(tokens: &Tokens) -> String {
    let Tokens { rate, processor_us, switches, in_vain, .. } = tokens;
    let mut cell = format!("{:.1}\n{processor_us:.1} / {switches:.1} / {in_vain:.2}", rate / 1e3);
    if let Some(latency) = tokens.latency_us {
        cell += &format!("\n{:.0} / {:.0} us", latency.median, latency.p99);
    }
    cell
}

/// Contenders down, scenarios across.
fn by_contender(rows: &[&Row]) -> Table {
    let scenarios = distinct(rows.iter().map(|row| row.scenario.as_str()));
    let mut table = grid(std::iter::once("").chain(scenarios.iter().copied()));
    for contender in distinct(rows.iter().map(|row| row.contender)) {
        let cells = scenarios.iter().map(|scenario| cell(rows, scenario, contender));
        table.add_row(std::iter::once(contender.to_owned()).chain(cells));
    }
    aligned(table)
}

/// Scenarios down, contenders across.
fn by_scenario(rows: &[&Row]) -> Table {
    let has_rows = |name: &&str| rows.iter().any(|row| row.contender == *name);
    let contenders: Vec<_> = ALL.iter().map(|one| one.name).filter(has_rows).collect();
    let mut table = grid(std::iter::once("").chain(contenders.iter().copied()));
    for scenario in distinct(rows.iter().map(|row| row.scenario.as_str())) {
        let cells = contenders.iter().map(|contender| cell(rows, scenario, contender));
        table.add_row(std::iter::once(scenario.to_owned()).chain(cells));
    }
    aligned(table)
}

fn cell(rows: &[&Row], scenario: &str, contender: &str) -> String {
    let row = rows.iter().find(|row| row.scenario == scenario && row.contender == contender);
    row.map_or_else(String::new, |Row { sample, .. }| {
        let digits = if sample.median < 100.0 { 1 } else { 0 };
        format!("{:.digits$}\n{:.digits$}..{:.digits$}", sample.median, sample.min, sample.max)
    })
}
