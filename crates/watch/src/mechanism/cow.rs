// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel copies a page at the first store, and tells which pages are copies. For containers without userfaultfd.
//!
//! Only a program that asks for it gets this mechanism (`Mechanism::choose`). The program must not reset pinned pages,
//! because stores to them would be lost, and a child of a bare `clone` does not have the memory.
//!
//! Each reserved region is a private mapping of its own file (`backing`). A first write costs a page fault, as with the
//! asynchronous mechanism, and a page of memory; a reset costs a copy of every written page. No mapping stays split for
//! long, so any number of pages is exact. Page protection (`mprotect`) watches the caller's own memory, and regions
//! from before a fork.
//!
//! No thread may store to pages while a reset copies them. The reset protects 4096 pages at a time: a thread that
//! writes there meanwhile gets SIGSEGV and waits in the handler; a system call fails with `EFAULT`, unless the pages
//! are held. So during a reset the requirements of `mprotect` apply here, too.

use core::ops::ControlFlow;
use std::io;

use ntux_platform::memory;
use ntux_platform::protection::{self, Protection, page_size};
use ntux_platform::watching::pagemap::Pagemap;

use super::mprotect::{self, Mprotect, Pages};
use super::{Chunk, Engine, Mechanism};
use crate::backing::Backing;
use crate::ledger::{Gate, Ledger};
use crate::record::{Origin, Record};
use crate::span::Span;
use crate::{Reset, Result};

/// Pages to which stores are forbidden at once.
const WINDOW: usize = 4096;

pub(crate) struct Cow {
    /// Watches the other memory, and keeps the holds.
    protection: Mprotect,
    pagemap: Pagemap,
}

impl Cow {
    pub fn open() -> Result<Cow> {
        // Without memory files it would watch only the other memory.
        memory::create(c"ntux-watch", page_size() as u64)?;
        Ok(Cow { protection: Mprotect::open()?, pagemap: Pagemap::open()? })
    }

