// SPDX-License-Identifier: MIT OR Apache-2.0
//! Write watches: which pages of a range were written since the last query.
//!
//! Windows programs reserve memory with `MEM_WRITE_WATCH` and call `GetWriteWatch`. Here a [`Watcher`] reserves such
//! memory ([`Watcher::reserve`]) or watches memory that the program has mapped ([`Watcher::watch`]). [`Region::get`]
//! lists the written pages and, on request, makes them clean in the same step: a store that races with it is in this
//! result or in the next one.
//!
//! | question | file |
//! | --- | --- |
//! | What does an operation mean? | `tests/watch/spec.rs`: a model, with which a test compares random operations |
//! | Which memory is watched? | `watcher`, `region` (the handle), `record` (its state) |
//! | How are its pages committed, protected, released? | `pages` |
//! | How is a result composed? | `written` (scan, latch, limits), `sink` (addresses, runs, bitmap), `batch` |
//! | Who notices the writes? | `mechanism`: `asynchronous`, `synchronous`, `mprotect`, `cow` |
//! | What do all mechanisms but the first share? | `ledger` and `block` (a bit for each page), `directory` (by address), `grace` (periods), `holds` |
//! | What is behind memory that the kernel copies? | `backing` |
//! | How do system calls write to watched memory? | `calls` |
//! | What happens at a fork? | `fork` |
//! | How do tests interfere with a handler? | `pause` (where it waits for another thread), `planted` (bugs) |
//! | How is all private memory of a process watched, as with soft-dirty bits? | [`address_space`], which uses nothing of the above |
//!
//! No function here may be called from a signal handler, except those of [`address_space`].

pub mod address_space;
mod backing;
mod batch;
mod bits;
mod block;
mod calls;
mod directory;

mod error;
mod fork;
mod holds;
mod joined;
mod ledger;
mod pause;

mod mechanism;
mod pages;
mod planted;
mod record;
mod region;
mod sink;
mod span;

mod grace;
mod watcher;
mod written;
mod zeroed;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub use calls::Hold;
pub use error::{Error, Result};
pub use mechanism::{Capability, Mechanism};
pub use ntux_platform::protection::{Protection, page_size};
pub use region::{Iter, Region};
pub use sink::Run;
pub use span::Range;
pub use watcher::Watcher;

/// What becomes of the pages that a call lists.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Reset {
    /// They stay written.
    No,
    /// Exactly the listed pages become clean, each in the step that lists it.
    Yes,
}
