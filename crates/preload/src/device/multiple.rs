// SPDX-License-Identifier: MIT OR Apache-2.0
//! `FUTEX_WAIT_MULTIPLE`: sleeps on several words at once, for programs made for patched kernels.
//!
//! Kernels patched for fsync (Proton's and others, 2019 to 2021) have it as operation 31 of `futex`, which no other
//! kernel has. Here it becomes `futex_waitv`, Linux's equivalent since 5.16, so a plain `FUTEX_WAKE` in this process
//! and in others wakes it. If the kernel has no `futex_waitv`, the call goes to the kernel unchanged: it may be a
//! patched one, or returns `ENOSYS`, for which such programs are prepared.
//!
//! | argument | |
//! | --- | --- |
//! | `uaddr` | 1 to 128 blocks of 16 bytes: address of the word, its value, a bitset |
//! | `op` | 31, with `FUTEX_PRIVATE_FLAG` for all words or without |
//! | `val` | number of blocks |
//! | `timeout` | relative, on the monotonic clock; null for none |
//!
//! Returns the index of a block that was woken (the highest of several), or fails with `EAGAIN` if a word differs (even
//! if the time has passed), `ETIMEDOUT`, `EINTR`, `EFAULT`, `EINVAL`, `ENOMEM`. An array of no blocks gives `EINVAL`,
//! by which programs probe for the operation.
//!
//! There are two differences. `futex_waitv` has no bitsets: a block that does not match every wake (programs set all
//! bits) makes the call fail with `ENOSYS`, because the wait would consume wakes meant for others. And after a signal
//! handler with `SA_RESTART` a wait with a timeout continues until the same moment; the patched kernels ended it.
//!
//! Operation 13, its number in the proposal, is `FUTEX_LOCK_PI2` since Linux 5.14, and passes untouched.

use core::ffi::{c_int, c_long};
use ntux_platform::atomic::Word32;
use ntux_platform::clock::Deadline;
use ntux_platform::interposition::peek;
use ntux_platform::keeping_errno;
use ntux_platform::kernel_futex::{self, Entry, MATCH_ANY, Scope, VECTOR_MAX};

/// The operation, without flags.
pub(crate) const OPERATION: c_int = 31;
/// Bytes of a block.
const BLOCK: usize = 16;
/// Bytes of a `struct timespec`.
const TIME: usize = 16;

/// The arguments of one call.
pub(crate) struct Call {
    pub(crate) blocks: usize,
    pub(crate) operation: c_int,
    pub(crate) count: u32,
    pub(crate) timeout: usize,
}

impl Call {
    /// What the C library's `syscall` would return; none if the call must go to the kernel unchanged. The error number
    /// changes only on failure.
    pub(crate) fn serve(&self) -> Option<c_long> {
        match keeping_errno(|| is_possible().then(|| self.wait()))? {
            Ok(index) => Some(index as c_long),
            Err(error) => Some(crate::c_library::fail(error).into()),
        }
    }

    fn wait(&self) -> Result<usize, c_int> {
        let mut room = [0; TIME + VECTOR_MAX * BLOCK];
        let (deadline, blocks) = self.read(&mut room)?;
        let scope = if self.operation & libc::FUTEX_PRIVATE_FLAG != 0 { Scope::Private } else { Scope::Shared };
        let mut entries = [Entry::NOWHERE; VECTOR_MAX];
        let entries = &mut entries[..blocks.len() / BLOCK];
        for (entry, block) in entries.iter_mut().zip(blocks.chunks_exact(BLOCK)) {
            if number(block, 12) != MATCH_ANY {
                return Err(libc::ENOSYS);
            }
            let address = wide(block, 0) as usize;
            *entry = Entry {
                address: core::ptr::with_exposed_provenance(address),
                expected: number(block, 8),
                scope,
                ..*entry
            };
        }
        kernel_futex::wait_any(entries, deadline)
    }

