//! A bit for each page, for mechanisms where the program itself keeps the list.
//!
//! A page is *shut* (stores to it are reported to us) or *open* (they are not). The bit is set for every open page:
//!
//! * I-open: a page that is open has its bit set, except under the lock of its block, by a thread that is about to set
//!   it or to shut the page.
//!
//! So whoever reads the bit without the lock sees every store that is over: to make it, the page was opened first, and its
//! bit set before. A reset lowers the bit, then shuts the page, both under the lock; a store in between is over before the
//! reset returns, and so is covered by what it listed. The contrary (bit set, page shut) does no harm: the next store is
//! reported, and the page is opened.
//!
//! The lock is for 64 pages, is held across one or two system calls, never while the memory of callers is touched, and with
//! every signal blocked: so a handler that waits for it waits for another thread, which goes on.
//!
//! # Death, forks
//! The lock word is the holder's process number. In a child of fork a lock of the parent is taken from it, and its block
//! is opened whole.

use std::io;

use ntux_platform::atomic::Word32;
use ntux_platform::clock::{self, Deadline};
use ntux_platform::futex;
use ntux_platform::protection::{Protection, page_size};
use ntux_platform::watching::segv::Blocked;

use crate::bits::{self, WORD};
use crate::block::{Block, Locked, runs};
use crate::joined::Joined;
use crate::mechanism::Chunk;
use crate::span::Span;
use crate::zeroed::zeroed;

/// Sleepers to wake: the kernel counts with a sign.
const EVERYBODY: u32 = i32::MAX as u32;
/// Blocks whose locks one reset holds at once: signals are blocked for so long.
const BLOCKS_AT_ONCE: usize = 512;

/// Opens and shuts pages.
pub(crate) trait Gate {
    /// Pages already shut that may be shut again to save a call.
    const GAP_MAX: usize;

    fn open(&self, span: Span, executable: bool) -> io::Result<()>;
    fn shut(&self, span: Span, executable: bool) -> io::Result<()>;

    /// A block that had `before` runs of open pages has `after`.
    fn account(&self, before: u32, after: u32);
    /// Whether one more run can be afforded.
    fn has_room(&self) -> bool;
}

/// The list of one region.
pub(crate) struct Ledger {
    span: Span,
    blocks: Box<[Block]>,
    /// How many resets are taking locks; see `let_resets_pass`.
    resets: Word32,
    /// The kernel keeps the list: no bit is ever set, and every page is open except while `while_shut` runs.
    is_kernels: Word32,
    page: usize,
}

impl Ledger {
    /// Nothing is written, and the program may write nothing.
    pub fn new(span: Span) -> Ledger {
        let page = page_size();
        let blocks = zeroed((span.length() / page).div_ceil(WORD));
        Ledger { span, blocks, resets: Word32::new(0), is_kernels: Word32::new(0), page }
    }

    /// Whether the kernel keeps the list from here on; if not any more, the pages are to be armed.
    pub fn set_kernels(&self, is_kernels: bool) {
        self.is_kernels.store(u32::from(is_kernels));
    }

    /// A store to this address was reported: opens its page. False if the program must not write there.
    /// Async-signal-safe if the gate is, with all signals blocked.
    pub fn admit(&self, address: usize, gate: &impl Gate) -> bool {
        let (index, bit) = self.bit_of(address);
        let locked = self.lock(index, gate);
        if locked.block.writable.load() & bit == 0 {
            return false;
        }
        if self.is_kernels.load() != 0 {
            // The reset that had shut it is over, and has opened it again unless the kernel refused.
            return self.each_run(index, bit, |span, executable| gate.open(span, executable)).is_ok();
        }
        if self.open(&locked, index, bit, gate).is_ok() {
            return true;
        }
        drop(locked);
        self.open_all(gate).is_ok()
    }

