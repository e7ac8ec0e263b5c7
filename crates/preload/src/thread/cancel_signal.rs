// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cancellation of threads inside this library.
//!
//! The C library cancels a thread with asynchronous cancellation by its own signal, whose handler unwinds from wherever
//! the thread is. In the middle of an operation that would kill the process, and leave the waiter queued. So that
//! signal's handler is wrapped like the program's ([`super::handlers`]): inside, it is deferred to the door, and unwinds
//! from there. What the wait was granted before stays consumed, as with the driver, whose call would have succeeded.
//!
//! The C library installs the handler at the first cancellation, without an interposable call, and sends the signal in
//! the same call. So before the first cancellation this creates a thread only to cancel it. The signal is glibc's;
//! musl's handler redirects the thread instead of unwinding, and needs no help.

use super::actions::{active, has_handler, stub_for};
use crate::c_library::next;
use core::ffi::{c_int, c_ulong, c_void};
use ntux_platform::to_self::Mask;

/// glibc's signal for cancellation.
const SIGNAL: c_int = 32;

/// The kernel's `struct sigaction`: the C library's function refuses this signal.
#[repr(C)]
#[derive(Clone, Copy)]
struct InKernel {
    handler: usize,
    flags: c_ulong,
    restorer: usize,
    mask: Mask,
}

/// The program's `pthread_cancel`.
///
/// # Safety
/// As for the C library's function.
pub(crate) unsafe fn cancel(thread: libc::pthread_t) -> c_int {
    if cfg!(target_env = "gnu") && active() && !wrap() {
        have_handler_installed();
        wrap();
    }
    // SAFETY: the caller's promise.
    unsafe { next::pthread_cancel(thread) }
}

/// Replaces the C library's handler with a stub. Returns whether there is one.
pub(crate) fn wrap() -> bool {
    let mut installed = InKernel { handler: libc::SIG_DFL, flags: 0, restorer: 0, mask: 0 };
    // SAFETY: a place for the answer.
    if !cfg!(target_env = "gnu") || unsafe { action(core::ptr::null(), &mut installed) } != 0 {
        return false;
    }
    if !has_handler(installed.handler) {
        return false;
    }
    if let Some(stub) = stub_for(SIGNAL, installed.handler, installed.mask, installed.flags as c_int) {
        // SAFETY: the same action with a stub that jumps to the same handler.
        unsafe { action(&InKernel { handler: stub, ..installed }, core::ptr::null_mut()) };
    }
    true
}

/// # Safety
/// Null or valid actions, as for `rt_sigaction`.
unsafe fn action(new: *const InKernel, old: *mut InKernel) -> i64 {
    let length = size_of::<Mask>();
    // SAFETY: the caller's promise.
    unsafe { next::syscall(libc::SYS_rt_sigaction, SIGNAL as usize, new as usize, old as usize, length, 0, 0) }
}

/// Cancels a throw-away thread, so that glibc installs its handler now. If that fails, the program's first cancellation runs unwrapped.
fn have_handler_installed() {
    extern "C" fn until_cancelled(_: *mut c_void) -> *mut c_void {
        loop {
            // SAFETY: has no precondition; it is a cancellation point.
            unsafe { libc::pause() };
        }
    }
    let mut thread = core::mem::MaybeUninit::uninit();
    // SAFETY: a place for the thread, which is cancelled and joined here.
    unsafe {
        if libc::pthread_create(thread.as_mut_ptr(), core::ptr::null(), until_cancelled, core::ptr::null_mut()) == 0 {
            next::pthread_cancel(thread.assume_init());
            libc::pthread_join(thread.assume_init(), core::ptr::null_mut());
        }
    }
}
