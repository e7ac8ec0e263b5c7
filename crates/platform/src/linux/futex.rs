// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sleeping on a word: the first futex call, which every Linux has.

use super::Linux;
use crate::clock::Deadline;
use crate::futex::{Sleep, Woken};

const FUTEX_WAKE: i32 = 1;
const FUTEX_WAIT_BITSET: i32 = 9;
const FUTEX_CLOCK_REALTIME: i32 = 256;
const MATCH_ANY: u32 = u32::MAX;

impl Sleep for Linux {
    // Else callers compute the time in advance, also if they do not sleep.
    #[inline(never)]
    fn wait(address: *const u32, expected: u32, deadline: Deadline) -> Woken {
        let (operation, time) = match deadline {
            Deadline::Never => (FUTEX_WAIT_BITSET, None),
            Deadline::Monotonic(ns) => (FUTEX_WAIT_BITSET, Some(timespec(ns))),
            Deadline::Realtime(ns) => (FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, Some(timespec(ns))),
        };
        let time = time.as_ref().map_or(core::ptr::null(), core::ptr::from_ref);
        // SAFETY: the kernel checks the address itself and only reads the word and the time, which outlive the call.
        let error = unsafe { call(address, operation, expected, time) };
        if error == -libc::c_long::from(libc::ETIMEDOUT) { Woken::TimedOut } else { Woken::LookAgain }
    }

    #[inline]
    fn wake(address: *const u32, count: u32) {
        // SAFETY: a wake reads no memory; a bad address is an error that changes nothing.
        unsafe { call(address, FUTEX_WAKE, count, core::ptr::null()) };
    }
}

/// The call itself. Returns what the kernel does, an error as a negative number. The C library's function would move each
/// argument twice, and change errno.
///
/// # Safety
/// That of the operation.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
unsafe fn call(address: *const u32, operation: i32, value: u32, time: *const libc::timespec) -> libc::c_long {
    let result;
    // SAFETY: the kernel changes the two registers that are named, and returns in the first; the rest is up to the caller.
    unsafe {
        core::arch::asm!(
            "syscall",
            inlateout("rax") libc::SYS_futex => result,
            in("rdi") address,
            in("rsi") operation,
            in("rdx") value,
            in("r10") time,
            in("r8") core::ptr::null::<u32>(),
            in("r9") MATCH_ANY,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// As above, where that is not worth instructions of our own.
///
/// # Safety
/// That of the operation.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
unsafe fn call(address: *const u32, operation: i32, value: u32, time: *const libc::timespec) -> libc::c_long {
    // SAFETY: up to the caller.
    let result =
        unsafe { libc::syscall(libc::SYS_futex, address, operation, value, time, core::ptr::null::<u32>(), MATCH_ANY) };
    if result < 0 { -libc::c_long::from(crate::errno()) } else { result }
}

fn timespec(ns: u64) -> libc::timespec {
    // The quotient is below 2^35, so it fits every time_t of the supported platforms.
    libc::timespec { tv_sec: (ns / 1_000_000_000) as _, tv_nsec: (ns % 1_000_000_000) as _ }
}
