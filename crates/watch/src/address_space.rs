// SPDX-License-Identifier: MIT OR Apache-2.0
//! All pages that a process has written in its private memory, as soft-dirty bits tell.
//!
//! There are no regions or records: the kernel's marks are the only state, with one asynchronous userfaultfd that keeps
//! them. Nothing here takes a lock, or memory from the heap, so it may run while other threads are stopped anywhere (by
//! a collector that has stopped the world).
//!
//! # What counts as written
//! A private page becomes the process's own when it is written; before, it is a page of the mapped file, the zero page,
//! or nothing. So the *written* pages are the own pages without a mark, in registered memory. Memory that is not
//! registered was mapped since the last [`take`](AddressSpace::take), or cannot be registered: it is *fresh*, and any
//! of its pages may be written.
//!
//! A huge page that the kernel made by itself is the process's own with its first store, so it is listed whole once.
//! Then it is listed page by page, as the others.
//!
//! Only own pages get marks. An absent page needs none: it becomes an own page, without a mark, when it is first
//! written. So reserved address space costs nothing, however much there is, and no absent page looks swapped out.
//!
//! # Which memory is left out
//! Shared memory, because others write it unseen; pages of hugetlbfs; what the kernel itself maps (such as `[vdso]`).
//! It stays fresh for ever. So does memory that another userfaultfd has registered, unless that is asynchronous, too:
//! then the marks of its owner are read.
//!
//! # What is not lost
//! The kernel lists and marks a page in one step, under the lock of its page table. A store that races with
//! [`take`](AddressSpace::take) is listed, or its page is written afterwards. A mapping that appears while it runs is
//! fresh. If the thread dies meanwhile, the pages that it had marked are clean, and were reported to nobody. Two
//! threads that take at the same time share the written pages.

use core::borrow::Borrow;
use core::mem::MaybeUninit;
use std::io;

use ntux_platform::protection::page_size;
use ntux_platform::watching::mappings::{Mapped, Mappings};
use ntux_platform::watching::pagemap::{Found, Pagemap, Progress};
use ntux_platform::watching::userfault::{Faults, Features, Userfault};

use crate::Result;
use crate::sink::Run;
use crate::span::Span;

/// Runs that are listed at once. Small: the caller may be a signal handler on a small stack.
const CHUNK: usize = 64;

/// The memory of a process, this one or another.
pub struct AddressSpace<W> {
    watcher: W,
    pagemap: Pagemap,
    mappings: Mappings,
}

/// Creates a userfaultfd that watches the calling process. Marks stay as long as it is open, here or in another
/// process.
///
/// Errors: the system's, if it has no asynchronous userfaultfd (Linux 6.7) or a filter refuses it.
pub fn watcher() -> Result<Userfault> {
    // No thread is ever blocked, so faults of the kernel need no privilege here.
    Ok(Userfault::open(Features::ASYNCHRONOUS, Faults::OfUserMode)?)
}

impl<W: Borrow<Userfault>> AddressSpace<W> {
    /// The memory of the calling process, which created `watcher` with [`watcher`].
    pub fn own(watcher: W) -> Result<AddressSpace<W>> {
        Ok(AddressSpace { watcher, pagemap: Pagemap::open_to_scan()?, mappings: Mappings::open()? })
    }

    /// The memory of another process, which created `watcher` with [`watcher`] and passed it on.
    pub fn of(process: u32, watcher: W) -> Result<AddressSpace<W>> {
        Ok(AddressSpace { watcher, pagemap: Pagemap::of(process)?, mappings: Mappings::of(process)? })
    }

    /// Its mappings.
    pub fn mappings(&self) -> &Mappings {
        &self.mappings
    }

    /// Fails if the kernel cannot list written pages. Changes nothing.
    pub fn probe(&self) -> Result<()> {
        let page = page_size();
        let own = core::ptr::from_ref(self) as usize & !(page - 1);
        each_written(&self.pagemap, own, own + page, |_| ())
    }

    /// Calls `put` with each run of pages written since the last call, ascending, and makes them clean. At the first
    /// call, and for memory mapped since the last, these are all pages that were ever written.
    ///
    /// Errors: the system's, if nothing can be registered because the userfaultfd was closed, or the process is gone.
    pub fn take(&self, mut put: impl FnMut(Run)) -> Result<()> {
        let mut tally = Tally::default();
        self.each_stretch(Span { start: 0, end: usize::MAX }, |stretch| {
            self.take_stretch(stretch, &mut tally, &mut put)
        })?;
        match tally.refused {
            Some(error) if !tally.is_any_registered => Err(error.into()),
            _ => Ok(()),
        }
    }

