// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waitable timers.
//!
//! # Role
//! A timer is one of the core ([`ntux_sync::Arena::timer_set`]): whoever waits for it makes it signaled when it is due, in any process of
//! the session. What is here is its completion routine: the thread that has set it looks in each alertable wait whether the timer was due,
//! and sleeps no longer than until it is.
//!
//! # Picture
//! ```text
//! due       none, or when the call is to be queued; a time on the clock that is never set, or on that which is (an absolute time)
//! routine   none, or the thread that has set the timer, and what it calls
//! count     how often the timer was set and cancelled: a call that an earlier setting has queued is not made
//! queued    the call of this setting is in the thread's queue
//! ```
//! # Transitions, each with the lock
//! | what | by |
//! | --- | --- |
//! | the core's timer is armed; `due`, `routine` new | [`ntw_SetWaitableTimer`] |
//! | `due` is the next period's, or none; the call is queued, unless it is | [`Timer::look`] of the thread of the routine, when it is due |
//! | the core's timer is cancelled; `due` and `routine` none: a call that is queued is not made | [`ntw_CancelWaitableTimer`] |
//!
//! A thread that sleeps has set its timers before, so nobody has to wake it for another due time: one that somebody else sets calls it no
//! more.
//!
//! # Death
//! The threads of a process die together. A forked child does not look at its parent's routines, whose locks may be held for ever there; it
//! waits for the timers, as other processes of the session do. What another process sets or cancels does not take back a call of this one.

use core::ffi::{c_char, c_void};

use ntux::{Clock, Deadline, Due, MutexGuard};
use ntux_platform::clock;
use ntux_sync::{New, Object};

use crate::apc::{self, Apc};
use crate::arena::arena;
use crate::attributes::{self, ObjectAttributes};
use crate::boundary::{TRUE, call_for_bool, put};
use crate::create::{self, Attributes};
use crate::handle::{self, Handle};
use crate::last_error::{
    self, CALL_NOT_IMPLEMENTED, INVALID_HANDLE, INVALID_PARAMETER, NOACCESS, NOT_SUPPORTED, Result, of_object,
};
use crate::locked::Locked;
use crate::planted::{Bug, planted};
use crate::record::{Kind, Payload, Target};
use crate::status::{self, SUCCESS, TIMER_RESUME_IGNORED, call_for_status};
use crate::word::NS_PER_MS;
use crate::{nt, text, thread};

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
        Timer { state: Locked::new(State { due: None, period_ns: 0, routine: None, count: 0, is_queued: false }) }
    }

    /// None in a forked child.
    fn lock(&self) -> Option<MutexGuard<'_, State>> {
        self.state.lock()
    }

    /// Queues the call that is due. Returns when the next is.
    fn look(&self, timer: Target) -> Option<Deadline> {
        self.lock()?.look(timer)
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

/// Queues the calls of the calling thread's timers that are due. Returns when the next is.
pub fn look_at_own() -> Option<Deadline> {
    let dues = own().into_iter().filter_map(|target| with(target, |timer| timer.look(target))?);
    dues.reduce(Deadline::earlier)
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
    let name = create::with_flags(flags, MANUAL_RESET | HIGH_RESOLUTION, name);
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
    let new = New::Timer { manual };
    let make = || create::object(|core, waiter| core.create_new(waiter, new));
    // SAFETY: the same contract.
    unsafe { create::create(Kind::Timer, attributes, name, access, Payload::of_shared(Kind::Timer), Some(new), make) }
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

/// Changes a timer, which nobody else of this process does meanwhile. Errors: those of a handle; `CALL_NOT_IMPLEMENTED` in a forked child.
fn change<R>(handle: Handle, change: impl FnOnce(Target, Object, &mut State) -> Result<R>) -> Result<R> {
    let found = handle::look_up_modifiable(handle, Kind::Timer)?;
    let target = found.entry.target();
    with(target, |timer| change(target, found.object, &mut *timer.lock().ok_or(CALL_NOT_IMPLEMENTED)?))
        .ok_or(INVALID_HANDLE)?
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
        // SAFETY: the same contract.
        unsafe { set(timer, due, period, routine, argument) }.map(drop)
    })
}

/// Sets a timer. Returns whether it was signaled before.
///
/// # Safety
/// The contract is that of [`ntw_SetWaitableTimer`].
unsafe fn set(
    timer: Handle,
    due: *const i64,
    period: i32,
    routine: Option<Routine>,
    argument: *mut c_void,
) -> Result<bool> {
    if due.is_null() {
        return Err(NOACCESS);
    }
    let period = u64::try_from(period).map_err(|_| INVALID_PARAMETER)?;
    // SAFETY: the same contract.
    let ticks = unsafe { due.read_unaligned() };
    let wanted = match routine {
        None => None,
        Some(function) => {
            Some(Wanted { thread: thread::of_caller()?, function, argument: argument.expose_provenance() })
        }
    };
    change(timer, |target, object, state| {
        let was_signaled = is_signaled(object)?;
        let set =
            |core: &ntux_sync::Arena, waiter: &_| core.timer_set(waiter, object, due_at(ticks), period * NS_PER_MS);
        arena()?.with_waiter(set).map_err(of_object)?;
        state.set(Some(deadline(ticks)), period * NS_PER_MS, wanted);
        if wanted.is_some() {
            thread::has_timer(target);
        }
        Ok(was_signaled)
    })
}

