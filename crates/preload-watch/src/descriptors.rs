// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which descriptors are page maps, or clear soft-dirty bits.
//!
//! Each use of a descriptor reads its link in `/proc/thread-self/fd`. So there is no path to compare and no copy to track, and
//! the answer is right for a descriptor that was inherited, received or opened for another process. A descriptor that
//! is neither, as nearly all are, is cached as *ordinary* by its number, until the number is reused. So reads and
//! writes of ordinary files cost one extra load.
//!
//! If both the close of an ordinary descriptor and the creation of a new one with its number bypass the C library (raw
//! system calls, received messages), the new one also counts as ordinary. Then the program sees the kernel's own
//! soft-dirty bits.

use core::ffi::{CStr, c_int};
use ntux_platform::atomic::Word32;
use ntux_platform::interposition::proc;
use ntux_platform::path::Path;

/// Descriptors below this are cached; others are checked every time.
const REMEMBERED: usize = 1 << 16;
const BITS: usize = u32::BITS as usize;
/// A bit for each descriptor, set if it is known to be ordinary. Small, because a collector scans it as a root.
static ORDINARY: [Word32; REMEMBERED / BITS] = [const { Word32::new(0) }; REMEMBERED / BITS];

/// The kind of a descriptor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// The page map of some process.
    Pagemap,
    /// The file that clears the bits of this process.
    OwnClearRefs,
    /// Anything else.
    Ordinary,
}

/// The descriptor's bit; none if it is not cached.
#[inline(always)]
fn place(fd: c_int) -> Option<(&'static Word32, u32)> {
    let number = fd as u32 as usize;
    Some((ORDINARY.get(number / BITS)?, 1 << (number % BITS)))
}

/// Returns whether the descriptor is known to be ordinary.
#[inline(always)]
pub(crate) fn is_ordinary(fd: c_int) -> bool {
    place(fd).is_some_and(|(word, bit)| word.load() & bit != 0)
}

/// Forgets a number that is reused.
#[inline(always)]
pub(crate) fn forget(fd: c_int) {
    if let Some((word, bit)) = place(fd)
        && word.load() & bit != 0
    {
        word.fetch_and(!bit);
    }
}

/// Determines a descriptor's kind, and caches it if it is ordinary.
#[cold]
pub(crate) fn kind(fd: c_int) -> Kind {
    let kind = ask(fd);
    if kind == Kind::Ordinary
        && let Some((word, bit)) = place(fd)
    {
        word.fetch_or(bit);
    }
    kind
}

fn ask(fd: c_int) -> Kind {
    if !is_of_proc(fd) {
        return Kind::Ordinary;
    }
    let mut path = [0; 128];
    let mut read = |link: Path| Some(target(link.text(), &mut path).len()).filter(|length| *length > 0);
    let length = proc::own_descriptor_paths(fd).find_map(&mut read).unwrap_or(0);
    kind_of(&path[..length], is_of_this_process)
}

/// Returns whether a number of /proc is that of this process, or of one of its threads, which has an entry beside those that are listed.
fn is_of_this_process(number: &[u8]) -> bool {
    let mut own = [0; 16];
    if target(c"/proc/self", &mut own) == number {
        return true;
    }
    let Some(thread) = core::str::from_utf8(number).ok().and_then(|number| number.parse::<u32>().ok()) else {
        return false;
    };
    let path = Path::new(format_args!("/proc/self/task/{thread}"));
    // SAFETY: a string that ends with a zero.
    unsafe { libc::access(path.as_ptr(), libc::F_OK) == 0 }
}

#[allow(clippy::unnecessary_cast, reason = "musl has other types for the same fields")]
fn is_of_proc(fd: c_int) -> bool {
    let mut status = core::mem::MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: a place for the answer, which the kernel fills in whole when it returns 0.
    let known = unsafe { libc::fstatfs(fd, status.as_mut_ptr()) } == 0;
    // SAFETY: whole if it is known.
    known && unsafe { status.assume_init() }.f_type as i64 == libc::PROC_SUPER_MAGIC as i64
}

/// The target of a link; none if it does not fit.
fn target<'a>(link: &CStr, room: &'a mut [u8]) -> &'a [u8] {
    // SAFETY: a string that ends with a zero, and a buffer of the given length.
    let length = unsafe { libc::readlink(link.as_ptr(), room.as_mut_ptr().cast(), room.len()) };
    let length = usize::try_from(length).ok().filter(|&length| length < room.len());
    &room[..length.unwrap_or(0)]
}

/// From a path such as `/proc/12/clear_refs` or `/proc/12/task/13/pagemap`.
fn kind_of(path: &[u8], is_own: impl Fn(&[u8]) -> bool) -> Kind {
    let mut parts = path.rsplit(|&byte| byte == b'/');
    match parts.next() {
        Some(b"pagemap") => Kind::Pagemap,
        Some(b"clear_refs") => {
            let (number, parent) = (parts.next(), parts.next());
            let process = if parent == Some(b"task") { parts.next() } else { number };
            if process.is_some_and(is_own) { Kind::OwnClearRefs } else { Kind::Ordinary }
        }
        _ => Kind::Ordinary,
    }
}

#[cfg(test)]
#[path = "../tests/unit/descriptors.rs"]
mod tests;
