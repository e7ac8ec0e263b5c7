// SPDX-License-Identifier: MIT OR Apache-2.0
//! Queries the kernel for written pages (`PAGEMAP_SCAN`, Linux 6.7).
//!
//! A page of a range that is registered with an asynchronous [`Userfault`](super::userfault::Userfault) is *written*
//! unless it is protected. A scan that protects the pages it lists does both in one step for each page, under the lock
//! of the page table: a store that races with it either comes first, and the page is listed, or meets the protection.

use core::mem::{ManuallyDrop, MaybeUninit};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd};
use std::os::unix::fs::FileExt;

use crate::linux::deadly::Call;
use crate::linux::proc;
use crate::watching::pagemap::{Found, Progress, WRITTEN};
use crate::without::Feature;

/// The request, from `linux/fs.h` of Linux 6.7.
const SCAN: libc::c_ulong = 0xc060_6610;
const PROTECT_MATCHING: u64 = 1;
const CAN_BE_PROTECTED: u64 = 1;
const OF_A_FILE: u64 = 4;
const PRESENT: u64 = 8;
const SWAPPED: u64 = 16;
const ZERO: u64 = 32;

/// The parameters of a scan.
#[repr(C)]
#[derive(Default)]
struct Scan {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    found: u64,
    found_capacity: u64,
    pages_max: u64,
    inverted: u64,
    mask: u64,
    any_of: u64,
    returned: u64,
}

impl Scan {
    /// Searches from `start` to `end` for pages that have all of these categories, and lists nothing.
    fn matching(categories: u64, start: usize, end: usize) -> Scan {
        Scan {
            size: size_of::<Scan>() as u64,
            start: start as u64,
            end: end as u64,
            mask: categories,
            returned: categories,
            ..Scan::default()
        }
    }

    /// Requires these categories to be absent.
    fn inverting(self, categories: u64) -> Scan {
        Scan { inverted: categories, ..self }
    }

    /// Also requires one of these categories.
    fn with_any_of(self, categories: u64) -> Scan {
        Scan { any_of: categories, ..self }
    }

    /// Also reports these categories.
    fn telling(self, categories: u64) -> Scan {
        Scan { returned: self.returned | categories, ..self }
    }

    /// Stops after this many pages.
    fn at_most(self, pages: usize) -> Scan {
        Scan { pages_max: pages as u64, ..self }
    }

    /// Protects what it finds.
    fn protecting(self) -> Scan {
        Scan { flags: PROTECT_MATCHING, ..self }
    }

    /// Lists what it finds, while there is room.
    fn into(self, found: &mut [MaybeUninit<Found>]) -> Scan {
        Scan { found: found.as_mut_ptr() as u64, found_capacity: found.len() as u64, ..self }
    }
}

/// A handle to the page map of an address space.
pub struct Pagemap {
    file: File,
}

impl Pagemap {
    /// That of the calling process. Needs `/proc`. After a fork the handle still refers to that process.
    pub fn open() -> io::Result<Pagemap> {
        Ok(Pagemap { file: proc::open_own("pagemap")? })
    }

    /// As `open`, for scans. The first scan shows whether the kernel supports them.
    pub fn open_to_scan() -> io::Result<Pagemap> {
        static CALL: Call = Call::new(libc::SYS_ioctl, [usize::MAX, SCAN as usize]);
        if Feature::PagemapScan.is_left_out() || CALL.is_deadly() {
            return Err(io::Error::from_raw_os_error(libc::ENOSYS));
        }
        Pagemap::open()
    }

    /// That of another process, for scans. Fails without the permission to inspect it.
    pub fn of(process: u32) -> io::Result<Pagemap> {
        Ok(Pagemap { file: proc::Entry::of(process).open("pagemap")? })
    }

    /// The page map behind this descriptor.
    pub fn borrowed(fd: BorrowedFd<'_>) -> ManuallyDrop<Pagemap> {
        // SAFETY: open as long as it is borrowed, and never closed from here.
        ManuallyDrop::new(Pagemap { file: unsafe { File::from_raw_fd(fd.as_raw_fd()) } })
    }

