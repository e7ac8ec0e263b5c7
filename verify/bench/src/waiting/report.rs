//! The report: a table for people, one document for programs.

use std::io::{self, Write};

use serde::Serialize;

use super::program::Cost;
use super::{Absent, Row};
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
        let worst = |ratio: fn(&Cost) -> f64, counts: &dyn Fn(&Row) -> bool| {
            let ratios = rows.iter().filter(|row| counts(row)).map(|row| (row.ratio(ratio), row.title()));
            ratios.max_by(|one, other| one.0.total_cmp(&other.0))
        };
        let expectation = |promise: &str, most: f64, worst: Option<(f64, String)>| {
            let (ratio, title) = worst.unwrap_or((0.0, "nothing measured".into()));
            Expectation { promise: format!("{promise}; worst: {title}"), found: ratio, is_kept: ratio <= most }
        };
        let expectations = vec![
            expectation(
                "elapsed time at most 1.05 of sleeping at once, everywhere",
                ELAPSED_MOST,
                worst(elapsed, &|_| true),
            ),
            expectation(
                "processor time at most 1.1, where looking gains no time",
                PROCESSOR_MOST,
                worst(processor, &|row| row.ratio(elapsed) > GAINS),
            ),
        ];
        Report { machine, rows, absent, expectations }
    }

    pub(crate) fn print_json(&self) -> io::Result<()> {
        let mut out = io::stdout().lock();
        serde_json::to_writer_pretty(&mut out, self).map_err(io::Error::other)?;
        writeln!(out)
    }

    pub(crate) fn print_table(&self) -> io::Result<()> {
        let mut out = io::stdout().lock();
        self.machine.print("waiting", &mut out)?;
        writeln!(
            out,
            "For each piece of work, medians of the runs; ratios: the median of the pairs, and the worst one."
        )?;
        let mut table_of_rows = grid([
            "condition",
            "program",
            "elapsed\nat once",
            "\npolicy",
            "\nratio",
            "processor\nat once",
            "\npolicy",
            "\nratio",
        ]);
        for row in &self.rows {
            let [at_once, policy] = [0, 1].map(|arm| [elapsed, processor].map(|of| row.median(arm, of)));
            let ratios = [elapsed, processor].map(|of| format!("{:.2}\n{:.2}", row.ratio(of), row.worst(of)));
            let [elapsed_ratio, processor_ratio] = ratios;
            table_of_rows.add_row([
                row.condition.name(),
                row.program.name(),
                time(at_once[0]),
                time(policy[0]),
                elapsed_ratio,
                time(at_once[1]),
                time(policy[1]),
                processor_ratio,
            ]);
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
        median(self.pairs.iter().map(|pair| of(&pair[arm])).collect())
    }

    fn ratios(&self, of: fn(&Cost) -> f64) -> impl Iterator<Item = f64> {
        self.pairs.iter().map(move |[at_once, policy]| of(policy) / of(at_once))
    }

    fn ratio(&self, of: fn(&Cost) -> f64) -> f64 {
        median(self.ratios(of).collect())
    }

    fn worst(&self, of: fn(&Cost) -> f64) -> f64 {
        self.ratios(of).fold(0.0, f64::max)
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

    fn row(elapsed: [f64; 2], processor: [f64; 2]) -> Row {
        let cost = |arm: usize| Cost { elapsed_ns: elapsed[arm], processor_ns: processor[arm] };
        Row { condition: Condition::Quiet, program: Program::Zigzag, pairs: vec![[cost(0), cost(1)]] }
    }

    #[test]
    fn a_policy_that_costs_time_misses_what_was_expected() {
        let machine = || Machine::describe();
        let kept =
            |row| Report::new(machine(), vec![row], vec![]).expectations.iter().map(|e| e.is_kept).collect::<Vec<_>>();
        assert_eq!(kept(row([100.0, 20.0], [100.0, 300.0])), [true, true], "what gains time may cost some");
        assert_eq!(kept(row([100.0, 110.0], [100.0, 100.0])), [false, true]);
        assert_eq!(kept(row([100.0, 100.0], [100.0, 120.0])), [true, false]);
    }
}