    fn take_stretch(&self, stretch: Span, tally: &mut Tally, put: &mut impl FnMut(Run)) {
        if self.register(stretch).is_ok() {
            tally.is_any_registered = true;
            return self.take_registered(stretch, put);
        }
        // Some mapping cannot be registered, and the kernel does not say which.
        let each = self.mappings.each(stretch.start, stretch.end, &mut [], |mapped, _| {
            let span = Span { start: mapped.start.max(stretch.start), end: mapped.end.min(stretch.end) };
            match self.register(span) {
                Ok(()) => {
                    tally.is_any_registered = true;
                    self.take_registered(span, put);
                }
                Err(error) => tally.refused = Some(error),
            }
        });
        tally.refused = each.err().or(tally.refused.take());
    }

    /// Registers a span. The check afterwards finds shared memory that another thread has mapped here since the check
    /// before. If it stayed registered, it would count as clean, because its pages are never own ones.
    fn register(&self, span: Span) -> io::Result<()> {
        let watcher = self.watcher.borrow();
        if watcher.register(span.start, span.length())?.has_huge_pages {
            watcher.unregister(span.start, span.length())?;
            return Err(io::ErrorKind::Unsupported.into());
        }
        self.mappings.each(span.start, span.end, &mut [], |mapped, _| {
            if !mapped.is_private {
                let _ = watcher.unregister(mapped.start, mapped.end - mapped.start);
            }
        })
    }

    /// Pages that cannot be listed stay written.
    fn take_registered(&self, span: Span, put: &mut impl FnMut(Run)) {
        let _ = each_run(span, put, |start, found| self.pagemap.own_written(start, span.end, true, found));
    }

    /// The private mappings, as stretches with only holes inside.
    fn each_stretch(&self, within: Span, mut act: impl FnMut(Span)) -> io::Result<()> {
        let mut stretch: Option<Span> = None;
        let mut name = [0; 64];
        self.mappings.each(within.start, within.end, &mut name, |mapped, name| {
            if !may_be_marked(mapped, name) {
                stretch.take().into_iter().for_each(&mut act);
                return;
            }
            let start = stretch.map_or(mapped.start, |stretch| stretch.start);
            stretch = Some(Span { start, end: mapped.end });
        })?;
        stretch.into_iter().for_each(act);
        Ok(())
    }
}

/// The results of registering.
#[derive(Default)]
struct Tally {
    is_any_registered: bool,
    refused: Option<io::Error>,
}

/// Excludes the kernel's `[vdso]`, `[vvar]`, `[vvar_vclock]`.
fn may_be_marked(mapped: &Mapped, name: &[u8]) -> bool {
    mapped.is_private && !name.starts_with(b"[v")
}

/// Calls `put` with each run of pages between two addresses that were written since the last [`AddressSpace::take`] of the
/// process that the page map belongs to. Both ends on page boundaries.
pub fn each_written(pagemap: &Pagemap, start: usize, end: usize, mut put: impl FnMut(Run)) -> Result<()> {
    each_run(Span { start, end }, &mut put, |start, found| pagemap.own_written(start, end, false, found))
}

/// Calls `put` with each run of pages between two addresses that are mapped and fresh. Both ends on page boundaries.
pub fn each_fresh(pagemap: &Pagemap, start: usize, end: usize, mut put: impl FnMut(Run)) -> Result<()> {
    each_run(Span { start, end }, &mut put, |start, found| pagemap.unregistered(start, end, found))
}

fn each_run(
    span: Span,
    put: &mut impl FnMut(Run),
    scan: impl Fn(usize, &mut [MaybeUninit<Found>]) -> io::Result<Progress>,
) -> Result<()> {
    // On the stack, which is always writable: the kernel marks pages before it lists them.
    let mut found = [MaybeUninit::uninit(); CHUNK];
    let mut position = span.start;
    while position < span.end {
        let progress = scan(position, &mut found)?;
        for run in &found[..progress.count] {
            // SAFETY: the kernel has filled in as many entries as it says.
            let run = unsafe { run.assume_init() };
            put(Run { start: run.start as usize, length: (run.end - run.start) as usize });
        }
        if progress.next <= position {
            return Err(crate::Error::Os(ntux_platform::error::EIO));
        }
        position = progress.next;
    }
    Ok(())
}
