// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waits without a thread of the program: threads that each wait for as many objects as one wait may have.
//!
//! # Role
//! A wait is armed in a thread that has room for it, or a new one is started. The thread waits for all objects of its waits and for its
//! alert, which tells it that something has changed. What a wait has acquired is never lost: if the program unsets it at that moment, it
//! waits until the thread has said which it was.
//!
//! # Picture
//! ```text
//! armed        the waits, the latest last: one that fires goes, so the others get their turn
//! is_waiting   the thread waits for what was armed when it began; else it will look before it waits again
//! leaving      the seats of those who wait until the thread has looked
//! alert        what ends its wait; none until it has begun
//! ```
//! # Transitions of a wait, each with the lock of [`State`]
//! | from | to | by |
//! | --- | --- | --- |
//! | not armed | armed in a thread | [`arm`], if the item is open; then the thread is alerted |
//! | armed | not armed | [`State::unset`], if the thread does not wait |
//! | armed | armed, and leaving | [`State::unset`] otherwise; then the thread is alerted |
//! | armed, perhaps leaving | not armed, and one more call is pending | the thread, when the object was acquired or the time has come |
//! | armed and leaving | not armed | the thread, when its wait has ended |
//!
//! # Invariants
//! * I-wait-1: a wait that is armed holds the record of its object.
//! * I-wait-2: a thread is there as long as waits are armed in it.
//!
//! # Order
//! O-alert: a wait is armed or leaving before the thread is alerted, and the thread looks after its wait has ended, which takes the alert.
//! So it sees what it was alerted for, or the alert ends its next wait.

use core::ffi::c_void;
use ntux::Deadline;
use ntux_sync::{Object, WAIT_MAX};

use super::callback::{Begun, Next, TIMEOUT};
use super::item::{Cause, Item};
use super::seat::Seat;
use super::slab::{Id, Numbered};
use super::state::{State, state};
use crate::arena::arena;
use crate::boundary::call;
use crate::last_error::{INVALID_PARAMETER, NOT_ENOUGH_MEMORY, Result};
use crate::planted::{Bug, planted};
use crate::record::Target;
use crate::thread::{self, IDLE_NS};
use crate::wait::{self, Woken};
use crate::{apc, start};

/// See the module.
pub struct WaitThread {
    alert: Option<Object>,
    armed: Vec<Id<Item>>,
    /// Its waits run APCs.
    is_alertable: bool,
    is_waiting: bool,
    leaving: Vec<Seat>,
}

impl Numbered for WaitThread {
    const KIND: u64 = 4;
}

/// A wait, as far as it is one.
#[derive(Default)]
pub struct Wait {
    pub armed: Option<Armed>,
    /// What it waits for again when it has fired.
    pub again: Option<Again>,
    /// Its thread runs APCs.
    pub is_alertable: bool,
    /// Its calls are made by the thread that waits.
    pub in_wait_thread: bool,
}

/// What an armed wait waits for.
pub struct Armed {
    thread: Id<WaitThread>,
    /// None: nothing but time ends it.
    target: Option<Target>,
    due: Deadline,
    is_leaving: bool,
}

/// What a wait that is to be armed will wait for.
#[derive(Clone, Copy)]
pub struct Wanted {
    /// Held for the wait.
    pub target: Option<Target>,
    pub due: Deadline,
}

/// What a wait that fires is armed for again; its record is held for that.
pub struct Again {
    pub target: Option<Target>,
    /// The time-out of each.
    pub milliseconds: u32,
}

impl State {
    fn wait_mut(&mut self, id: Id<Item>) -> Option<&mut Wait> {
        match &mut self.items.get_mut(id)?.cause {
            Cause::Wait(wait) => Some(wait),
            _ => None,
        }
    }

    /// Sets a timer or a wait to nothing. The caller waits for [`until_left`] when the lock is free.
    pub fn unset(&mut self, id: Id<Item>) -> bool {
        if self.unset_timer(id) {
            return true;
        }
        let State { items, wait_threads, owed, .. } = self;
        let Some(Item { cause: Cause::Wait(wait), .. }) = items.get_mut(id) else { return false };
        let Some(armed) = &mut wait.armed else { return false };
        let was_armed = !core::mem::replace(&mut armed.is_leaving, true);
        match wait_threads.get_mut(armed.thread) {
            Some(thread) if thread.is_waiting && !planted(Bug::LeavesAtOnce) => owed.alerts.extend(thread.alert),
            _ => self.disarm(id),
        }
        was_armed
    }

    /// The wait is not armed any more.
    fn disarm(&mut self, id: Id<Item>) {
        let Some(armed) = self.wait_mut(id).and_then(|wait| wait.armed.take()) else { return };
        if let Some(thread) = self.wait_threads.get_mut(armed.thread) {
            thread.armed.retain(|&other| other != id);
        }
        self.owed.releases.extend(armed.target);
    }

