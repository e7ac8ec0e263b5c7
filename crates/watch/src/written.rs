// SPDX-License-Identifier: MIT OR Apache-2.0
//! Composes results.
//!
//! A mechanism lists the writes that it saw. A region rarely also has latched pages (`tests/watch/spec.rs`); then the result is
//! composed of both, 64 pages at a time.

use crate::bits::{self, WORD};
use crate::mechanism::Chunk;
use crate::record::{Origin, Record};
use crate::sink::Sink;
use crate::span::{Range, Span};
use crate::watcher::{State, Watcher};
use crate::{Reset, Result};

impl Watcher {
    /// Lists the written pages of a range inside one region.
    pub(crate) fn list(&self, range: Range, reset: Reset, sink: &mut impl Sink) -> Result<()> {
        let span = range.pages()?;
        let state = self.read()?;
        let record = state.record_around(span)?;
        state.list(record, span, reset, sink, &mut Chunk::new())?;
        Ok(())
    }
}

impl State {
    /// Lists written pages until the sink is full or the span ends. Returns where to continue.
    pub fn list(
        &self,
        record: &Record,
        span: Span,
        reset: Reset,
        sink: &mut impl Sink,
        chunk: &mut Chunk,
    ) -> Result<usize> {
        if record.origin == Origin::Callers {
            self.engine.latch_lost(record, span, reset);
        }
        self.list_known(record, span, reset, sink, chunk)
    }

    /// As `list`, when the pages that the mechanism lost sight of are latched already.
    pub fn list_known(
        &self,
        record: &Record,
        span: Span,
        reset: Reset,
        sink: &mut impl Sink,
        chunk: &mut Chunk,
    ) -> Result<usize> {
        if record.is_any_latched(span) {
            return self.list_with_latched(record, span, reset, sink, chunk);
        }
        for part in record.armed_parts(span) {
            let end = self.list_seen(record, part, reset, sink, chunk);
            if end < part.end {
                return Ok(end);
            }
        }
        Ok(span.end)
    }

    /// Lists what the mechanism saw in an armed part.
    pub fn list_seen(
        &self,
        record: &Record,
        part: Span,
        reset: Reset,
        sink: &mut impl Sink,
        chunk: &mut Chunk,
    ) -> usize {
        let mut position = part.start;
        while position < part.end && sink.pages_left() > 0 && sink.runs_left() > 0 {
            chunk.prepare(sink.runs_left());
            let rest = Span { start: position, end: part.end };
            position = self.engine.collect(record, rest, sink.pages_left(), reset, chunk);
            // Not earlier, because the result may be stored in watched memory.
            chunk.runs().for_each(|(start, end)| sink.put(start, end));
        }
        position
    }

    fn list_with_latched(
        &self,
        record: &Record,
        span: Span,
        reset: Reset,
        sink: &mut impl Sink,
        chunk: &mut Chunk,
    ) -> Result<usize> {
        let (first, end) = record.pages(span);
        for (index, mask) in bits::masks(first, end) {
            let mut word = self.written_word(record, index, mask, chunk);
            let chosen = bits::lowest(word, sink.pages_left());
            for (low, high) in bits::runs_of_word(chosen) {
                if sink.runs_left() == 0 {
                    break;
                }
                let run = record.span_of(index * WORD + low, index * WORD + high);
                if reset == Reset::Yes {
                    self.clear(record, run)?;
                }
                sink.put(run.start, run.end);
                word &= !bits::between(low, high);
            }
            if sink.pages_left() == 0 || sink.runs_left() == 0 {
                // A word without written pages has 64 trailing zeros: continue after it.
                let next = record.span_of(0, index * WORD + word.trailing_zeros() as usize).end;
                return Ok(next.min(span.end));
            }
        }
        Ok(span.end)
    }

    /// Returns which of 64 pages are written, latched or seen.
    fn written_word(&self, record: &Record, index: usize, mask: u64, chunk: &mut Chunk) -> u64 {
        let mut word = record.latched().map_or(0, |latched| latched.word(index));
        for (low, high) in bits::runs_of_word(mask) {
            let span = record.span_of(index * WORD + low, index * WORD + high);
            for part in record.armed_parts(span) {
                // Room for every run that 64 pages can have.
                chunk.prepare(WORD);
                self.engine.collect(record, part, WORD, Reset::No, chunk);
                for (start, end) in chunk.runs() {
                    let (first, end) = record.pages(Span { start, end });
                    word |= bits::between(first - index * WORD, end - index * WORD);
                }
            }
        }
        word & mask
    }

    /// Makes pages clean.
    pub fn clear(&self, record: &Record, span: Span) -> Result<()> {
        record.unlatch(span);
        record.armed_parts(span).try_for_each(|part| self.engine.clear(record, part))
    }
}
