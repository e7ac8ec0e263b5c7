//! Signals of a thread to itself. XNU sends no information with them.

use core::ffi::c_void;

use libc::c_int;

use super::{MacOs, frames};
use crate::contract::to_self::{Information, Mask, OwnSignals};

impl OwnSignals for MacOs {
    const OF_THE_LIBRARY: Mask = frames::OF_THE_LIBRARY;

    fn send(signal: c_int, _information: Option<&Information>) {
        // SAFETY: the calling thread exists.
        unsafe { libc::pthread_kill(libc::pthread_self(), signal) };
    }

    unsafe fn block_in(context: *mut c_void, more: Mask) -> Mask {
        // SAFETY: the caller's promise.
        unsafe { frames::block(context, more) }
    }

    fn set(mask: Mask) -> libc::sigset_t {
        frames::set(mask)
    }
}
