//! The memory of the cache of descriptors: 16 bytes for each number, mapped when the first one is to be remembered.
//!
//! It is no table of the library, because collectors that take such tables for roots (Boehm's) would read all of it at each
//! collection. What a program does not use of it is never touched.
//!
//! # Transitions
//! The address is 0, or that of the mapping, which stays as long as the process: whoever needs it first maps it and puts its
//! address there by one exchange; who comes second takes its own mapping away again. In a process whose threads do not all
//! have the same descriptors it becomes [`OFF`], and stays so.
//!
//! Nothing has to run before: 0 is what the loader leaves there. A child of fork has the mapping as a copy; what a `vfork`
//! child maps is its parent's too, as the address is. Where no memory can be mapped nothing is remembered: every call asks
//! its descriptor, as for numbers that are too high.
//!
//! # Interrupted, killed
//! Between the mapping and the exchange: 16 MiB of addresses, and no memory, are lost to the process. A handler that comes in
//! between maps its own.

use core::mem::size_of;
use ntux_platform::atomic::{Word64, Word128};
use ntux_platform::protection::{self, Protection};

/// Descriptors below this are remembered; others are asked every time.
pub(super) const REMEMBERED: usize = 1 << 20;

/// The address of so many entries, all zero at first; 0 until somebody needs them; [`OFF`] when nobody may.
static ENTRIES: Word64 = Word64::new(0);
/// No address: nothing is remembered any more.
const OFF: u64 = 1;

/// The entry of a descriptor; none if there is no memory yet. Async-signal-safe.
#[inline(always)]
pub(super) fn get(fd: u32) -> Option<&'static Word128> {
    at(ENTRIES.load(), fd)
}

/// As [`get`], with memory for all if there was none yet; none if there is no memory to be had. Async-signal-safe.
#[inline(always)]
pub(super) fn get_or_map(fd: u32) -> Option<&'static Word128> {
    match ENTRIES.load() {
        0 => at(map(), fd),
        entries => at(entries, fd),
    }
}

/// Whether there can be an entry at all.
#[inline(always)]
pub(super) fn any() -> bool {
    ENTRIES.load() > OFF
}

/// From now on nothing is remembered. (Who has found an entry before may still use it.)
#[cold]
pub(super) fn turn_off() {
    ENTRIES.store(OFF);
}

#[inline(always)]
fn at(entries: u64, fd: u32) -> Option<&'static Word128> {
    if entries <= OFF || fd as usize >= REMEMBERED {
        return None;
    }
    // SAFETY: not 0 and not off, so a mapping of so many entries, aligned as pages are, which is never unmapped; they are atomic words,
    // for which zero is a value.
    Some(unsafe { &*(entries as *const Word128).add(fd as usize) })
}

/// The address of the mapping, ours or that of who was faster; 0 without memory. The error number stays as it was.
#[cold]
fn map() -> u64 {
    const LENGTH: usize = REMEMBERED * size_of::<Word128>();
    ntux_platform::keeping_errno(|| {
        let Ok(mapped) = protection::allocate(LENGTH, Protection::READ_WRITE) else { return 0 };
        match ENTRIES.compare_exchange(0, mapped as u64) {
            Ok(()) => mapped as u64,
            Err(faster) => {
                // SAFETY: mapped above, and nobody else knows it. If it cannot be taken away, it is addresses and no memory.
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
