//! Write watches: which pages of a range were written since they were last asked for.
//!
//! Windows programs reserve memory with `MEM_WRITE_WATCH` and ask `GetWriteWatch`. Here a [`Watcher`] reserves such memory
//! ([`Watcher::reserve`]) or watches memory that the program has ([`Watcher::watch`]); [`Region::get`] lists the pages
//! written and, if told so, makes them count as clean in the same step: a store that races with it is either in this result
//! or in the next one.
//!
//! | question | file |
//! | --- | --- |
//! | What does an operation mean, one at a time? | `spec` |
//! | Which memory is watched? | `watcher`, `region` (the handle), `record` (what is known of it) |
//! | What is done to its pages? | `pages` |
//! | How is a result put together? | `written` (scan, latch, limits), `sink` (addresses, runs, bitmap), `batch` |
//! | Who notices the writes? | `mechanism`: `asynchronous`, `synchronous`, `mprotect`, `cow` |
//! | What do all but the first have in common? | `ledger` and `block` (a bit for each page), `directory` (by address), `visits`, `holds` |
//! | What is behind memory that the kernel copies? | `backing` |
//! | What of system calls that write to watched memory? | `calls` |
//! | What in a child of fork? | `fork` |
//! | What do tests do to a handler? | `held` (where it waits for another thread), `planted` (what it forgets) |
//! | What of all private memory of a process, as with soft-dirty bits? | [`address_space`], which uses nothing of the above |
//!
//! No function here may be called from a signal handler, but for those of [`address_space`].
#![cfg(target_os = "linux")]

pub mod address_space;
mod backing;
mod batch;
mod bits;
mod block;
mod calls;
mod directory;

mod error;
mod fork;
mod held;
mod holds;
mod joined;
mod ledger;

mod mechanism;
mod pages;
mod planted;
mod record;
mod region;
mod sink;
mod span;
pub mod spec;

mod visits;
mod watcher;
mod written;
mod zeroed;

pub use calls::Hold;
pub use error::{Error, Result};
pub use mechanism::{Capability, Mechanism};
pub use ntux_platform::protection::{Protection, page_size};
pub use region::{Iter, Region};
pub use sink::Run;
pub use span::Range;
pub use watcher::Watcher;

/// Whether a call that lists pages also makes them count as clean.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Reset {
    /// They stay written.
    No,
    /// Exactly the pages that are listed become clean, each in the step that lists it.
    Yes,
}
