//! Counts the instructions of each operation, in an emulator whose time stamp counter counts instructions.
//!
//! QEMU does that under `-icount shift=0`, with one processor. Everything counts that is executed between two looks at
//! the counter: the program's call, the library, the kernel, interrupts. What is printed is the median of many rounds
//! less the cost of looking, so a timer that ticks now and then does not show.

mod hand_off;
mod meter;
mod report;
mod uncontended;

pub use report::{Counts, both, table};

use crate::device::Device;

/// Counts every operation on the device that this process sees.
pub fn all() -> Result<Counts, String> {
    meter::check_that_it_counts_instructions()?;
    let device = Device::open();
    let mut counts = uncontended::counts(&device);
    counts.extend(hand_off::counts(&device)?);
    Ok(counts)
}
