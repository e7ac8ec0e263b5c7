// SPDX-License-Identifier: MIT OR Apache-2.0
//! A preloaded library that gives a program soft-dirty bits on kernels that have none: `ntux run --soft-dirty`.
//!
//! A program that needs to know which of its pages were written writes `4` to `/proc/self/clear_refs` and later reads
//! bit 55 of the entries of `/proc/self/pagemap`. Few kernels are built for that. This library answers both from write
//! watches ([`ntux_watch::address_space`]), which need Linux 6.7 and no privilege.
//!
//! * [`entry`]: the C library's functions on which this library interposes, and [`next`], the real ones
//! * [`descriptors`]: which descriptors are page maps, or clear soft-dirty bits
//! * [`soft_dirty`]: clearing and reading; [`streams`]: how C's streams do both
//! * [`introduction`]: what `ntux watch` needs from a program
//!
//! Once the program runs, nothing here takes a lock, uses a signal, or allocates from the heap, because a collector
//! clears and reads while it has stopped the other threads anywhere.
#![cfg(target_os = "linux")]
#![allow(
    clippy::disallowed_methods,
    reason = "it stands in front of the C library, at instructions where only bare calls are safe"
)]
// The unit tests have no entry points, which would interpose on the test program's own C library.
#![cfg_attr(test, allow(dead_code))]

mod descriptors;
#[cfg(not(test))]
mod entry;
mod introduction;
mod next;
mod soft_dirty;
mod streams;
