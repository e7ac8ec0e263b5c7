// SPDX-License-Identifier: MIT OR Apache-2.0
//! The report: a table for people, one document for programs.

use std::io::{self, Write};

use serde::Serialize;

use super::program::Cost;
use super::{AGAIN, AT_ONCE, Absent, POLICY, Row};
use crate::expectation::{Expectation, table};
use crate::grid::{aligned, grid};
use crate::machine::Machine;

/// More time than sleeping at once would have taken.
const ELAPSED_MOST: f64 = 1.05;
/// More processor time, where looking gains no time.
const PROCESSOR_MOST: f64 = 1.1;
const GAINS: f64 = 0.95;

/// A whole run.
#[derive(Serialize)]
pub(crate) struct Report {
    machine: Machine,
    rows: Vec<Row>,
    absent: Vec<Absent>,
    expectations: Vec<Expectation>,
}

impl Report {
    pub(crate) fn new(machine: Machine, rows: Vec<Row>, absent: Vec<Absent>) -> Report {
        // A row counts whose ratio is beyond what two arms of the same kind differ by.
        let worst = |of: fn(&Cost) -> f64, most: f64, counts: &dyn Fn(&Row) -> bool| {
            let ratios = rows.iter().filter(|row| counts(row)).map(|row| (row.ratio(POLICY, of), row));
            let is_chance = |ratio: f64, row: &Row| ratio > most && ratio <= row.noise(of);
            let ratios = ratios.filter(|(ratio, row)| !is_chance(*ratio, row));
            ratios.max_by(|one, other| one.0.total_cmp(&other.0)).map(|(ratio, row)| (ratio, row.title()))
        };
        let expectation = |promise: &str, most: f64, worst: Option<(f64, String)>| {
            let (ratio, title) = worst.unwrap_or((0.0, "nothing measured".into()));
            Expectation { promise: format!("{promise}; worst: {title}"), found: ratio, is_kept: ratio <= most }
        };
        let expectations = vec![
            expectation(
                "elapsed time at most 1.05 of sleeping at once, everywhere",
                ELAPSED_MOST,
                worst(elapsed, ELAPSED_MOST, &|_| true),
            ),
            expectation(
                "processor time at most 1.1, where looking gains no time",
                PROCESSOR_MOST,
                worst(processor, PROCESSOR_MOST, &|row| row.ratio(POLICY, elapsed) > GAINS),
            ),
        ];
        Report { machine, rows, absent, expectations }
    }

    pub(crate) fn print_table(&self) -> io::Result<()> {
        let mut out = io::stdout().lock();
        self.machine.print("waiting", &mut out)?;
        writeln!(
            out,
            "For each piece of work, medians; ratio: the median of the rounds, and the worst one; noise: what two runs of\n\
             a round differ by that both sleep at once."
        )?;
        let mut table_of_rows = grid([
            "condition",
            "program",
            "elapsed\nat once",
            "\npolicy",
            "\nratio",
            "\nnoise",
            "processor\nat once",
            "\npolicy",
            "\nratio",
            "\nnoise",
        ]);
        for row in &self.rows {
            let mut cells = vec![row.condition.name(), row.program.name()];
            for of in [elapsed, processor] {
                cells.extend([AT_ONCE, POLICY].map(|arm| time(row.median(arm, of))));
                cells.push(format!("{:.2}\n{:.2}", row.ratio(POLICY, of), row.worst(of)));
                cells.push(format!("{:.2}", row.noise(of)));
            }
            table_of_rows.add_row(cells);
        }
        writeln!(out, "{}", aligned(table_of_rows))?;
        for Absent { condition, reason } in &self.absent {
            writeln!(out, "Not measured: {}: {reason}", condition.name())?;
        }
        writeln!(out, "\nWhat was expected, and what was found\n{}", table(&self.expectations))
    }
}

fn elapsed(cost: &Cost) -> f64 {
    cost.elapsed_ns
}

fn processor(cost: &Cost) -> f64 {
    cost.processor_ns
}

impl Row {
    fn title(&self) -> String {
        format!("{}: {}", self.condition.name(), self.program.name())
    }

    fn median(&self, arm: usize, of: fn(&Cost) -> f64) -> f64 {
        median(self.rounds.iter().map(|round| of(&round[arm])).collect())
    }

    fn ratios(&self, arm: usize, of: fn(&Cost) -> f64) -> impl Iterator<Item = f64> {
        self.rounds.iter().map(move |round| of(&round[arm]) / of(&round[AT_ONCE]))
    }

    fn ratio(&self, arm: usize, of: fn(&Cost) -> f64) -> f64 {
        median(self.ratios(arm, of).collect())
    }

    fn worst(&self, of: fn(&Cost) -> f64) -> f64 {
        self.ratios(POLICY, of).fold(0.0, f64::max)
    }

    /// The factor, whichever way, between two arms of the same kind.
    fn noise(&self, of: fn(&Cost) -> f64) -> f64 {
        median(self.ratios(AGAIN, of).map(|ratio| ratio.max(1.0 / ratio)).collect())
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

fn time(ns: f64) -> String {
    if ns < 1e3 { format!("{ns:.0} ns") } else { format!("{:.2} us", ns / 1e3) }
}

#[cfg(test)]
mod tests {
    use super::super::condition::Condition;
    use super::super::program::Program;
    use super::*;

    /// At once, by the policy, at once again.
    fn row(elapsed: [f64; 3], processor: [f64; 3]) -> Row {
        let cost = |arm: usize| Cost { elapsed_ns: elapsed[arm], processor_ns: processor[arm] };
        Row { condition: Condition::Quiet, program: Program::Zigzag, rounds: vec![[0, 1, 2].map(cost)] }
    }

    fn kept(row: Row) -> Vec<bool> {
        let report = Report::new(Machine::describe(), vec![row], vec![]);
        report.expectations.iter().map(|expectation| expectation.is_kept).collect()
    }

    #[test]
    fn a_policy_that_costs_time_misses_what_was_expected() {
        assert_eq!(
            kept(row([100.0, 20.0, 100.0], [100.0, 300.0, 100.0])),
            [true, true],
            "what gains time may cost some"
        );
        assert_eq!(kept(row([100.0, 110.0, 100.0], [100.0; 3])), [false, true]);
        assert_eq!(kept(row([100.0; 3], [100.0, 120.0, 100.0])), [true, false]);
    }

    #[test]
    fn a_loss_within_the_noise_is_none() {
        assert_eq!(kept(row([100.0, 110.0, 120.0], [100.0; 3])), [true, true]);
        assert_eq!(kept(row([100.0, 110.0, 80.0], [100.0; 3])), [true, true], "whichever way the noise goes");
        assert_eq!(kept(row([100.0, 130.0, 120.0], [100.0; 3])), [false, true]);
    }
}
