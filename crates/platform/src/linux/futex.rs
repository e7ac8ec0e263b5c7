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
        let result = unsafe {
            libc::syscall(libc::SYS_futex, address, operation, expected, time, core::ptr::null::<u32>(), MATCH_ANY)
        };
        if result < 0 && crate::errno() == libc::ETIMEDOUT { Woken::TimedOut } else { Woken::LookAgain }
    }

    fn wake(address: *const u32, count: u32) {
        // SAFETY: a wake reads no memory; a bad address is an error that changes nothing.
        unsafe { libc::syscall(libc::SYS_futex, address, FUTEX_WAKE, count) };
    }
}

fn timespec(ns: u64) -> libc::timespec {
    // The quotient is below 2^35, so it fits every time_t of the supported platforms.
    libc::timespec { tv_sec: (ns / 1_000_000_000) as _, tv_nsec: (ns % 1_000_000_000) as _ }
}
