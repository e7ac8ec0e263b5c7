// SPDX-License-Identifier: MIT OR Apache-2.0
//! Clearing and reading of soft-dirty bits.
//!
//! *Clearing* makes all private memory of this process clean ([`AddressSpace::take`]) and forgets which pages were
//! written. *Reading* a page map sets bit 55 of each entry whose page was written since, or whose memory was mapped
//! since, and clears it elsewhere. Reading takes all information from the descriptor that is read. So it is also right
//! for the page map of another process that clears its bits this way, and, in a child of fork, for an inherited one,
//! which is its parent's.
//!
//! Reading and clearing are two steps, as with the kernel's bits: writes in between are forgotten. A program that must
//! not lose them stops the writers, or clears first and then reads the memory that it needs.
//!
//! # The userfaultfd
//! One word names it: the generation of the process that created it, its descriptor, its inode. In a child the generation differs, so
//! the child creates its own when it first clears; until then all its memory counts as written. If the program closes it,
//! together with all other descriptors that it does not know, the marks are lost: everything counts as written, until
//! the next clear creates another one. The inode tells whether the number still refers to it.
//!
//! Two threads that clear at the same time do the same work twice. If a thread is stopped or dies at any step, others
//! continue; at worst an unused descriptor stays open.

use core::ffi::{CStr, c_int};
use core::mem::{ManuallyDrop, MaybeUninit};
use ntux_platform::atomic::{Word32, Word64};
use ntux_platform::environment::{self, value};
use ntux_platform::keeping_errno;
use ntux_platform::liveness::generation;
use ntux_platform::watching::pagemap::Pagemap;
use ntux_platform::watching::userfault::Userfault;
use ntux_watch::address_space::{self, AddressSpace};
use ntux_watch::{Run, page_size};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use crate::descriptors::{self, Kind};
use crate::next;

const SOFT_DIRTY: u64 = 1 << 55;
/// The bit of our userfaultfd's mark, which the program need not see.
const PROTECTED: u64 = 1 << 57;
const OF_A_FILE: u64 = 1 << 61;
const SWAPPED: u64 = 1 << 62;
const PRESENT: u64 = 1 << 63;
const ENTRY: usize = size_of::<u64>();

/// The number that clears the bits.
const CLEAR: i32 = 4;
/// How many bytes the kernel reads.
const NUMBER_MAX: usize = 12;

/// Soft-dirty bits: wanted or not, and available or not, which the first use determines.
static STATE: Word32 = Word32::new(UNWANTED);
const UNWANTED: u32 = 0;
const WANTED: u32 = 1;
const SERVED: u32 = 2;

/// The userfaultfd: low 22 bits of its process's generation, descriptor, low bits of its inode; 0 for none.
static WATCHER: Word64 = Word64::new(0);
const INODE_BITS: u32 = 22;
const FD_BITS: u32 = 20;
const PROCESS_MASK: u64 = (1 << (u64::BITS - FD_BITS - INODE_BITS)) - 1;
const INODE_MASK: u64 = (1 << INODE_BITS) - 1;
const FD_MASK: u64 = (1 << FD_BITS) - 1;
/// Above the numbers that programs and shells choose by hand, below the usual limit.
const NUMBER_OF_WATCHER: c_int = 900;

/// Reads the user's setting, `NTUX_SOFT_DIRTY`.
pub(crate) fn start() {
    if value(environment::SOFT_DIRTY).is_some_and(|value| value == c"1") {
        STATE.store(WANTED);
    }
}

/// Returns whether to serve soft-dirty bits, as far as is known.
#[inline(always)]
pub(crate) fn is_wanted() -> bool {
    STATE.load() != UNWANTED
}

/// Handles bytes read from a descriptor: from this offset, or from its position, which is now after them.
///
/// # Safety
/// If `read` is positive, that many bytes of the buffer can be written.
#[inline(always)]
pub(crate) unsafe fn after_read(fd: c_int, buffer: *mut u8, read: isize, offset: Option<i64>) {
    if is_wanted() && read > 0 && !descriptors::is_ordinary(fd) {
        // SAFETY: the caller's promise.
        keeping_errno(|| unsafe { look_at_read(fd, buffer, read as usize, offset) });
    }
}

/// Handles bytes written to a descriptor.
///
/// # Safety
/// If `written` is positive, that many bytes of the buffer can be read.
#[inline(always)]
pub(crate) unsafe fn after_write(fd: c_int, buffer: *const u8, written: isize) {
    if is_wanted() && written > 0 && !descriptors::is_ordinary(fd) {
        // SAFETY: the caller's promise.
        keeping_errno(|| unsafe { look_at_written(fd, buffer, written as usize) });
    }
}

