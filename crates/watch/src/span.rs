// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ranges of addresses: as callers give them, and as whole pages.

use ntux_platform::protection::page_size;

use crate::{Error, Result};

/// A range of bytes, as a caller names it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Range {
    /// Address of the first byte.
    pub start: usize,
    /// Bytes.
    pub length: usize,
}

/// Whole pages: both ends are page boundaries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Span {
    pub start: usize,
    pub end: usize,
}

impl Range {
    /// `length` bytes from `start` on.
    pub fn new(start: usize, length: usize) -> Range {
        Range { start, length }
    }

    /// The pages that it touches.
    pub(crate) fn pages(self) -> Result<Span> {
        let mask = page_size() - 1;
        let end = self.start.checked_add(self.length).and_then(|end| end.checked_add(mask)).ok_or(Error::Invalid)?;
        if self.length == 0 {
            return Err(Error::Invalid);
        }
        Ok(Span { start: self.start & !mask, end: end & !mask })
    }

    /// The pages that it consists of, if it does.
    pub(crate) fn whole_pages(self) -> Result<Span> {
        let span = self.pages()?;
        if span.start == self.start && span.length() == self.length { Ok(span) } else { Err(Error::Invalid) }
    }
}

impl Span {
    pub fn length(self) -> usize {
        self.end - self.start
    }

    pub fn contains(self, other: Span) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    pub fn is_empty(self) -> bool {
        self.end <= self.start
    }
}
