// SPDX-License-Identifier: MIT OR Apache-2.0
//! The report, as tables and as JSON.

use std::io::{self, Write};

use comfy_table::Table;
use serde::Serialize;

use super::batch::Batched;
use super::expectation;
use super::subject::ALL;
use super::sweep::Swept;
use super::writers::Written;
use crate::expectation::{Expectation, table};
use crate::grid::{aligned, grid};
use crate::machine::Machine;

#[derive(Serialize)]
pub(crate) struct Report {
    machine: Machine,
    writers: Vec<Written>,
    sweep: Vec<Swept>,
    batch: Vec<Batched>,
    expectations: Vec<Expectation>,
}

impl Report {
    pub(crate) fn new(machine: Machine, writers: Vec<Written>, sweep: Vec<Swept>, batch: Vec<Batched>) -> Report {
        let expectations = expectation::all(&writers, &sweep, &batch);
        Report { machine, writers, sweep, batch, expectations }
    }

    pub(crate) fn print_tables(&self) -> io::Result<()> {
        let mut out = io::stdout().lock();
        self.machine.print("watch", &mut out)?;
        writeln!(
            out,
            "\nWriters flat out, one thread asks: ns a write (loop / processor / timed p99), us to list and reset"
        )?;
        writeln!(
            out,
            "(mean / p99), pages listed at once and in a second. Rows: threads pages delay_ms random one_call.\n{}",
            self.writers_table()
        )?;
        writeln!(out, "\nFirst write, ns (median)\n{}", self.sweep_table(|swept| swept.write_ns.median))?;
        writeln!(out, "\nList and reset in one step, us (median)\n{}", self.sweep_table(|swept| swept.get_us.median))?;
        writeln!(out, "\nA thousand regions of 8 pages, a tenth of them written, us (median)\n{}", self.batch_table())?;
        writeln!(out, "\nWhat was expected, and what was found\n{}", table(&self.expectations))
    }

    fn writers_table(&self) -> Table {
        let subjects: Vec<&str> =
            ALL.into_iter().filter(|name| self.writers.iter().any(|w| w.subject == *name)).collect();
        let mut table = grid([&["row"], &subjects[..]].concat());
        for row in self.writers.iter().filter(|written| written.subject == subjects[0]).map(|written| written.row) {
            let flag = u8::from;
            let (random, one_call) = (flag(row.random), flag(row.one_call));
            let title = format!("{} {} {} {random} {one_call}", row.threads, row.pages, row.delay_ms);
            let cells = subjects.iter().map(|name| {
                let written = self.writers.iter().find(|written| written.subject == *name && written.row == row);
                written.map_or_else(String::new, |written| {
                    let (timed, both) = (written.timed_ns, written.both_us);
                    format!(
                        "{:.0} / {:.0} / {:.0}\n{:.0} / {:.0} us\n{:.0}, {:.0} k/s",
                        written.loop_ns,
                        written.processor_ns,
                        timed.p99,
                        both.mean,
                        both.p99,
                        written.pages_listed,
                        written.listed_per_second / 1000.0
                    )
                })
            });
            table.add_row(std::iter::once(title).chain(cells));
        }
        aligned(table)
    }

    fn sweep_table(&self, number: impl Fn(&Swept) -> f64) -> Table {
        let mut table = grid([&["pages, written"], &ALL[..]].concat());
        for first in self.sweep.iter().filter(|swept| swept.subject == ALL[0]) {
            let cells = ALL.iter().map(|name| {
                let is_it =
                    |other: &&Swept| (other.subject, other.pages, other.percent) == (*name, first.pages, first.percent);
                match self.sweep.iter().find(is_it) {
                    Some(swept) if swept.impossible.is_some() => "-".to_owned(),
                    Some(swept) => format!("{:.1}", number(swept)),
                    None => String::new(),
                }
            });
            let title = format!("{}, {} %", first.pages, first.percent);
            table.add_row(std::iter::once(title).chain(cells));
        }
        aligned(table)
    }

    fn batch_table(&self) -> Table {
        let mut table = grid(["mechanism, layout", "1000 calls", "one call"]);
        for batch in &self.batch {
            let title = format!("{}, {}", batch.subject, batch.layout);
            let numbers = [batch.one_by_one_us, batch.at_once_us].map(|spread| format!("{:.0}", spread.median));
            table.add_row(std::iter::once(title).chain(numbers));
        }
        aligned(table)
    }
}
