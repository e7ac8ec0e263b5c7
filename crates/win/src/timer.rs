// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waitable timers, without a thread that waits for them.
//!
//! # Role
//! A timer is an event of the core and a due time. Only a wait can tell whether a timer is signaled, so the waits see to it: before it looks
//! at its objects, a wait sets the events of those timers that are due, and it sleeps no longer than until the next one is. A thread whose
//! call a timer queues (its completion routine) does the same for that timer in each alertable wait, whatever it waits for.
//!
//! # Picture
//! ```text
//! due       none, or a time on the clock that is never set, or on that which is (an absolute time)
//! routine   none, or the thread that has set the timer, and what it calls
//! count     how often the timer was set and cancelled: a call that an earlier setting has queued is not made
//! queued    the call of this setting is in the thread's queue
//! watchers  the alerts of those that sleep until the timer is due
//! ```
//! # Transitions, each with the lock
//! | what | by |
//! | --- | --- |
//! | the event is set; `due` is the next period's, or none; the call is queued, unless it is | [`Timer::look`] of anybody, when it is due |
//! | the event is reset; `due`, `routine` new; the watchers are alerted | [`ntw_SetWaitableTimer`] |
//! | `due` none; the event stays as it is | [`ntw_CancelWaitableTimer`], after a look |
//! | one watcher more, or fewer | [`Timer::watch`], [`Watches`] |
//!
//! # Order
//! O-timer: a thread becomes a watcher and reads `due` in one step for everybody who sets the timer. So it sleeps until the time that holds,
//! or is alerted.
//!
//! # Death
//! The threads of a process die together. A forked child does not look at its parent's timers, whose locks may be held for ever there: its
//! waits see what its parent's waits do.

use core::ffi::{c_char, c_void};

use ntux::{Deadline, MutexGuard};
use ntux_platform::clock;
use ntux_sync::Object;

use crate::apc::{self, Apc};
use crate::arena::{self, arena};
use crate::boundary::{TRUE, call_for_bool};
use crate::create::{self, Attributes};
use crate::handle::{self, Handle};
use crate::last_error::{
    self, CALL_NOT_IMPLEMENTED, INVALID_HANDLE, INVALID_PARAMETER, NOACCESS, NOT_SUPPORTED, Result,
};
use crate::locked::Locked;
use crate::planted::{Bug, planted};
use crate::record::{Kind, Payload, Target};
use crate::word::NS_PER_MS;
use crate::{text, thread};

/// What SetWaitableTimer is given: an argument, and when the timer was due.
pub type Routine = extern "C-unwind" fn(*mut c_void, u32, u32);

const MANUAL_RESET: u32 = 1;
const HIGH_RESOLUTION: u32 = 2;

const NS_PER_TICK: u64 = 100;
/// From 1601, with which Windows begins, to 1970.
const TICKS_BEFORE_1970: u64 = 116_444_736_000_000_000;

/// See the module.
pub struct Timer {
    state: Locked<State>,
}

struct State {
    due: Option<Deadline>,
    period_ns: u64,
    routine: Option<Wanted>,
    count: u32,
    is_queued: bool,
    watchers: Vec<Object>,
}

/// The call that a timer queues: of which function, in which thread.
#[derive(Clone, Copy)]
struct Wanted {
    thread: Target,
    function: Routine,
    argument: usize,
}

/// A call that a timer has queued.
#[derive(Clone, Copy)]
pub struct Call {
    timer: Target,
    count: u32,
    due: u64,
}

impl Timer {
    pub fn new() -> Timer {
        let state = State { due: None, period_ns: 0, routine: None, count: 0, is_queued: false, watchers: Vec::new() };
        Timer { state: Locked::new(state) }
    }

    /// None in a forked child.
    fn lock(&self) -> Option<MutexGuard<'_, State>> {
        self.state.lock()
    }

    /// Does what is due. Returns when the next is.
    pub fn look(&self, timer: Target) -> Option<Deadline> {
        self.lock()?.look(timer)
    }

    /// The same; from now on the alert is set when the timer is, until [`Timer::unwatch`].
    fn watch(&self, timer: Target, alert: Object) -> Option<Deadline> {
        if planted(Bug::WatchesLate) {
            let due = self.look(timer);
            self.lock()?.watchers.push(alert);
            return due;
        }
        let mut state = self.lock()?;
        state.watchers.push(alert);
        state.look(timer)
    }

    fn unwatch(&self, alert: Object) {
        if let Some(mut state) = self.lock()
            && let Some(index) = state.watchers.iter().position(|&watcher| watcher == alert)
        {
            state.watchers.swap_remove(index);
        }
    }

    /// Returns true if it queues calls for this thread.
    fn is_for(&self, thread: Target) -> bool {
        self.lock().is_some_and(|state| state.routine.is_some_and(|routine| routine.thread == thread))
    }
}

