// SPDX-License-Identifier: MIT OR Apache-2.0
//! A preloaded library that serves `/dev/ntsync` in user space, for programs that were written for the driver.
//!
//! Its floors, the highest first, are in ARCHITECTURE.md:
//!
//! * [`entry`]: the C library's functions on which this library interposes
//! * [`device`]: which paths mean the device, what opening it does, what `stat` shows, and the fourteen requests
//! * [`descriptors`]: what this process knows about its descriptors, and the copies that other processes and programs get
//! * [`instances`]: the arenas behind them
//! * [`thread`]: one record for each thread, why a handler may run at any instruction, and the program's memory
//! * [`report`]: the user's settings, and what the user is told
//! * [`c_library`]: the real functions, and the guarded copy
//!
//! The path of an ioctl allocates nothing, takes no lock that another thread could have for long, and has no
//! cancellation point, because a program may call ioctl from a handler that interrupted anything.
#![cfg(target_os = "linux")]
#![allow(
    clippy::disallowed_methods,
    reason = "it stands in front of the C library, at instructions where only bare calls are safe"
)]
// The unit tests have no entry points, which would interpose on the test program's own C library.
#![cfg_attr(test, allow(dead_code, unused_imports))]

mod c_library;
mod descriptors;
mod device;
#[cfg(not(test))]
mod entry;
mod instances;
mod report;
mod thread;
