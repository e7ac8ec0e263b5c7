// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pools: which of the pending calls comes next, and the threads that make them.
//!
//! # Role
//! A pool has no thread before it has something to do. A call that comes finds a thread that sleeps, or one that is on its way already, or
//! a new one is started, up to the pool's maximum. A thread that takes a call sees to it that the next pending one finds a thread as well,
//! before it makes its own. So a burst of short calls is made by few threads, and calls that sleep get a thread each. A thread that has had
//! nothing to do for [`IDLE_NS`] ends, unless the pool is to keep it.
//!
//! # Picture
//! ```text
//! ready    calls that are pending                            queues   the items that have some, in turn, for each priority
//! idle     the seats of threads that sleep, the latest last  coming   threads that were called or started, and have not looked yet
//! threads  all of them, between min and max
//! ```
//! # Transitions of a thread, each with the lock of [`State`]
//! | from | to | by |
//! | --- | --- | --- |
//! | none | coming | [`State::bring`], which starts it |
//! | idle | coming | [`State::bring`], or a change of the pool, which calls it |
//! | coming | busy | itself, if a call is pending |
//! | coming, or busy before | idle | itself, if none is |
//! | idle | ended | itself, after its deadline; if the pool was closed and has no items |
//!
//! # Invariants
//! * I-pool-1: if more calls are pending than threads are coming, no thread is idle; and either a thread is coming, or there are as many as
//!   there may be.
//! * I-pool-2: a pool is gone when it is closed, has no items, and no threads.

use core::ffi::c_void;
use std::collections::VecDeque;

use ntux::Deadline;

use super::callback::{Begun, Next};
use super::environment::PRIORITIES;
use super::item::Item;
use super::seat::Seat;
use super::slab::{Id, Numbered};
use super::state::{State, state};
use crate::boundary::{call, call_for_bool, put};
use crate::last_error::{INVALID_PARAMETER, NOACCESS, NOT_ENOUGH_MEMORY, Result, TOO_MANY_TCBS};
use crate::planted::{Bug, planted};
use crate::thread::IDLE_NS;

/// As on Windows.
const THREADS_MAX: u32 = 500;
/// How long a thread waits before it tries again to start one for the calls that it waits for.
const AGAIN_NS: u64 = 50_000_000;

/// See the module.
pub struct Pool {
    is_open: bool,
    pub items: u32,
    pub ready: u32,
    queues: [VecDeque<Id<Item>>; PRIORITIES],
    threads: u32,
    coming: u32,
    idle: Vec<Seat>,
    min: u32,
    max: u32,
    stack: Stack,
}

/// TP_POOL_STACK_INFORMATION; 0 for the C library's own size.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Stack {
    reserve: usize,
    commit: usize,
}

impl Numbered for Pool {
    const KIND: u64 = 2;
}

impl Pool {
    fn new() -> Pool {
        Pool {
            is_open: true,
            items: 0,
            ready: 0,
            queues: Default::default(),
            threads: 0,
            coming: 0,
            idle: Vec::new(),
            min: 0,
            max: THREADS_MAX,
            stack: Stack { reserve: 0, commit: 0 },
        }
    }

    pub fn is_open(&self) -> bool {
        self.is_open
    }

    fn is_over(&self) -> bool {
        !self.is_open && self.items == 0
    }
}

impl State {
    /// The pool of those that name none.
    ///
    /// Errors: `NOT_ENOUGH_MEMORY`.
    pub fn default_pool(&mut self) -> Result<Id<Pool>> {
        match self.default {
            Some(pool) => Ok(pool),
            None => {
                self.default = self.pools.insert(Pool::new());
                self.default.ok_or(NOT_ENOUGH_MEMORY)
            }
        }
    }

    /// One more call is pending, of an item that is to be put into the queue, unless it is there.
    pub fn queue(&mut self, id: Id<Pool>, priority: usize, item: Option<Id<Item>>) {
        if let Some(pool) = self.pools.get_mut(id) {
            pool.ready += 1;
            pool.queues[priority].extend(item);
            self.bring(id);
        }
    }

    /// Sees to it that threads come for what is pending (I-pool-1).
    fn bring(&mut self, id: Id<Pool>) {
        let Some(pool) = self.pools.get_mut(id) else { return };
        while pool.ready > pool.coming {
            if let Some(seat) = pool.idle.pop() {
                pool.coming += 1;
                self.owed.calls.extend((!planted(Bug::LetsSleep)).then_some(seat));
                continue;
            }
            if pool.coming == 0 && pool.threads < pool.max {
                self.owe_threads(id, 1);
            }
            break;
        }
    }

