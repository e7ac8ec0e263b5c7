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
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn paths_say_what_a_descriptor_is() {
        let is_own = |number: &[u8]| number == b"12";
        for path in ["/proc/12/pagemap", "/proc/7/pagemap", "/proc/7/task/12/pagemap", "/mnt/proc/12/pagemap"] {
            assert_eq!(kind_of(path.as_bytes(), is_own), Kind::Pagemap, "{path}");
        }
        for path in ["/proc/12/clear_refs", "/proc/12/task/13/clear_refs"] {
            assert_eq!(kind_of(path.as_bytes(), is_own), Kind::OwnClearRefs, "{path}");
        }
        for path in ["/proc/13/clear_refs", "/proc/13/task/12/clear_refs", "clear_refs", "/proc/12/maps", ""] {
            assert_eq!(kind_of(path.as_bytes(), is_own), Kind::Ordinary, "{path}");
        }
    }

    #[test]
    fn descriptors_are_asked_and_ordinary_ones_remembered() {
        let file = std::fs::File::open("/proc/thread-self/pagemap").unwrap();
        assert_eq!(kind(file.as_raw_fd()), Kind::Pagemap);
        assert!(!is_ordinary(file.as_raw_fd()));
        let file = std::fs::OpenOptions::new().write(true).open("/proc/self/clear_refs").unwrap();
        assert_eq!(kind(file.as_raw_fd()), Kind::OwnClearRefs);
        std::thread::spawn(|| {
            // Beside what /proc lists.
            let by_thread = format!("/proc/{}/clear_refs", ntux_platform::liveness::thread_id());
            let file = std::fs::OpenOptions::new().write(true).open(by_thread).unwrap();
            assert_eq!(kind(file.as_raw_fd()), Kind::OwnClearRefs);
        })
        .join()
        .unwrap();
        let file = std::fs::File::open("/proc/self/maps").unwrap();
        assert_eq!(kind(file.as_raw_fd()), Kind::Ordinary);
        assert!(is_ordinary(file.as_raw_fd()));
        forget(file.as_raw_fd());
        assert!(!is_ordinary(file.as_raw_fd()));
        for fd in [-1, c_int::MAX, REMEMBERED as c_int] {
            assert_eq!(kind(fd), Kind::Ordinary);
            assert!(!is_ordinary(fd), "out of range");
        }
    }
}
