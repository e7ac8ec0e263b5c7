// SPDX-License-Identifier: MIT OR Apache-2.0
//! The file behind reserved memory, for the mechanism in which the kernel copies pages (`mechanism::cow`).
//!
//! The memory is a private mapping of a memory file. A page is *of the file*, or a *copy*, which the kernel makes at
//! the first store, whoever stores. The page map tells which.
//!
//! ```text
//!     of the file --- store: the kernel copies --> copy --- reset: into the file, and dropped --> of the file
//!                                                   |  ^
//!             reset, where nobody may write: noted  v  |  may be written again: into the file, and dropped
//!                                                 settled
//! ```
//!
//! * I-copy: a page that differs from the file is a copy. A copy was written since the last reset, unless it is settled.
//! * I-settled: nobody may write to a settled page. (If the program allows no access, its contents cannot be read.)
//! * I-file: the file changes only where the region shows a copy, or may not be accessed, so nobody sees the change.
//!
//! A thread that writes contents to the file must prevent stores to the copy until the copy is dropped.
//!
//! # Forks
//! A child of fork shares the file, so the file must not change any more. The fork hook *freezes* the region: from then
//! on page protection watches it, in parent and child. A child of a bare `clone`, which calls no hook, does not get the
//! memory.

use std::io;
use std::os::fd::AsFd;

use ntux_platform::atomic::Word32;
use ntux_platform::memory::{self, Mapping};
use ntux_platform::protection::{self, page_size};

use crate::bits::Bits;
use crate::span::Span;
use crate::{Error, Result};

pub(crate) struct Backing {
    span: Span,
    /// The writable mapping of the file.
    file: Mapping,
    settled: Bits,
    is_frozen: Word32,
    page: usize,
}

impl Backing {
    /// Puts a file behind newly reserved memory, which stays inaccessible.
    pub fn put_behind(span: Span) -> Result<Backing> {
        let length = span.length() as u64;
        if !memory::may_have_file_of(length) {
            return Err(Error::Exhausted);
        }
        let file = memory::create(c"ntux-watch", length)?;
        let mapping = Mapping::new(file.as_fd(), span.length())?;
        // SAFETY: reserved just now, and nobody knows it yet.
        unsafe { protection::put_file_over(span.start, span.length(), file.as_fd()) }?;
        protection::inherit(span.start, span.length(), false)?;
        let page = page_size();
        let settled = Bits::new(span.length() / page);
        Ok(Backing { span, file: mapping, settled, is_frozen: Word32::new(0), page })
    }

    /// Returns whether the file must not change any more.
    pub fn is_frozen(&self) -> bool {
        self.is_frozen.load() != 0
    }

    /// Freezes the region: the file no longer changes, and a child of fork gets the memory.
    pub fn freeze(&self) {
        self.is_frozen.store(1);
        // If it fails, the child cannot access the memory, like a child of a bare clone.
        let _ = protection::inherit(self.span.start, self.span.length(), true);
    }

    pub fn is_settled(&self, address: usize) -> bool {
        let page = self.number(address);
        self.settled.any(page, page + 1)
    }

    /// Marks a copy as settled: it was reset, and nobody may write to it.
    pub fn settle(&self, address: usize) {
        let page = self.number(address);
        self.settled.raise(page, page + 1);
    }

    /// Returns whether a page of the span is settled.
    pub fn is_any_settled(&self, span: Span) -> bool {
        self.settled.any(self.number(span.start), self.number(span.end))
    }

    /// Writes settled pages to the file, before they become writable again. They must be readable, and nobody may store
    /// to them.
    pub fn bring_in_settled(&self, span: Span) {
        let (first, end) = (self.number(span.start), self.number(span.end));
        for (first, end, _) in self.settled.runs(first, end).filter(|run| run.2) {
            let start = |page| self.span.start + page * self.page;
            (first..end).for_each(|page| self.bring_in(start(page)));
            self.drop_copies(Span { start: start(first), end: start(end) });
        }
        self.settled.lower(first, end);
    }

    /// Writes the contents of a page to the file. The page must be readable, and nobody may store to it.
    pub fn bring_in(&self, address: usize) {
        assert!(self.span.start <= address && address < self.span.end, "a page of the region");
        // SAFETY: both are pages of mappings of this length, which do not overlap; the caller ensures that nobody
        // stores to the first, and nobody reads this page of the file (I-file).
        unsafe {
            let place = self.file.base().as_ptr().add(address - self.span.start);
            core::ptr::copy_nonoverlapping(address as *const u8, place, self.page);
        }
    }

    /// Drops the copies, whose contents are in the file, so that the pages are those of the file again. If the kernel
    /// refuses (locked memory), they stay copies, and count as written.
    pub fn drop_copies(&self, span: Span) {
        // SAFETY: the contents are in the file.
        let _ = unsafe { protection::discard(span.start, span.length()) };
    }

    /// Zeroes pages that nobody may access.
    pub fn forget(&self, span: Span) -> io::Result<()> {
        self.file.discard(span.start - self.span.start, span.length())?;
        // SAFETY: a caller that decommits gives up the contents.
        unsafe { protection::discard(span.start, span.length()) }?;
        self.settled.lower(self.number(span.start), self.number(span.end));
        Ok(())
    }

    fn number(&self, address: usize) -> usize {
        (address - self.span.start) / self.page
    }
}
