// SPDX-License-Identifier: MIT OR Apache-2.0
//! The state of one watched region.

use std::sync::OnceLock;

use ntux_platform::protection::page_size;

use crate::backing::Backing;
use crate::bits::Bits;
use crate::ledger::Ledger;
use crate::span::Span;

/// The origin of the memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Origin {
    /// The watcher reserved it: nobody else maps anything into it.
    Reserved,
    /// The caller, who may map over it, move or unmap it without notice.
    Callers,
}

/// One watched region.
///
/// I-armed: the mechanism notices writes to every armed page, from the moment of arming. A page of reserved memory is
/// armed when it is first committed, because nobody can write it before, and stays armed.
pub(crate) struct Record {
    pub span: Span,
    pub origin: Origin,
    pub armed: Bits,
    pub committed: Bits,
    /// Pages that count as written whatever the mechanism says.
    latched: OnceLock<Bits>,
    /// For mechanisms that keep the list themselves.
    pub ledger: Option<Box<Ledger>>,
    /// For the mechanism in which the kernel copies pages.
    pub backing: Option<Backing>,
    page: usize,
}

impl Record {
    pub fn new(span: Span, origin: Origin) -> Record {
        let page = page_size();
        let count = span.length() / page;
        let (armed, committed) = (Bits::new(count), Bits::new(count));
        Record { span, origin, armed, committed, latched: OnceLock::new(), ledger: None, backing: None, page }
    }

    /// The numbers of a span's first page and of the page after its last.
    pub fn pages(&self, span: Span) -> (usize, usize) {
        ((span.start - self.span.start) / self.page, (span.end - self.span.start) / self.page)
    }

    /// The span of the pages with these numbers.
    pub fn span_of(&self, first: usize, end: usize) -> Span {
        Span { start: self.span.start + first * self.page, end: self.span.start + end * self.page }
    }

    /// The ledger that the mechanism attached.
    pub fn ledger(&self) -> &Ledger {
        self.ledger.as_ref().expect("attached by a mechanism that keeps a ledger")
    }

    /// The parts of a span that are armed, ascending.
    pub fn armed_parts(&self, span: Span) -> impl Iterator<Item = Span> {
        let (first, end) = self.pages(span);
        let parts = self.armed.runs(first, end).filter(|run| run.2);
        parts.map(|(first, end, _)| self.span_of(first, end))
    }

    /// Makes the pages count as written until they are reset, whatever the mechanism says.
    pub fn latch(&self, span: Span) {
        let (first, end) = self.pages(span);
        self.latched.get_or_init(|| Bits::new(self.span.length() / self.page)).raise(first, end);
    }

    pub fn unlatch(&self, span: Span) {
        if let Some(latched) = self.latched.get() {
            let (first, end) = self.pages(span);
            latched.lower(first, end);
        }
    }

    pub fn latched(&self) -> Option<&Bits> {
        self.latched.get()
    }

    pub fn is_any_latched(&self, span: Span) -> bool {
        let (first, end) = self.pages(span);
        self.latched.get().is_some_and(|latched| latched.any(first, end))
    }
}
