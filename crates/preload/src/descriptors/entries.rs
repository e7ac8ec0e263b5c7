// SPDX-License-Identifier: MIT OR Apache-2.0
//! The memory of the descriptor cache: 16 bytes for each number, mapped when the first one is cached.
//!
//! It is not a static table, because collectors that scan such tables as roots (Boehm's) would read all of it at each
//! collection. Entries that a program does not use are never touched.
//!
//! # Transitions
//! The address is 0, or that of the mapping, which lives as long as the process. The first thread that needs the
//! mapping creates it and stores its address by one exchange; a thread that loses the race unmaps its own. In a process
//! whose threads do not all share their descriptors the address becomes [`OFF`], and stays so.
//!
//! No initialization is needed: the loader provides the 0. A child of fork has a copy of the mapping; a `vfork` child
//! shares mapping and address with its parent. If no memory can be mapped, nothing is cached: every call queries its
//! descriptor, as for numbers that are too high.
//!
//! # Interrupted, killed
//! A thread killed between the mapping and the exchange leaks 16 MiB of addresses, and no memory. A handler that runs
//! in between creates its own mapping.

use core::mem::size_of;
use ntux_platform::atomic::{Word64, Word128};
use ntux_platform::protection::{self, Protection};

/// Descriptors below this are cached; others are queried every time.
pub(super) const REMEMBERED: usize = 1 << 20;

/// The address of the entries, all zero at first; 0 until they are needed; [`OFF`] if they must not be used.
static ENTRIES: Word64 = Word64::new(0);
/// No address: nothing is cached any more.
const OFF: u64 = 1;

/// The entry of a descriptor; none if there is no memory yet. Async-signal-safe.
#[inline(always)]
pub(super) fn get(fd: u32) -> Option<&'static Word128> {
    at(ENTRIES.load(), fd)
}

/// The entry of a descriptor; maps the memory if there was none yet. None if no memory is available. Async-signal-safe.
#[inline(always)]
pub(super) fn get_or_map(fd: u32) -> Option<&'static Word128> {
    match ENTRIES.load() {
        0 => at(map(), fd),
        entries => at(entries, fd),
    }
}

/// Returns true if descriptors can have entries at all.
#[inline(always)]
pub(super) fn any() -> bool {
    ENTRIES.load() > OFF
}

/// Stops caching. (A thread that has found an entry before may still use it.)
#[cold]
pub(super) fn turn_off() {
    ENTRIES.store(OFF);
}

#[inline(always)]
fn at(entries: u64, fd: u32) -> Option<&'static Word128> {
    if entries <= OFF || fd as usize >= REMEMBERED {
        return None;
    }
    // SAFETY: not 0 and not off, so a mapping of so many entries, aligned as pages are, which is never unmapped; they
    // are atomic words, for which zero is a value.
    Some(unsafe { &*(entries as *const Word128).add(fd as usize) })
}

/// The address of the mapping, ours or that of a faster thread; 0 without memory. Preserves the error number.
#[cold]
fn map() -> u64 {
    const LENGTH: usize = REMEMBERED * size_of::<Word128>();
    ntux_platform::keeping_errno(|| {
        let Ok(mapped) = protection::allocate(LENGTH, Protection::READ_WRITE) else { return 0 };
        match ENTRIES.compare_exchange(0, mapped as u64) {
            Ok(()) => mapped as u64,
            Err(faster) => {
                // SAFETY: mapped above, and nobody else knows it. If it cannot be taken away, it is addresses and no
                // memory.
                let _ = unsafe { protection::free(mapped, LENGTH) };
                faster
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_threads_have_the_same_entries() {
        let seen: Vec<usize> = std::thread::scope(|scope| {
            let look = || core::ptr::from_ref(get_or_map(7).expect("memory")) as usize;
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(look)).collect();
            threads.into_iter().map(|thread| thread.join().expect("it ends")).collect()
        });
        assert!(seen.iter().all(|&entry| entry == seen[0]), "{seen:x?}");
        assert_eq!(get(7).map(|entry| core::ptr::from_ref(entry) as usize), Some(seen[0]));
    }

    #[test]
    fn numbers_that_are_too_high_have_none() {
        let last = REMEMBERED as u32 - 1;
        assert!(get_or_map(last).is_some() && get(last).is_some());
        for fd in [last + 1, i32::MAX as u32, u32::MAX] {
            assert!(get_or_map(fd).is_none() && get(fd).is_none());
        }
    }
}
