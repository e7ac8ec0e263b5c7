// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a signal handler of the program may run at any instruction, block for minutes, and never return.
//!
//! The real driver is immune: a signal takes the thread out of its wait before a handler runs. This library does the
//! same in user space. From the first use of the device on, the kernel calls a stub ([`super::arrival`]) instead of the
//! program's handler ([`super::handlers`] keeps the program's view). The stub finds the thread
//!
//! * **outside** this library: the stub jumps to the program's handler, as if it did not exist;
//! * **inside**, by a fault (the instruction itself caused the signal): in the guarded copy execution continues at the
//!   landing; elsewhere the fault is the program's;
//! * **inside**, by any other signal: [`attend`] makes the handler wait for the thread's *door*, where the thread is in no
//!   queue and nothing of ours is half done.
//!
//! The door is [`ntux_sync::door`], which has the protocol; the other face of it are the explicit waiters of the C interface
//! (`crates/capi/src/waiter.rs`). What differs, and why, is in the table there. This face decides where handlers are wrapped, and
//! how a signal finds the thread; if the handler returns, an interrupted wait starts again at the tail of the queues
//! (`SA_RESTART`) or fails with `EINTR`.
//!
//! # Rules
//! * S1: [`attend`] runs with all asynchronous signals blocked, so two of them never nest in it. Only faults, the C
//!   library's own signal and a fault's signal sent by `kill` may arrive in between; the last are deferred. A
//!   signal that arrives in the stub of another, before that has blocked signals, goes first.
//! * S2: a fault's signal that the program blocks may be unblocked while inside ([`super::stack`]); one sent by `kill` is blocked again
//!   and sent again, for when the program unblocks it.
//! * S3: the C library's signal for thread cancellation is treated like any other ([`super::cancel_signal`]).
//!
//! # Interrupted at each step
//! Before the thread's mark is set and after it is cleared the handler runs directly, as if the signal had arrived before or
//! after the call. The same holds between clearing and the door, and the owed handler follows.

use super::actions::has_handler;
use super::defaults::{do_default, take};
use super::frame::Attention;
use super::mask::restore;
use core::ffi::c_int;
use ntux_platform::to_self::{bit, block_in};
use ntux_sync::door::Restart;

/// A signal has arrived and the thread is inside, or the signal may be due at its door (S1). Returns whether the stub
/// is to jump to the handler; the mask is the handler's then, and everything is blocked otherwise, until the stub
/// returns.
///
/// # Safety
/// Called by the stub.
pub(crate) unsafe extern "C" fn attend(attention: &Attention) -> bool {
    let (record, action, signal) = (attention.record, attention.action, attention.signal as c_int);
    // SAFETY: the kernel's frames, which nobody else uses before the handler runs. The innermost may be the signal's
    // own.
    let (information, stack_pointer) = unsafe { (&mut *attention.information, (*attention.innermost).stack_pointer()) };
    let inside = record.is_inside_at(stack_pointer);
    let door = &record.door;
    if !door.receive(signal, information) {
        return false;
    }
    if !inside {
        let runs = has_handler(action.handler()) || !do_default(signal, information, action);
        restore(attention.mask);
        return runs;
    }
    let context = attention.context.cast();
    if record.memory.is_unblocked(signal) {
        // Not the door's to unblock.
        // SAFETY: the handler's third argument.
        unsafe { block_in(context, bit(signal)) };
        door.send_again(signal, information);
    } else if door.is_owing() || take(action) {
        let restart = if action.flags() & libc::SA_RESTART != 0 { Restart::Again } else { Restart::No };
        // SAFETY: as above; S1.
        unsafe { door.defer(signal, information, context, restart) };
    } else {
        do_default(signal, information, action);
    }
    false
}

#[cfg(test)]
mod tests {
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
}
