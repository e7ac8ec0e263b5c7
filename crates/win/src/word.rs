// SPDX-License-Identifier: MIT OR Apache-2.0
//! A word of the program's memory that threads wait for: what locks without handles are made of.
//!
//! The locks of Windows are as large as a pointer, and programs that pack structures put them at any address. A word of 32 bits lies in each
//! of them at an address that is a multiple of 4 ([`aligned`]); nothing else of the lock is used.

use ntux::Deadline;
use ntux_futex::{Error, Expected, Futex, Size};
use ntux_platform::atomic::{Word32, Word64};
use ntux_platform::kernel_futex::Scope;

/// Waiters and wakes of every class meet.
pub const ANY: u32 = u32::MAX;

/// The word of a lock of 8 bytes at any address.
///
/// # Safety
/// The 8 bytes at `lock` are readable and writable during `'a`, and changed by this library alone.
#[inline]
pub unsafe fn aligned<'a, T>(lock: *mut T) -> &'a Word32 {
    let address = lock.map_addr(|address| address.next_multiple_of(align_of::<Word32>()));
    // SAFETY: at most 3 bytes beyond the first, so 4 bytes of the 8; aligned; all zeros and ones are valid.
    unsafe { &*address.cast::<Word32>() }
}

/// Waits while the word holds `seen`, at most until the deadline. True if that has passed; otherwise look at the word again.
pub fn wait(word: &Word32, seen: u32, classes: u32, deadline: Deadline) -> bool {
    // SAFETY: the word lives during the borrow, and is changed atomically.
    unsafe { wait_at(core::ptr::from_ref(word).expose_provenance(), Size::Bits32, seen.into(), classes, deadline) }
}

/// The same of 64 bits.
pub fn wait_long(word: &Word64, seen: u64, deadline: Deadline) -> bool {
    // SAFETY: as in `wait`.
    unsafe { wait_at(core::ptr::from_ref(word).expose_provenance(), Size::Bits64, seen, ANY, deadline) }
}

/// The same of a word of the program.
///
/// # Safety
/// During the call the word can be read, and is changed atomically.
pub unsafe fn wait_at(address: usize, size: Size, seen: u64, classes: u32, deadline: Deadline) -> bool {
    #[cfg(ntux_explore)]
    if let Some(machine) = crate::explored::machine() {
        return machine.wait(address, size.bytes(), seen, classes, deadline != Deadline::Never);
    }
    // SAFETY: the caller's promise.
    let futex = unsafe { Futex::at(address, size, Scope::Private) };
    let Ok(expected) = futex.and_then(|futex| Expected::new(futex, seen)) else { return yielded(deadline) };
    match ntux_futex::wait(expected, classes, deadline) {
        Err(Error::TimedOut) => true,
        // No room for another waiting thread: the caller looks again.
        Err(Error::Exhausted | Error::Refused) => yielded(deadline),
        _ => false,
    }
}

#[cold]
fn yielded(deadline: Deadline) -> bool {
    std::thread::yield_now();
    deadline.passed()
}

/// Wakes at most this many threads of these classes, by arrival.
pub fn wake(word: &Word32, count: u32, classes: u32) {
    wake_at(core::ptr::from_ref(word).expose_provenance(), Size::Bits32, count, classes);
}

/// Wakes all threads that wait for a word of 64 bits.
pub fn wake_all_long(word: &Word64) {
    wake_at(core::ptr::from_ref(word).expose_provenance(), Size::Bits64, u32::MAX, ANY);
}

/// Wakes the thread that has waited longest for a word of 64 bits.
pub fn wake_one_long(word: &Word64) {
    wake_at(core::ptr::from_ref(word).expose_provenance(), Size::Bits64, 1, ANY);
}

/// The same of a word of the program. The memory is not looked at. Returns how many threads it woke.
pub fn wake_at(address: usize, size: Size, count: u32, classes: u32) -> u32 {
    #[cfg(ntux_explore)]
    if let Some(machine) = crate::explored::machine() {
        return machine.wake(address, size.bytes(), count, classes);
    }
    // SAFETY: a wake needs no memory.
    let futex = unsafe { Futex::at(address, size, Scope::Private) };
    futex.and_then(|futex| ntux_futex::wake(futex, count, classes)).unwrap_or(0)
}

pub const NS_PER_MS: u64 = 1_000_000;

/// The deadline of a time-out in milliseconds, of which the largest number means never.
#[inline]
pub fn deadline(milliseconds: u32) -> Deadline {
    match milliseconds {
        0 => Deadline::NOW,
        u32::MAX => Deadline::Never,
        _ => Deadline::after_ns(u64::from(milliseconds) * NS_PER_MS),
    }
}