    /// Waits a moment if a reset is under way. Otherwise a thread that writes page after page takes the lock of a block again
    /// and again just before the reset, which has to follow it through the region. Async-signal-safe.
    pub fn let_resets_pass(&self) {
        const MOMENT_NS: u64 = 1_000_000;
        let resets = self.resets.load();
        if resets != 0 {
            let deadline = Deadline::Monotonic(clock::monotonic_ns() + MOMENT_NS);
            futex::wait(core::ptr::from_ref(&self.resets).cast(), resets, deadline);
        }
    }

    /// Opens pages of one block; all of it if they would be too many runs.
    fn open(&self, locked: &Locked<'_>, index: usize, wanted: u64, gate: &impl Gate) -> io::Result<()> {
        if gate.has_room() {
            locked.block.mark(wanted, gate);
            if self.each_run(index, wanted, |span, executable| gate.open(span, executable)).is_ok() {
                return Ok(());
            }
        }
        let writable = locked.block.writable.load();
        locked.block.mark(writable, gate);
        self.each_run(index, writable, |span, executable| gate.open(span, executable))
    }

    /// Opens every page that the program may write. They count as written.
    /// Async-signal-safe if the gate is, with all signals blocked.
    pub fn open_all(&self, gate: &impl Gate) -> io::Result<()> {
        let open = |span, executable| gate.open(span, executable);
        let mut joined = Joined::default();
        let mut result = Ok(());
        for index in 0..self.blocks.len() {
            // Unlocked below: there is no memory here to keep the locks in.
            core::mem::forget(self.lock(index, gate));
            let writable = self.blocks[index].writable.load();
            self.blocks[index].mark(writable, gate);
            result = result.and(self.each_run(index, writable, |span, executable| joined.add(span, executable, &open)));
        }
        result = result.and(joined.finish(&open));
        self.blocks.iter().for_each(|block| drop(Locked { block }));
        result
    }

    /// See `Engine::collect`, without a reset.
    pub fn collect(&self, span: Span, pages_max: usize, chunk: &mut Chunk) -> usize {
        let mut pages_left = pages_max;
        for (index, mask) in self.masks(span) {
            let written = self.blocks[index].written.load() & mask;
            let chosen = chunk.choose(written, pages_left, |low, high| self.span_of(index, low, high));
            pages_left -= chosen.bits.count_ones() as usize;
            if let Some(end) = chosen.stop {
                return self.span_of(index, 0, end).end.min(span.end);
            }
        }
        span.end
    }

    /// See `Engine::collect`, with a reset. Pages of `held` are listed and stay open.
    pub fn collect_and_shut(
        &self,
        span: Span,
        pages_max: usize,
        held: &[Span],
        chunk: &mut Chunk,
        gate: &impl Gate,
    ) -> usize {
        // Before anything is locked: the allocator's memory may be watched too.
        let mut locks = Vec::with_capacity(BLOCKS_AT_ONCE);
        let _quiet = Blocked::all();
        self.resets.fetch_add(1);
        let mut pages_left = pages_max;
        let mut next = span.end;
        for (index, mask) in self.masks(span) {
            // Nobody has written here; who is just about to is listed the next time.
            if self.blocks[index].written.load() & mask == 0 {
                continue;
            }
            let locked = self.lock(index, gate);
            let written = locked.block.written.load();
            let chosen = chunk.choose(written & mask, pages_left, |low, high| self.span_of(index, low, high));
            pages_left -= chosen.bits.count_ones() as usize;
            locked.block.unmark(chosen.bits & !self.held_bits(index, held), gate);
            locks.push(locked);
            if let Some(end) = chosen.stop {
                next = self.span_of(index, 0, end).end.min(span.end);
                break;
            }
            if locks.len() == BLOCKS_AT_ONCE {
                next = self.span_of(index, 0, WORD).end.min(span.end);
                break;
            }
        }
        self.shut_listed(chunk, gate);
        drop(locks);
        self.resets.fetch_add(u32::MAX);
        futex::wake(core::ptr::from_ref(&self.resets).cast(), EVERYBODY);
        next
    }

