// SPDX-License-Identifier: MIT OR Apache-2.0
//! Signals of the calling thread: which are blocked, and one that is sent again.

use crate::c_library::next;
use core::ffi::c_int;
use core::mem::MaybeUninit;
use ntux_platform::to_self::{ASYNCHRONOUS, Information, Mask, SIG_BLOCK, SIG_SETMASK, bit, change};

/// Signals that the guarded copy can cause.
pub(crate) const GUARDED: Mask = bit(libc::SIGSEGV) | bit(libc::SIGBUS);

/// Queues a signal with its information for this thread alone, by the C library's own text: the thread may be in a state in which
/// calls from elsewhere are refused. The error number changes if the kernel has no room for the signal.
pub(crate) fn queue_for_self(signal: c_int, information: &Information) {
    let mut whole = MaybeUninit::<[u64; 16]>::zeroed();
    // SAFETY: the kernel reads 128 bytes, of which the first 48 are the information; the thread's own ids always exist.
    unsafe {
        whole.as_mut_ptr().cast::<Information>().write(*information);
        let process = next::syscall(libc::SYS_getpid, 0, 0, 0, 0, 0, 0) as usize;
        let thread = next::syscall(libc::SYS_gettid, 0, 0, 0, 0, 0, 0) as usize;
        next::syscall(libc::SYS_rt_tgsigqueueinfo, process, thread, signal as usize, whole.as_ptr() as usize, 0, 0);
    }
}

/// Blocks all asynchronous signals and returns the previous mask. Preserves the error number.
pub(crate) fn block() -> Mask {
    change(SIG_BLOCK, ASYNCHRONOUS)
}

/// Sets the thread's mask. Handlers of signals that this unblocks run before it returns, if it ever does.
#[inline(always)]
pub(crate) fn restore(mask: Mask) {
    change(SIG_SETMASK, mask);
}
