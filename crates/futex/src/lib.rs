// SPDX-License-Identifier: MIT OR Apache-2.0
//! Futexes of 8, 16, 32 and 64 bits: wait, wake, wait for one of up to 128, requeue between all kinds; private or
//! shared, with absolute deadlines on either clock, bitsets and exact counts (where the kernel serves: as exact as it is).
//!
//! The kernel has futexes of 32 bits only, and requeues only between equal kinds. Here the best [`Mechanism`] for its
//! scope serves every [`Futex`]: a wait table in user space ([`table`]) serves private ones; the kernel's calls serve
//! shared ones as far as they reach ([`native`]), or, for processes that agree on it, a [`Domain`] does.
//! [`capability()`] tells what is exact.
//!
//! ```
//! use ntux_futex::{Deadline, Expected, Futex};
//! use std::sync::atomic::{AtomicU8, AtomicU64};
//!
//! let (door, bell) = (AtomicU8::new(0), AtomicU64::new(7));
//! let either = [Expected::new(Futex::private(&door), 0)?, Expected::new(Futex::private(&bell), 7)?];
//! std::thread::scope(|scope| {
//!     scope.spawn(|| while ntux_futex::wake(Futex::private(&bell), 1, ntux_futex::MATCH_ANY) == Ok(0) {});
//!     assert_eq!(ntux_futex::wait_any(&either, Deadline::Never), Ok(1));
//! });
//! # Ok::<(), ntux_futex::Error>(())
//! ```
//!
//! # Two sides of one futex
//! Waiter and waker must use the same word, size and scope, and both must call this library: the kernel's own calls do
//! not reach a private futex on the same word unless the process chose [`Mechanism::Native`]. A process must have only
//! one copy of this library.
//!
//! # Signals, fork
//! [`wake`] and [`requeue`] may be called from signal handlers, and so may the waits once the thread has waited before.
//! A forked child finds no waiters of its parent.

mod capability;
mod domain;
mod error;
mod futex;
mod mechanism;
pub mod native;
mod numa;
mod operations;
pub mod planted;
mod private;
mod size;
pub mod table;
mod word;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub use capability::{Exactness, Operation, capability};
pub use domain::Domain;
pub use error::{Error, Result};
pub use futex::{Expected, Futex};
pub use mechanism::Mechanism;
pub use ntux_platform::clock::Deadline;
pub use ntux_platform::kernel_futex::{MATCH_ANY, Scope, VECTOR_MAX};
pub use numa::{ANY_NODE, NumaWord};
pub use operations::{requeue, wait, wait_after_spin, wait_any, wait_multiple, wake};
pub use size::Size;
pub use table::Capacity;
pub use word::Word;
