// SPDX-License-Identifier: MIT OR Apache-2.0
//! The unit tests of `src/thread/signals.rs`.

use super::*;
use crate::thread::mask::block;
use crate::thread::{handlers, record};
use core::ffi::c_void;
use ntux_platform::to_self::{self, Information};
use std::sync::Mutex;

/// The handlers' numbers, in the order in which they ran.
static RAN: Mutex<Vec<u64>> = Mutex::new(Vec::new());

extern "C" fn note(_signal: c_int, info: *mut libc::siginfo_t, _context: *mut c_void) {
    // SAFETY: the kernel's information; the queued value is its fourth word.
    RAN.lock().unwrap().push(unsafe { (*info.cast::<Information>())[3] });
}

fn queued(signal: c_int, value: u64) -> Information {
    [signal as u64, libc::SI_QUEUE as u32 as u64, 0, value, 0, 0]
}

/// A thread that owes the first of these signals comes to the door while the others are pending already.
fn handled(signal: c_int, values: &[u64]) -> Vec<u64> {
    // SAFETY: all bytes zero is a value; the handler takes what it is given.
    unsafe {
        let mut action: libc::sigaction = core::mem::zeroed();
        action.sa_sigaction = note as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        assert_eq!(handlers::sigaction(signal, &action, core::ptr::null_mut()), 0);
    }
    let record = record::enter().unwrap();
    block();
    for value in &values[1..] {
        to_self::send(signal, &queued(signal, *value));
    }
    // SAFETY: all bytes zero is a value: a context in which nothing is blocked.
    let mut context: libc::ucontext_t = unsafe { core::mem::zeroed() };
    let first = queued(signal, values[0]);
    // SAFETY: as a handler would with that context.
    unsafe { record.door.defer(signal, &first, (&raw mut context).cast(), Restart::Again) };
    assert_eq!(record::leave(record), Some(Restart::Again));
    assert!(!record.door.is_owing());
    std::mem::take(&mut RAN.lock().unwrap())
}

#[test]
fn nothing_is_lost_or_overtaken_at_the_door() {
    handlers::activate();
    assert_eq!(handled(libc::SIGUSR2, &[1]), [1]);
    assert_eq!(handled(libc::SIGUSR2, &[1, 2]), [1, 2], "the kernel keeps one of two, this library both");
    assert_eq!(handled(libc::SIGRTMIN(), &[1, 2, 3, 4]), [1, 2, 3, 4]);
}
