// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel records the first write to each page without blocking it, and we query the record (userfaultfd `WP_ASYNC`
//! and `PAGEMAP_SCAN`).
//!
//! A page is clean while its page table entry carries a mark. New ranges get their marks from userfaultfd, which
//! creates the page tables that it needs; on older kernels a scan skips ranges that have none. Later resets are scans,
//! which cost a tenth.

use ntux_platform::watching::pagemap::Pagemap;
use ntux_platform::watching::userfault::{Faults, Features, Userfault};

use super::{Chunk, Engine, Mechanism, Survey};
use crate::record::Record;
use crate::sink::Sink;
use crate::span::Span;
use crate::{Error, Reset, Result};

pub(crate) struct Asynchronous {
    userfault: Userfault,
    pagemap: Pagemap,
}

impl Asynchronous {
    pub fn open() -> Result<Asynchronous> {
        // No thread is ever blocked, so faults of the kernel need no privilege here.
        let userfault = Userfault::open(Features::ASYNCHRONOUS, Faults::OfUserMode)?;
        Ok(Asynchronous { userfault, pagemap: Pagemap::open_to_scan()? })
    }
}

impl Engine for Asynchronous {
    fn mechanism(&self) -> Mechanism {
        Mechanism::Async
    }

    fn attach(&mut self, record: &mut Record) -> Result<()> {
        let span = record.span;
        if self.userfault.register(span.start, span.length())?.has_huge_pages {
            self.userfault.unregister(span.start, span.length())?;
            return Err(Error::Unsupported);
        }
        Ok(())
    }

    fn arm(&self, _record: &Record, span: Span) -> Result<()> {
        Ok(self.userfault.protect(span.start, span.length())?)
    }

    fn detach(&mut self, record: &Record) {
        // Fails only for memory that is gone, and then nothing is registered.
        let _ = self.userfault.unregister(record.span.start, record.span.length());
    }

    fn collect(&self, _record: &Record, span: Span, pages_max: usize, reset: Reset, chunk: &mut Chunk) -> usize {
        let room = &mut chunk.runs[..chunk.capacity];
        match self.pagemap.written(span.start, span.end, pages_max, reset == Reset::Yes, room) {
            Ok(progress) => {
                chunk.count = progress.count;
                progress.next
            }
            // It is unknown what it had protected by then, so everything counts as written.
            Err(_) => chunk.count_as_written(span, pages_max),
        }
    }

    fn clear(&self, _record: &Record, span: Span) -> Result<()> {
        Ok(self.pagemap.protect(span.start, span.end)?)
    }

    /// A scan that protects skips memory that is not registered, and would miss a page written there. Without a reset
    /// such pages count as written anyway.
    fn latch_lost(&self, record: &Record, span: Span, reset: Reset) {
        if reset == Reset::No {
            return;
        }
        let mut chunk = Chunk::new();
        let mut position = span.start;
        while position < span.end {
            let Ok(progress) = self.pagemap.unregistered(position, span.end, &mut chunk.runs) else {
                return record.latch(Span { start: position, end: span.end });
            };
            chunk.count = progress.count;
            chunk.runs().for_each(|(start, end)| record.latch(Span { start, end: end.min(span.end) }));
            position = progress.next;
        }
    }

    fn survey(&self, span: Span) -> Option<Survey> {
        let mut survey = Survey::default();
        let mut chunk = Chunk::new();
        let mut position = span.start;
        while position < span.end {
            let progress = self.pagemap.registered(position, span.end, &mut chunk.runs).ok()?;
            chunk.count = progress.count;
            for run in chunk.found() {
                let (start, end) = (run.start as usize, run.end as usize);
                survey.watched.put(start, end);
                if run.is_written() {
                    survey.written.put(start, end);
                }
            }
            position = progress.next;
        }
        Some(survey)
    }

    fn joins_regions(&self) -> bool {
        true
    }

    fn restart(&mut self) -> Result<()> {
        *self = Asynchronous::open()?;
        Ok(())
    }
}