    /// Shuts what was listed and is not written any more.
    fn shut_listed(&self, chunk: &Chunk, gate: &impl Gate) {
        let mut stretch: Option<Span> = None;
        for (start, end) in chunk.runs() {
            match &mut stretch {
                Some(stretch) if (start - stretch.end) / self.page <= Self::gap_max(gate) => stretch.end = end,
                _ => {
                    stretch.replace(Span { start, end }).into_iter().for_each(|stretch| self.shut(stretch, gate));
                }
            }
        }
        stretch.into_iter().for_each(|stretch| self.shut(stretch, gate));
    }

    fn gap_max<G: Gate>(_gate: &G) -> usize {
        G::GAP_MAX
    }

    /// Shuts the pages of a span that are not written. What cannot be shut counts as written again.
    fn shut(&self, span: Span, gate: &impl Gate) {
        let shut = |span: Span, executable: bool| {
            if gate.shut(span, executable).is_err() {
                for (index, mask) in self.masks(span) {
                    self.blocks[index].mark(mask, gate);
                }
            }
            Ok(())
        };
        let mut joined = Joined::default();
        for (index, mask) in self.masks(span) {
            let block = &self.blocks[index];
            let shuttable = block.writable.load() & !block.written.load() & mask;
            let _ = self.each_run(index, shuttable, |span, executable| joined.add(span, executable, &shut));
        }
        let _ = joined.finish(&shut);
    }

    /// Runs `act` while nobody can store to pages of the span, except to those of `held`: who tries waits.
    pub fn while_shut<T>(&self, span: Span, held: &[Span], gate: &impl Gate, act: impl FnOnce() -> T) -> io::Result<T> {
        // Before anything is locked: the allocator's memory may be watched too.
        let mut locks = Vec::with_capacity(span.length() / self.page / WORD + 2);
        let _quiet = Blocked::all();
        self.resets.fetch_add(1);
        locks.extend(self.masks(span).map(|(index, _)| self.lock(index, gate)));
        let shut = |span, executable| gate.shut(span, executable);
        let result = self.each_not_held(span, held, &shut).map(|()| act());
        // What the kernel refuses to open now is opened when somebody writes.
        let _ = self.each_not_held(span, held, &|span, executable| gate.open(span, executable));
        drop(locks);
        self.resets.fetch_add(u32::MAX);
        futex::wake(core::ptr::from_ref(&self.resets).cast(), EVERYBODY);
        result
    }

    /// Does something to the pages that the program may write and that are not held.
    fn each_not_held(&self, span: Span, held: &[Span], act: &impl Fn(Span, bool) -> io::Result<()>) -> io::Result<()> {
        let mut joined = Joined::default();
        for (index, mask) in self.masks(span) {
            let word = self.blocks[index].writable.load() & mask & !self.held_bits(index, held);
            self.each_run(index, word, |span, executable| joined.add(span, executable, act))?;
        }
        joined.finish(act)
    }

    /// Shuts the pages that the program may write and that are not marked as written.
    pub fn shut_unmarked(&self, span: Span, gate: &impl Gate) {
        let _quiet = Blocked::all();
        let _locks: Vec<Locked<'_>> = self.masks(span).map(|(index, _)| self.lock(index, gate)).collect();
        self.shut(span, gate);
    }

    /// The pages were written.
    pub fn mark(&self, span: Span, gate: &impl Gate) {
        self.masks(span).for_each(|(index, mask)| self.blocks[index].mark(mask, gate));
    }

    /// The pages are clean, and the ones that the program may write are shut.
    pub fn arm(&self, span: Span, gate: &impl Gate) {
        let _quiet = Blocked::all();
        let _locks: Vec<Locked<'_>> = self
            .masks(span)
            .map(|(index, mask)| {
                let locked = self.lock(index, gate);
                locked.block.unmark(mask, gate);
                locked
            })
            .collect();
        self.shut(span, gate);
    }

