// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program's signal handlers: its view of them, kept while the kernel calls a stub of [`super::arrival`] instead.
//!
//! Nothing changes until the device is first used ([`activate`]). Then every handler is wrapped, and the interposed
//! functions (`sigaction`, `signal` and their variants) keep it so. The table of the
//! program's requests is in [`super::actions`].
//!
//! The kernel gets the program's mask and flags, except `SA_RESETHAND`, which [`super::defaults`] implements: otherwise
//! a signal that arrives inside this library would find the handler gone when it is delivered at the door.
//!
//! SIGSEGV and SIGBUS are wrapped even if the program has no handler, for the guarded copy; the stub then does what the
//! kernel would have done. Other signals without a handler are left to the kernel. So is a handler that the program
//! installs by a raw system call after its first use of the device. Such a handler runs at once, even on top of a wait
//! that is still queued, and does not interrupt it. The same happens, and is said, if the table has no room.

use super::actions::{self, SIGNALS, active, has_handler, query, stub_for};
use super::{arrival, cancel_signal, mask};
use crate::c_library::{fail, next};
use core::ffi::c_int;
use ntux_platform::atomic::Word64;
use ntux_platform::to_self::{Mask, bit};

/// Flags that the kernel does not get.
const OURS: c_int = libc::SA_RESETHAND;

/// Wraps every handler of the program. Called before the first operation on a device.
#[cold]
pub(crate) fn activate() {
    let mask = mask::block();
    arrival::prepare();
    actions::begin();
    (1..=SIGNALS).for_each(wrap);
    cancel_signal::wrap();
    mask::restore(mask);
}

/// Replaces the kernel's handler with a stub. Another thread that found handlers unwrapped may install one meanwhile
/// with the C library's own function; then `set` replaced that one, and it is wrapped next.
fn wrap(signal: c_int) {
    let Some(mut in_kernel) = query(signal) else { return };
    while actions::place_of(in_kernel.sa_sigaction).is_none()
        && (has_handler(in_kernel.sa_sigaction) || always_wrapped(signal))
    {
        let Some(replaced) = replace(signal, &wrapped(signal, &in_kernel)) else { return };
        if same(&replaced, &in_kernel) {
            return;
        }
        in_kernel = replaced;
    }
}

fn same(one: &libc::sigaction, other: &libc::sigaction) -> bool {
    let mask = |action: &libc::sigaction| *first_word(&mut { action.sa_mask });
    one.sa_sigaction == other.sa_sigaction && one.sa_flags == other.sa_flags && mask(one) == mask(other)
}

fn always_wrapped(signal: c_int) -> bool {
    signal == libc::SIGSEGV || signal == libc::SIGBUS
}

/// Makes `new` the kernel's action of a signal and returns the one before.
fn replace(signal: c_int, new: &libc::sigaction) -> Option<libc::sigaction> {
    // SAFETY: all bytes zero is a value; the call writes it.
    let mut old: libc::sigaction = unsafe { core::mem::zeroed() };
    // SAFETY: a valid action, whose handler takes what the kernel hands it.
    (unsafe { next::sigaction(signal, new, &mut old) } == 0).then_some(old)
}

/// The kernel's action for an action of the program. Async-signal-safe.
fn wrapped(signal: c_int, wanted: &libc::sigaction) -> libc::sigaction {
    let mut in_kernel = *wanted;
    let is_signal = (1..=SIGNALS).contains(&signal);
    if !is_signal || (!has_handler(wanted.sa_sigaction) && !always_wrapped(signal)) {
        return in_kernel;
    }
    let mask = *first_word(&mut { wanted.sa_mask });
    let Some(stub) = stub_for(signal, wanted.sa_sigaction, mask, wanted.sa_flags) else { return in_kernel };
    in_kernel.sa_sigaction = stub;
    in_kernel.sa_flags = wanted.sa_flags & !OURS | libc::SA_SIGINFO;
    if !has_handler(wanted.sa_sigaction) {
        in_kernel.sa_flags |= libc::SA_ONSTACK;
    }
    in_kernel
}

/// The kernel's part of the C library's signal set.
fn first_word(set: &mut libc::sigset_t) -> &mut Mask {
    // SAFETY: the set begins with the kernel's 64 bits and is at least that large and aligned.
    unsafe { &mut *core::ptr::from_mut(set).cast::<Mask>() }
}

