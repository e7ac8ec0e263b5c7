// SPDX-License-Identifier: MIT OR Apache-2.0
//! The mechanisms that notice writes: four with the same results. The last is used only on request.
//!
//! | | asynchronous | synchronous | mprotect | cow |
//! | --- | --- | --- | --- | --- |
//! | a first write costs | a page fault | two thread switches | a signal and a system call | a page fault and a page |
//! | a reset costs | a scan | a call for each run | a call | a copy of each written page |
//! | system calls that write to a clean page | noticed | noticed with privilege, else `EFAULT` | `EFAULT` | noticed, but see `cow` |
//! | mappings | none more | none more | up to two for each run of written pages | none more |
//! | needs | Linux 6.7 | Linux 6.4 | nothing | memory files |

pub(crate) mod asynchronous;
mod choice;
pub(crate) mod cow;
pub(crate) mod mprotect;
pub(crate) mod synchronous;

use core::mem::MaybeUninit;

use ntux_platform::protection::{self, Protection, page_size};
use ntux_platform::watching::pagemap::Found;

pub use choice::{Capability, Mechanism};

use crate::bits;
use crate::record::Record;
use crate::sink::Run;
use crate::span::Span;
use crate::{Reset, Result};

/// Runs that a mechanism lists at once. The kernel's own buffer has as many.
const CHUNK: usize = 512;

/// The runs that a mechanism lists at once.
pub(crate) struct Chunk {
    /// Deliberately uninitialized: filling it costs as much as a short scan.
    runs: [MaybeUninit<Found>; CHUNK],
    count: usize,
    capacity: usize,
}

/// The pages of one word that a result takes.
pub(crate) struct Chosen {
    pub bits: u64,
    /// Set if the result is full: the next page of the word to examine.
    pub stop: Option<usize>,
}

impl Chunk {
    pub fn new() -> Chunk {
        Chunk { runs: [const { MaybeUninit::uninit() }; CHUNK], count: 0, capacity: CHUNK }
    }

    /// Empties it; from here on it takes `capacity` runs at most.
    pub fn prepare(&mut self, capacity: usize) {
        self.count = 0;
        self.capacity = capacity.min(CHUNK);
    }

    /// Returns whether there is room for a run that starts there.
    pub fn takes(&self, start: usize) -> bool {
        // SAFETY: the entries below `count` were written, by `push` or by the kernel.
        let is_next = |last: usize| unsafe { self.runs[last].assume_init_ref() }.end == start as u64;
        self.count < self.capacity || self.count.checked_sub(1).is_some_and(is_next)
    }

    /// Adds a run, or extends the last one. Call only while there is room.
    pub fn push(&mut self, start: usize, end: usize) {
        if let Some(last) = self.count.checked_sub(1) {
            // SAFETY: the entries below `count` were written, by `push` or by the kernel.
            let last = unsafe { self.runs[last].assume_init_mut() };
            if last.end == start as u64 {
                last.end = end as u64;
                return;
            }
        }
        self.runs[self.count] = MaybeUninit::new(Found::new(start, end));
        self.count += 1;
    }

    /// Lists a whole span because its written pages cannot be determined; if something is listed already, nothing.
    /// Returns where to continue.
    pub fn count_as_written(&mut self, span: Span, pages_max: usize) -> usize {
        if let Some((_, end)) = self.runs().last() {
            return end;
        }
        let pages = pages_max.min(span.length() / page_size());
        let end = span.start + pages * page_size();
        self.push(span.start, end);
        end
    }

    /// Takes the lowest pages of a word, as many as there is room for, at most `pages_left`. Returns those that it
    /// took.
    pub fn choose(&mut self, word: u64, pages_left: usize, span_of: impl Fn(usize, usize) -> Span) -> Chosen {
        let wanted = bits::lowest(word, pages_left);
        let mut bits = 0;
        for (low, high) in bits::runs_of_word(wanted) {
            let span = span_of(low, high);
            if !self.takes(span.start) {
                return Chosen { bits, stop: Some(low) };
            }
            self.push(span.start, span.end);
            bits |= bits::between(low, high);
        }
        let is_full = bits.count_ones() as usize == pages_left;
        let behind = bits::WORD - wanted.leading_zeros() as usize;
        Chosen { bits, stop: is_full.then_some(behind) }
    }

