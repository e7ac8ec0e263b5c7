// SPDX-License-Identifier: MIT OR Apache-2.0
//! The entries of a list of written pages. `linux/watching` and `absent/watching` provide them.

pub use crate::watching_room::Pagemap;

/// The bit of a written page.
pub(crate) const WRITTEN: u64 = 2;

/// Neighbouring pages: from the address `start` to the address `end`.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Found {
    /// First byte.
    pub start: u64,
    /// First byte after it.
    pub end: u64,
    pub(crate) categories: u64,
}

impl Found {
    /// The pages from `start` to `end`.
    pub fn new(start: usize, end: usize) -> Found {
        Found { start: start as u64, end: end as u64, categories: WRITTEN }
    }

    /// Returns whether they were written.
    pub fn is_written(&self) -> bool {
        self.categories & WRITTEN != 0
    }
}

/// The progress of a scan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// How many entries were filled.
    pub count: usize,
    /// Where to continue: everything below was scanned, nothing from here on was listed or changed.
    pub next: usize,
}
