//! Signals of a thread to itself. XNU sends no information with them.

use core::ffi::c_void;

use libc::c_int;

use super::MacOs;
use crate::contract::to_self::{Information, Mask, OwnSignals};

impl OwnSignals for MacOs {
    const OF_THE_LIBRARY: Mask = 0;

    fn send(signal: c_int, _information: Option<&Information>) {
        // SAFETY: the calling thread exists.
        unsafe { libc::pthread_kill(libc::pthread_self(), signal) };
    }

    unsafe fn block_in(context: *mut c_void, more: Mask) -> Mask {
        // SAFETY: the kernel's frame, by the contract; nobody else uses it while the handler runs.
        let mask = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_sigmask };
        let before = *mask;
        *mask |= more as libc::sigset_t;
        more & !Mask::from(before)
    }

    fn set(mask: Mask) -> libc::sigset_t {
        mask as libc::sigset_t
    }
}