    /// Copies the arguments, and checks them in the kernel's order: first the time, then the number of blocks.
    fn read<'a>(&self, room: &'a mut [u8; TIME + VECTOR_MAX * BLOCK]) -> Result<(Deadline, &'a [u8]), c_int> {
        let is_count = (1..=VECTOR_MAX).contains(&(self.count as usize));
        let time = if self.timeout == 0 { 0 } else { TIME };
        let all = time + if is_count { self.count as usize * BLOCK } else { 0 };
        let places = [(self.timeout, time), (self.blocks, all - time)];
        let copied = match peek::peek(places, &mut room[..all]) {
            Err(libc::EFAULT) => 0,
            other => other?,
        };
        let (time, blocks) = room[..all].split_at(time);
        let deadline = match time.len() {
            0 => Deadline::Never,
            length if copied < length => return Err(libc::EFAULT),
            _ => after(wide(time, 0) as i64, wide(time, 8) as i64)?,
        };
        match is_count {
            false => Err(libc::EINVAL),
            true if copied < all => Err(libc::EFAULT),
            true => Ok((deadline, blocks)),
        }
    }
}

/// The deadline after this much time from now.
fn after(seconds: i64, nanoseconds: i64) -> Result<Deadline, c_int> {
    let (Ok(seconds), nanoseconds @ 0..1_000_000_000) = (u64::try_from(seconds), nanoseconds) else {
        return Err(libc::EINVAL);
    };
    let time = seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds as u64);
    Ok(Deadline::after_ns(time))
}

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(core::array::from_fn(|index| bytes[at + index]))
}

fn wide(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(core::array::from_fn(|index| bytes[at + index]))
}

/// Returns true if the kernel has the necessary calls, and the user has not disabled them. Probed at the first call and not
/// before, because under a filter the probe takes a child process.
fn is_possible() -> bool {
    const NO: u32 = 1;
    const YES: u32 = 2;
    static ANSWER: Word32 = Word32::new(0);
    if ANSWER.load() == 0 {
        let possible = kernel_futex::try_wait_any() && peek::can_peek();
        ANSWER.store(if possible { YES } else { NO });
    }
    ANSWER.load() == YES
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(count: u32, blocks: usize, timeout: usize) -> Call {
        Call { blocks, operation: OPERATION, count, timeout }
    }

    #[test]
    fn arguments_are_refused_in_the_kernels_order() {
        let (block, soon, never) = ([0u64; 2], [0i64, 1], [0i64, 1_000_000_000]);
        let [block, soon, never] = [block.as_ptr() as usize, soon.as_ptr() as usize, never.as_ptr() as usize];
        let read = |call: Call| call.read(&mut [0; TIME + VECTOR_MAX * BLOCK]).map(|(_, blocks)| blocks.len());
        assert_eq!(read(call(1, block, 0)), Ok(BLOCK));
        assert_eq!(read(call(1, block, soon)), Ok(BLOCK));
        for count in [0, VECTOR_MAX as u32 + 1, u32::MAX] {
            assert_eq!(read(call(count, 0, 0)), Err(libc::EINVAL), "{count}");
            assert_eq!(read(call(count, 0, soon)), Err(libc::EINVAL), "{count}");
            assert_eq!(read(call(count, 0, 8)), Err(libc::EFAULT), "{count}");
        }
        assert_eq!(read(call(1, 0, 0)), Err(libc::EFAULT));
        assert_eq!(read(call(1, 0, soon)), Err(libc::EFAULT));
        assert_eq!(read(call(1, 0, never)), Err(libc::EINVAL));
    }

    #[test]
    fn times_that_are_none_are_refused_and_long_ones_do_not_wrap() {
        for (seconds, nanoseconds) in [(-1, 0), (0, -1), (0, 1_000_000_000)] {
            assert_eq!(after(seconds, nanoseconds), Err(libc::EINVAL));
        }
        assert_eq!(after(i64::MAX, 999_999_999), Ok(Deadline::Monotonic(u64::MAX)));
    }
}
