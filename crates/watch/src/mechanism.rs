//! Who notices the writes. Four mechanisms, one meaning; the last is used only where somebody asks for it.
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

/// What a mechanism lists in one go.
pub(crate) struct Chunk {
    /// Deliberately not set to anything: filling it costs as much as a short scan.
    runs: [MaybeUninit<Found>; CHUNK],
    count: usize,
    capacity: usize,
}

/// What a result takes of one word.
pub(crate) struct Chosen {
    pub bits: u64,
    /// The result is full; the next page of the word to look at.
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

    /// Whether there is room for a run that starts there.
    pub fn takes(&self, start: usize) -> bool {
        // SAFETY: the entries below `count` were written, by `push` or by the kernel.
        let is_next = |last: usize| unsafe { self.runs[last].assume_init_ref() }.end == start as u64;
        self.count < self.capacity || self.count.checked_sub(1).is_some_and(is_next)
    }

    /// Adds a run, or lengthens the last one. Only while there is room.
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

    /// What is written in a span cannot be found out: all of it counts, but for what is listed already. Where to go on.
    pub fn count_as_written(&mut self, span: Span, pages_max: usize) -> usize {
        if let Some((_, end)) = self.runs().last() {
            return end;
        }
        let pages = pages_max.min(span.length() / page_size());
        let end = span.start + pages * page_size();
        self.push(span.start, end);
        end
    }

    /// Takes the lowest pages of a word, as many as there is room for and `pages_left`; what it took.
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
/// Every span is whole pages inside the record's, and every operation except `collect` and `clear` has the watcher to itself.
pub(crate) trait Engine: Send + Sync {
    fn mechanism(&self) -> Mechanism;

    /// Takes a region over. Nothing is armed yet, except that the caller's memory may be written from here on without notice.
    fn attach(&mut self, record: &mut Record) -> Result<()>;

    /// From here on these pages are clean and their writes are noticed.
    fn arm(&self, record: &Record, span: Span) -> Result<()>;

    /// Lets go of a region; its memory stays as it is and can be written.
    fn detach(&mut self, record: &Record);

    /// Lists written pages from the span's start on, `pages_max` (not 0) at most, as long as the chunk has room, and makes them
    /// clean if `reset`. Where to go on: nothing from there on was listed or changed.
    ///
    /// I-atomic: a store that is over before the call is listed; one that races with it is listed, or its page is written
    /// afterwards. What is listed may be read as soon as this returns.
    fn collect(&self, record: &Record, span: Span, pages_max: usize, reset: Reset, chunk: &mut Chunk) -> usize;

    /// Makes pages clean, listed or not.
    fn clear(&self, record: &Record, span: Span) -> Result<()>;

    /// Latches pages of the caller's memory that this mechanism lost sight of, so that `collect` would not list their writes:
    /// something was mapped over them, or they were taken away with their marks.
    fn latch_lost(&self, record: &Record, span: Span, reset: Reset);

    /// Sets what the program may do with the pages. Written ones stay written.
    fn protect(&self, _record: &Record, span: Span, protection: Protection) -> Result<()> {
        // SAFETY: whoever calls `Region::protect` answers for the references into the range; armed pages stay armed.
        unsafe { protection::protect(span.start, span.length(), protection) }.map_err(Into::into)
    }

    /// Gives the memory of these pages back; they cannot be accessed, and are clean.
    fn decommit(&self, record: &Record, span: Span) -> Result<()> {
        self.protect(record, span, Protection::NONE)?;
        // SAFETY: whoever calls `Region::decommit` gives the contents up.
        unsafe { protection::discard(span.start, span.length()) }?;
        self.arm(record, span)
    }

    /// A system call is about to write to these pages: until it is let go, they are listed as written and stay so.
    fn hold(&self, _record: &Record, _span: Span) -> Result<()> {
        Ok(())
    }

    /// The call is over.
    fn let_go(&self, _span: Span) {}

    /// Looks at everything between two addresses, whatever lies there, if that costs less than to ask for each region.
    fn survey(&self, _span: Span) -> Option<Survey> {
        None
    }

    /// Whether `collect` takes neighbouring regions as one.
    fn joins_regions(&self) -> bool {
        false
    }

    /// The process is about to fork.
    fn before_fork(&self, _record: &Record) {}

    /// Begins anew in a child of fork: what was inherited acts on the parent. Every region is attached again afterwards.
    fn restart(&mut self) -> Result<()>;
}

/// What was found between two addresses, ascending.
#[derive(Default)]
pub(crate) struct Survey {
    /// What is watched, perhaps by somebody else. The rest is not, or not any more, or not mapped.
    pub watched: Vec<Run>,
    /// What of it was written.
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