    /// Tries again to start a thread for what is pending, if the pool has none because the system had no room for it. Returns until when
    /// whoever waits for its calls may sleep before it asks again.
    pub fn bring_if_left(&mut self, id: Id<Pool>) -> Deadline {
        match self.pools.get(id) {
            Some(pool) if pool.ready > 0 && pool.threads == 0 => {
                self.bring(id);
                Deadline::after_ns(AGAIN_NS)
            }
            _ => Deadline::Never,
        }
    }

    /// So many more threads of the pool are to be started.
    fn owe_threads(&mut self, id: Id<Pool>, count: u32) {
        let Some(pool) = self.pools.get_mut(id) else { return };
        pool.threads += count;
        pool.coming += count;
        self.owed.workers.extend((0..count).map(|_| (id, pool.stack.reserve)));
    }

    /// Calls all threads that sleep: something about the pool has changed.
    fn disturb(&mut self, id: Id<Pool>) {
        if let Some(pool) = self.pools.get_mut(id) {
            pool.coming += pool.idle.len() as u32;
            self.owed.calls.append(&mut pool.idle);
        }
    }

    /// The next call of the pool, which the calling thread has begun. An item that has more of them waits for its next turn.
    fn next(&mut self, id: Id<Pool>) -> Option<Begun> {
        for priority in 0..PRIORITIES {
            while let Some(item) = self.pools.get_mut(id)?.queues[priority].pop_front() {
                let Some(begun) = self.take(item) else {
                    self.unqueue(item);
                    continue;
                };
                let pool = self.pools.get_mut(id)?;
                pool.ready -= 1;
                match self.items.get_mut(item) {
                    Some(Item { pending: 1.., .. }) => pool.queues[priority].push_back(item),
                    _ => self.unqueue(item),
                }
                return Some(begun);
            }
        }
        None
    }

    fn unqueue(&mut self, item: Id<Item>) {
        if let Some(item) = self.items.get_mut(item) {
            item.is_queued = false;
        }
    }

    /// One of its items is gone.
    pub fn left_pool(&mut self, id: Id<Pool>) {
        if let Some(pool) = self.pools.get_mut(id) {
            pool.items -= 1;
            self.end_pool(id);
        }
    }

    /// Ends the pool if it is over (I-pool-2); its threads see to the rest.
    fn end_pool(&mut self, id: Id<Pool>) {
        let Some(pool) = self.pools.get(id).filter(|pool| pool.is_over()) else { return };
        if pool.threads == 0 {
            self.pools.remove(id);
        } else {
            self.disturb(id);
        }
    }

    /// A thread of it has ended, or was not started.
    fn lose_thread(&mut self, id: Id<Pool>) {
        if let Some(pool) = self.pools.get_mut(id) {
            pool.threads -= 1;
            self.end_pool(id);
        }
    }
}

/// A thread that was counted could not be started. The next call that comes tries it again, and so does whoever waits for the calls.
pub fn not_started(id: Id<Pool>) {
    if let Some(mut state) = state() {
        if let Some(pool) = state.pools.get_mut(id) {
            pool.coming -= 1;
        }
        state.lose_thread(id);
    }
}

/// What a thread of a pool does. Functions of the program may end it; nothing here is to be cleaned up.
pub extern "C-unwind" fn main(pool: *mut c_void) -> *mut c_void {
    let mut is_coming = true;
    loop {
        match call(Next::End, || Ok(next(pool, is_coming))) {
            Next::Call(begun) => begun.run(),
            Next::Apcs => {}
            Next::End => return core::ptr::null_mut(),
        }
        is_coming = false;
    }
}

/// What the calling thread does next, for which it may sleep.
fn next(pool: *mut c_void, mut is_coming: bool) -> Next {
    let Some(id) = Id::<Pool>::of(pool) else { return Next::End };
    let mut is_late = false;
    loop {
        let Some(mut state) = state() else { return Next::End };
        let Some(pool) = state.pools.get_mut(id) else { return Next::End };
        if is_coming {
            pool.coming -= 1;
        }
        if let Some(begun) = state.next(id) {
            state.bring(id);
            return Next::Call(begun);
        }
        let Some(pool) = state.pools.get_mut(id) else { return Next::End };
        let is_needed = pool.threads <= pool.min;
        if pool.is_over() || (is_late && !is_needed) {
            state.lose_thread(id);
            return Next::End;
        }
        let seat = Seat::take();
        pool.idle.push(seat);
        drop(state);
        let deadline = if is_needed { Deadline::Never } else { Deadline::after_ns(IDLE_NS) };
        is_coming = seat.until_called_or(deadline, || leave(id, seat));
        is_late = !is_coming;
    }
}