#[cold]
unsafe fn look_at_read(fd: c_int, buffer: *mut u8, read: usize, offset: Option<i64>) {
    if descriptors::kind(fd) != Kind::Pagemap || !is_served() {
        return;
    }
    // SAFETY: lseek touches no memory.
    let position = || unsafe { libc::lseek(fd, 0, libc::SEEK_CUR) } - read as i64;
    let Ok(offset) = usize::try_from(offset.unwrap_or_else(position)) else { return };
    // SAFETY: the caller's promise. Entries are whole, because the kernel reads no others, but need not be aligned.
    let entries = Entries { first: buffer.cast(), start: offset / ENTRY * page_size(), count: read / ENTRY };
    // SAFETY: open, as something was read from it.
    let pagemap = Pagemap::borrowed(unsafe { BorrowedFd::borrow_raw(fd) });
    if entries.fill(&pagemap).is_err() {
        entries.change(0, entries.count, |entry| entry | SOFT_DIRTY);
    }
}

#[cold]
unsafe fn look_at_written(fd: c_int, buffer: *const u8, written: usize) {
    if descriptors::kind(fd) != Kind::OwnClearRefs {
        return;
    }
    // SAFETY: the caller's promise.
    if means_clear(unsafe { core::slice::from_raw_parts(buffer, written) }) {
        clear();
    }
}

/// Returns whether these bytes clear soft-dirty bits.
pub(crate) fn means_clear(bytes: &[u8]) -> bool {
    number(&bytes[..bytes.len().min(NUMBER_MAX)]) == Some(CLEAR)
}

/// The number that the kernel would parse from the written bytes.
fn number(text: &[u8]) -> Option<i32> {
    let text = text.split(|&byte| byte == 0).next()?.trim_ascii();
    core::str::from_utf8(text).ok()?.parse().ok()
}

/// Entries read from a page map.
struct Entries {
    first: *mut u64,
    /// Address of the first entry's page.
    start: usize,
    count: usize,
}

impl Entries {
    /// Sets the bit of fresh and written pages, and hides our marks.
    fn fill(&self, pagemap: &Pagemap) -> ntux_watch::Result<()> {
        let end = self.start + self.count * page_size();
        let mut done = 0;
        let mut doubtful = Stretch { first: self.count, end: 0 };
        address_space::each_fresh(pagemap, self.start, end, |run| {
            let (first, end) = self.places(run);
            self.lower(done, first, &mut doubtful);
            // A mark here is the program's own: it uses a userfaultfd itself.
            let bit = if cfg!(feature = "planted") { 0 } else { SOFT_DIRTY };
            self.change(first, end, |entry| entry | bit);
            done = end;
        })?;
        self.lower(done, self.count, &mut doubtful);
        let address = |place: usize| self.start + place * page_size();
        address_space::each_written(pagemap, address(doubtful.first), address(doubtful.end), |run| {
            let (first, end) = self.places(run);
            self.change(first, end, |entry| entry | SOFT_DIRTY);
        })
    }

    /// Clears the bit, and notes pages that may have been written nevertheless: own pages without a mark, and the zero
    /// page, because entries do not distinguish them.
    fn lower(&self, first: usize, end: usize, doubtful: &mut Stretch) {
        for index in first..end {
            self.change(index, index + 1, |entry| {
                if entry & (PRESENT | SWAPPED) != 0 && entry & (PROTECTED | OF_A_FILE) == 0 {
                    *doubtful = Stretch { first: doubtful.first.min(index), end: index + 1 };
                }
                entry & !(SOFT_DIRTY | PROTECTED)
            });
        }
    }

    fn places(&self, run: Run) -> (usize, usize) {
        let place = |address: usize| ((address.max(self.start) - self.start) / page_size()).min(self.count);
        (place(run.start), place(run.start + run.length))
    }

    fn change(&self, first: usize, end: usize, mut change: impl FnMut(u64) -> u64) {
        for index in first..end {
            let place = self.first.wrapping_add(index);
            // SAFETY: below `count`, where the kernel has just put an entry.
            unsafe { place.write_unaligned(change(place.read_unaligned())) };
        }
    }
}

/// Places in what was read.
struct Stretch {
    first: usize,
    end: usize,
}

fn is_served() -> bool {
    match STATE.load() {
        SERVED => true,
        WANTED => find_out(),
        _ => false,
    }
}

