// SPDX-License-Identifier: MIT OR Apache-2.0
//! As `frames`, where XNU is simulated: Linux's frames, which the simulation leaves as they are.

use core::ffi::c_void;

use crate::contract::to_self::Mask;

pub(super) const FORBIDDEN_ACCESS: libc::c_int = libc::SIGSEGV;

/// 33 changes the identity of all threads; 32 is for cancellation. The C library lets nobody unblock them.
pub(super) const OF_THE_LIBRARY: Mask = 1 << 32 | 1 << 31;

/// # Safety
/// The contract is that function's.
#[cfg(target_arch = "x86_64")]
pub(super) unsafe fn is_store(context: *const c_void) -> Option<bool> {
    const STORE: i64 = 2;
    // SAFETY: the caller's promise.
    let error = unsafe { (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs[libc::REG_ERR as usize] };
    Some(error & STORE != 0)
}

/// # Safety
/// The contract is that function's.
#[cfg(not(target_arch = "x86_64"))]
pub(super) unsafe fn is_store(_context: *const c_void) -> Option<bool> {
    None
}

/// # Safety
/// The contract is that function's.
pub(super) unsafe fn block(context: *mut c_void, more: Mask) -> Mask {
    // SAFETY: the kernel's frame, whose mask has 64 bits; nobody else uses it while the handler runs.
    let mask = unsafe { &mut *(&raw mut (*context.cast::<libc::ucontext_t>()).uc_sigmask).cast::<Mask>() };
    let before = *mask;
    *mask |= more;
    more & !before
}

pub(super) fn set(mask: Mask) -> libc::sigset_t {
    let mut set = core::mem::MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: the first 64 bits of a set are the kernel's mask, the rest may be zero.
    unsafe {
        set.as_mut_ptr().cast::<Mask>().write(mask);
        set.assume_init()
    }
}

pub(super) fn mask(set: &libc::sigset_t) -> Mask {
    // SAFETY: the first 64 bits of a set are the kernel's mask.
    unsafe { core::ptr::from_ref(set).cast::<Mask>().read() }
}
