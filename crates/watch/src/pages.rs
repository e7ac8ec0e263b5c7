// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operations on the pages of a region: commit, decommit, protect, release.

use ntux_platform::protection::{self, Protection};

use crate::mechanism::Chunk;
use crate::record::{Origin, Record};
use crate::span::{Range, Span};
use crate::watcher::{State, Watcher};
use crate::{Error, Reset, Result};

impl Watcher {
    /// Commits pages of reserved memory, or sets the protection of committed ones. Newly committed pages are zero and
    /// clean.
    ///
    /// Errors: those of [`Watcher::get`]; `Unsupported` for a caller's memory; `Exhausted`.
    pub fn commit(&self, range: Range, protection: Protection) -> Result<()> {
        self.change_reserved(range, |state, record, span| {
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

    /// Frees the memory of pages. They cannot be accessed, and are clean unless latched (see [`Watcher::protect`]).
    ///
    /// Errors: those of [`Watcher::get`]; `Unsupported` for a caller's memory.
    ///
    /// # Safety
    /// Nothing refers to the range.
    pub unsafe fn decommit(&self, range: Range) -> Result<()> {
        self.change_reserved(range, |state, record, span| {
            let (first, end) = record.pages(span);
            record.committed.lower(first, end);
            let parts: Vec<Span> = record.armed_parts(span).collect();
            parts.into_iter().try_for_each(|part| state.engine.decommit(record, part))
        })
    }

    /// Sets the protection of committed pages. Written pages stay written, from now on even if they are decommitted:
    /// they are *latched* until they are reset. (As on Windows.)
    ///
    /// Errors: those of [`Watcher::get`]; `NotCommitted`.
    ///
    /// # Safety
    /// References into the range are used only as `protection` allows.
    pub unsafe fn protect(&self, range: Range, protection: Protection) -> Result<()> {
        let span = range.pages()?;
        let state = self.write()?;
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

    /// Ends the region that begins at `base`. Reserved memory is unmapped; a caller's memory is no longer watched.
    ///
    /// Errors: `NotWatched`.
    ///
    /// # Safety
    /// If the memory was reserved here, nothing refers to it.
    pub unsafe fn release(&self, base: usize) -> Result<()> {
        let mut state = self.write()?;
        let record = state.remove(base).ok_or(Error::NotWatched)?;
        if record.origin == Origin::Reserved {
            // SAFETY: reserved by `Watcher::reserve`, no longer watched, and nobody refers to it.
            unsafe { protection::free(record.span.start, record.span.length()) }?;
        }
        Ok(())
    }

    fn change_reserved(&self, range: Range, change: impl FnOnce(&State, &Record, Span) -> Result<()>) -> Result<()> {
        let span = range.pages()?;
        let state = self.write()?;
        let record = state.record_around(span)?;
        if record.origin == Origin::Callers {
            return Err(Error::Unsupported);
        }
        change(&state, record, span)
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
