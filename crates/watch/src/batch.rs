//! Many ranges in one call, for what the scan costs.
//!
//! Neighbouring regions are scanned as one. What lies between regions may belong to somebody else who watches it with a
//! userfaultfd of his own, so it must not be protected: there one scan finds out, without changing anything, which ranges have
//! written pages, and only those are asked.

use crate::mechanism::Chunk;
use crate::record::{Origin, Record};
use crate::sink::{Run, Runs, Sink};
use crate::span::{Range, Span};
use crate::watcher::{State, Watcher};
use crate::{Error, Reset, Result};

/// Neighbouring spans of one or more regions, which can be scanned as one if they are more.
struct Stretch<'a> {
    span: Span,
    record: &'a Record,
    /// It can be joined with its neighbours: only the mechanism knows what was written.
    is_plain: bool,
    may_be_written: bool,
}

impl Watcher {
    /// Appends the written pages of all ranges to `runs`, ascending. Each range is rounded outwards to pages; runs of
    /// neighbouring ranges are joined.
    ///
    /// Errors: `Invalid` for an empty range and for ranges that are not ascending or overlap; `NotWatched` if one is not inside
    /// one region. Then nothing was reset.
    pub fn get_batch(&self, ranges: &[Range], reset: Reset, runs: &mut Vec<Run>) -> Result<()> {
        self.list_batch(ranges, reset, runs)
    }

    /// As [`get_batch`](Watcher::get_batch), but lists as many runs as there is room for, and resets no others: how many.
    ///
    /// Errors: also `Invalid` if there is no room.
    pub fn get_batch_into(&self, ranges: &[Range], reset: Reset, runs: &mut [Run]) -> Result<usize> {
        if runs.is_empty() {
            return Err(Error::Invalid);
        }
        let mut sink = Runs { into: runs, count: 0 };
        self.list_batch(ranges, reset, &mut sink)?;
        Ok(sink.count)
    }

    fn list_batch(&self, ranges: &[Range], reset: Reset, sink: &mut impl Sink) -> Result<()> {
        let state = self.read()?;
        let mut stretches = state.stretches(ranges)?;
        if stretches.len() > 1 && state.engine.joins_regions() {
            state.look_for_lost(&stretches);
            state.survey(&mut stretches);
        }
        let mut chunk = Chunk::new();
        for stretch in stretches.iter().filter(|stretch| stretch.may_be_written) {
            if stretch.is_plain {
                state.list_seen(stretch.record, stretch.span, reset, sink, &mut chunk);
            } else if state.engine.joins_regions() {
                state.list_known(stretch.record, stretch.span, reset, sink, &mut chunk)?;
            } else {
                state.list(stretch.record, stretch.span, reset, sink, &mut chunk)?;
            }
        }
        Ok(())
    }
}

impl State {
    fn stretches(&self, ranges: &[Range]) -> Result<Vec<Stretch<'_>>> {
        let mut stretches: Vec<Stretch<'_>> = Vec::new();
        let joins = self.engine.joins_regions();
        for range in ranges {
            let span = range.pages()?;
            let record = self.record_around(span)?;
            let (first, end) = record.pages(span);
            let is_plain = joins
                && record.origin == Origin::Reserved
                && record.armed.all(first, end)
                && !record.is_any_latched(span);
            match stretches.last_mut() {
                Some(last) if span.start < last.span.end => return Err(Error::Invalid),
                Some(last) if is_plain && last.is_plain && last.span.end == span.start => last.span.end = span.end,
                _ => stretches.push(Stretch { span, record, is_plain, may_be_written: true }),
            }
        }
        Ok(stretches)
    }

    /// Latches what the mechanism lost sight of, with one look at everything from the first stretch to the last.
    fn look_for_lost(&self, stretches: &[Stretch<'_>]) {
        let mut callers = stretches.iter().filter(|stretch| stretch.record.origin == Origin::Callers).peekable();
        let (Some(first), Some(last)) = (callers.peek(), stretches.last()) else { return };
        let mut lost = Vec::new();
        self.engine.find_lost(Span { start: first.span.start, end: last.span.end }, &mut lost);
        let mut lost = lost.iter().copied().peekable();
        for stretch in callers {
            while let Some(run) = lost.peek().filter(|run| run.start < stretch.span.end) {
                let end = run.start + run.length;
                let part = Span { start: run.start.max(stretch.span.start), end: end.min(stretch.span.end) };
                if part.start < part.end {
                    stretch.record.latch(part);
                }
                if end > stretch.span.end {
                    break;
                }
                lost.next();
            }
        }
    }

    /// Finds out which stretches need not be asked.
    fn survey(&self, stretches: &mut [Stretch<'_>]) {
        let (Some(first), Some(last)) = (stretches.first(), stretches.last()) else { return };
        let mut rest = Span { start: first.span.start, end: last.span.end };
        let mut chunk = Chunk::new();
        let mut seen = Vec::new();
        while rest.start < rest.end {
            let Some(next) = self.engine.survey(rest, &mut chunk) else { return };
            chunk.runs().for_each(|(start, end)| seen.put(start, end));
            rest.start = next;
        }
        let mut seen = seen.into_iter().peekable();
        for stretch in stretches {
            while seen.next_if(|run: &Run| run.start + run.length <= stretch.span.start).is_some() {}
            let is_seen = seen.peek().is_some_and(|run| run.start < stretch.span.end);
            stretch.may_be_written = is_seen || stretch.record.is_any_latched(stretch.span);
        }
    }
}
