// SPDX-License-Identifier: MIT OR Apache-2.0
//! Signals of a thread to itself. XNU sends no information with them, and keeps one of a number.

use core::ffi::c_void;

use libc::c_int;

use super::{MacOs, frames};
use crate::contract::to_self::{Information, Mask, OwnSignals};

impl OwnSignals for MacOs {
    const OF_THE_LIBRARY: Mask = frames::OF_THE_LIBRARY;

    /// None is.
    const QUEUED_FROM: c_int = c_int::MAX;

    fn send(signal: c_int, _information: &Information) {
        Self::send_stand_in(signal);
    }

    fn send_stand_in(signal: c_int) {
        // SAFETY: the calling thread exists.
        unsafe { libc::pthread_kill(libc::pthread_self(), signal) };
    }

    #[inline]
    fn is_stand_in(_information: &Information, expected: bool) -> bool {
        expected
    }

    unsafe fn block_in(context: *mut c_void, more: Mask) -> Mask {
        // SAFETY: the caller's promise.
        unsafe { frames::block(context, more) }
    }

    #[inline(always)]
    fn change(how: c_int, mask: Mask) -> Mask {
        unsafe extern "C-unwind" {
            fn pthread_sigmask(how: c_int, set: *const libc::sigset_t, before: *mut libc::sigset_t) -> c_int;
        }
        let (set, mut before) = (frames::set(mask), frames::set(0));
        // SAFETY: the one set is read, the other written.
        unsafe { pthread_sigmask(how, &set, &mut before) };
        frames::mask(&before)
    }
}