    pub fn runs(&self) -> impl Iterator<Item = (usize, usize)> {
        self.found().map(|run| (run.start as usize, run.end as usize))
    }

    fn found(&self) -> impl Iterator<Item = &Found> {
        // SAFETY: the entries below `count` were written, by `push` or by the kernel.
        self.runs[..self.count].iter().map(|run| unsafe { run.assume_init_ref() })
    }
}

/// One way to notice writes.
///
/// Every span is whole pages inside the record's span. Every operation except `collect` and `clear` has exclusive
/// access to the watcher.
pub(crate) trait Engine: Send + Sync {
    fn mechanism(&self) -> Mechanism;

    /// Takes over a region. No page is armed yet; the caller's memory may be written without notice from here on.
    fn attach(&mut self, record: &mut Record) -> Result<()>;

    /// Arms these pages: from here on they are clean and their writes are noticed.
    fn arm(&self, record: &Record, span: Span) -> Result<()>;

    /// Gives up a region; its memory stays as it is and can be written.
    fn detach(&mut self, record: &Record);

    /// Lists written pages from the span's start on, at most `pages_max` (not 0), while the chunk has room, and makes
    /// them clean if `reset`. Returns where to continue: nothing from there on was listed or changed.
    ///
    /// I-atomic: a store that completes before the call is listed. One that races with the call is listed, or its page
    /// is written afterwards. Listed pages may be read as soon as this returns.
    fn collect(&self, record: &Record, span: Span, pages_max: usize, reset: Reset, chunk: &mut Chunk) -> usize;

    /// Makes pages clean, listed or not.
    fn clear(&self, record: &Record, span: Span) -> Result<()>;

    /// Latches pages of the caller's memory whose writes `collect` would miss, because something was mapped over them,
    /// or they were discarded with their marks.
    fn latch_lost(&self, record: &Record, span: Span, reset: Reset);

    /// Sets what the program may do with the pages. Written ones stay written.
    fn protect(&self, _record: &Record, span: Span, protection: Protection) -> Result<()> {
        // SAFETY: the caller of `Region::protect` answers for references into the range; armed pages stay armed.
        unsafe { protection::protect(span.start, span.length(), protection) }.map_err(Into::into)
    }

    /// Frees the memory of these pages; they cannot be accessed, and are clean.
    fn decommit(&self, record: &Record, span: Span) -> Result<()> {
        self.protect(record, span, Protection::NONE)?;
        // SAFETY: the caller of `Region::decommit` gives up the contents.
        unsafe { protection::discard(span.start, span.length()) }?;
        self.arm(record, span)
    }

    /// Begins a hold for a system call that is about to write to these pages. Until it ends, they are listed as written
    /// and stay so.
    fn hold(&self, _record: &Record, _span: Span) -> Result<()> {
        Ok(())
    }

    /// Ends a hold.
    fn end_hold(&self, _span: Span) {}

    /// Surveys everything between two addresses, if that costs less than a query for each region.
    fn survey(&self, _span: Span) -> Option<Survey> {
        None
    }

    /// Returns whether `collect` can treat neighbouring regions as one.
    fn joins_regions(&self) -> bool {
        false
    }

    /// The process is about to fork.
    fn before_fork(&self, _record: &Record) {}

    /// Restarts in a child of fork, where the inherited mechanism acts on the parent. The caller then attaches every
    /// region again.
    fn restart(&mut self) -> Result<()>;
}

/// What a survey found, ascending.
#[derive(Default)]
pub(crate) struct Survey {
    /// Watched memory, perhaps watched by somebody else. The rest is unwatched or unmapped.
    pub watched: Vec<Run>,
    /// The written part of it.
    pub written: Vec<Run>,
}

/// `clear` for mechanisms that keep a ledger.
fn clear_by_collecting(engine: &impl Engine, record: &Record, span: Span) {
    let mut chunk = Chunk::new();
    let mut rest = span;
    while rest.start < rest.end {
        chunk.prepare(usize::MAX);
        rest.start = engine.collect(record, rest, usize::MAX, Reset::Yes, &mut chunk);
    }
}
