// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts the instructions of each operation, in an emulator whose time stamp counter counts instructions.
//!
//! QEMU does that with `-icount shift=0` and one processor. The count includes everything executed between two reads of
//! the counter: the program's call, the library, the kernel, interrupts. The result is the median of many rounds minus
//! the cost of reading, so occasional timer ticks do not show.

mod floor;
mod hand_off;
mod meter;
mod report;
mod uncontended;

pub use report::{Counts, rows, table};

use crate::device::Device;

/// Counts every operation on the device that this process sees.
pub fn all() -> Result<Counts, String> {
    meter::check_that_it_counts_instructions()?;
    let device = Device::open();
    let mut counts = uncontended::counts(&device);
    counts.extend(hand_off::counts(&device)?);
    Ok(counts)
}

/// Counts the system calls alone that ntux makes in some of them.
pub fn floor() -> Result<Counts, String> {
    meter::check_that_it_counts_instructions()?;
    floor::counts()
}