    /// Arms it in a thread that has room. False if there is none.
    fn arm(&mut self, id: Id<Item>, wanted: Wanted) -> Result<bool> {
        let item = self.items.get_mut(id).ok_or(INVALID_PARAMETER)?;
        let is_open = item.is_open;
        let Cause::Wait(wait) = &mut item.cause else { return Err(INVALID_PARAMETER) };
        if !is_open || wait.armed.is_some() {
            return Err(INVALID_PARAMETER);
        }
        let has_room = |thread: &WaitThread| {
            thread.alert.is_some() && thread.is_alertable == wait.is_alertable && thread.armed.len() < WAIT_MAX
        };
        let Some((thread, _)) = self.wait_threads.iter().find(|(_, thread)| has_room(thread)) else { return Ok(false) };
        wait.armed = Some(Armed { thread, target: wanted.target, due: wanted.due, is_leaving: false });
        if let Some(thread) = self.wait_threads.get_mut(thread) {
            thread.armed.push(id);
            self.owed.alerts.extend(thread.alert.filter(|_| thread.is_waiting && !planted(Bug::ArmsSilently)));
        }
        Ok(true)
    }

    /// An armed wait has ended so.
    fn fire_wait(&mut self, id: Id<Item>, result: u32) {
        self.disarm(id);
        if let Some(item) = self.items.get_mut(id) {
            item.results.push_back(result);
        }
        self.submit(id);
    }

    /// The calling thread begins the call of a wait that has fired, if it makes that itself.
    fn take_own(&mut self, id: Id<Item>) -> Option<Begun> {
        self.items.get(id).filter(|item| !item.is_for_pool())?;
        self.take(id)
    }

    /// The first wait of a thread that time ends now.
    fn first_late(&self, thread: Id<WaitThread>) -> Option<Id<Item>> {
        let is_late = |id: &Id<Item>| match self.items.get(*id).map(|item| &item.cause) {
            Some(Cause::Wait(Wait { armed: Some(armed), .. })) => armed.due.passed(),
            _ => false,
        };
        self.wait_threads.get(thread)?.armed.iter().copied().find(is_late)
    }
}

/// Arms a wait, whose record is held for that.
///
/// Errors: `NOT_ENOUGH_MEMORY` if there can be no thread; `INVALID_PARAMETER` if it was closed or armed meanwhile. The hold has ended then.
pub fn arm(id: Id<Item>, wanted: Wanted) -> Result<()> {
    let armed = try_to_arm(id, wanted);
    if armed.is_err()
        && let Some(target) = wanted.target
    {
        target.release();
    }
    armed
}

fn try_to_arm(id: Id<Item>, wanted: Wanted) -> Result<()> {
    loop {
        let is_alertable = {
            let mut state = state().ok_or(NOT_ENOUGH_MEMORY)?;
            if state.arm(id, wanted)? {
                return Ok(());
            }
            state.wait_mut(id).is_some_and(|wait| wait.is_alertable)
        };
        start_thread(is_alertable)?;
    }
}

/// Starts one, and waits until it has begun.
fn start_thread(is_alertable: bool) -> Result<()> {
    let seat = Seat::take();
    let new = WaitThread { alert: None, armed: Vec::new(), is_alertable, is_waiting: false, leaving: vec![seat] };
    let id = state().and_then(|mut state| state.wait_threads.insert(new)).ok_or(NOT_ENOUGH_MEMORY);
    let started = id.and_then(|id| {
        start::detached(main, id.pointer(), 0).inspect_err(|_| {
            let _ = state().and_then(|mut state| state.wait_threads.remove(id));
        })
    });
    if started.is_ok() {
        seat.sleep(Deadline::Never);
    }
    seat.give();
    let id = id.and_then(|id| started.map(|()| id))?;
    let mut state = state().ok_or(NOT_ENOUGH_MEMORY)?;
    // One that is gone has begun, and ended for want of something to do.
    if state.wait_threads.get(id).is_none_or(|thread| thread.alert.is_some()) {
        return Ok(());
    }
    state.wait_threads.remove(id);
    Err(NOT_ENOUGH_MEMORY)
}

/// Arms a wait that has fired, if it is one that is armed again.
///
/// Errors: those of [`arm`].
pub fn arm_again(id: Id<Item>) -> Result<()> {
    let wanted = {
        let mut state = state().ok_or(NOT_ENOUGH_MEMORY)?;
        let Some(Again { target, milliseconds }) = state.wait_mut(id).and_then(|wait| wait.again.as_ref()) else {
            return Ok(());
        };
        Wanted { target: target.filter(|target| target.hold()), due: crate::word::deadline(*milliseconds) }
    };
    // Closed meanwhile: that is no error of the call that begins.
    let _ = arm(id, wanted);
    Ok(())
}

/// Waits until a wait that is leaving has left its thread.
pub fn until_left(id: Id<Item>) {
    loop {
        let Some(mut state) = state() else { return };
        let Some(Armed { thread, is_leaving: true, .. }) = state.wait_mut(id).and_then(|wait| wait.armed.as_ref())
        else {
            return;
        };
        let thread = *thread;
        let Some(thread) = state.wait_threads.get_mut(thread) else { return };
        let seat = Seat::take();
        thread.leaving.push(seat);
        drop(state);
        seat.until_called();
    }
}