    /// The pages of a span that are copies, ascending, until `each` has enough.
    fn each_copy(&self, span: Span, mut each: impl FnMut(usize) -> ControlFlow<()>) -> io::Result<()> {
        let page = page_size();
        let mut entries = [0; 512];
        let mut address = span.start;
        while address < span.end {
            let count = entries.len().min((span.end - address) / page);
            let before = address;
            for is_copy in self.pagemap.are_copies(address, page, &mut entries[..count])? {
                if is_copy && each(address).is_break() {
                    return Ok(());
                }
                address += page;
            }
            if address == before {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(())
    }

    fn list(&self, backing: &Backing, span: Span, pages_max: usize, chunk: &mut Chunk) -> io::Result<usize> {
        let (mut left, mut next) = (pages_max, span.end);
        self.each_copy(span, |address| {
            if backing.is_settled(address) {
                return ControlFlow::Continue(());
            }
            if left == 0 || !chunk.takes(address) {
                next = address;
                return ControlFlow::Break(());
            }
            chunk.push(address, address + page_size());
            left -= 1;
            ControlFlow::Continue(())
        })?;
        Ok(next)
    }

    /// Lists written pages of the first window that has some, and makes them clean.
    fn list_and_renew(
        &self,
        record: &Record,
        backing: &Backing,
        span: Span,
        pages_max: usize,
        chunk: &mut Chunk,
    ) -> io::Result<usize> {
        let mut window = Span { start: span.start, end: span.start };
        let written = loop {
            if window.end == span.end {
                return Ok(span.end);
            }
            window = Span { start: window.end, end: span.end.min(window.end + WINDOW * page_size()) };
            if let Some(written) = self.written_part(backing, window)? {
                break written;
            }
        };
        // A handler installed meanwhile must not get the faults of pages that are shut now.
        let _ = mprotect::put_in_front();
        let held = self.protection.holds().all();
        let mut renewal = Renewal { record, backing, held: &held, left: pages_max, chunk, run: None, next: window.end };
        let renewed = record.ledger().while_shut(written, &held, &Pages, || {
            let result = self.each_copy(written, |address| renewal.take(address));
            renewal.drop_copies();
            result
        });
        let next = renewal.next;
        match renewed {
            Ok(result) => result.map(|()| next),
            // The reset failed: listed pages stay written.
            Err(_) => self.list(backing, window, pages_max, chunk),
        }
    }

    /// From the first to the last written page.
    fn written_part(&self, backing: &Backing, span: Span) -> io::Result<Option<Span>> {
        let mut part: Option<Span> = None;
        self.each_copy(span, |address| {
            if !backing.is_settled(address) {
                part.get_or_insert(Span { start: address, end: address }).end = address + page_size();
            }
            ControlFlow::Continue(())
        })?;
        Ok(part)
    }
}

/// A reset in progress. No thread may store to the pages that it takes, except to held ones.
struct Renewal<'a> {
    record: &'a Record,
    backing: &'a Backing,
    held: &'a [Span],
    left: usize,
    chunk: &'a mut Chunk,
    /// Copies whose contents are in the file, and pages between them that are not copies.
    run: Option<Span>,
    next: usize,
}

impl Renewal<'_> {
    /// Lists a copy, and makes it clean if it is not held.
    fn take(&mut self, address: usize) -> ControlFlow<()> {
        let page = Span { start: address, end: address + page_size() };
        let is_settled = self.backing.is_settled(address);
        if !is_settled {
            if self.left == 0 || !self.chunk.takes(address) {
                self.next = address;
                return ControlFlow::Break(());
            }
            self.chunk.push(page.start, page.end);
            self.left -= 1;
        }
        // A held page may become a copy at any moment.
        let passed = Span { start: self.run.map_or(page.start, |run| run.end), end: page.end };
        if self.held.iter().any(|held| held.start < passed.end && passed.start < held.end) {
            self.drop_copies();
        }
        let is_held = self.held.iter().any(|held| held.contains(page));
        if is_settled || is_held || !self.record.ledger().is_writable(address) {
            self.drop_copies();
            if !self.record.ledger().is_writable(address) {
                self.backing.settle(address);
            }
        } else {
            self.backing.bring_in(address);
            self.run.get_or_insert(page).end = page.end;
        }
        ControlFlow::Continue(())
    }

    fn drop_copies(&mut self) {
        self.run.take().into_iter().for_each(|run| self.backing.drop_copies(run));
    }
}

/// The file of a region that the kernel watches.
fn live(record: &Record) -> Option<&Backing> {
    record.backing.as_ref().filter(|backing| !backing.is_frozen())
}

