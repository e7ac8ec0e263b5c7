//! The report: tables for people, one document for programs. What was promised and not kept is said, and where we lose.

use std::io::{self, Write};

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

use super::contender::{ALL, KERNEL, KERNEL_SHARED, NATIVE, TABLE};
use super::{Row, crowd, single};
use crate::machine::Machine;

/// A promise of the project, and what came out.
#[derive(Debug, Serialize)]
struct Expectation {
    promise: String,
    /// How many times as fast as the kernel we were.
    factor: f64,
    kept: bool,
}

/// A whole run.
#[derive(Serialize)]
pub(crate) struct Report {
    machine: Machine,
    rows: Vec<Row>,
    expectations: Vec<Expectation>,
    /// Scenarios in which all our rounds were slower than all of the kernel's.
    losses: Vec<String>,
}

impl Report {
    pub(crate) fn new(machine: Machine, rows: Vec<Row>) -> Report {
        let expectations = expectations(&rows);
        let losses = losses(&rows);
        Report { machine, rows, expectations, losses }
    }

    pub(crate) fn print(&self, json: bool) -> io::Result<()> {
        let mut out = io::stdout().lock();
        if json {
            serde_json::to_writer_pretty(&mut out, self).map_err(io::Error::other)?;
            return writeln!(out);
        }
        let machine = &self.machine;
        writeln!(out, "ntux bench futex, commit {}", machine.commit)?;
        writeln!(out, "{}, {} processors, Linux {}", machine.processor, machine.processors, machine.kernel)?;
        if let Some(runnable @ 2..) = machine.runnable_at_start {
            writeln!(out, "{runnable} threads were runnable at the start: others disturb these numbers")?;
        }
        writeln!(
            out,
            "Each cell: median of the rounds, and the fastest and slowest, in nanoseconds.\n{}",
            self.table()
        )?;
        for Expectation { promise, factor, kept } in &self.expectations {
            writeln!(out, "{}  {promise}: {factor:.2} times as fast", if *kept { "kept  " } else { "MISSED" })?;
        }
        writeln!(out, "\nWhere all our rounds were behind the kernel's:")?;
        self.losses.iter().try_for_each(|loss| writeln!(out, "  {loss}"))
    }

    fn table(&self) -> Table {
        let mut table = Table::new();
        table.load_preset(presets::ASCII_MARKDOWN);
        table.set_header(std::iter::once("").chain(ALL.iter().map(|one| one.name)));
        let mut scenarios: Vec<&str> = Vec::new();
        for row in &self.rows {
            if !scenarios.contains(&row.scenario.as_str()) {
                scenarios.push(&row.scenario);
            }
        }
        for scenario in scenarios {
            let cell = |name| match find(&self.rows, scenario, name) {
                Some(Row { sample, .. }) => format!("{:.0} ({:.0}-{:.0})", sample.median, sample.min, sample.max),
                None => String::new(),
            };
            table.add_row(std::iter::once(scenario.to_owned()).chain(ALL.iter().map(|one| cell(one.name))));
        }
        table.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
        table
    }
}

fn find<'a>(rows: &'a [Row], scenario: &str, contender: &str) -> Option<&'a Row> {
    rows.iter().find(|row| row.scenario == scenario && row.contender == contender)
}

/// How many times as fast as the kernel we were, by the medians.
fn factor(rows: &[Row], scenario: &str, ours: &str, kernel: &str) -> Option<f64> {
    Some(find(rows, scenario, kernel)?.sample.median / find(rows, scenario, ours)?.sample.median)
}

fn expectations(rows: &[Row]) -> Vec<Expectation> {
    let mut wanted = vec![(single::WAKE_NOBODY.to_owned(), TABLE, KERNEL, 10.0)];
    wanted.extend([1, 8, 64, 128].map(|count| (format!("{} {count}", single::LEAVE), TABLE, KERNEL, 3.0)));
    wanted.push((crowd::wake_name(800), TABLE, KERNEL, 1.0));
    wanted.push((crowd::requeue_name(800), TABLE, KERNEL, 1.0));
    wanted.push((single::WAKE_NOBODY.to_owned(), NATIVE, KERNEL_SHARED, 0.95));
    wanted.push((single::DIFFERS.to_owned(), NATIVE, KERNEL_SHARED, 0.95));
    let expectation = |(scenario, ours, kernel, least): (String, &str, &str, f64)| {
        let factor = factor(rows, &scenario, ours, kernel)?;
        let promise = format!("{scenario}: {ours} at least {least} times as fast as {kernel}");
        Some(Expectation { promise, factor, kept: factor >= least })
    };
    wanted.into_iter().filter_map(expectation).collect()
}

fn losses(rows: &[Row]) -> Vec<String> {
    let kernel_of = |row: &Row| match row.contender {
        TABLE => find(rows, &row.scenario, KERNEL),
        NATIVE => find(rows, &row.scenario, KERNEL_SHARED),
        _ => None,
    };
    let loss = |row: &Row| {
        let kernel = kernel_of(row)?;
        let times = row.sample.median / kernel.sample.median;
        (row.sample.min > kernel.sample.max)
            .then(|| format!("{}: {}, {times:.2} times the time", row.scenario, row.contender))
    };
    rows.iter().filter_map(loss).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Sample;

    fn row(contender: &'static str, rounds: [f64; 3]) -> Row {
        let scenario = single::WAKE_NOBODY.to_owned();
        Row { scenario, contender, sample: Sample::of_rounds(rounds.to_vec(), 1) }
    }

    #[test]
    fn a_promise_that_is_not_kept_and_a_loss_are_said() {
        let rows =
            [row(KERNEL, [100.0; 3]), row(TABLE, [10.1; 3]), row(KERNEL_SHARED, [5.0; 3]), row(NATIVE, [6.0; 3])];
        let kept: Vec<bool> = expectations(&rows).iter().map(|expectation| expectation.kept).collect();
        assert_eq!(kept, [false, false]);
        assert_eq!(losses(&rows).len(), 1);
        let rows = [row(KERNEL, [100.0; 3]), row(TABLE, [10.0; 3])];
        assert!(expectations(&rows)[0].kept);
        assert!(losses(&rows).is_empty());
    }
}
