//! The handle to one watched region.

use std::collections::VecDeque;

use ntux_platform::protection::{self, Protection, page_size};

use crate::mechanism::Chunk;
use crate::record::{Origin, Record};
use crate::sink::{Bitmap, Run, Runs};
use crate::span::{Range, Span};
use crate::watcher::{State, Watcher};
use crate::{Error, Reset, Result};

/// A watched region. When it is dropped, reserved memory is gone, and a caller's memory is watched no longer.
pub struct Region {
    watcher: Watcher,
    span: Span,
}

impl Region {
    pub(crate) fn new(watcher: Watcher, span: Span) -> Region {
        Region { watcher, span }
    }

    /// All of it.
    pub fn range(&self) -> Range {
        Range::new(self.span.start, self.span.length())
    }

    /// Who watches it.
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

    /// As [`get`](Region::get), but lists runs of neighbouring pages: how many.
    pub fn get_runs(&self, range: Range, runs: &mut [Run], reset: Reset) -> Result<usize> {
        self.own(range)?;
        if runs.is_empty() {
            return Err(Error::Invalid);
        }
        let mut sink = Runs { into: runs, count: 0 };
        self.watcher.list(range, reset, &mut sink)?;
        Ok(sink.count)
    }

    /// As [`get`](Region::get), but sets a bit for each written page, the range's first page being the lowest bit of the first
    /// word, and lowers the others. Errors: also `Invalid` if the words have fewer bits than the range has pages.
    pub fn get_bitmap(&self, range: Range, bitmap: &mut [u64], reset: Reset) -> Result<()> {
        self.own(range)?;
        let span = range.pages()?;
        if bitmap.len() < (span.length() / page_size()).div_ceil(u64::BITS as usize) {
            return Err(Error::Invalid);
        }
        bitmap.fill(0);
        self.watcher.list(range, reset, &mut Bitmap { into: bitmap, base: span.start, page: page_size() })
    }

    /// The addresses of written pages, ascending, looked for as it goes. With [`Reset::Yes`] those that it has not yielded
    /// when it is dropped stay written.
    pub fn iter(&self, range: Range, reset: Reset) -> Result<Iter<'_>> {
        self.own(range)?;
        Ok(Iter { region: self, rest: range.pages()?, reset, found: VecDeque::new(), page: page_size() })
    }

    /// Makes pages usable, or sets the protection of those that are. Pages that were not committed are zero and clean.
    ///
    /// Errors: `Unsupported` for a caller's memory, `Exhausted`.
    pub fn commit(&self, range: Range, protection: Protection) -> Result<()> {
        self.change(range, |state, record, span| {
            let (first, end) = record.pages(span);
            let unarmed: Vec<_> = record.armed.runs(first, end).filter(|run| !run.2).collect();
            for (first, end, _) in unarmed {
                state.engine.arm(record, record.span_of(first, end))?;
                record.armed.raise(first, end);
            }
            state.engine.protect(record, span, protection)?;
            record.committed.raise(first, end);
            Ok(())
        })
    }

    /// Gives the memory of pages back. They cannot be accessed, and are clean unless latched (see [`protect`](Region::protect)).
    ///
    /// Errors: `Unsupported` for a caller's memory.
    ///
    /// # Safety
    /// Nothing refers to the range.
    pub unsafe fn decommit(&self, range: Range) -> Result<()> {
        self.change(range, |state, record, span| {
            let (first, end) = record.pages(span);
            record.committed.lower(first, end);
            let parts: Vec<Span> = record.armed_parts(span).collect();
            parts.into_iter().try_for_each(|part| state.engine.decommit(record, part))
        })
    }

    /// Sets what may be done with committed pages. Written pages stay written, and from here on even when they are
    /// decommitted: they are *latched*, until they are reset. (That is what Windows does.)
    ///
    /// Errors: `NotCommitted`.
    ///
    /// # Safety
    /// References into the range are used only as `protection` allows.
    pub unsafe fn protect(&self, range: Range, protection: Protection) -> Result<()> {
        self.own(range)?;
        let span = range.pages()?;
        let state = self.watcher.write()?;
        let record = state.record_around(span)?;
        let (first, end) = record.pages(span);
        if !record.committed.all(first, end) {
            return Err(Error::NotCommitted);
        }
        if record.origin == Origin::Reserved {
            state.latch_written(record, span);
        }
        state.engine.protect(record, span, protection)
    }

    fn change(&self, range: Range, change: impl FnOnce(&State, &Record, Span) -> Result<()>) -> Result<()> {
        self.own(range)?;
        let span = range.pages()?;
        let state = self.watcher.write()?;
        let record = state.record_around(span)?;
        if record.origin == Origin::Callers {
            return Err(Error::Unsupported);
        }
        change(&state, record, span)
    }

    /// Another region of the same watcher is none of ours.
    fn own(&self, range: Range) -> Result<()> {
        if self.span.contains(range.pages()?) { Ok(()) } else { Err(Error::NotWatched) }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // In a child that cannot watch any more there is nothing to let go of but the memory.
        let mut state = match self.watcher.write() {
            Ok(state) => state,
            Err(_) => return,
        };
        let Some(record) = state.remove(self.span.start) else { return };
        if record.origin == Origin::Reserved {
            // SAFETY: reserved by `Watcher::reserve`; the handle was the only one, and whoever holds addresses of this
            // memory has to know, as with every allocation, that it is gone.
            let _ = unsafe { protection::free(self.span.start, self.span.length()) };
        }
    }
}

impl State {
    fn latch_written(&self, record: &Record, span: Span) {
        let mut chunk = Chunk::new();
        for part in record.armed_parts(span) {
            let mut position = part.start;
            while position < part.end {
                chunk.prepare(usize::MAX);
                let rest = Span { start: position, end: part.end };
                position = self.engine.collect(record, rest, usize::MAX, Reset::No, &mut chunk);
                chunk.runs().for_each(|(start, end)| record.latch(Span { start, end }));
            }
        }
    }
}

/// See [`Region::iter`].
pub struct Iter<'a> {
    region: &'a Region,
    /// Not looked at yet.
    rest: Span,
    reset: Reset,
    /// Found and not yet yielded, in the order in which they will be.
    found: VecDeque<Run>,
    page: usize,
}

impl Iter<'_> {
    /// Runs looked for at once.
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
