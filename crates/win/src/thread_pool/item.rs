// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a thread pool calls: work, simple callbacks, timers, waits. How many of its calls are to come, and which are going on.
//!
//! # Picture
//! ```text
//!                 submit, fire              a thread takes it              it returns
//! (the program) -------------> pending + 1 ----------------> running + 1 ------------> running - 1
//!                                   |  cancel: 0                  |  disassociate: no wait of the item's waits for it any more
//! ```
//! # Transitions of an item
//! | what | by |
//! | --- | --- |
//! | one more is pending, and the item is in its pool's queue | [`State::submit`] |
//! | nothing is pending | [`State::cancel`] |
//! | one that was pending is running | [`State::take`] |
//! | it is not running any more | [`finish`] |
//! | it is not open any more | [`State::close`], once |
//! | it is gone, with its completion | [`State::settle`], when it is not open, neither armed nor due, and nothing is pending or running |
//!
//! # Invariants
//! * I-item-1: `ready` of a pool is the sum of what is pending in it for its threads.
//! * I-item-2: an item that has something pending for the threads of its pool is in one queue there, once. In a queue there may also be
//!   items without, and numbers of items that are gone: who takes one passes over them.
//! * I-item-3: who waits for an item sits in its list until the item's counts change so that the wait may be over, or until it is gone.
//!
//! # Order
//! All of this happens with the lock of [`State`].

use core::ffi::c_void;
use std::collections::VecDeque;

use super::callback::{Begun, Function, TIMEOUT};
use super::environment::Environment;
use super::group::Group;
use super::queue::Queue;
use super::schedule::Timer;
use super::seat::Seat;
use super::slab::{Id, Numbered};
use super::state::{State, state};
use super::wait_threads::Wait;
use super::workers::Pool;
use crate::last_error::{INVALID_PARAMETER, NOT_ENOUGH_MEMORY, Result};
use crate::planted::{Bug, planted};
use crate::record::Target;
use crate::thread;

/// What causes the calls.
pub enum Cause {
    /// The program submits it.
    Work,
    /// It was submitted once, when it was made.
    Simple,
    Timer(Timer),
    Wait(Wait),
}

/// A call that is going on.
#[derive(Clone, Copy)]
pub struct Running {
    thread: u32,
    is_associated: bool,
}

/// See the module.
pub struct Item {
    pub cause: Cause,
    pub function: Function,
    pub context: usize,
    pub pool: Id<Pool>,
    pub group: Option<Id<Group>>,
    /// The timer queue, if it is a timer of one.
    pub queue: Option<Id<Queue>>,
    pub environment: Environment,
    pub pending: u32,
    /// What each pending call of a wait is told.
    pub results: VecDeque<u32>,
    pub is_queued: bool,
    pub running: Vec<Running>,
    /// The program has not closed it.
    pub is_open: bool,
    /// The event that is set when it is gone.
    pub completion: Option<Target>,
    pub waiting: Vec<Seat>,
}

impl Numbered for Item {
    const KIND: u64 = 1;
}

impl Item {
    /// Returns true if its calls are made by the threads of its pool, and not by the one that finds them due.
    pub fn is_for_pool(&self) -> bool {
        match &self.cause {
            Cause::Work | Cause::Simple => true,
            Cause::Timer(timer) => !timer.in_timer_thread,
            Cause::Wait(wait) => !wait.in_wait_thread,
        }
    }

    /// Returns true if nothing is to come and nothing is going on, but for calls by this thread.
    pub fn is_over(&self, by: u32) -> bool {
        self.pending == 0 && self.running.iter().all(|running| running.thread == by)
    }

    /// The same, but for calls that were dissociated, too.
    fn is_over_for_waits(&self, by: u32) -> bool {
        let does_not_count = |running: &Running| running.thread == by || !running.is_associated;
        self.pending == 0 && self.running.iter().all(does_not_count)
    }

    /// Returns true if this thread makes one of its calls.
    pub fn runs_in(&self, thread: u32) -> bool {
        self.running.iter().any(|running| running.thread == thread)
    }

    fn is_gone(&self) -> bool {
        let may_call = match &self.cause {
            Cause::Work | Cause::Simple => false,
            Cause::Timer(timer) => timer.due.is_some(),
            Cause::Wait(wait) => wait.armed.is_some(),
        };
        !self.is_open && self.pending == 0 && self.running.is_empty() && !may_call
    }
}

/// What a new item has.
pub struct New {
    pub cause: Cause,
    pub function: Function,
    pub context: *mut c_void,
    pub environment: Environment,
    pub queue: Option<Id<Queue>>,
    pub is_open: bool,
}