/// Makes the kernel copy a page: a store that changes nothing, whoever else stores there.
///
/// In assembly, because the compiler may leave out an atomic operation that changes nothing. (`fetch_or(0)` became a locked
/// instruction on the stack.)
///
/// # Safety
/// `address` is that of an aligned word that this process may write.
unsafe fn store_what_is_there(address: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the caller's; the instruction is atomic and leaves the word as it is.
    unsafe {
        core::arch::asm!("lock or dword ptr [{}], 0", in(reg) address, options(nostack));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: the caller's; the store happens only if nobody stored since the load, so it leaves the word as it is.
    unsafe {
        core::arch::asm!(
            "2: ldxr {word:w}, [{address}]",
            "stxr {failed:w}, {word:w}, [{address}]",
            "cbnz {failed:w}, 2b",
            address = in(reg) address,
            word = out(reg) _,
            failed = out(reg) _,
            options(nostack),
        );
    }
}

impl Engine for Cow {
    fn mechanism(&self) -> Mechanism {
        Mechanism::Cow
    }

    fn attach(&mut self, record: &mut Record) -> Result<()> {
        if record.ledger.is_none()
            && record.origin == Origin::Reserved
            && Pages.has_room()
            && let Ok(backing) = Backing::put_behind(record.span)
        {
            let ledger = Box::new(Ledger::new(record.span));
            ledger.set_kernels(true);
            record.backing = Some(backing);
            // Its two mappings reduce the number that others can have.
            Pages.account(0, 1);
            mprotect::enter(record, ledger);
            return Ok(());
        }
        self.protection.attach(record)
    }

    fn arm(&self, record: &Record, span: Span) -> Result<()> {
        match live(record) {
            // Nobody has written there yet.
            Some(_) => Ok(()),
            None => self.protection.arm(record, span),
        }
    }

    fn detach(&mut self, record: &Record) {
        self.protection.detach(record);
        if record.backing.is_some() {
            Pages.account(1, 0);
        }
    }

    fn collect(&self, record: &Record, span: Span, pages_max: usize, reset: Reset, chunk: &mut Chunk) -> usize {
        let Some(backing) = live(record) else {
            return self.protection.collect(record, span, pages_max, reset, chunk);
        };
        let next = match reset {
            Reset::No => self.list(backing, span, pages_max, chunk),
            Reset::Yes => self.list_and_renew(record, backing, span, pages_max, chunk),
        };
        next.unwrap_or_else(|_| chunk.count_as_written(span, pages_max))
    }

    fn clear(&self, record: &Record, span: Span) -> Result<()> {
        super::clear_by_collecting(self, record, span);
        Ok(())
    }

    /// The mechanism can lose sight only of the caller's memory.
    fn latch_lost(&self, record: &Record, span: Span, reset: Reset) {
        self.protection.latch_lost(record, span, reset);
    }

    fn protect(&self, record: &Record, span: Span, protection: Protection) -> Result<()> {
        let Some(backing) = live(record) else { return self.protection.protect(record, span, protection) };
        let set = || {
            if protection.write && backing.is_any_settled(span) {
                mprotect::set(span, Protection { read: true, write: false, ..protection })?;
                backing.bring_in_settled(span);
            }
            mprotect::set(span, protection)
        };
        Ok(record.ledger().protect(span, protection, &Pages, set)?)
    }

    fn decommit(&self, record: &Record, span: Span) -> Result<()> {
        self.protect(record, span, Protection::NONE)?;
        match (live(record), &record.backing) {
            (Some(backing), _) => Ok(backing.forget(span)?),
            // The file cannot be emptied, because other processes share it.
            (None, Some(_)) => {
                // SAFETY: the caller of `Region::decommit` gives up the contents.
                unsafe { protection::renew(span.start, span.length()) }?;
                self.arm(record, span)
            }
            (None, None) => self.protection.decommit(record, span),
        }
    }

    fn hold(&self, record: &Record, span: Span) -> Result<()> {
        if live(record).is_none() {
            return self.protection.hold(record, span);
        }
        self.protection.holds().add(span);
        for address in (span.start..span.end).step_by(page_size()) {
            if record.ledger().is_writable(address) {
                // SAFETY: the start of a page that the program may write.
                unsafe { store_what_is_there(address) };
            }
        }
        Ok(())
    }

    fn end_hold(&self, span: Span) {
        self.protection.end_hold(span);
    }

    fn before_fork(&self, record: &Record) {
        let Some(backing) = live(record) else { return };
        backing.freeze();
        let ledger = record.ledger();
        ledger.set_kernels(false);
        let held = self.protection.holds().all();
        for part in record.armed_parts(record.span) {
            for held in held.iter() {
                let held = Span { start: held.start.max(part.start), end: held.end.min(part.end) };
                if !held.is_empty() {
                    // It stays open: a system call may be about to write there.
                    ledger.mark(held, &Pages);
                }
            }
            // Page protection notices writes from here on; pages written before are copies.
            ledger.shut_unmarked(part, &Pages);
            let marked = self.each_copy(part, |address| {
                if !backing.is_settled(address) {
                    ledger.mark(Span { start: address, end: address + page_size() }, &Pages);
                }
                ControlFlow::Continue(())
            });
            if marked.is_err() {
                ledger.mark(part, &Pages);
            }
        }
    }

    fn restart(&mut self) -> Result<()> {
        self.pagemap = Pagemap::open()?;
        self.protection.restart()
    }
}
