// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel would have done with a signal whose action has no handler, or one that runs once.

use super::actions::{Action, has_handler};
use super::mask;
use crate::c_library::next;
use core::ffi::c_int;
use ntux_platform::interposition::code;
use ntux_platform::to_self::Information;

/// Handles a signal whose action has no plain handler. Returns whether the program's handler must run. The thread is
/// outside, in any state.
///
/// # Safety
/// `information` is what the kernel passed to the stub.
pub(crate) unsafe extern "C" fn without_handler(
    signal: c_int,
    information: *mut Information,
    action: &'static Action,
) -> bool {
    // SAFETY: the caller's promise.
    take(action) || unsafe { !do_default(signal, &*information, action) }
}

/// Returns whether the handler runs for one more signal, and marks a one-shot handler as spent.
pub(crate) fn take(action: &Action) -> bool {
    has_handler(action.handler())
        && (action.flags() & libc::SA_RESETHAND == 0 || action.spent.compare_exchange(0, 1).is_ok())
}

/// Does the kernel's part for a signal that has no handler, or no longer one. Returns true.
///
/// The calls go through the C library, because the thread may be in a state in which calls from elsewhere are refused.
/// They do not fail, so they do not touch the error number, and with it thread-local storage.
pub(crate) fn do_default(signal: c_int, information: &Information, action: &Action) -> bool {
    let fault = code(information) > 0;
    if action.handler() == libc::SIG_IGN && !fault {
        return true;
    }
    // SAFETY: all bytes zero is the default action.
    unsafe { next::sigaction(signal, &core::mem::zeroed(), core::ptr::null_mut()) };
    // A fault recurs as soon as this returns; any other signal is sent again. Either then meets the default action.
    if !fault {
        mask::queue_for_self(signal, information);
    }
    true
}
