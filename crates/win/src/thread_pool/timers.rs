// SPDX-License-Identifier: MIT OR Apache-2.0
//! Timers of pools.

use core::ffi::c_void;

use super::callback::{Function, Instance};
use super::environment::Environ;
use super::item::{Cause, Item};
use super::schedule::{Setting, Timer};
use super::state::state;
use super::work;
use crate::boundary::call;
use crate::last_error::{NOT_ENOUGH_MEMORY, Result};
use crate::timer::deadline;
use crate::word::NS_PER_MS;

fn is_timer(cause: &Cause) -> bool {
    matches!(cause, Cause::Timer(_))
}

/// # Safety
/// `environ` is NULL or points to one; the function may be called with the context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_CreateThreadpoolTimer(
    function: Option<extern "C-unwind" fn(*const Instance, *mut c_void, *mut c_void)>,
    context: *mut c_void,
    environ: *const Environ,
) -> *mut c_void {
    let function = function.map(Function::WithItem);
    // SAFETY: the same contract.
    call(core::ptr::null_mut(), || unsafe { work::create(Cause::Timer(Timer::default()), function, context, environ) })
}

/// Sets a timer, or unsets it. Returns true if it would have become due.
///
/// # Safety
/// `due` is NULL or points to a time of 8 bytes.
unsafe fn set(timer: *mut c_void, due: *const i64, period: u32, window: u32) -> Result<bool> {
    let mut state = state().ok_or(NOT_ENOUGH_MEMORY)?;
    let id = work::open(&state, timer, is_timer)?;
    let was_set = state.unset_timer(id);
    if !due.is_null() {
        // SAFETY: the same contract.
        let due = deadline(unsafe { due.read_unaligned() });
        let [period_ns, window_ns] = [period, window].map(|milliseconds| u64::from(milliseconds) * NS_PER_MS);
        state.set_timer(id, &Setting { due, period_ns, window_ns });
    }
    Ok(was_set)
}

/// # Safety
/// `due` is NULL or points to a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_SetThreadpoolTimer(timer: *mut c_void, due: *const i64, period: u32, window: u32) {
    // SAFETY: the same contract.
    call(false, || unsafe { set(timer, due, period, window) });
}

/// # Safety
/// The contract is that of [`ntw_SetThreadpoolTimer`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_SetThreadpoolTimerEx(
    timer: *mut c_void,
    due: *const i64,
    period: u32,
    window: u32,
) -> i32 {
    // SAFETY: the same contract.
    call(false, || unsafe { set(timer, due, period, window) }).into()
}

#[unsafe(no_mangle)]
pub extern "C" fn ntw_IsThreadpoolTimerSet(timer: *mut c_void) -> i32 {
    call(false, || {
        let state = state().ok_or(NOT_ENOUGH_MEMORY)?;
        let id = work::open(&state, timer, is_timer)?;
        Ok(matches!(state.items.get(id), Some(Item { cause: Cause::Timer(timer), .. }) if timer.is_set))
    })
    .into()
}

#[unsafe(no_mangle)]
pub extern "C" fn ntw_WaitForThreadpoolTimerCallbacks(timer: *mut c_void, cancel: i32) {
    work::wait_for(timer, cancel, is_timer);
}

#[unsafe(no_mangle)]
pub extern "C" fn ntw_CloseThreadpoolTimer(timer: *mut c_void) {
    work::close(timer, is_timer);
}
