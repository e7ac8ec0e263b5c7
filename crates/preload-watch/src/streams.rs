// SPDX-License-Identifier: MIT OR Apache-2.0
//! C's streams, for which the C library reads and writes internally, without interposable calls.
//!
//! Bits of a page map are filled in after `fread` has copied the entries out of the stream's buffer. A clear is found
//! in the buffer before `fflush` or `fclose` writes it. A clear through an unbuffered stream is not seen; then the bits
//! stay set, and nothing is lost.

use core::ffi::c_int;
use libc::FILE;
use ntux_platform::keeping_errno;

use crate::descriptors::{self, Kind};
use crate::soft_dirty;

/// The beginning of glibc's streams, on which macros of its header have always relied.
#[repr(C)]
struct Begin {
    flags: c_int,
    reading: [*const u8; 3],
    writing_from: *const u8,
    writing_to: *const u8,
}

/// A page map that is about to be read.
#[derive(Clone, Copy)]
pub(crate) struct Reading {
    fd: c_int,
    from: usize,
}

/// The stream and its position, if it reads a page map.
///
/// # Safety
/// A stream that is open.
#[inline(always)]
pub(crate) unsafe fn reading(stream: *mut FILE) -> Option<Reading> {
    if !soft_dirty::is_wanted() {
        return None;
    }
    // SAFETY: the caller's promise.
    unsafe { of_kind(stream, Kind::Pagemap) }.and_then(|fd| {
        // SAFETY: the caller's promise.
        let from = unsafe { libc::ftello(stream) };
        Some(Reading { fd, from: usize::try_from(from).ok()? })
    })
}

/// Handles bytes that were read.
///
/// # Safety
/// They can be written.
#[cold]
pub(crate) unsafe fn after_read(reading: Reading, buffer: *mut u8, read: usize) {
    // Partly read entries stay as they are.
    let skipped = reading.from.wrapping_neg() % size_of::<u64>();
    if read > skipped {
        let from = (reading.from + skipped) as i64;
        // SAFETY: what is left of the caller's bytes.
        unsafe {
            soft_dirty::after_read(reading.fd, buffer.wrapping_add(skipped), (read - skipped) as isize, Some(from));
        }
    }
}

/// Returns whether flushing the stream's buffer will clear this process's bits.
///
/// # Safety
/// A stream that is open, or null.
#[inline(always)]
pub(crate) unsafe fn will_clear(stream: *mut FILE) -> bool {
    if stream.is_null() || !soft_dirty::is_wanted() {
        return false;
    }
    // SAFETY: the caller's promise.
    unsafe { of_kind(stream, Kind::OwnClearRefs).is_some() && soft_dirty::means_clear(written_so_far(stream)) }
}

/// The stream's descriptor, if it is of this kind.
unsafe fn of_kind(stream: *mut FILE, kind: Kind) -> Option<c_int> {
    // SAFETY: the caller's promise. It fails, with an error number, where a stream has no descriptor.
    let fd = keeping_errno(|| unsafe { libc::fileno(stream) });
    let is = fd >= 0 && !descriptors::is_ordinary(fd) && keeping_errno(|| descriptors::kind(fd)) == kind;
    is.then_some(fd)
}

/// The unwritten bytes of the buffer.
unsafe fn written_so_far<'a>(stream: *mut FILE) -> &'a [u8] {
    // SAFETY: a stream of glibc begins like this.
    let begin = unsafe { &*stream.cast::<Begin>() };
    let length = (begin.writing_to as usize).saturating_sub(begin.writing_from as usize);
    match length {
        0 => &[],
        // SAFETY: between the two lies what was written and is not yet out.
        _ => unsafe { core::slice::from_raw_parts(begin.writing_from, length) },
    }
}