impl State {
    fn look(&mut self, timer: Target) -> Option<Deadline> {
        let due = self.due?;
        if !due.passed() {
            return Some(due);
        }
        let now = clock::realtime_ns();
        let late = match due {
            Deadline::Realtime(ns) => now.saturating_sub(ns),
            Deadline::Monotonic(ns) => clock::monotonic_ns().saturating_sub(ns),
            Deadline::Never => return None,
        };
        self.due = match self.period_ns {
            0 => None,
            period => Some(Deadline::after_ns(period - late % period)),
        };
        if let Some(record) = timer.record() {
            arena::set(record.object());
        }
        if let Some(routine) = self.routine.filter(|_| !self.is_queued) {
            let due = now.saturating_sub(late) / NS_PER_TICK + TICKS_BEFORE_1970;
            let apc = Apc::of_timer(Call { timer, count: self.count, due });
            self.is_queued = apc::queue_if_it_lives(routine.thread, apc);
        }
        self.due
    }

    /// A new setting, or none.
    fn set(&mut self, due: Option<Deadline>, period_ns: u64, routine: Option<Wanted>) {
        (self.due, self.period_ns, self.routine) = (due, period_ns, routine);
        self.count = self.count.wrapping_add(1);
        self.is_queued = false;
    }
}

impl Call {
    /// What is to be called; none if the timer was set anew, cancelled or closed since.
    fn take(self) -> Option<Wanted> {
        with(self.timer, |timer| {
            let mut state = timer.lock().filter(|state| state.count == self.count || planted(Bug::CallsAnyway))?;
            state.is_queued = false;
            state.routine
        })?
    }

    /// Calls it. Returns false if it is not wanted any more. It may end the thread: nothing here is to be cleaned up.
    pub fn make(self) -> bool {
        let Some(Wanted { function, argument, .. }) = self.take() else { return false };
        function(core::ptr::with_exposed_provenance_mut(argument), self.due as u32, (self.due >> 32) as u32);
        true
    }
}

/// Asks a timer, which the call keeps. None if it has ended.
fn with<R>(target: Target, question: impl FnOnce(&Timer) -> R) -> Option<R> {
    if !target.hold() {
        return None;
    }
    // SAFETY: held.
    let answer = unsafe { target.record().and_then(|record| record.timer()) }.map(question);
    target.release();
    answer
}

/// What a timer says, if this is one; the caller keeps the record.
fn of<'a>(target: Target) -> Option<&'a Timer> {
    // SAFETY: the caller keeps it.
    unsafe { target.record()?.timer() }
}

/// Does what is due: of these timers, whose records the caller keeps, and of those that queue calls for the calling thread if it waits
/// alertably.
pub fn look(timers: impl Iterator<Item = Target>, alertable: bool) {
    for target in timers {
        of(target).map(|timer| timer.look(target));
    }
    if alertable {
        for target in own() {
            with(target, |timer| timer.look(target));
        }
    }
}

/// The timers that queue calls for the calling thread.
fn own() -> Vec<Target> {
    let mut timers = thread::timers();
    if timers.is_empty() {
        return timers;
    }
    let Ok(me) = thread::of_caller() else { return Vec::new() };
    timers.retain(|&target| with(target, |timer| timer.is_for(me)).unwrap_or(false));
    thread::set_timers(timers.clone());
    timers
}

/// The timers of which a thread watches when they are due, until this is dropped.
pub struct Watches {
    alert: Object,
    held: Vec<Target>,
}

impl Watches {
    /// Watches these timers, and the calling thread's own. Returns when the first is due, and what ends the watch.
    pub fn of(timers: impl Iterator<Item = Target>, alertable: bool, alert: Object) -> (Option<Deadline>, Watches) {
        let own = if alertable { own() } else { Vec::new() };
        let mut watches = Watches { alert, held: Vec::new() };
        let mut first: Option<Deadline> = None;
        for target in timers.chain(own) {
            if !target.hold() {
                continue;
            }
            watches.held.push(target);
            if let Some(due) = of(target).and_then(|timer| timer.watch(target, alert)) {
                first = Some(first.map_or(due, |first| first.earlier(due)));
            }
        }
        (first, watches)
    }
}

impl Drop for Watches {
    fn drop(&mut self) {
        for &target in &self.held {
            of(target).inspect(|timer| timer.unwatch(self.alert));
            target.release();
        }
    }
}

/// # Safety
/// Each pointer is NULL or what the header asks for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_CreateWaitableTimerA(
    attributes: *const Attributes,
    manual: i32,
    name: *const c_char,
) -> Handle {
    // SAFETY: the same contract.
    unsafe { create(attributes, || text::narrow(name), manual != 0, None) }
}

/// # Safety
/// The contract is that of [`ntw_CreateWaitableTimerA`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_CreateWaitableTimerW(
    attributes: *const Attributes,
    manual: i32,
    name: *const u16,
) -> Handle {
    // SAFETY: the same contract.
    unsafe { create(attributes, || text::wide(name), manual != 0, None) }
}

/// # Safety
/// The contract is that of [`ntw_CreateWaitableTimerA`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_CreateWaitableTimerExA(
    attributes: *const Attributes,
    name: *const c_char,
    flags: u32,
    access: u32,
) -> Handle {
    // SAFETY: the same contract.
    unsafe { create_ex(attributes, || text::narrow(name), flags, access) }
}

