//! A preloaded library that gives a program soft-dirty bits on kernels that have none: `ntux run --soft-dirty`.
//!
//! A program that wants to know which of its pages were written writes `4` to `/proc/self/clear_refs` and later looks at bit
//! 55 of the entries of `/proc/self/pagemap`. Few kernels are built for that. Here both are answered from write watches
//! ([`ntux_watch::address_space`]), which need Linux 6.7 and no privilege.
//!
//! * [`entry`]: the C library's functions that this library stands in front of, and [`next`], the real ones
//! * [`descriptors`]: which descriptors are page maps, or clear soft-dirty bits
//! * [`soft_dirty`]: what clearing and reading do; [`streams`]: how it is noticed that C's streams do it
//! * [`introduction`]: what `ntux watch` needs of a program
//!
//! Once the program runs, nothing here takes memory from the heap, a lock, or a signal: a collector clears and reads while
//! it has stopped the other threads wherever they were.
#![cfg(target_os = "linux")]
#![allow(
    clippy::disallowed_methods,
    reason = "it stands in front of the C library, at instructions where only bare calls are safe"
)]
// The unit tests have no entry points: they would stand in front of the C library of the test program itself.
#![cfg_attr(test, allow(dead_code))]

mod descriptors;
#[cfg(not(test))]
mod entry;
mod introduction;
mod next;
mod soft_dirty;
mod streams;
