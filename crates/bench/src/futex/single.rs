//! One thread: what a call costs that wakes nobody, finds its word changed, or leaves at once.

use std::hint::black_box;
use std::io;

use ntux_futex::{Deadline, VECTOR_MAX};

use super::Row;
use super::contender::{
    ALL, Calls, Cell, Contender, DOMAIN, HALVES, KERNEL, KERNEL_SHARED, Kernel, Library, NATIVE, Native, SHARED, Side,
    TABLE, TABLE_8, TABLE_64,
};
use crate::measure::{Effort, Sample, per_operation};

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

pub(crate) fn run(effort: Effort) -> io::Result<Vec<Row>> {
    let cells: Vec<Cell> = (0..VECTOR_MAX).map(|_| Cell::new(0)).collect();
    let mut rows = Vec::new();
    for one in ALL {
        super::progress(&format!("one thread: {}", one.name));
        rows.extend(match one.side {
            Side::Kernel => calls_of(Kernel, one, effort, &cells)?,
            Side::Library => calls_of(Library, one, effort, &cells)?,
            Side::Native => calls_of(Native, one, effort, &cells)?,
        });
    }
    Ok(rows)
}

fn calls_of(calls: impl Calls, one: Contender, effort: Effort, cells: &[Cell]) -> io::Result<Vec<Row>> {
    let (futex, differs) = (one.futex(&cells[0]), one.expect(&cells[0], 1));
    let row = |scenario: &str, sample: Sample| Row { scenario: scenario.to_owned(), contender: one.name, sample };
    let mut rows = vec![
        row(WAKE_NOBODY, timed(effort, || calls.wake(futex, 1))?),
        row(DIFFERS, timed(effort, || calls.wait(differs, Deadline::Never))?),
    ];
    for count in COUNTS.into_iter().filter(|_| VECTORS.contains(&one)) {
        let (equal, differs) = (one.vector(&cells[..count], 0), one.vector(&cells[..count], 1));
        // 64 bits in halves count twice, and the kernel takes 128.
        if !calls.wait_any(&equal, PAST) {
            continue;
        }
        let differs = timed(effort, || calls.wait_any(&differs, Deadline::Never))?;
        rows.push(row(&format!("vector of {count}, the last differs"), differs));
        rows.push(row(&leave_name(count), timed(effort, || calls.wait_any(&equal, PAST))?));
    }
    Ok(rows)
}

fn timed<T>(effort: Effort, mut operation: impl FnMut() -> T) -> io::Result<Sample> {
    per_operation(effort, || {
        black_box(operation());
        Ok(())
    })
}
