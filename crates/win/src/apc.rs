// SPDX-License-Identifier: MIT OR Apache-2.0
//! Asynchronous procedure calls: functions that a thread calls in its alertable waits.
//!
//! # Role
//! Any thread pushes to the queue of a thread, which takes all at once and calls them in the order of arrival. Then who has pushed sets the
//! thread's alert, if there is one (pair A). An alert for which no APC is left is ignored by the wait.
//!
//! # Picture
//! `head`: 0 (empty), 1 (the thread has ended), or the address of the newest call, which names the one before it.
//!
//! # Order
//! Pair A: a thread publishes its alert, then looks at its queue; who pushes exchanges the head of the queue, then looks for the alert. The
//! alert is published by an exchange, too, so one of the two sees the other.
//!
//! # Invariants
//! * I-apc: a call is in one queue until its thread takes it. Nobody but that thread takes, so an address that is pushed again means the
//!   same as before.

use core::ffi::c_void;

use ntux_platform::atomic::Word64;

use crate::boundary::{FALSE, call};
use crate::handle::{self, CURRENT_THREAD, Handle};
use crate::last_error::{CALL_NOT_IMPLEMENTED, GEN_FAILURE, INVALID_HANDLE, INVALID_PARAMETER, Result};
use crate::planted::{Bug, planted};
use crate::record::{Kind, Target};
use crate::{arena, kept, thread, timer};

/// What QueueUserAPC is given.
pub type Function = extern "C-unwind" fn(usize);

/// What NtQueueApcThread is given.
pub type NtFunction = extern "C-unwind" fn(usize, usize, usize);

/// A call that is due.
#[derive(Clone, Copy)]
pub enum Apc {
    User(Function, usize),
    Nt(NtFunction, [usize; 3]),
    Timer(timer::Call),
}

impl Apc {
    pub fn of_timer(call: timer::Call) -> Apc {
        Apc::Timer(call)
    }

    /// Makes the call. Returns false if nobody wants it any more. It may end the thread: nothing here is to be cleaned up.
    fn make(self) -> bool {
        match self {
            Apc::User(function, argument) => {
                function(argument);
                true
            }
            Apc::Nt(function, [first, second, third]) => {
                function(first, second, third);
                true
            }
            Apc::Timer(call) => call.make(),
        }
    }
}

struct Call {
    apc: Apc,
    before: u64,
}

/// The calls for one thread.
pub struct Queue {
    head: Word64,
}

const EMPTY: u64 = 0;
const ENDED: u64 = 1;

impl Queue {
    pub const fn new() -> Queue {
        Queue { head: Word64::new(EMPTY) }
    }

    pub fn is_empty(&self) -> bool {
        matches!(self.head.load(), EMPTY | ENDED)
    }

    pub fn has_ended(&self) -> bool {
        self.head.load() == ENDED
    }

    /// Adds a call. False if the thread has ended.
    fn push(&self, apc: Apc) -> bool {
        let call = kept::keep(Box::new(Call { apc, before: EMPTY }));
        loop {
            let head = self.head.load();
            if head == ENDED {
                // SAFETY: made above, and in no queue.
                unsafe { kept::take_back(call) };
                return false;
            }
            // SAFETY: made above, and in no queue yet.
            unsafe { (*call).before = head };
            // Pair A.
            if self.head.compare_exchange(head, call.expose_provenance() as u64).is_ok() {
                return true;
            }
        }
    }

    /// Takes all calls, the oldest first. Only the thread itself may call it.
    pub fn take(&self) -> Vec<Apc> {
        self.take_and_leave(EMPTY)
    }

    /// Takes no more calls, and forgets those that are there.
    pub fn end(&self) {
        self.take_and_leave(if planted(Bug::LeavesQueueOpen) { EMPTY } else { ENDED });
    }

    fn take_and_leave(&self, next: u64) -> Vec<Apc> {
        let mut head = self.head.load();
        while let Err(seen) = self.head.compare_exchange(head, next) {
            head = seen;
        }
        let mut calls = Vec::new();
        while !matches!(head, EMPTY | ENDED) {
            // SAFETY: I-apc: `push` has kept it, and the exchange has taken it from the queue.
            let call = unsafe { kept::take_back(core::ptr::with_exposed_provenance_mut::<Call>(head as usize)) };
            calls.push(call.apc);
            head = call.before;
        }
        calls.reverse();
        calls
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.end();
    }
}

/// Calls what is due for the calling thread. Returns true if there was any. A call may end the thread: nothing here is to be cleaned up.
pub fn run() -> bool {
    let mut any = false;
    while let Some(apc) = thread::next_apc() {
        any |= apc.make();
    }
    any
}

/// Adds a call to the queue of a thread, and wakes it if it waits alertably.
fn queue(target: Target, apc: Apc) -> Result<()> {
    let thread = thread::of(target).filter(|thread| thread.apcs.push(apc)).ok_or(GEN_FAILURE)?;
    if let Some(alert) = thread.alert() {
        // It is closed with the thread's record, which the caller keeps.
        let _ = arena::arena()?.with_waiter(|core, waiter| core.event_set(waiter, alert));
    }
    Ok(())
}

/// The same for a thread that may have ended. Returns true if it was queued.
pub fn queue_if_it_lives(target: Target, apc: Apc) -> bool {
    if !target.hold() {
        return false;
    }
    let queued = queue(target, apc).is_ok();
    target.release();
    queued
}

#[unsafe(no_mangle)]
pub extern "C" fn ntw_QueueUserAPC(function: Option<Function>, thread: Handle, argument: usize) -> u32 {
    call(0, || {
        let function = function.ok_or(INVALID_PARAMETER)?;
        queue_by_handle(thread, Some(Apc::User(function, argument))).map(|()| 1)
    })
}

/// Adds a call, if there is one, to the queue of the thread that the handle names.
///
/// Errors: `INVALID_HANDLE`; `GEN_FAILURE` if the thread has ended.
pub fn queue_by_handle(thread: Handle, apc: Option<Apc>) -> Result<()> {
    let target = match thread.addr() {
        CURRENT_THREAD => thread::of_caller()?,
        _ => handle::look_up_kind(thread, Kind::Thread)?.entry.target(),
    };
    if !target.hold() {
        return Err(INVALID_HANDLE);
    }
    let queued = match apc {
        Some(apc) => queue(target, apc),
        None => thread::of(target).filter(|thread| !thread.apcs.has_ended()).map(|_| ()).ok_or(GEN_FAILURE),
    };
    target.release();
    queued
}

/// Flags of QueueUserAPC2.
const NONE: u32 = 0;

#[unsafe(no_mangle)]
pub extern "C" fn ntw_QueueUserAPC2(function: Option<Function>, thread: Handle, argument: usize, flags: u32) -> i32 {
    if flags != NONE {
        return call(FALSE, || Err(CALL_NOT_IMPLEMENTED));
    }
    ntw_QueueUserAPC(function, thread, argument) as i32
}

const _: () = assert!(size_of::<usize>() == size_of::<*mut c_void>());
