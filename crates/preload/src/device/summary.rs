// SPDX-License-Identifier: MIT OR Apache-2.0
//! The line that the log gets when the program ends: how often the device was opened, and what the threads were served. A process that ends by
//! `_exit` or by a signal writes no such line.

use crate::report::environment;
use crate::report::log::{self, Line};
use crate::{instances, thread};
use core::fmt::Write;
use ntux_platform::atomic::Word32;

static DEVICES: Word32 = Word32::new(0);

static KERNEL_DEVICES: Word32 = Word32::new(0);

/// A device was opened and is served by this library, or left to the kernel.
pub(crate) fn opened(by_kernel: bool) {
    if by_kernel { &KERNEL_DEVICES } else { &DEVICES }.fetch_add(1);
}

/// Writes the line, if the user wants it and the device was used.
#[unsafe(link_section = ".text.ntux_start")]
pub(crate) extern "C" fn at_exit() {
    let (opened, by_kernel) = (DEVICES.load(), KERNEL_DEVICES.load());
    // Said first, because nearly all processes end here: each page that a forked child looks at costs it a fault.
    if opened == 0 && by_kernel == 0 && !instances::any() {
        return;
    }
    report(opened, by_kernel);
}

#[cold]
fn report(opened: u32, by_kernel: u32) {
    if environment::log().is_none() {
        return;
    }
    let (mut operations, mut waits, mut asleep) = (0, 0, 0);
    for record in thread::records() {
        let counts = record.counts.read();
        operations += counts.operations;
        waits += counts.waits;
        asleep += counts.asleep;
    }
    if operations == 0 && opened == 0 && by_kernel == 0 {
        return;
    }
    let mut line = Line::default();
    let _ = write!(line, "ntux: process {}: ", std::process::id());
    let _ = match by_kernel {
        0 => write!(line, "/dev/ntsync served in user space"),
        _ => write!(line, "/dev/ntsync left to the kernel {by_kernel} times, served in user space otherwise"),
    };
    let _ = writeln!(
        line,
        "; opened {opened} times; {operations} operations; {waits} waits, {} of them never entered the kernel",
        waits - asleep
    );
    log::write(&line);
}