    /// The program may do this with the pages from now on. `set` does it to the pages themselves, short of stores; then
    /// those that are written are opened again.
    pub fn protect(
        &self,
        span: Span,
        protection: Protection,
        gate: &impl Gate,
        set: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<()> {
        let _quiet = Blocked::all();
        let _locks: Vec<Locked<'_>> = self.masks(span).map(|(index, _)| self.lock(index, gate)).collect();
        set()?;
        self.allow(span, protection);
        if !protection.write {
            return Ok(());
        }
        let open = |span, executable| gate.open(span, executable);
        let mut joined = Joined::default();
        for (index, mask) in self.masks(span) {
            let written = self.blocks[index].written.load() & mask;
            self.each_run(index, written, |span, executable| joined.add(span, executable, &open))?;
        }
        joined.finish(&open)
    }

    /// Notes what the program may do, when the pages are so already.
    pub fn allow(&self, span: Span, protection: Protection) {
        for (index, mask) in self.masks(span) {
            let block = &self.blocks[index];
            for (word, allowed) in [(&block.writable, protection.write), (&block.executable, protection.execute)] {
                if allowed {
                    word.fetch_or(mask)
                } else {
                    word.fetch_and(!mask)
                };
            }
        }
    }

    /// Whether no page of the span was written since the last reset.
    pub fn is_clean(&self, span: Span) -> bool {
        self.masks(span).all(|(index, mask)| self.blocks[index].written.load() & mask == 0)
    }

    /// Whether the page at this address was written since the last reset.
    pub fn is_written(&self, address: usize) -> bool {
        let (index, bit) = self.bit_of(address);
        self.blocks[index].written.load() & bit != 0
    }

    /// Whether the program may write to this address.
    pub fn is_writable(&self, address: usize) -> bool {
        let (index, bit) = self.bit_of(address);
        self.blocks[index].writable.load() & bit != 0
    }

    fn bit_of(&self, address: usize) -> (usize, u64) {
        let page = (address - self.span.start) / self.page;
        (page / WORD, 1 << (page % WORD))
    }

    /// Its open runs count no more: nothing of it is left, or nobody shuts it again.
    pub fn forget(&self, gate: &impl Gate) {
        self.blocks.iter().for_each(|block| gate.account(runs(block.written.load()), 0));
    }

    /// Opens pages that a system call is about to write to. They count as written.
    pub fn open_for_call(&self, span: Span, gate: &impl Gate) -> io::Result<()> {
        let _quiet = Blocked::all();
        for (index, mask) in self.masks(span) {
            let locked = self.lock(index, gate);
            self.open(&locked, index, mask & locked.block.writable.load(), gate)?;
        }
        Ok(())
    }

    fn lock(&self, index: usize, gate: &impl Gate) -> Locked<'_> {
        let block = &self.blocks[index];
        let (locked, was_parents) = block.lock();
        if was_parents {
            // The parent's thread was in the middle of something that it finishes there, not here.
            let writable = block.writable.load();
            block.mark(writable, gate);
            let _ = self.each_run(index, writable, |span, executable| gate.open(span, executable));
        }
        locked
    }

    fn masks(&self, span: Span) -> impl Iterator<Item = (usize, u64)> + use<> {
        let page = |address| (address - self.span.start) / self.page;
        bits::masks(page(span.start), page(span.end))
    }

    fn span_of(&self, index: usize, low: usize, high: usize) -> Span {
        let start = self.span.start + index * WORD * self.page;
        Span { start: start + low * self.page, end: (start + high * self.page).min(self.span.end) }
    }

    fn held_bits(&self, index: usize, held: &[Span]) -> u64 {
        let block = self.span_of(index, 0, WORD);
        let page = |address: usize| (address.clamp(block.start, block.end) - block.start) / self.page;
        held.iter().fold(0, |bits, span| bits | bits::between(page(span.start), page(span.end)))
    }

    /// The runs of raised bits, each with whether its pages may be executed.
    fn each_run(&self, index: usize, word: u64, mut each: impl FnMut(Span, bool) -> io::Result<()>) -> io::Result<()> {
        let executable = self.blocks[index].executable.load();
        for (word, is_executable) in [(word & !executable, false), (word & executable, true)] {
            for (low, high) in bits::runs_of_word(word) {
                each(self.span_of(index, low, high), is_executable)?;
            }
        }
        Ok(())
    }
}
