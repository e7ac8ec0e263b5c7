// SPDX-License-Identifier: MIT OR Apache-2.0
//! Timer queues.

use core::ffi::c_void;
use std::collections::BTreeSet;

use super::callback::Function;
use super::completion::{self, Completion};
use super::environment::Environment;
use super::item::{Cause, Item, New};
use super::schedule::{Setting, Timer};
use super::seat::Seat;
use super::slab::{Id, Numbered};
use super::state::{State, state};
use crate::boundary::{call, call_for_bool, put};
use crate::handle::Handle;
use crate::last_error::{INVALID_HANDLE, INVALID_PARAMETER, IO_PENDING, NOT_ENOUGH_MEMORY, Result};
use crate::record::Target;
use crate::thread;
use crate::word::{self, NS_PER_MS};

/// Flags of what is registered and queued.
pub const IN_IO_THREAD: u32 = 0x1;
pub const IN_WAIT_THREAD: u32 = 0x4;
pub const ONLY_ONCE: u32 = 0x8;
pub const LONG_FUNCTION: u32 = 0x10;
const IN_TIMER_THREAD: u32 = 0x20;

/// Timers that are deleted together.
#[derive(Default)]
pub struct Queue {
    pub timers: BTreeSet<Id<Item>>,
    is_closed: bool,
    /// The event that is set when it is gone.
    completion: Option<Target>,
    waiting: Vec<Seat>,
}

impl Numbered for Queue {
    const KIND: u64 = 5;
}

impl State {
    /// One of its timers is gone.
    pub fn left_queue(&mut self, id: Id<Queue>, timer: Id<Item>) {
        if let Some(queue) = self.queues.get_mut(id) {
            queue.timers.remove(&timer);
            self.end_queue(id);
        }
    }