    /// Returns whether each page from `start` on is protected by a userfaultfd (Linux 5.14), for as many pages as the
    /// buffer has room.
    pub fn are_protected<'a>(
        &self,
        start: usize,
        page: usize,
        buffer: &'a mut [u64],
    ) -> io::Result<impl Iterator<Item = bool> + use<'a>> {
        const PROTECTED: u64 = 1 << 57;
        Ok(self.entries(start, page, buffer)?.iter().map(|entry| entry & PROTECTED != 0))
    }

    /// Returns whether each page from `start` on, in a private mapping of a file, is a copy that belongs to this
    /// process alone, for as many pages as the buffer has room. A swapped-out copy counts.
    pub fn are_copies<'a>(
        &self,
        start: usize,
        page: usize,
        buffer: &'a mut [u64],
    ) -> io::Result<impl Iterator<Item = bool> + use<'a>> {
        const PRESENT_OR_SWAPPED: u64 = 3 << 62;
        const OF_FILE: u64 = 1 << 61;
        let entries = self.entries(start, page, buffer)?;
        Ok(entries.iter().map(|entry| entry & PRESENT_OR_SWAPPED != 0 && entry & OF_FILE == 0))
    }

    /// The kernel's entries for the pages from `start` on, as many as the buffer has room for.
    fn entries<'a>(&self, start: usize, page: usize, buffer: &'a mut [u64]) -> io::Result<&'a [u64]> {
        let entry = size_of::<u64>();
        // SAFETY: plain integers seen as bytes.
        let bytes = unsafe {
            core::slice::from_raw_parts_mut(buffer.as_mut_ptr().cast::<u8>(), core::mem::size_of_val(buffer))
        };
        let read = self.file.read_at(bytes, (start / page * entry) as u64)?;
        Ok(&buffer[..read / entry])
    }

    /// Returns whether this kernel keeps soft-dirty bits itself. Right for this process's own page map as long as the
    /// process has never cleared them.
    pub fn has_soft_dirty(&self) -> io::Result<bool> {
        const SOFT_DIRTY: u64 = 1 << 55;
        let mut entry = [0; size_of::<u64>()];
        // Written just above.
        let page = core::ptr::from_ref(&entry) as usize / crate::protection::page_size();
        self.file.read_exact_at(&mut entry, (page * size_of::<u64>()) as u64)?;
        Ok(u64::from_ne_bytes(entry) & SOFT_DIRTY != 0)
    }

    /// Lists written pages from `start` on, ascending, at most `pages_max` (not 0) of them, while `found` has room, and
    /// protects them again if `protect`.
    ///
    /// The kernel protects before it lists: `found` must be writable whatever other threads do, or pages are lost.
    /// Unregistered memory between `start` and `end` is skipped if `protect`, otherwise it counts as written.
    pub fn written(
        &self,
        start: usize,
        end: usize,
        pages_max: usize,
        protect: bool,
        found: &mut [MaybeUninit<Found>],
    ) -> io::Result<Progress> {
        let scan = Scan::matching(WRITTEN, start, end).at_most(pages_max).into(found);
        self.scan(if protect { scan.protecting() } else { scan })
    }

    /// Lists memory between `start` and `end` that any userfaultfd has registered, in runs of pages that are all
    /// written or all not. Unregistered memory costs next to nothing.
    pub fn registered(&self, start: usize, end: usize, found: &mut [MaybeUninit<Found>]) -> io::Result<Progress> {
        self.scan(Scan::matching(CAN_BE_PROTECTED, start, end).telling(WRITTEN).into(found))
    }

    /// Lists written pages of private mappings that are registered, as [`written`](Pagemap::written) does. Such a page
    /// is the process's own; until it is first written, it is a page of the mapped file, or the zero page. Protects
    /// nothing else, so that the kernel need not create page tables for marks.
    pub fn own_written(
        &self,
        start: usize,
        end: usize,
        protect: bool,
        found: &mut [MaybeUninit<Found>],
    ) -> io::Result<Progress> {
        let categories = CAN_BE_PROTECTED | WRITTEN | OF_A_FILE | ZERO;
        let scan = Scan::matching(categories, start, end)
            .inverting(OF_A_FILE | ZERO)
            .with_any_of(PRESENT | SWAPPED)
            .into(found);
        self.scan(if protect { scan.protecting() } else { scan })
    }

    /// Protects every written page of the range, and lists nothing.
    pub fn protect(&self, start: usize, end: usize) -> io::Result<()> {
        self.scan(Scan::matching(WRITTEN, start, end).protecting()).map(drop)
    }

    /// Lists memory that is mapped between `start` and `end` and not registered.
    pub fn unregistered(&self, start: usize, end: usize, found: &mut [MaybeUninit<Found>]) -> io::Result<Progress> {
        self.scan(Scan::matching(CAN_BE_PROTECTED, start, end).inverting(CAN_BE_PROTECTED).into(found))
    }

    fn scan(&self, mut scan: Scan) -> io::Result<Progress> {
        // SAFETY: the kernel reads and writes the request, which has the size it names, and writes `found_capacity`
        // entries at most where the callers above put a slice of that length (or none). Protecting loses no contents.
        let count = unsafe { libc::ioctl(self.file.as_raw_fd(), SCAN as _, core::ptr::from_mut(&mut scan)) };
        match usize::try_from(count) {
            Ok(count) => Ok(Progress { count, next: scan.walk_end as usize }),
            Err(_) => Err(io::Error::last_os_error()),
        }
    }
}
