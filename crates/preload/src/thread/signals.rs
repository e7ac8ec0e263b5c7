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
#[path = "../../tests/unit/thread/signals.rs"]
mod tests;