/// Cancels a timer. Returns whether it is signaled, which that does not change.
fn cancel(timer: Handle) -> Result<bool> {
    change(timer, |_, object, state| {
        arena()?.with_waiter(|core, waiter| core.timer_cancel(waiter, object)).map_err(of_object)?;
        state.set(None, 0, None);
        is_signaled(object)
    })
}

fn is_signaled(timer: Object) -> Result<bool> {
    arena()?.with_waiter(|core, waiter| core.timer_read(waiter, timer)).map(|state| state.signaled).map_err(of_object)
}

/// The same time for the core.
fn due_at(due: i64) -> Due {
    match deadline(due) {
        Deadline::Realtime(at_ns) => Due { clock: Clock::Wall, at_ns },
        _ => Due::after_ns(Clock::Monotonic, due.unsigned_abs().saturating_mul(NS_PER_TICK)),
    }
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
    call_for_bool(|| cancel(timer).map(drop))
}

// ==== By the functions of ntdll ====

/// TIMER_TYPE
const NOTIFICATION: u32 = 0;
const SYNCHRONIZATION: u32 = 1;

/// # Safety
/// `timer` is NULL or may be written; `attributes` is NULL or points to some, and what they point to is there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_NtCreateTimer(
    timer: *mut Handle,
    access: u32,
    attributes: *const ObjectAttributes,
    kind: u32,
) -> u32 {
    let new = match kind {
        NOTIFICATION => Ok(New::Timer { manual: true }),
        SYNCHRONIZATION => Ok(New::Timer { manual: false }),
        _ => Err(status::INVALID_PARAMETER),
    };
    // SAFETY: the same contract.
    unsafe { attributes::create(Kind::Timer, timer, access, attributes, new) }
}

/// # Safety
/// The contract is that of [`ntw_NtCreateTimer`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_NtOpenTimer(timer: *mut Handle, access: u32, attributes: *const ObjectAttributes) -> u32 {
    // SAFETY: the same contract.
    unsafe { attributes::open(Kind::Timer, timer, access, attributes) }
}

/// # Safety
/// The contract is that of [`ntw_SetWaitableTimer`]; `before` is NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_NtSetTimer(
    timer: Handle,
    due: *const i64,
    routine: Option<Routine>,
    argument: *mut c_void,
    resume: u8,
    period: i32,
    before: *mut u8,
) -> u32 {
    call_for_status(|| {
        nt::of_kind(timer, Kind::Timer)?;
        // SAFETY: the same contract.
        unsafe { put(before, set(timer, due, period, routine, argument)?.into()) };
        // It succeeds where the system cannot be woken by a timer, and says so.
        Ok(if resume == 0 { SUCCESS } else { TIMER_RESUME_IGNORED })
    })
}

/// # Safety
/// `before` is NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_NtCancelTimer(timer: Handle, before: *mut u8) -> u32 {
    call_for_status(|| {
        nt::of_kind(timer, Kind::Timer)?;
        // SAFETY: the same contract.
        unsafe { put(before, cancel(timer)?.into()) };
        Ok(SUCCESS)
    })
}

/// TIMER_BASIC_INFORMATION
#[repr(C)]
struct Basic {
    left: i64,
    is_signaled: u8,
}

const BASIC: u32 = 0;

/// # Safety
/// `information` is NULL or may be written, for as many bytes; `length` is NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_NtQueryTimer(
    timer: Handle,
    class: u32,
    information: *mut c_void,
    bytes: u32,
    length: *mut u32,
) -> u32 {
    let state = || {
        let object = nt::of_kind(timer, Kind::Timer)?.object;
        let state = arena()?.with_waiter(|core, waiter| core.timer_read(waiter, object)).map_err(of_object)?;
        let left_ns = state.due.map_or(0, |due| match due.clock {
            Clock::Wall => due.at_ns.saturating_sub(clock::realtime_ns()),
            _ => due.at_ns.saturating_sub(clock::monotonic_ns()),
        });
        Ok(Basic { left: (left_ns / NS_PER_TICK) as i64, is_signaled: state.signaled.into() })
    };
    // SAFETY: the same contract.
    unsafe { nt::answered(class == BASIC, information.cast(), bytes, length, state) }
}
