// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's futex calls.

pub(super) mod interface;
mod numa;

use interface::{SYS_FUTEX_WAITV, Until, Waitv, flags};

use super::Linux;
use super::deadly::Call;
use crate::clock::Deadline;
use crate::kernel_futex::{Entry, Futexes, Scope, VECTOR_MAX, Vectors};

const FUTEX_CMP_REQUEUE: i32 = 4;
const FUTEX_WAIT_BITSET: i32 = 9;
const FUTEX_WAKE_BITSET: i32 = 10;
const FUTEX_PRIVATE_FLAG: i32 = 128;
const FUTEX_CLOCK_REALTIME: i32 = 256;
const NOBODY: *const u32 = core::ptr::null();

fn private(scope: Scope) -> i32 {
    if scope == Scope::Private { FUTEX_PRIVATE_FLAG } else { 0 }
}

fn answer(result: libc::c_long) -> Result<u32, i32> {
    u32::try_from(result).map_err(|_| crate::errno())
}

impl Futexes for Linux {
    const IS_EXACT: bool = true;

    fn wait(address: *const u32, expected: u32, mask: u32, scope: Scope, deadline: Deadline) -> Result<(), i32> {
        let until = Until::new(deadline);
        let realtime = if until.clock == libc::CLOCK_REALTIME { FUTEX_CLOCK_REALTIME } else { 0 };
        let operation = FUTEX_WAIT_BITSET | private(scope) | realtime;
        // SAFETY: the kernel checks the address itself and only reads the word and the time, which outlives the call.
        answer(unsafe { libc::syscall(libc::SYS_futex, address, operation, expected, until.time(), NOBODY, mask) })
            .map(drop)
    }

    fn wake(address: *const u32, count: u32, mask: u32, scope: Scope) -> Result<u32, i32> {
        if count == 0 {
            // This old call would wake one sleeper.
            return Ok(0);
        }
        let (operation, count) = (FUTEX_WAKE_BITSET | private(scope), count.min(i32::MAX as u32));
        // SAFETY: a wake reads no memory; a bad address is an error that changes nothing.
        answer(unsafe { libc::syscall(libc::SYS_futex, address, operation, count, 0usize, NOBODY, mask) })
    }

    /// A requeue compares the word, and here moves nobody.
    fn can_read(address: *const u32) -> bool {
        Self::requeue(address, address, Scope::Private, 0, 0, 0) != Err(libc::EFAULT)
    }
}

impl Vectors for Linux {
    const CAN_REQUEUE: bool = true;

    fn wait_any_may_be_tried() -> bool {
        static CALL: Call = Call::new(SYS_FUTEX_WAITV, [0, 0]);
        !CALL.is_deadly()
    }

    fn wait_any(entries: &[Entry], deadline: Deadline) -> Result<usize, i32> {
        let mut vector = [Waitv::NOWHERE; VECTOR_MAX];
        let Some(vector) = vector.get_mut(..entries.len()) else { return Err(libc::EINVAL) };
        for (waitv, entry) in vector.iter_mut().zip(entries) {
            *waitv = Waitv::new(entry.address, entry.expected, flags(entry.scope, entry.numa));
        }
        let until = Until::new(deadline);
        // SAFETY: the vector and the time outlive the call; the kernel checks the addresses, only reads the words, and
        // writes nothing but nodes, which are there for it.
        let woken =
            unsafe { libc::syscall(SYS_FUTEX_WAITV, vector.as_ptr(), vector.len(), 0, until.time(), until.clock) };
        answer(woken).map(|index| index as usize)
    }

    fn requeue(
        from: *const u32,
        to: *const u32,
        scope: Scope,
        wake: u32,
        moved: u32,
        expected: u32,
    ) -> Result<u32, i32> {
        let operation = FUTEX_CMP_REQUEUE | private(scope);
        let (wake, moved) = (wake.min(i32::MAX as u32), moved.min(i32::MAX as u32) as usize);
        // SAFETY: the kernel checks both addresses and only reads the first word.
        answer(unsafe { libc::syscall(libc::SYS_futex, from, operation, wake, moved, to, expected) })
    }

    fn times_asleep() -> u64 {
        /// `RUSAGE_THREAD`, which the headers of Android do not have.
        const OF_THIS_THREAD: libc::c_int = 1;
        let mut usage = core::mem::MaybeUninit::<libc::rusage>::uninit();
        // SAFETY: a valid place for the answer, which is whole when the call returns 0.
        unsafe {
            match libc::getrusage(OF_THIS_THREAD, usage.as_mut_ptr()) {
                0 => usage.assume_init().ru_nvcsw as u64,
                _ => 0,
            }
        }
    }
}
