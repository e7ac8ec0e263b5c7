// SPDX-License-Identifier: MIT OR Apache-2.0
//! The mechanisms that watch the measured memory.

use core::mem::MaybeUninit;
use std::io;

use ntux_platform::protection::{self, Protection, page_size};
use ntux_platform::watching::pagemap::{Found, Pagemap};
use ntux_platform::watching::userfault::{Faults, Features, Userfault};
use ntux_watch::{Mechanism, Range, Region, Reset, Watcher};

use super::textbook::Textbook;

pub(crate) const UNTRACKED: &str = "untracked";
pub(crate) const BARE: &str = "bare ioctl";
pub(crate) const ASYNC: &str = "async";
pub(crate) const COW: &str = "cow";
pub(crate) const MPROTECT: &str = "mprotect";
pub(crate) const TEXTBOOK: &str = "textbook";

/// Everybody, best first.
pub(crate) const ALL: [&str; 7] = [UNTRACKED, BARE, ASYNC, "sync", MPROTECT, COW, TEXTBOOK];

/// Memory, and who watches it.
pub(crate) struct Subject {
    pub(crate) base: usize,
    pub(crate) pages: usize,
    watch: Watch,
}

enum Watch {
    Nobody,
    Bare(Bare),
    Ntux(Region),
    Textbook(Textbook),
}

/// The kernel's interface without anything around it, and with room for everything.
struct Bare {
    _userfault: Userfault,
    pagemap: Pagemap,
    found: Box<[MaybeUninit<Found>]>,
}

impl Subject {
    /// Memory of so many pages, each written once before it is watched.
    pub(crate) fn open(name: &str, pages: usize) -> io::Result<Subject> {
        let length = pages * page_size();
        if let Some(mechanism) = Mechanism::named(name) {
            let watcher = Watcher::with(mechanism).map_err(|error| io::Error::other(error.to_string()))?;
            let region = watcher.reserve(length).map_err(io::Error::other)?;
            region.commit(region.range(), Protection::READ_WRITE).map_err(io::Error::other)?;
            let subject = Subject { base: region.range().start, pages, watch: Watch::Ntux(region) };
            subject.touch();
            subject.reset()?;
            return Ok(subject);
        }
        let base = protection::allocate(length, Protection::READ_WRITE)?;
        let mut subject = Subject { base, pages, watch: Watch::Nobody };
        subject.touch();
        subject.watch = match name {
            BARE => Watch::Bare(Bare::watch(base, pages)?),
            TEXTBOOK => Watch::Textbook(Textbook::watch(base, pages)?),
            _ => Watch::Nobody,
        };
        Ok(subject)
    }

    fn touch(&self) {
        (0..self.pages).for_each(|page| self.write(page));
    }

    /// A store to a page.
    #[inline(always)]
    pub(crate) fn write(&self, page: usize) {
        // SAFETY: a page of this memory, used in this way only.
        unsafe { ((self.base + page * page_size()) as *mut u64).write_volatile(1) };
    }

    /// Lists written pages; how many.
    pub(crate) fn get(&mut self, addresses: &mut [usize], reset: bool) -> io::Result<usize> {
        let (base, pages) = (self.base, self.pages);
        match &mut self.watch {
            Watch::Nobody => Ok(0),
            Watch::Bare(bare) => bare.get(base, pages, reset),
            Watch::Ntux(region) => {
                let reset = if reset { Reset::Yes } else { Reset::No };
                region.get(region.range(), addresses, reset).map_err(io::Error::other)
            }
            Watch::Textbook(textbook) => textbook.get(addresses, reset),
        }
    }

    pub(crate) fn reset(&self) -> io::Result<()> {
        match &self.watch {
            Watch::Nobody => Ok(()),
            Watch::Bare(bare) => bare.pagemap.protect(self.base, self.base + self.pages * page_size()),
            Watch::Ntux(region) => region.reset(region.range()).map_err(io::Error::other),
            Watch::Textbook(textbook) => textbook.reset(),
        }
    }

    /// The range, for those who ask a watcher themselves.
    pub(crate) fn range(&self) -> Range {
        Range::new(self.base, self.pages * page_size())
    }
}

impl Drop for Subject {
    fn drop(&mut self) {
        let is_ours = !matches!(self.watch, Watch::Ntux(_));
        self.watch = Watch::Nobody;
        if is_ours {
            // SAFETY: allocated by `open`, watched by nobody any more.
            let _ = unsafe { protection::free(self.base, self.pages * page_size()) };
        }
    }
}

impl Bare {
    fn watch(base: usize, pages: usize) -> io::Result<Bare> {
        let userfault = Userfault::open(Features::ASYNCHRONOUS, Faults::OfUserMode)?;
        userfault.register(base, pages * page_size())?;
        userfault.protect(base, pages * page_size())?;
        let found = vec![MaybeUninit::new(Found::default()); pages / 2 + 1].into_boxed_slice();
        Ok(Bare { _userfault: userfault, pagemap: Pagemap::open()?, found })
    }

    fn get(&mut self, base: usize, pages: usize, reset: bool) -> io::Result<usize> {
        let progress = self.pagemap.written(base, base + pages * page_size(), pages, reset, &mut self.found)?;
        let runs = self.found[..progress.count].iter();
        // SAFETY: all were initialized, and the kernel has filled these in.
        Ok(runs.map(|run| unsafe { run.assume_init() }).map(|run| (run.end - run.start) as usize / page_size()).sum())
    }
}