/// Returns whether the kernel supports it. If not, the user is told once, and the program gets the kernel's answer.
#[cold]
fn find_out() -> bool {
    let chosen = value(environment::WATCH).is_none_or(|name| name == c"async");
    let works = chosen && address_space::watcher().and_then(|watcher| AddressSpace::own(watcher)?.probe()).is_ok();
    STATE.store(if works { SERVED } else { UNWANTED });
    if !works {
        complain(match chosen {
            true => {
                c"ntux: soft-dirty bits cannot be served here (ntux doctor says why); the program sees the kernel's\n"
            }
            false => c"ntux: soft-dirty bits need NTUX_WATCH=async; the program sees the kernel's\n",
        });
    }
    works
}

/// Clears the bits of this process, if they are served.
pub(crate) fn clear() {
    if !is_served() {
        return;
    }
    let seen = WATCHER.load();
    let Some(userfault) = known(seen).or_else(|| make(seen)) else { return };
    // Pages stay written if this fails.
    let _ = AddressSpace::own(&*userfault).and_then(|space| space.take(|_| ()));
}

/// This process's userfaultfd, if the word names one that is open. The result does not own it.
fn known(word: u64) -> Option<ManuallyDrop<Userfault>> {
    let fd = (word >> INODE_BITS & FD_MASK) as RawFd;
    // SAFETY: open, and made here, as the inode says.
    let opened = || ManuallyDrop::new(Userfault::from(unsafe { OwnedFd::from_raw_fd(fd) }));
    (word != 0 && name(fd) == Some(word)).then(opened)
}

/// Creates one, unless another thread has named another meanwhile, because memory registered with one is refused to the
/// other.
#[cold]
fn make(seen: u64) -> Option<ManuallyDrop<Userfault>> {
    let made = out_of_the_way(address_space::watcher().ok()?.into());
    match WATCHER.compare_exchange(seen, name(made.as_raw_fd())?) {
        Ok(()) => Some(ManuallyDrop::new(Userfault::from(made))),
        Err(found) => known(found),
    }
}

/// What names a descriptor of this process; none if it is not open, or its number is out of range.
fn name(fd: RawFd) -> Option<u64> {
    let number = u64::try_from(fd).ok().filter(|&number| number <= FD_MASK)?;
    // Not its number, which a forked child in another namespace can have, too.
    let process = u64::from(generation()) & PROCESS_MASK;
    Some(process << (INODE_BITS + FD_BITS) | number << INODE_BITS | inode(fd)? & INODE_MASK)
}

/// The same under a number that the program is unlikely to use.
fn out_of_the_way(fd: OwnedFd) -> OwnedFd {
    // SAFETY: the call touches no memory.
    let moved = unsafe { next::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, NUMBER_OF_WATCHER as usize) };
    // SAFETY: made just now for this very call.
    if moved < 0 { fd } else { unsafe { OwnedFd::from_raw_fd(moved) } }
}

fn inode(fd: RawFd) -> Option<u64> {
    let mut status = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: a place for the answer, which the kernel fills in whole when it returns 0.
    unsafe { (libc::fstat(fd, status.as_mut_ptr()) == 0).then(|| status.assume_init().st_ino) }
}

fn complain(message: &CStr) {
    // SAFETY: reads the message's bytes only.
    unsafe { next::write(libc::STDERR_FILENO, message.as_ptr().cast(), message.to_bytes().len()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_the_kernel_reads_them() {
        for text in ["4", "4\n", " 4 ", "+4", "04", "4\n\n", "4\0rest"] {
            assert_eq!(number(text.as_bytes()), Some(CLEAR), "{text:?}");
        }
        for text in ["", "1", "44", "-4", "4 4", "four", "0x4"] {
            assert_ne!(number(text.as_bytes()), Some(CLEAR), "{text:?}");
        }
    }

    #[test]
    fn only_entries_that_were_read_are_changed() {
        let mut bytes = [0xff_u8; 3 * ENTRY + 1];
        let entries = Entries { first: bytes[1..].as_mut_ptr().cast(), start: 5 * page_size(), count: 2 };
        let whole = entries.places(Run { start: 0, length: 100 * page_size() });
        assert_eq!(whole, (0, 2));
        assert_eq!(entries.places(Run { start: 6 * page_size(), length: page_size() }), (1, 2));
        entries.change(whole.0, whole.1, |_| 0);
        assert_eq!(bytes[0], 0xff);
        assert_eq!(bytes[1..=2 * ENTRY], [0; 2 * ENTRY]);
        assert_eq!(bytes[2 * ENTRY + 1..], [0xff; ENTRY]);
    }
}
