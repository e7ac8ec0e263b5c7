// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine's own costs: an empty system call, and one uncontended exchange of 64 and of 128 bits.

use std::hint::black_box;

use ntux_platform::atomic::{Pair, Word64, Word128};

use crate::bench::Bench;
use crate::measure::per_operation;
use crate::record::Group;

pub(crate) const MACHINE: &str = "machine";
pub(crate) const EMPTY_CALL: &str = "one empty system call";
pub(crate) const CAS_64: &str = "one 64-bit compare-exchange";
pub(crate) const CAS_128: &str = "one 128-bit compare-exchange";

pub(crate) fn run(bench: &mut Bench) {
    bench.peer(MACHINE);
    bench.time(Group::Yardsticks, EMPTY_CALL, |effort| {
        per_operation(effort, || {
            // SAFETY: takes no argument and changes nothing.
            black_box(unsafe { libc::getppid() });
            Ok(())
        })
    });
    bench.time(Group::Yardsticks, CAS_64, |effort| {
        let (word, mut value) = (Word64::new(0), 0);
        per_operation(effort, || {
            let _ = black_box(black_box(&word).compare_exchange(value, value + 1));
            value += 1;
            Ok(())
        })
    });
    bench.time(Group::Yardsticks, CAS_128, |effort| {
        let (word, mut value) = (Word128::default(), Pair::default());
        per_operation(effort, || {
            let next = Pair { low: value.low + 1, high: value.high };
            let _ = black_box(black_box(&word).compare_exchange(value, next));
            value = next;
            Ok(())
        })
    });
}
