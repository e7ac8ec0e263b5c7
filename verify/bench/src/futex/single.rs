// SPDX-License-Identifier: MIT OR Apache-2.0
//! One thread: the cost of a call that wakes nobody, finds its word changed, or returns at once.

use std::io;

use ntux_futex::{Deadline, VECTOR_MAX};

use super::Row;
use super::contender::{
    ALL, Calls, Cell, Contender, DOMAIN, HALVES, KERNEL, KERNEL_SHARED, Kernel, Library, NATIVE, Native, SHARED, Side,
    TABLE, TABLE_8, TABLE_64,
};
use crate::measure::{Effort, Timed, in_turns, timed};

/// A time that is over.
const PAST: Deadline = Deadline::Monotonic(1);
/// Entries of a vector.
const COUNTS: [usize; 8] = [1, 2, 4, 8, 16, 32, 64, VECTOR_MAX];
/// Whose vectors are measured.
const VECTORS: [Contender; 9] = [KERNEL, TABLE, TABLE_8, TABLE_64, NATIVE, KERNEL_SHARED, SHARED, HALVES, DOMAIN];

pub(crate) const WAKE_NOBODY: &str = "wake, nobody waits";
pub(crate) const DIFFERS: &str = "wait, the word differs";
/// Set up and leave a vector.
pub(crate) const LEAVE: &str = "vector of # left at once";

pub(crate) fn leave_name(count: usize) -> String {
    LEAVE.replace('#', &count.to_string())
}

/// With the calls of a contender's side, known at compile time: a choice would cost as much as what is timed.
macro_rules! calls {
    ($one:ident, $calls:ident => $prepare:expr) => {
        match $one.side {
            Side::Kernel => {
                let $calls = Kernel;
                $prepare
            }
            Side::Library => {
                let $calls = Library;
                $prepare
            }
            Side::Native => {
                let $calls = Native;
                $prepare
            }
        }
    };
}

pub(crate) fn run(effort: Effort) -> io::Result<Vec<Row>> {
    let cells: Vec<Cell> = (0..VECTOR_MAX).map(|_| Cell::new(0)).collect();
    let mut rows = Vec::new();
    let mut add = |more: io::Result<Vec<Row>>| more.map(|more| rows.extend(more));
    add(measure(effort, WAKE_NOBODY, &ALL, |one| Some(calls!(one, calls => wake_nobody(calls, one, &cells[0])))))?;
    add(measure(effort, DIFFERS, &ALL, |one| Some(calls!(one, calls => differs(calls, one, &cells[0])))))?;
    for count in COUNTS {
        let cells = &cells[..count];
        let (differs, leave) = (format!("vector of {count}, the last differs"), leave_name(count));
        let prepare = |one: Contender, last, deadline| calls!(one, calls => vector(calls, one, cells, last, deadline));
        add(measure(effort, &differs, &VECTORS, |one| prepare(one, 1, Deadline::Never)))?;
        add(measure(effort, &leave, &VECTORS, |one| prepare(one, 0, PAST)))?;
    }
    Ok(rows)
}

fn measure<'a>(
    effort: Effort,
    scenario: &str,
    contenders: &[Contender],
    prepare: impl Fn(Contender) -> Option<Timed<'a>>,
) -> io::Result<Vec<Row>> {
    super::progress(&format!("one thread: {scenario}"));
    let prepared = contenders.iter().filter_map(|&one| Some((one.name, prepare(one)?)));
    let (names, mut subjects): (Vec<_>, Vec<_>) = prepared.unzip();
    let samples = in_turns(effort, &mut subjects)?;
    let row = |(contender, sample)| Row { scenario: scenario.to_owned(), contender, sample };
    Ok(names.into_iter().zip(samples).map(row).collect())
}

fn wake_nobody(calls: impl Calls, one: Contender, cell: &Cell) -> Timed<'_> {
    let futex = one.futex(cell);
    timed(move || calls.wake(futex, 1))
}

fn differs(calls: impl Calls, one: Contender, cell: &Cell) -> Timed<'_> {
    let expected = one.expect(cell, 1);
    timed(move || calls.wait(expected, Deadline::Never))
}

/// None if these cannot be waited for together: 64 bits in halves count twice, and the kernel takes 128.
fn vector(calls: impl Calls, one: Contender, cells: &[Cell], last: u64, deadline: Deadline) -> Option<Timed<'_>> {
    let vector = one.vector(cells, last);
    calls.wait_any(&vector, PAST).then(|| timed(move || calls.wait_any(&vector, deadline)))
}
