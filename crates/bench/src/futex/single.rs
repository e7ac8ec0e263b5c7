//! One thread: what a call costs that wakes nobody, finds its word changed, or leaves at once.

use std::hint::black_box;
use std::io;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

use ntux_futex::{Deadline, Futex, MATCH_ANY, VECTOR_MAX, wake};

use super::Row;
use super::contender::{ALL, TABLE};
use crate::measure::{Effort, per_operation};

/// A time that is over.
const PAST: Deadline = Deadline::Monotonic(1);
/// Words of the scenario `hash`.
const HASHED: usize = 1024;

pub(crate) const WAKE_NOBODY: &str = "wake without a waiter";
pub(crate) const DIFFERS: &str = "wait, the word differs";
pub(crate) const LEAVE: &str = "set up and leave a vector of";

pub(crate) fn run(effort: Effort) -> io::Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut add = |scenario: String, contender, operation: &mut dyn FnMut()| {
        eprintln!("measuring {scenario}: {contender}");
        let sample = per_operation(effort, || {
            operation();
            Ok(())
        })?;
        rows.push(Row { scenario, contender, sample });
        Ok::<(), io::Error>(())
    };
    let word = AtomicU32::new(0);
    let many: Vec<AtomicU32> = (0..HASHED).map(|_| AtomicU32::new(0)).collect();
    for one in ALL {
        add(WAKE_NOBODY.to_owned(), one.name, &mut || {
            black_box(one.wake(&word, 1));
        })?;
        add(DIFFERS.to_owned(), one.name, &mut || one.wait(&word, 1, Deadline::Never))?;
        let mut next = (0..HASHED).cycle();
        add(format!("hash: wait on {HASHED} words that differ"), one.name, &mut || {
            one.wait(&many[next.next().unwrap_or(0)], 1234, Deadline::Never);
        })?;
        for count in [1, 2, 8, 32, 64, VECTOR_MAX] {
            let differs = one.vector(&many[..count], 1);
            add(format!("vector of {count}, the last differs"), one.name, &mut || {
                one.wait_any(&differs, Deadline::Never);
            })?;
            let equal = one.vector(&many[..count], 0);
            add(format!("{LEAVE} {count}"), one.name, &mut || one.wait_any(&equal, PAST))?;
        }
    }
    let (byte, wide) = (AtomicU8::new(0), AtomicU64::new(0));
    for (size, futex) in [("8", Futex::private(&byte)), ("64", Futex::private(&wide))] {
        add(format!("{WAKE_NOBODY}, {size} bits"), TABLE, &mut || {
            let _ = black_box(wake(futex, 1, MATCH_ANY));
        })?;
    }
    Ok(rows)
}
