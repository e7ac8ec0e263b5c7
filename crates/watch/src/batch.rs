// SPDX-License-Identifier: MIT OR Apache-2.0
//! Many ranges in one call, at the cost of one scan.
//!
//! Neighbouring regions are scanned as one. Memory between regions may belong to somebody else, who watches it with
//! another userfaultfd, so it must not be protected. In that case one survey of the whole range finds, without changing
//! anything, which ranges are still watched, and where they have written pages. Then only these pages are queried.

use std::collections::btree_map;

use crate::mechanism::{Chunk, Survey};
use crate::record::{Origin, Record};
use crate::sink::{Run, Runs, Sink};
use crate::span::{Range, Span};
use crate::watcher::{State, Watcher};
use crate::{Error, Reset, Result};

/// Neighbouring spans of one or more regions, scanned as one.
struct Stretch<'a> {
    span: Span,
    /// The first region; the only one if the stretch is not plain.
    record: &'a Record,
    /// It can be joined with its neighbours, because only the mechanism knows what was written.
    is_plain: bool,
    /// Where it may be written.
    asked: Option<Span>,
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

    /// Does what [`get_batch`](Watcher::get_batch) does, but lists as many runs as there is room for, and resets no others. Returns
    /// their number.
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
        let is_surveyed = state.survey(&mut stretches);
        let mut chunk = Chunk::new();
        for &Stretch { record, is_plain, asked, .. } in &stretches {
            let Some(span) = asked else { continue };
            if is_plain {
                state.list_seen(record, span, reset, sink, &mut chunk);
            } else if is_surveyed {
                state.list_known(record, span, reset, sink, &mut chunk)?;
            } else {
                state.list(record, span, reset, sink, &mut chunk)?;
            }
        }
        Ok(())
    }
}

impl State {
    fn stretches(&self, ranges: &[Range]) -> Result<Vec<Stretch<'_>>> {
        let mut stretches: Vec<Stretch<'_>> = Vec::with_capacity(ranges.len());
        let mut records = Ascending { state: self, record: None, behind: self.records.range(..0) };
        let joins = self.engine.joins_regions();
        for range in ranges {
            let span = range.pages()?;
            let record = records.around(span)?;
            let (first, end) = record.pages(span);
            let is_plain = joins
                && record.origin == Origin::Reserved
                && record.armed.all(first, end)
                && !record.is_any_latched(span);
            match stretches.last_mut() {
                Some(last) if span.start < last.span.end => return Err(Error::Invalid),
                Some(last) if is_plain && last.is_plain && last.span.end == span.start => {
                    last.span.end = span.end;
                    last.asked = Some(last.span);
                }
                _ => stretches.push(Stretch { span, record, is_plain, asked: Some(span) }),
            }
        }
        Ok(stretches)
    }

    /// Surveys everything from the first to the last stretch: finds where the stretches must be queried, and latches
    /// pages that the mechanism lost sight of. Returns whether it did.
    fn survey(&self, stretches: &mut [Stretch<'_>]) -> bool {
        let [first, .., last] = stretches else { return false };
        let all = Span { start: first.span.start, end: last.span.end };
        let Some(Survey { watched, written }) = self.engine.survey(all) else { return false };
        let (mut watched, mut written) = (Finder::new(&watched), Finder::new(&written));
        for stretch in stretches {
            if stretch.record.origin == Origin::Callers && !watched.covers(stretch.span) {
                self.engine.latch_lost(stretch.record, stretch.span, Reset::Yes);
            }
            stretch.asked = written.within(stretch.span);
            if !stretch.is_plain && stretch.record.is_any_latched(stretch.span) {
                stretch.asked = Some(stretch.span);
            }
        }
        true
    }
}

/// Regions found by ascending spans.
struct Ascending<'a> {
    state: &'a State,
    record: Option<&'a Record>,
    /// The regions after it.
    behind: btree_map::Range<'a, usize, Record>,
}

impl<'a> Ascending<'a> {
    /// Does what [`State::record_around`] does, but fast if it is the same region as before, or the next one.
    fn around(&mut self, span: Span) -> Result<&'a Record> {
        let is_it = |record: &&Record| record.span.contains(span);
        let next = || self.behind.next().map(|(_, record)| record).filter(is_it);
        if let Some(record) = self.record.filter(is_it).or_else(next) {
            self.record = Some(record);
            return Ok(record);
        }
        let record = self.state.record_around(span)?;
        self.behind = self.state.records.range(record.span.end..);
        self.record = Some(record);
        Ok(record)
    }
}

/// Runs found by ascending spans.
struct Finder<'a> {
    runs: &'a [Run],
}

impl<'a> Finder<'a> {
    /// The runs are ascending, and neighbours are joined.
    fn new(runs: &'a [Run]) -> Finder<'a> {
        Finder { runs }
    }

    /// Returns whether the whole span lies in runs.
    fn covers(&mut self, span: Span) -> bool {
        self.pass(span.start);
        self.runs.first().is_some_and(|run| run.start <= span.start && span.end <= end_of(run))
    }

    /// The part of the span from its first to its last page that is in a run.
    fn within(&mut self, span: Span) -> Option<Span> {
        self.pass(span.start);
        let count = self.runs.iter().take_while(|run| run.start < span.end).count();
        let (first, last) = (self.runs[..count].first()?, self.runs[..count].last()?);
        Some(Span { start: first.start.max(span.start), end: end_of(last).min(span.end) })
    }

    /// Skips the runs below an address.
    fn pass(&mut self, start: usize) {
        let passed = self.runs.iter().take_while(|run| end_of(run) <= start).count();
        self.runs = &self.runs[passed..];
    }
}

fn end_of(run: &Run) -> usize {
    run.start + run.length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_found_by_ascending_spans() {
        let run = |start, end| Run { start, length: end - start };
        let span = |start, end| Span { start, end };
        let runs = [run(10, 20), run(30, 40), run(42, 44), run(60, 90)];
        let mut finder = Finder::new(&runs);
        assert_eq!(finder.within(span(0, 10)), None);
        assert!(!finder.covers(span(5, 15)));
        assert!(finder.covers(span(10, 20)));
        assert_eq!(finder.within(span(15, 43)), Some(span(15, 43)));
        assert!(!finder.covers(span(31, 43)), "there is a hole");
        assert_eq!(finder.within(span(35, 50)), Some(span(35, 44)));
        assert_eq!(finder.within(span(44, 60)), None);
        assert!(finder.covers(span(65, 70)));
        assert_eq!(finder.within(span(70, 200)), Some(span(70, 90)));
        assert_eq!(finder.within(span(200, 210)), None);
        assert!(!finder.covers(span(200, 210)));
    }
}