/// # Safety
/// The contract is that of [`ntw_CreateWaitableTimerA`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_CreateWaitableTimerExW(
    attributes: *const Attributes,
    name: *const u16,
    flags: u32,
    access: u32,
) -> Handle {
    // SAFETY: the same contract.
    unsafe { create_ex(attributes, || text::wide(name), flags, access) }
}

/// # Safety
/// The contract is that of [`create::flags`].
unsafe fn create_ex(
    attributes: *const Attributes,
    name: impl FnOnce() -> Result<text::Text>,
    flags: u32,
    access: u32,
) -> Handle {
    if flags & !(MANUAL_RESET | HIGH_RESOLUTION) != 0 {
        last_error::set(INVALID_PARAMETER);
        return core::ptr::null_mut();
    }
    // SAFETY: by the contract.
    unsafe { create(attributes, name, flags & MANUAL_RESET != 0, Some(access)) }
}

/// # Safety
/// The contract is that of [`create::flags`].
unsafe fn create(
    attributes: *const Attributes,
    name: impl FnOnce() -> Result<text::Text>,
    manual: bool,
    access: Option<u32>,
) -> Handle {
    let make = || create::object(|core, waiter| core.event_create(waiter, manual, false));
    // SAFETY: the same contract.
    unsafe { create::create(Kind::Timer, attributes, name, access, Payload::Timer(Timer::new()), None, make) }
}

/// # Safety
/// The contract is that of [`ntw_CreateWaitableTimerA`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_OpenWaitableTimerA(access: u32, inherit: i32, name: *const c_char) -> Handle {
    // SAFETY: the same contract.
    create::open(Kind::Timer, || unsafe { text::narrow(name) }, access, inherit)
}

/// # Safety
/// The contract is that of [`ntw_CreateWaitableTimerA`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_OpenWaitableTimerW(access: u32, inherit: i32, name: *const u16) -> Handle {
    // SAFETY: the same contract.
    create::open(Kind::Timer, || unsafe { text::wide(name) }, access, inherit)
}

/// Changes a timer, which nobody else does meanwhile. Errors: those of a handle; `CALL_NOT_IMPLEMENTED` in a forked child.
fn change(handle: Handle, change: impl FnOnce(Target, &mut State) -> Result<()>) -> Result<()> {
    let target = handle::look_up_modifiable(handle, Kind::Timer)?.entry.target();
    with(target, |timer| change(target, &mut *timer.lock().ok_or(CALL_NOT_IMPLEMENTED)?)).ok_or(INVALID_HANDLE)?
}

/// # Safety
/// `due` is NULL or points to a number; the routine may be called with the argument.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_SetWaitableTimer(
    timer: Handle,
    due: *const i64,
    period: i32,
    routine: Option<Routine>,
    argument: *mut c_void,
    resume: i32,
) -> i32 {
    // SAFETY: the same contract.
    let set = unsafe { ntw_SetWaitableTimerEx(timer, due, period, routine, argument, core::ptr::null_mut(), 0) };
    if set == TRUE && resume != 0 {
        // It succeeds where the system cannot be woken by a timer, and says so.
        last_error::set(NOT_SUPPORTED);
    }
    set
}

/// # Safety
/// The contract is that of [`ntw_SetWaitableTimer`]. The last two are not looked at.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_SetWaitableTimerEx(
    timer: Handle,
    due: *const i64,
    period: i32,
    routine: Option<Routine>,
    argument: *mut c_void,
    _context: *mut c_void,
    _delay: u32,
) -> i32 {
    call_for_bool(|| {
        if due.is_null() {
            return Err(NOACCESS);
        }
        let period = u64::try_from(period).map_err(|_| INVALID_PARAMETER)?;
        // SAFETY: the same contract.
        let due = deadline(unsafe { due.read_unaligned() });
        let wanted = match routine {
            None => None,
            Some(function) => {
                Some(Wanted { thread: thread::of_caller()?, function, argument: argument.expose_provenance() })
            }
        };
        change(timer, |target, state| {
            let arena = arena()?;
            if let Some(record) = target.record() {
                let _ = arena.with_waiter(|core, waiter| core.event_reset(waiter, record.object()));
            }
            state.set(Some(due), period * NS_PER_MS, wanted);
            for &alert in &state.watchers {
                let _ = arena.with_waiter(|core, waiter| core.event_set(waiter, alert));
            }
            if wanted.is_some() {
                thread::has_timer(target);
            }
            Ok(())
        })
    })
}

/// Units of 100 ns: from now on if negative, else since 1601.
pub fn deadline(due: i64) -> Deadline {
    let ns = due.unsigned_abs().saturating_mul(NS_PER_TICK);
    match u64::try_from(due) {
        Err(_) => Deadline::after_ns(ns),
        // Long ago, too, is a time that has passed.
        Ok(ticks) => Deadline::Realtime(ticks.saturating_sub(TICKS_BEFORE_1970).saturating_mul(NS_PER_TICK)),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn ntw_CancelWaitableTimer(timer: Handle) -> i32 {
    call_for_bool(|| {
        change(timer, |target, state| {
            state.look(target);
            state.set(None, 0, None);
            Ok(())
        })
    })
}
