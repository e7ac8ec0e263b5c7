// SPDX-License-Identifier: MIT OR Apache-2.0
//! A bit for each page, for mechanisms that keep the list in the program.
//!
//! A page is *shut* (the mechanism is told of stores to it) or *open* (it is not). Every open page has its bit set:
//!
//! * I-open: an open page has its bit set, except while a thread that has the lock of its block is about to set the bit
//!   or to shut the page.
//!
//! So a thread that reads the bit without the lock sees every completed store, because the page was opened before the
//! store, and its bit set before that. A reset clears the bit, then shuts the page, both under the lock. A store in
//! between completes before the reset returns, and so is covered by the page that the reset listed. The opposite state
//! (bit set, page shut) does no harm: the next store is reported, and opens the page.
//!
//! A lock covers 64 pages. A thread has it during one or two system calls, with every signal blocked, and touches no
//! memory of callers meanwhile. So a handler that waits for the lock waits for another thread, which makes progress.
//!
//! # Death, forks
//! The lock word is a process number. A child of fork takes over a lock of its parent, and opens the whole block.

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

/// Wakes all sleepers: the kernel's count is signed.
const EVERYBODY: u32 = i32::MAX as u32;
/// How many locks one reset takes at once. Signals are blocked meanwhile.
const BLOCKS_AT_ONCE: usize = 512;

/// Opens and shuts pages.
pub(crate) trait Gate {
    /// How many shut pages may be shut again to save a call.
    const GAP_MAX: usize;

    fn open(&self, span: Span, executable: bool) -> io::Result<()>;
    fn shut(&self, span: Span, executable: bool) -> io::Result<()>;

    /// Notes that a block that had `before` runs of open pages now has `after`.
    fn account(&self, before: u32, after: u32);
    /// Returns whether the mechanism can afford one more run.
    fn has_room(&self) -> bool;
}

