//! XNU's information about a forbidden access: the processor's, in the thread's exception state.

use super::MacOs;
use crate::watching::segv::ForbiddenAccess;

impl ForbiddenAccess for MacOs {
    /// SIGSEGV is for unmapped memory.
    const SIGNAL: libc::c_int = libc::SIGBUS;

    #[cfg(target_arch = "x86_64")]
    unsafe fn is_store(context: *const libc::c_void) -> Option<bool> {
        const STORE: u32 = 2;
        // SAFETY: the caller's promise.
        let error = unsafe { (*(*context.cast::<libc::ucontext_t>()).uc_mcontext).__es.__err };
        Some(error & STORE != 0)
    }

    #[cfg(target_arch = "aarch64")]
    unsafe fn is_store(context: *const libc::c_void) -> Option<bool> {
        const DATA_ABORT_OF_USER_MODE: u32 = 0x24;
        const WRITE: u32 = 1 << 6;
        // SAFETY: the caller's promise.
        let syndrome = unsafe { (*(*context.cast::<libc::ucontext_t>()).uc_mcontext).__es.__esr };
        Some(syndrome >> 26 == DATA_ABORT_OF_USER_MODE && syndrome & WRITE != 0)
    }
}