    /// Ends it, if it is closed and has no timers.
    fn end_queue(&mut self, id: Id<Queue>) {
        if self.queues.get(id).is_some_and(|queue| queue.is_closed && queue.timers.is_empty())
            && let Some(queue) = self.queues.remove(id)
        {
            self.owed.events.extend(queue.completion);
            self.owed.calls.extend(queue.waiting);
        }
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn ntw_CreateTimerQueue() -> Handle {
    call(core::ptr::null_mut(), || {
        let mut state = state().ok_or(NOT_ENOUGH_MEMORY)?;
        state.queues.insert(Queue::default()).map(Id::pointer).ok_or(NOT_ENOUGH_MEMORY)
    })
}

/// The queue that C names; none for the default one.
///
/// Errors: `INVALID_HANDLE`.
fn queue(state: &State, queue: Handle) -> Result<Option<Id<Queue>>> {
    if queue.is_null() {
        return Ok(None);
    }
    let id = Id::of(queue).ok_or(INVALID_HANDLE)?;
    state.queues.get(id).filter(|queue| !queue.is_closed).map(|_| Some(id)).ok_or(INVALID_HANDLE)
}

/// # Safety
/// `timer` is NULL or may be written; the callback may be called with the context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_CreateTimerQueueTimer(
    timer: *mut Handle,
    queue_: Handle,
    callback: Option<extern "C-unwind" fn(*mut c_void, u8)>,
    context: *mut c_void,
    due: u32,
    period: u32,
    flags: u32,
) -> i32 {
    call_for_bool(|| {
        let function = Function::Fired(callback.ok_or(INVALID_PARAMETER)?);
        let mut state = state().ok_or(NOT_ENOUGH_MEMORY)?;
        let cause = Timer::new(flags & IN_TIMER_THREAD != 0);
        let environment = Environment { is_long: flags & LONG_FUNCTION != 0, ..Environment::DEFAULT };
        let queue = queue(&state, queue_)?;
        let id =
            state.create(New { cause: Cause::Timer(cause), function, context, environment, queue, is_open: true })?;
        // Before its function can be called.
        // SAFETY: the same contract.
        unsafe { put(timer, id.pointer()) };
        state.set_timer(id, &setting(due, if flags & ONLY_ONCE != 0 { 0 } else { period }));
        Ok(())
    })
}

fn setting(due: u32, period: u32) -> Setting {
    Setting { due: word::deadline(due), period_ns: u64::from(period) * NS_PER_MS, window_ns: 0 }
}

/// The timer of a queue that C names, which the program has not deleted.
///
/// Errors: `INVALID_PARAMETER`.
fn timer(state: &State, timer: Handle) -> Result<Id<Item>> {
    let id = Id::of(timer).ok_or(INVALID_PARAMETER)?;
    let is_timer =
        |item: &&Item| item.is_open && matches!((&item.cause, item.function), (Cause::Timer(_), Function::Fired(_)));
    state.items.get(id).filter(is_timer).map(|_| id).ok_or(INVALID_PARAMETER)
}

/// It does not matter which queue is named. A timer that was due once stays as it is, as on Windows.
#[unsafe(no_mangle)]
pub extern "C" fn ntw_ChangeTimerQueueTimer(_queue: Handle, timer_: Handle, due: u32, period: u32) -> i32 {
    call_for_bool(|| {
        let mut state = state().ok_or(NOT_ENOUGH_MEMORY)?;
        let id = timer(&state, timer_)?;
        if state.unset_timer(id) {
            state.set_timer(id, &setting(due, period));
        }
        Ok(())
    })
}

/// It does not matter which queue is named.
#[unsafe(no_mangle)]
pub extern "C" fn ntw_DeleteTimerQueueTimer(_queue: Handle, timer_: Handle, completion: Handle) -> i32 {
    call_for_bool(|| {
        let id = {
            let state = state().ok_or(NOT_ENOUGH_MEMORY)?;
            timer(&state, timer_)?
        };
        completion::close(id, Completion::of(completion)?, INVALID_PARAMETER)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn ntw_DeleteTimerQueue(queue: Handle) -> i32 {
    call_for_bool(|| match delete(queue, Completion::Nothing) {
        Err(IO_PENDING) => Ok(()),
        deleted => deleted,
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn ntw_DeleteTimerQueueEx(queue: Handle, completion: Handle) -> i32 {
    call_for_bool(|| delete(queue, Completion::of(completion)?))
}

/// Errors: `INVALID_HANDLE`, also for the default queue; `IO_PENDING` if functions of its timers run that this does not wait for.
fn delete(handle: Handle, completion: Completion) -> Result<()> {
    let id = {
        let mut state = state().ok_or(NOT_ENOUGH_MEMORY)?;
        let id = queue(&state, handle)
            .and_then(|queue| queue.ok_or(INVALID_HANDLE))
            .inspect_err(|_| completion.release())?;
        let Some(queue) = state.queues.get_mut(id) else { return Err(INVALID_HANDLE) };
        queue.is_closed = true;
        queue.completion = completion.event();
        for timer in queue.timers.clone() {
            state.close(timer);
            state.settle(timer);
        }
        state.end_queue(id);
        id
    };
    wait(id, completion)
}

/// Waits until the queue is gone, if that is asked for, and none of its functions is what calls this.
fn wait(id: Id<Queue>, completion: Completion) -> Result<()> {
    let me = thread::id();
    loop {
        let mut state = state().ok_or(NOT_ENOUGH_MEMORY)?;
        let State { queues, items, .. } = &mut *state;
        let Some(queue) = queues.get_mut(id) else { return Ok(()) };
        let is_own = queue.timers.iter().any(|timer| items.get(*timer).is_some_and(|item| item.runs_in(me)));
        if is_own || !matches!(completion, Completion::Blocks) {
            return Err(IO_PENDING);
        }
        let seat = Seat::take();
        queue.waiting.push(seat);
        drop(state);
        seat.until_called();
    }
}
