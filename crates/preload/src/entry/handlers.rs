// SPDX-License-Identifier: MIT OR Apache-2.0
//! Keeps the program's view of its signal handlers.

use crate::c_library::fail;
use crate::thread::{cancel_signal, handlers};
use core::ffi::c_int;
use ntux_platform::to_self::{bit, change};

/// Lets a thread that is inside this library complete its operation first.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_cancel(thread: libc::pthread_t) -> c_int {
    // SAFETY: the caller's own argument.
    unsafe { cancel_signal::cancel(thread) }
}

/// Keeps the program's view of its handlers.
#[unsafe(link_section = ".text.ntux_start")]
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int {
    // SAFETY: the caller's own arguments.
    unsafe { handlers::sigaction(signal, new, old) }
}

/// The same under glibc's other name.
#[unsafe(link_section = ".text.ntux_start")]
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __sigaction(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    // SAFETY: the caller's own arguments.
    unsafe { handlers::sigaction(signal, new, old) }
}

macro_rules! as_signal {
    ($($name:ident => $install:path;)*) => {
        $(
            /// Installs a handler and returns the one before.
            #[unsafe(link_section = ".text.ntux_start")]
            #[unsafe(no_mangle)]
            extern "C-unwind" fn $name(signal: c_int, handler: usize) -> usize {
                $install(signal, handler)
            }
        )*
    };
}

as_signal! {
    signal => handlers::signal;
    bsd_signal => handlers::signal;
    ssignal => handlers::signal;
    sysv_signal => one_shot;
    __sysv_signal => one_shot;
    sigset => set;
}

fn one_shot(signal: c_int, handler: usize) -> usize {
    handlers::replace_handler(signal, handler, 0, libc::SA_RESETHAND | libc::SA_NODEFER)
}

/// `sigset`: a handler that also unblocks its signal, or `SIG_HOLD`, which blocks it.
fn set(signal: c_int, handler: usize) -> usize {
    const SIG_HOLD: usize = 2;
    if !(1..=64).contains(&signal) {
        fail(libc::EINVAL);
        return libc::SIG_ERR;
    }
    let hold = handler == SIG_HOLD;
    let before = if hold { handlers::handler(signal) } else { handlers::replace_handler(signal, handler, 0, 0) };
    if before == libc::SIG_ERR {
        return before;
    }
    let how = if hold { libc::SIG_BLOCK } else { libc::SIG_UNBLOCK };
    if change(how, bit(signal)) & bit(signal) != 0 { SIG_HOLD } else { before }
}

/// Ignores a signal.
#[unsafe(no_mangle)]
extern "C-unwind" fn sigignore(signal: c_int) -> c_int {
    if handlers::replace_handler(signal, libc::SIG_IGN, 0, 0) == libc::SIG_ERR { -1 } else { 0 }
}

/// Says whether a signal interrupts calls.
#[unsafe(no_mangle)]
extern "C-unwind" fn siginterrupt(signal: c_int, interrupts: c_int) -> c_int {
    handlers::siginterrupt(signal, interrupts != 0)
}