/// What a thread does. Functions of the program may end it; nothing here is to be cleaned up.
pub extern "C-unwind" fn main(thread: *mut c_void) -> *mut c_void {
    let Some(id) = Id::of(thread) else { return core::ptr::null_mut() };
    if matches!(call(Next::End, || begin(id)), Next::End) {
        return core::ptr::null_mut();
    }
    loop {
        match call(Next::End, || next(id)) {
            Next::Call(begun) => begun.run(),
            Next::Apcs => _ = apc::run(),
            Next::End => return core::ptr::null_mut(),
        }
    }
}

/// Tells who has started the thread that it is there, or that it ends because it has no alert.
fn begin(id: Id<WaitThread>) -> Result<Next> {
    let alert = thread::alert_of_caller();
    let mut state = state().ok_or(NOT_ENOUGH_MEMORY)?;
    let thread = state.wait_threads.get_mut(id).ok_or(NOT_ENOUGH_MEMORY)?;
    thread.alert = alert.ok();
    let leaving = core::mem::take(&mut thread.leaving);
    state.owed.calls.extend(leaving);
    alert.map(|_| Next::Apcs)
}

/// What a thread waits for.
struct Round {
    /// The waits with an object, and those.
    items: Vec<Id<Item>>,
    targets: Vec<Target>,
    due: Deadline,
    is_alertable: bool,
    /// Nothing is armed.
    is_idle: bool,
}

impl State {
    /// The thread will wait for what is armed. None if it is none any more.
    fn begin_round(&mut self, id: Id<WaitThread>) -> Option<Round> {
        let State { items, wait_threads, .. } = self;
        let thread = wait_threads.get_mut(id)?;
        thread.is_waiting = true;
        let (is_alertable, is_idle) = (thread.is_alertable, thread.armed.is_empty());
        let due = if is_idle { Deadline::after_ns(IDLE_NS) } else { Deadline::Never };
        let mut round = Round { items: Vec::new(), targets: Vec::new(), due, is_alertable, is_idle };
        for &item in &thread.armed {
            let Some(Item { cause: Cause::Wait(Wait { armed: Some(armed), .. }), .. }) = items.get(item) else {
                continue;
            };
            round.due = round.due.earlier(armed.due);
            if let Some(target) = armed.target {
                round.items.push(item);
                round.targets.push(target);
            }
        }
        Some(round)
    }

    /// The thread's wait has ended: what was leaving leaves.
    fn end_round(&mut self, id: Id<WaitThread>) {
        let Some(thread) = self.wait_threads.get_mut(id) else { return };
        thread.is_waiting = false;
        self.owed.calls.append(&mut thread.leaving);
        for item in thread.armed.clone() {
            if self.wait_mut(item).and_then(|wait| wait.armed.as_ref()).is_some_and(|armed| armed.is_leaving) {
                self.disarm(item);
                self.settle(item);
            }
        }
    }

    /// Ends a thread that had nothing to do. False if something was armed meanwhile.
    fn end_thread(&mut self, id: Id<WaitThread>) -> bool {
        let is_idle = self.wait_threads.get(id).is_some_and(|thread| thread.armed.is_empty());
        is_idle && self.wait_threads.remove(id).is_some()
    }
}

/// What the thread does next, for which it may wait.
///
/// Errors: `NOT_ENOUGH_MEMORY` if it is none any more.
fn next(id: Id<WaitThread>) -> Result<Next> {
    loop {
        let round = state().and_then(|mut state| state.begin_round(id)).ok_or(NOT_ENOUGH_MEMORY)?;
        let woken = wait::of_wait_thread(&round.targets, round.due, round.is_alertable);
        let lost = if woken.is_err() { lost(&round) } else { None };
        let mut state = state().ok_or(NOT_ENOUGH_MEMORY)?;
        let fired = match woken {
            Ok(Woken::By(index, result)) => round.items.get(index).map(|&item| (item, result)),
            Ok(Woken::Late) => state.first_late(id).map(|item| (item, TIMEOUT)),
            Ok(Woken::Alerted) | Err(_) => None,
        };
        if let Some((item, result)) = fired {
            state.fire_wait(item, result);
        }
        if let Some(item) = lost {
            state.disarm(item);
        }
        state.end_round(id);
        if let Some(begun) = fired.and_then(|(item, _)| state.take_own(item)) {
            return Ok(Next::Call(begun));
        }
        match woken {
            Ok(Woken::Alerted) if round.is_alertable => return Ok(Next::Apcs),
            Ok(Woken::Late) if round.is_idle && state.end_thread(id) => return Ok(Next::End),
            _ => {}
        }
    }
}

/// After a wait that was refused: an object is gone, as those of a parent are that has closed it. Or there is no room for another thread
/// that waits; then this gives others the time to make some.
fn lost(round: &Round) -> Option<Id<Item>> {
    let arena = arena().ok()?;
    let is_gone = |target: &Target| target.record().is_none_or(|record| arena.core().kind(record.object()).is_err());
    let index = round.targets.iter().position(is_gone);
    if index.is_none() {
        std::thread::yield_now();
    }
    index.map(|index| round.items[index])
}
