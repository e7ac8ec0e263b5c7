// SPDX-License-Identifier: MIT OR Apache-2.0
//! The requests that are one exchange: a wait for one object that is there, a release, unlock, set or reset for which nobody
//! waits, of objects that this process knows, by a thread that has used them before.
//!
//! It is the short way of what [`super::serve_in_full`] does. Where anything is missing (an argument cannot be read, a descriptor is not
//! known, somebody waits, operations are logged) nothing has happened, and the long way finds out what there is to do. So
//! nothing here can panic, asks the kernel, changes the error number or loops.
//!
//! The thread is inside all the same: a handler that ran in the middle could give up the thread's seat in the arena.

use super::requests::{EVENT_RESET, EVENT_SET, MUTEX_UNLOCK, REALTIME, SEM_RELEASE, WAIT_ANY};
use crate::c_library::copy::{self, Fault, INDEX_OFFSET, WaitArguments};
use crate::descriptors;
use crate::report::log;
use crate::thread::{self, Record, Seated, actions, stack};
use core::ffi::c_int;
use ntux_sync::Signal;

/// Nothing has happened. (No error number.)
pub(super) const NOT_DONE: c_int = -1;

/// Serves the request at once: 0, an error number, or [`NOT_DONE`].
#[inline(always)]
pub(super) fn serve(fd: c_int, request: u32, argument: usize) -> c_int {
    let Some(record) = thread::current() else { return NOT_DONE };
    thread::enter_with(record);
    let done = if can_touch(record, argument) { perform(record, fd, request, argument) } else { None };
    // Nothing here is interrupted: whatever handler runs at the door, the call does not start again.
    let _ = thread::leave(record);
    done.unwrap_or(NOT_DONE)
}

/// Returns true if the memory at this address is there, or a fault there reaches its handler; and nobody wants to be told.
#[inline(always)]
fn can_touch(record: &Record, address: usize) -> bool {
    record.memory.covers(address) || can_touch_elsewhere(address)
}

/// The long way learns of stack.
#[cold]
fn can_touch_elsewhere(address: usize) -> bool {
    actions::active() && log::is_quiet() && !stack::is_of_stack(address) && stack::do_faults_arrive()
}

#[inline(always)]
fn perform(record: &'static Record, fd: c_int, request: u32, argument: usize) -> Option<c_int> {
    const SECOND: usize = size_of::<u32>();
    match request {
        WAIT_ANY => wait(record, fd, argument),
        MUTEX_UNLOCK => {
            let [owner, _] = copy::read_two(argument).ok()?;
            signal(record, fd, argument.wrapping_add(SECOND), Signal::Unlock(owner))
        }
        SEM_RELEASE => signal(record, fd, argument, Signal::Release(copy::read_word(argument).ok()?)),
        EVENT_SET => signal(record, fd, argument, Signal::Set),
        EVENT_RESET => signal(record, fd, argument, Signal::Reset),
        _ => None,
    }
}

#[inline(always)]
fn signal(record: &'static Record, fd: c_int, result: usize, signal: Signal) -> Option<c_int> {
    let (tag, object) = descriptors::noted_object(fd)?;
    let Seated { arena, waiter } = record.seats.taken(tag)?;
    let previous = arena.signal_at_once(waiter, object, signal)?;
    record.counts.operation();
    Some(written(copy::write_word(result, previous), 0))
}

#[inline(always)]
fn wait(record: &'static Record, fd: c_int, argument: usize) -> Option<c_int> {
    let WaitArguments { objects, count, flags, owner, alert, pad, .. } = copy::read_wait(argument).ok()?;
    if count != 1 || flags & !REALTIME | alert | pad != 0 || owner == 0 {
        return None;
    }
    // Where the arguments are no known stack, the kernel has been asked already.
    let is_asked = !record.memory.covers(argument);
    if !is_asked && !can_touch(record, objects as usize) {
        return None;
    }
    let (tag, object) = descriptors::noted_object(copy::read_word(objects as usize).ok()? as c_int)?;
    let Seated { arena, waiter } = record.seats.taken(tag)?;
    if !descriptors::is_device_of(fd, tag) {
        return None;
    }
    let satisfied = arena.acquire_at_once(waiter, object, owner)?;
    record.counts.operation();
    record.counts.wait_at_once();
    let result = copy::write_word(argument.wrapping_add(INDEX_OFFSET), satisfied.index);
    Some(written(result, if satisfied.abandoned { libc::EOWNERDEAD } else { 0 }))
}

/// The answer if the result was written; else the effect stands, as with the driver.
#[inline(always)]
fn written(result: Result<(), Fault>, answer: c_int) -> c_int {
    if result.is_ok() { answer } else { libc::EFAULT }
}
