// SPDX-License-Identifier: MIT OR Apache-2.0
//! The meaning of each operation: a region is a list of pages, without threads, kernel or addresses.
//!
//! The semantics come from the documentation of `GetWriteWatch` and `ResetWriteWatch`, and from what Wine's tests
//! assert of Windows (groups A to T of `test_write_watch`). Two rules are not obvious:
//!
//! * **Latch.** Setting the protection of pages latches those that are written at that moment: they stay written after
//!   a decommit. Pages written later are clean after a decommit. Only a reset unlatches.
//! * **Limit.** A result with room for n pages has the n lowest, and a reset affects only these.

use ntux_watch::{Error, Reset, Result};

/// The state of a page of a [`Model`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Page {
    /// Reserved only.
    Reserved,
    /// Committed; stores fault.
    Protected,
    /// Committed; stores succeed.
    Writable,
}

/// A watched region.
#[derive(Clone, Debug)]
pub struct Model {
    pages: Vec<Page>,
    written: Vec<bool>,
    latched: Vec<bool>,
}

impl Model {
    /// A region of `count` reserved pages.
    pub fn reserve(count: usize) -> Model {
        Model { pages: vec![Page::Reserved; count], written: vec![false; count], latched: vec![false; count] }
    }

    /// Commits pages, or sets the protection of those that are committed. Marks and latches nothing.
    pub fn commit(&mut self, first: usize, end: usize, writable: bool) -> Result<()> {
        self.check(first, end)?;
        self.pages[first..end].fill(if writable { Page::Writable } else { Page::Protected });
        Ok(())
    }

    /// Returns pages to reserved. Pages that were not latched become clean.
    pub fn decommit(&mut self, first: usize, end: usize) -> Result<()> {
        self.check(first, end)?;
        self.pages[first..end].fill(Page::Reserved);
        self.written[first..end].fill(false);
        Ok(())
    }

    /// Sets the protection of committed pages, and latches the written ones.
    pub fn protect(&mut self, first: usize, end: usize, writable: bool) -> Result<()> {
        self.check(first, end)?;
        if self.pages[first..end].contains(&Page::Reserved) {
            return Err(Error::NotCommitted);
        }
        for page in first..end {
            self.latched[page] |= self.written[page];
        }
        self.commit(first, end, writable)
    }

    /// Stores to a page. Returns false if the store faults.
    pub fn write(&mut self, page: usize) -> bool {
        let succeeds = self.pages[page] == Page::Writable;
        self.written[page] |= succeeds;
        succeeds
    }

    /// Lists the lowest `room` written pages.
    pub fn get(&mut self, first: usize, end: usize, room: usize, reset: Reset) -> Result<Vec<usize>> {
        if room == 0 {
            return Err(Error::Invalid);
        }
        self.check(first, end)?;
        let is_written = |page: &usize| self.written[*page] || self.latched[*page];
        let found: Vec<usize> = (first..end).filter(is_written).take(room).collect();
        if reset == Reset::Yes {
            for &page in &found {
                self.clean(page);
            }
        }
        Ok(found)
    }

    /// Makes pages clean.
    pub fn reset(&mut self, first: usize, end: usize) -> Result<()> {
        self.check(first, end)?;
        (first..end).for_each(|page| self.clean(page));
        Ok(())
    }

    fn clean(&mut self, page: usize) {
        self.written[page] = false;
        self.latched[page] = false;
    }

    fn check(&self, first: usize, end: usize) -> Result<()> {
        match (first < end, end <= self.pages.len()) {
            (false, _) => Err(Error::Invalid),
            (true, false) => Err(Error::NotWatched),
            (true, true) => Ok(()),
        }
    }
}