/// The deadline of a thread has passed: it is idle no more. Returns false if it was called meanwhile.
fn leave(id: Id<Pool>, seat: Seat) -> bool {
    planted(Bug::IgnoresLateCall)
        || state().is_some_and(|mut state| state.pools.get_mut(id).is_some_and(|pool| seat.leave(&mut pool.idle)))
}

/// Asks about a pool, or changes it.
///
/// Errors: `INVALID_PARAMETER` if it is none.
fn with<R>(pool: *mut c_void, work: impl FnOnce(&mut State, Id<Pool>) -> Result<R>) -> Result<R> {
    let id = Id::of(pool).ok_or(INVALID_PARAMETER)?;
    let mut state = state().ok_or(NOT_ENOUGH_MEMORY)?;
    state.pools.get(id).filter(|pool| pool.is_open).ok_or(INVALID_PARAMETER)?;
    work(&mut state, id)
}

/// The same; the caller has looked that it is there.
fn pool(state: &mut State, id: Id<Pool>) -> Result<&mut Pool> {
    state.pools.get_mut(id).ok_or(INVALID_PARAMETER)
}

#[unsafe(no_mangle)]
pub extern "C" fn ntw_CreateThreadpool(reserved: *mut c_void) -> *mut c_void {
    call(core::ptr::null_mut(), || {
        if !reserved.is_null() {
            return Err(INVALID_PARAMETER);
        }
        let mut state = state().ok_or(NOT_ENOUGH_MEMORY)?;
        state.pools.insert(Pool::new()).map(Id::pointer).ok_or(NOT_ENOUGH_MEMORY)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn ntw_CloseThreadpool(pool_: *mut c_void) {
    call((), || {
        with(pool_, |state, id| {
            pool(state, id)?.is_open = false;
            state.end_pool(id);
            Ok(())
        })
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn ntw_SetThreadpoolThreadMaximum(pool_: *mut c_void, max: u32) {
    call((), || {
        with(pool_, |state, id| {
            let pool = pool(state, id)?;
            pool.max = max.max(1);
            pool.min = pool.min.min(pool.max);
            // Threads that were to be kept may go, and more of them may come.
            state.disturb(id);
            state.bring(id);
            Ok(())
        })
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn ntw_SetThreadpoolThreadMinimum(pool_: *mut c_void, min: u32) -> i32 {
    call_for_bool(|| {
        with(pool_, |state, id| {
            let pool = pool(state, id)?;
            pool.min = min;
            pool.max = pool.max.max(min);
            let missing = min.saturating_sub(pool.threads);
            state.owe_threads(id, missing);
            state.disturb(id);
            Ok(())
        })
    })
}

/// # Safety
/// `stack` is NULL or points to one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_SetThreadpoolStackInformation(pool_: *mut c_void, stack: *const Stack) -> i32 {
    call_for_bool(|| {
        // SAFETY: the same contract.
        let stack = *unsafe { stack.as_ref() }.ok_or(NOACCESS)?;
        with(pool_, |state, id| {
            pool(state, id)?.stack = stack;
            Ok(())
        })
    })
}

/// # Safety
/// `stack` is NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_QueryThreadpoolStackInformation(pool_: *mut c_void, stack: *mut Stack) -> i32 {
    call_for_bool(|| {
        let known = with(pool_, |state, id| Ok(pool(state, id)?.stack))?;
        let reserve = if known.reserve == 0 { crate::start::usual_stack() } else { known.reserve };
        let commit = if known.commit == 0 { ntux_platform::protection::page_size() } else { known.commit };
        // SAFETY: the same contract.
        unsafe { put(stack, Stack { reserve, commit }) };
        Ok(())
    })
}

/// The calling thread, which makes a call of this item, will be busy for long.
///
/// Errors: `TOO_MANY_TCBS` if the pool can have no other thread for the others.
pub fn stays_long(item: Id<Item>) -> Result<()> {
    let mut state = state().ok_or(NOT_ENOUGH_MEMORY)?;
    let id = state.items.get(item).ok_or(INVALID_PARAMETER)?.pool;
    let pool = pool(&mut state, id)?;
    if !pool.idle.is_empty() || pool.coming > 0 {
        return Ok(());
    }
    if pool.threads >= pool.max {
        return Err(TOO_MANY_TCBS);
    }
    state.owe_threads(id, 1);
    Ok(())
}