/// The list of written pages of one region.
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
    /// Creates a ledger in which no page is written or writable.
    pub fn new(span: Span) -> Ledger {
        let page = page_size();
        let blocks = zeroed((span.length() / page).div_ceil(WORD));
        Ledger { span, blocks, resets: Word32::new(0), is_kernels: Word32::new(0), page }
    }

    /// Sets whether the kernel keeps the list. If it no longer does, the caller must arm the pages.
    pub fn set_kernels(&self, is_kernels: bool) {
        self.is_kernels.store(u32::from(is_kernels));
    }

    /// Opens the page of a reported store. Returns false if the program must not write there. Async-signal-safe if the
    /// gate is, with all signals blocked.
    pub fn admit(&self, address: usize, gate: &impl Gate) -> bool {
        let (index, bit) = self.bit_of(address);
        let locked = self.lock(index, gate);
        if locked.block.writable.load() & bit == 0 {
            return false;
        }
        if self.is_kernels.load() != 0 {
            // The reset that shut the page is complete, and has opened it again unless the kernel refused.
            return self.each_run(index, bit, |span, executable| gate.open(span, executable)).is_ok();
        }
        if self.open(&locked, index, bit, gate).is_ok() {
            return true;
        }
        drop(locked);
        self.open_all(gate).is_ok()
    }

    /// Waits a moment if a reset is in progress. Otherwise a thread that writes page after page would take the lock of
    /// each block just before the reset, which would follow it through the region. Async-signal-safe.
    pub fn let_resets_pass(&self) {
        const MOMENT_NS: u64 = 1_000_000;
        let resets = self.resets.load();
        if resets != 0 {
            let deadline = Deadline::Monotonic(clock::monotonic_ns() + MOMENT_NS);
            futex::wait(core::ptr::from_ref(&self.resets).cast(), resets, deadline);
        }
    }

    /// Opens pages of one block, or the whole block if they would be too many runs.
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

    /// Opens every page that the program may write. All of them count as written. Async-signal-safe if the gate is,
    /// with all signals blocked.
    pub fn open_all(&self, gate: &impl Gate) -> io::Result<()> {
        let open = |span, executable| gate.open(span, executable);
        let mut joined = Joined::default();
        let mut result = Ok(());
        for index in 0..self.blocks.len() {
            // Unlocked below: a handler has no memory to keep the locks in.
            core::mem::forget(self.lock(index, gate));
            let writable = self.blocks[index].writable.load();
            self.blocks[index].mark(writable, gate);
            result = result.and(self.each_run(index, writable, |span, executable| joined.add(span, executable, &open)));
        }
        result = result.and(joined.finish(&open));
        self.blocks.iter().for_each(|block| drop(Locked { block }));
        result
    }

    /// `Engine::collect` without a reset.
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

    /// `Engine::collect` with a reset. Pages of `held` are listed and stay open.
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
            // No page is written. A store that is about to happen is listed next time.
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

    /// Shuts the listed pages that no longer count as written.
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

    /// Shuts the pages of a span that are not written. A page that cannot be shut counts as written again.
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

    /// Runs `act` while no thread can store to pages of the span, except to those of `held`. A thread that tries waits.
    pub fn while_shut<T>(&self, span: Span, held: &[Span], gate: &impl Gate, act: impl FnOnce() -> T) -> io::Result<T> {
        // Before anything is locked: the allocator's memory may be watched too.
        let mut locks = Vec::with_capacity(span.length() / self.page / WORD + 2);
        let _quiet = Blocked::all();
        self.resets.fetch_add(1);
        locks.extend(self.masks(span).map(|(index, _)| self.lock(index, gate)));
        let shut = |span, executable| gate.shut(span, executable);
        let result = self.each_not_held(span, held, &shut).map(|()| act());
        // A page that the kernel refuses to open now is opened at the next store.
        let _ = self.each_not_held(span, held, &|span, executable| gate.open(span, executable));
        drop(locks);
        self.resets.fetch_add(u32::MAX);
        futex::wake(core::ptr::from_ref(&self.resets).cast(), EVERYBODY);
        result
    }

    /// Calls `act` with the pages that the program may write and that are not held.
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

    /// Marks the pages as written.
    pub fn mark(&self, span: Span, gate: &impl Gate) {
        self.masks(span).for_each(|(index, mask)| self.blocks[index].mark(mask, gate));
    }

    /// Makes the pages clean, and shuts those that the program may write.
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

    /// Sets what the program may do with the pages. `set` changes the pages themselves, but forbids stores; then the
    /// written ones are opened again.
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

    /// Records what the program may do, without changing the pages.
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

    /// Returns whether no page of the span was written since the last reset.
    pub fn is_clean(&self, span: Span) -> bool {
        self.masks(span).all(|(index, mask)| self.blocks[index].written.load() & mask == 0)
    }

    /// Returns whether the page at this address was written since the last reset.
    pub fn is_written(&self, address: usize) -> bool {
        let (index, bit) = self.bit_of(address);
        self.blocks[index].written.load() & bit != 0
    }

    /// Returns whether the program may write to this address.
    pub fn is_writable(&self, address: usize) -> bool {
        let (index, bit) = self.bit_of(address);
        self.blocks[index].writable.load() & bit != 0
    }

    fn bit_of(&self, address: usize) -> (usize, u64) {
        let page = (address - self.span.start) / self.page;
        (page / WORD, 1 << (page % WORD))
    }

    /// Removes the region's open runs from the count, because the region is gone or its pages are never shut again.
    pub fn forget(&self, gate: &impl Gate) {
        self.blocks.iter().for_each(|block| gate.account(runs(block.written.load()), 0));
    }

    /// Opens pages for a system call. They count as written.
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
            // The parent's thread was in the middle of an operation, which it completes in the parent, not here.
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

    /// The runs of set bits, each with whether its pages may be executed.
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
