// SPDX-License-Identifier: MIT OR Apache-2.0
//! The handle to one watched region.

use std::collections::VecDeque;

use ntux_platform::protection::{Protection, page_size};

use crate::mechanism::Chunk;
use crate::sink::{Run, Runs};
use crate::span::{Range, Span};
use crate::watcher::Watcher;
use crate::{Error, Reset, Result};

/// A watched region. When it is dropped, reserved memory is unmapped, and a caller's memory is no longer watched.
pub struct Region {
    watcher: Watcher,
    span: Span,
}

impl Region {
    pub(crate) fn new(watcher: Watcher, span: Span) -> Region {
        Region { watcher, span }
    }

    /// The whole region.
    pub fn range(&self) -> Range {
        Range::new(self.span.start, self.span.length())
    }

    /// Its watcher.
    pub fn watcher(&self) -> &Watcher {
        &self.watcher
    }

    /// Lists written pages; see [`Watcher::get`].
    pub fn get(&self, range: Range, addresses: &mut [usize], reset: Reset) -> Result<usize> {
        self.own(range)?;
        self.watcher.get(range, addresses, reset)
    }

    /// Makes pages clean; see [`Watcher::reset`].
    pub fn reset(&self, range: Range) -> Result<()> {
        self.own(range)?;
        self.watcher.reset(range)
    }

    /// Does what [`get`](Region::get) does, but lists runs of neighbouring pages, and returns their number.
    pub fn get_runs(&self, range: Range, runs: &mut [Run], reset: Reset) -> Result<usize> {
        self.own(range)?;
        if runs.is_empty() {
            return Err(Error::Invalid);
        }
        let mut sink = Runs { into: runs, count: 0 };
        self.watcher.list(range, reset, &mut sink)?;
        Ok(sink.count)
    }

    /// Sets a bit for each written page; see [`Watcher::get_bitmap`].
    pub fn get_bitmap(&self, range: Range, bitmap: &mut [u64], reset: Reset) -> Result<()> {
        self.own(range)?;
        self.watcher.get_bitmap(range, bitmap, reset)
    }

    /// An iterator over the addresses of written pages, ascending; it queries as it goes. With [`Reset::Yes`], pages
    /// that it has not yielded when it is dropped stay written.
    pub fn iter(&self, range: Range, reset: Reset) -> Result<Iter<'_>> {
        self.own(range)?;
        Ok(Iter { region: self, rest: range.pages()?, reset, found: VecDeque::new(), page: page_size() })
    }

    /// See [`Watcher::commit`].
    pub fn commit(&self, range: Range, protection: Protection) -> Result<()> {
        self.own(range)?;
        self.watcher.commit(range, protection)
    }

    /// See [`Watcher::decommit`].
    ///
    /// # Safety
    /// What that function asks for.
    pub unsafe fn decommit(&self, range: Range) -> Result<()> {
        self.own(range)?;
        // SAFETY: the caller's promise.
        unsafe { self.watcher.decommit(range) }
    }

    /// See [`Watcher::protect`].
    ///
    /// # Safety
    /// What that function asks for.
    pub unsafe fn protect(&self, range: Range, protection: Protection) -> Result<()> {
        self.own(range)?;
        // SAFETY: the caller's promise.
        unsafe { self.watcher.protect(range, protection) }
    }

    /// Gives up the handle. The region stays until [`Watcher::release`].
    pub fn keep(mut self) -> Range {
        let range = self.range();
        // No region begins there, so dropping releases nothing.
        self.span = Span { start: 0, end: 0 };
        range
    }

    /// Rejects other regions of the same watcher.
    fn own(&self, range: Range) -> Result<()> {
        if self.span.contains(range.pages()?) { Ok(()) } else { Err(Error::NotWatched) }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: this was the only handle, and, as with every allocation, addresses of reserved memory must not be
        // used after it is released. It fails if there is nothing to release.
        let _ = unsafe { self.watcher.release(self.span.start) };
    }
}

/// See [`Region::iter`].
pub struct Iter<'a> {
    region: &'a Region,
    /// Not queried yet.
    rest: Span,
    reset: Reset,
    /// Found and not yet yielded, in order.
    found: VecDeque<Run>,
    page: usize,
}

impl Iter<'_> {
    /// Runs per query.
    const AHEAD: usize = 64;

    fn look_further(&mut self) -> Result<()> {
        let mut runs = [Run::default(); Iter::AHEAD];
        let mut sink = Runs { into: &mut runs, count: 0 };
        let state = self.region.watcher.read()?;
        let record = state.record_around(self.rest)?;
        self.rest.start = state.list(record, self.rest, self.reset, &mut sink, &mut Chunk::new())?;
        let count = sink.count;
        self.found.extend(&runs[..count]);
        Ok(())
    }
}

impl Iterator for Iter<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        while self.found.is_empty() && !self.rest.is_empty() {
            self.look_further().ok()?;
        }
        let run = self.found.front_mut()?;
        let page = run.start;
        run.start += self.page;
        run.length -= self.page;
        if run.length == 0 {
            self.found.pop_front();
        }
        Some(page)
    }
}

impl Drop for Iter<'_> {
    fn drop(&mut self) {
        if self.reset == Reset::No || self.found.is_empty() {
            return;
        }
        let Ok(state) = self.region.watcher.read() else { return };
        for run in &self.found {
            let span = Span { start: run.start, end: run.start + run.length };
            if let Ok(record) = state.record_around(span) {
                record.latch(span);
            }
        }
    }
}