impl State {
    /// Makes one.
    ///
    /// Errors: `INVALID_PARAMETER` if the pool or the group was closed; `NOT_ENOUGH_MEMORY`.
    pub fn create(&mut self, new: New) -> Result<Id<Item>> {
        let New { cause, function, context, environment, queue, is_open } = new;
        let pool = environment.pool.map_or_else(|| self.default_pool(), Ok)?;
        let has_group = environment.group.is_none_or(|group| self.groups.get(group).is_some());
        if !has_group || !self.pools.get(pool).is_some_and(Pool::is_open) {
            return Err(INVALID_PARAMETER);
        }
        let item = Item {
            cause,
            function,
            context: context.expose_provenance(),
            pool,
            group: environment.group,
            queue,
            environment,
            pending: 0,
            results: VecDeque::new(),
            is_queued: false,
            running: Vec::new(),
            is_open,
            completion: None,
            waiting: Vec::new(),
        };
        let id = self.items.insert(item).ok_or(NOT_ENOUGH_MEMORY)?;
        if let Some(pool) = self.pools.get_mut(pool) {
            pool.items += 1;
        }
        if let Some(group) = environment.group.and_then(|group| self.groups.get_mut(group)) {
            group.members.insert(id);
        }
        if let Some(queue) = queue.and_then(|queue| self.queues.get_mut(queue)) {
            queue.timers.insert(id);
        }
        Ok(id)
    }

    /// One more call is to come.
    pub fn submit(&mut self, id: Id<Item>) {
        let Some(item) = self.items.get_mut(id) else { return };
        item.pending += 1;
        if item.is_for_pool() {
            let (pool, priority) = (item.pool, item.environment.priority);
            let is_queued = core::mem::replace(&mut item.is_queued, true);
            self.queue(pool, priority, (!is_queued).then_some(id));
        }
    }

    /// What is to come does not.
    pub fn cancel(&mut self, id: Id<Item>) {
        let Some(item) = self.items.get_mut(id) else { return };
        let cancelled = core::mem::take(&mut item.pending);
        item.results.clear();
        if item.is_for_pool()
            && let Some(pool) = self.pools.get_mut(item.pool)
        {
            pool.ready -= cancelled;
        }
        self.settle(id);
    }

    /// The calling thread begins a call that was pending.
    pub fn take(&mut self, id: Id<Item>) -> Option<Begun> {
        let thread = thread::id();
        let item = self.items.get_mut(id).filter(|item| item.pending > 0)?;
        item.pending -= 1;
        item.running.push(Running { thread, is_associated: true });
        let result = item.results.pop_front().unwrap_or(TIMEOUT);
        Some(Begun::new(id, item, result, thread))
    }

    /// The program closes it: no calls come but those that are pending. False if it has done so before.
    pub fn close(&mut self, id: Id<Item>) -> bool {
        let Some(item) = self.items.get_mut(id).filter(|item| item.is_open) else { return false };
        item.is_open = false;
        if let Cause::Wait(wait) = &mut item.cause
            && let Some(again) = wait.again.take()
        {
            self.owed.releases.extend(again.target);
        }
        self.unset(id);
        true
    }

    /// Wakes who waits for the item, if the wait may be over; ends it, if it is gone.
    pub fn settle(&mut self, id: Id<Item>) {
        let Some(item) = self.items.get_mut(id) else { return };
        // Which calls a wait waits for differs; each looks again.
        if item.pending == 0 {
            self.owed.calls.append(&mut item.waiting);
        }
        if !item.is_gone() {
            return;
        }
        let Some(item) = self.items.remove(id) else { return };
        self.owed.events.extend(item.completion);
        if let Some(group) = item.group.and_then(|group| self.groups.get_mut(group)) {
            group.members.remove(&id);
        }
        if let Some(queue) = item.queue {
            self.left_queue(queue, id);
        }
        self.left_pool(item.pool);
    }

    /// The calling thread's call does not count for waits any more.
    pub fn disassociate(&mut self, id: Id<Item>) {
        let by = thread::id();
        if let Some(item) = self.items.get_mut(id)
            && let Some(running) = item.running.iter_mut().find(|running| running.thread == by)
        {
            running.is_associated = false;
            self.settle(id);
        }
    }
}

/// The calling thread's call has returned.
pub fn finish(id: Id<Item>) {
    let by = thread::id();
    let Some(mut state) = state() else { return };
    if let Some(item) = state.items.get_mut(id)
        && let Some(index) = item.running.iter().position(|running| running.thread == by)
    {
        item.running.swap_remove(index);
        if !planted(Bug::ReturnsSilently) {
            state.settle(id);
        }
    }
}

/// Which calls a wait waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// None is pending, and of those that run all were dissociated.
    Waited,
    /// None is pending or runs.
    Over,
}

/// Waits until the item's calls have returned, but for one that this thread makes: where Windows would hang, this does not.
pub fn wait(id: Id<Item>, until: Until) {
    let by = thread::id();
    loop {
        let Some(mut state) = state() else { return };
        let Some(item) = state.items.get_mut(id) else { return };
        let is_over = match until {
            Until::Waited => item.is_over_for_waits(by),
            Until::Over => item.is_over(by),
        };
        if is_over {
            return;
        }
        let (seat, pool) = (Seat::take(), item.pool);
        item.waiting.push(seat);
        let deadline = state.bring_if_left(pool);
        drop(state);
        seat.until_called_or(deadline, || leave(id, seat));
    }
}

/// The deadline of a thread that waits for an item has passed: it waits no more. Returns false if it was called meanwhile.
fn leave(id: Id<Item>, seat: Seat) -> bool {
    state().is_some_and(|mut state| state.items.get_mut(id).is_some_and(|item| seat.leave(&mut item.waiting)))
}
