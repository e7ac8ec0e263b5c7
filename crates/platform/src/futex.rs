//! Sleeping on a 32-bit word, and waking who sleeps there.
//!
//! The word lies in memory that several processes map, so the calls are the *shared* ones: they meet by file and offset,
//! at whatever address each process sees the word.

use crate::clock::Deadline;

/// Why [`wait`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// Woken, interrupted by a signal, or the word differed: look at the word again.
    LookAgain,
    /// The deadline passed.
    TimedOut,
}

/// Sleeps while the word at `address` holds `expected`, at most until `deadline`.
///
/// The comparison and the falling asleep are one step for every waker. Async-signal-safe.
pub fn wait(address: *const u32, expected: u32, deadline: Deadline) -> Woken {
    #[cfg(ntux_explore)]
    if let Some(scheduler) = crate::explore::current() {
        let has_deadline = deadline != Deadline::Never;
        return match scheduler.sleep(address as usize, expected, has_deadline) {
            true => Woken::LookAgain,
            false => Woken::TimedOut,
        };
    }
    imp::wait(address, expected, deadline)
}

/// Wakes at most `count` sleepers on the word at `address`. Async-signal-safe.
pub fn wake(address: *const u32, count: u32) {
    #[cfg(ntux_explore)]
    if let Some(scheduler) = crate::explore::current() {
        scheduler.wake(address as usize, count);
        return;
    }
    imp::wake(address, count);
}

#[cfg(target_os = "linux")]
mod imp {
    use super::Woken;
    use crate::clock::Deadline;

    const FUTEX_WAKE: i32 = 1;
    const FUTEX_WAIT_BITSET: i32 = 9;
    const FUTEX_CLOCK_REALTIME: i32 = 256;
    const MATCH_ANY: u32 = u32::MAX;

    pub(super) fn wait(address: *const u32, expected: u32, deadline: Deadline) -> Woken {
        let (operation, time) = match deadline {
            Deadline::Never => (FUTEX_WAIT_BITSET, None),
            Deadline::Monotonic(ns) => (FUTEX_WAIT_BITSET, Some(timespec(ns))),
            Deadline::Realtime(ns) => (FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, Some(timespec(ns))),
        };
        let time = time.as_ref().map_or(core::ptr::null(), core::ptr::from_ref);
        // SAFETY: the kernel checks the address itself and only reads the word and the time, which outlive the call.
        let result = unsafe {
            libc::syscall(libc::SYS_futex, address, operation, expected, time, core::ptr::null::<u32>(), MATCH_ANY)
        };
        if result < 0 && crate::errno() == libc::ETIMEDOUT { Woken::TimedOut } else { Woken::LookAgain }
    }

    pub(super) fn wake(address: *const u32, count: u32) {
        // SAFETY: a wake reads no memory; a bad address is an error that changes nothing.
        unsafe { libc::syscall(libc::SYS_futex, address, FUTEX_WAKE, count) };
    }

    fn timespec(ns: u64) -> libc::timespec {
        // The quotient is below 2^35, so it fits every time_t of the supported platforms.
        libc::timespec { tv_sec: (ns / 1_000_000_000) as _, tv_nsec: (ns % 1_000_000_000) as _ }
    }
}

#[cfg(target_os = "macos")]
mod imp {
    use super::Woken;
    use crate::clock::Deadline;

    const UL_COMPARE_AND_WAIT_SHARED: u32 = 3;
    const ULF_NO_ERRNO: u32 = 0x0100_0000;
    const ULF_WAKE_ALL: u32 = 0x0000_0100;

    unsafe extern "C" {
        fn __ulock_wait(operation: u32, address: *mut libc::c_void, value: u64, timeout_us: u32) -> i32;
        fn __ulock_wake(operation: u32, address: *mut libc::c_void, wake_value: u64) -> i32;
    }

    pub(super) fn wait(address: *const u32, expected: u32, deadline: Deadline) -> Woken {
        let Some(left_ns) = deadline.remaining_ns() else {
            return sleep(address, expected, 0);
        };
        if left_ns == 0 {
            return Woken::TimedOut;
        }
        // Longer sleeps are cut to what 32 bits of microseconds hold; the caller looks again and sleeps on.
        let left_us = left_ns.div_ceil(1000).min(u64::from(u32::MAX)) as u32;
        sleep(address, expected, left_us);
        if deadline.remaining_ns() == Some(0) { Woken::TimedOut } else { Woken::LookAgain }
    }

    fn sleep(address: *const u32, expected: u32, timeout_us: u32) -> Woken {
        let operation = UL_COMPARE_AND_WAIT_SHARED | ULF_NO_ERRNO;
        // SAFETY: the kernel checks the address and only reads the word.
        unsafe { __ulock_wait(operation, address.cast_mut().cast(), u64::from(expected), timeout_us) };
        Woken::LookAgain
    }

    pub(super) fn wake(address: *const u32, count: u32) {
        let all = if count > 1 { ULF_WAKE_ALL } else { 0 };
        let operation = UL_COMPARE_AND_WAIT_SHARED | ULF_NO_ERRNO | all;
        // SAFETY: a wake reads no memory; a bad address is an error that changes nothing.
        unsafe { __ulock_wake(operation, address.cast_mut().cast(), 0) };
    }
}