/// The program's `sigaction`. Async-signal-safe.
///
/// # Safety
/// As for the C library's function.
#[unsafe(link_section = ".text.ntux_start")]
pub(crate) unsafe fn sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int {
    let was_active = active();
    // SAFETY: null or the caller's valid action.
    let new = unsafe { new.as_ref() }.map(|new| if was_active { wrapped(signal, new) } else { *new });
    // SAFETY: all bytes zero is a value.
    let mut before: libc::sigaction = unsafe { core::mem::zeroed() };
    // SAFETY: none or a valid action, and a place for the old one.
    let result = unsafe { next::sigaction(signal, new.as_ref().map_or(core::ptr::null(), |new| new), &mut before) };
    if result == 0 && new.is_some() && !was_active && active() {
        // Another thread has wrapped all handlers between the check and the call.
        wrap(signal);
    }
    if result == 0 && !old.is_null() {
        // SAFETY: the caller's place for the answer.
        unsafe { old.write(as_program_sees(before)) };
    }
    result
}

/// The kernel's action with a stub replaced by the program's handler.
fn as_program_sees(mut in_kernel: libc::sigaction) -> libc::sigaction {
    let action = actions::place_of(in_kernel.sa_sigaction).and_then(|place| actions::actions().get(place));
    if let Some(action) = action {
        const RESTORER: c_int = 0x0400_0000;
        let spent = action.spent.load() != 0;
        in_kernel.sa_sigaction = if spent { libc::SIG_DFL } else { action.handler() };
        in_kernel.sa_flags = action.flags() | in_kernel.sa_flags & RESTORER;
    }
    in_kernel
}

/// Signals for which `siginterrupt` turned restarting off.
static INTERRUPTING: Word64 = Word64::new(0);

/// The family of `signal`: installs a handler with these flags and returns the one before, or `SIG_ERR`.
pub(crate) fn replace_handler(signal: c_int, handler: usize, mask: Mask, flags: c_int) -> usize {
    if handler == libc::SIG_ERR || !(1..=SIGNALS).contains(&signal) {
        fail(libc::EINVAL);
        return libc::SIG_ERR;
    }
    // SAFETY: all bytes zero is a value.
    let (mut new, mut old): (libc::sigaction, libc::sigaction) = unsafe { core::mem::zeroed() };
    new.sa_sigaction = handler;
    new.sa_flags = flags;
    *first_word(&mut new.sa_mask) = mask;
    // SAFETY: a valid action and a place for the old one.
    if unsafe { sigaction(signal, &new, &mut old) } == 0 { old.sa_sigaction } else { libc::SIG_ERR }
}

/// The handler of a signal as the program sees it, or `SIG_ERR`.
pub(crate) fn handler(signal: c_int) -> usize {
    // SAFETY: all bytes zero is a value.
    let mut action: libc::sigaction = unsafe { core::mem::zeroed() };
    // SAFETY: asks only.
    let result = unsafe { sigaction(signal, core::ptr::null(), &mut action) };
    if result == 0 { action.sa_sigaction } else { libc::SIG_ERR }
}

/// `signal` as BSD and glibc have it.
pub(crate) fn signal(signal: c_int, handler: usize) -> usize {
    let valid = (1..=SIGNALS).contains(&signal);
    let interrupts = valid && INTERRUPTING.load() & bit(signal) != 0;
    let flags = if interrupts { 0 } else { libc::SA_RESTART };
    replace_handler(signal, handler, if valid { bit(signal) } else { 0 }, flags)
}

/// `siginterrupt`.
pub(crate) fn siginterrupt(signal: c_int, interrupts: bool) -> c_int {
    // SAFETY: all bytes zero is a value.
    let mut action: libc::sigaction = unsafe { core::mem::zeroed() };
    // SAFETY: asks only.
    if unsafe { sigaction(signal, core::ptr::null(), &mut action) } != 0 {
        return -1;
    }
    let mut seen = INTERRUPTING.load();
    loop {
        let now = if interrupts { seen | bit(signal) } else { seen & !bit(signal) };
        match INTERRUPTING.compare_exchange(seen, now) {
            Ok(()) => break,
            Err(found) => seen = found,
        }
    }
    action.sa_flags &= !libc::SA_RESTART;
    if !interrupts {
        action.sa_flags |= libc::SA_RESTART;
    }
    // SAFETY: a valid action.
    unsafe { sigaction(signal, &action, core::ptr::null_mut()) }
}
