// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waits of pools, and registered ones.

use core::ffi::c_void;

use ntux::Deadline;

use super::callback::{Function, Instance};
use super::completion::{self, Completion};
use super::environment::{Environ, Environment};
use super::item::{Cause, Item, New};
use super::queue::{IN_IO_THREAD, IN_WAIT_THREAD, LONG_FUNCTION, ONLY_ONCE};
use super::slab::Id;
use super::state::state;
use super::wait_threads::{self, Again, Wait, Wanted};
use super::work;
use crate::boundary::{call, call_for_bool, put};
use crate::handle::{CURRENT_PROCESS, CURRENT_THREAD, Handle};
use crate::last_error::{INVALID_HANDLE, NOT_ENOUGH_MEMORY, Result};
use crate::record::Target;
use crate::{timer, wait, word};

fn is_wait(cause: &Cause) -> bool {
    matches!(cause, Cause::Wait(_))
}

/// What a handle names, held; none for this process and its threads, for which nobody waits.
///
/// Errors: those of a wait.
fn held(handle: Handle) -> Result<Option<Target>> {
    if matches!(handle.addr(), CURRENT_PROCESS | CURRENT_THREAD) {
        return Ok(None);
    }
    let target = wait::waitable(handle)?.entry.target();
    if target.hold() { Ok(Some(target)) } else { Err(INVALID_HANDLE) }
}

/// # Safety
/// `environ` is NULL or points to one; the function may be called with the context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_CreateThreadpoolWait(
    function: Option<extern "C-unwind" fn(*const Instance, *mut c_void, *mut c_void, u32)>,
    context: *mut c_void,
    environ: *const Environ,
) -> *mut c_void {
    let function = function.map(Function::WithResult);
    // SAFETY: the same contract.
    call(core::ptr::null_mut(), || unsafe { work::create(Cause::Wait(Wait::default()), function, context, environ) })
}

/// Sets a wait, or unsets it. Returns true if it was set.
///
/// Errors: those of a wait for the handle, with nothing changed; `INVALID_PARAMETER`, `NOT_ENOUGH_MEMORY`.
///
/// # Safety
/// `timeout` is NULL or points to a time of 8 bytes, if there is a handle.
unsafe fn set(wait: *mut c_void, handle: Handle, timeout: *const i64) -> Result<bool> {
    let wanted = match handle.is_null() {
        true => None,
        false => Some(held(handle)?),
    };
    let unset = || {
        let mut state = state().ok_or(NOT_ENOUGH_MEMORY)?;
        let id = work::open(&state, wait, is_wait)?;
        Ok((id, state.unset(id)))
    };
    let (id, was_set) = unset().inspect_err(|_| wanted.flatten().into_iter().for_each(Target::release))?;
    wait_threads::until_left(id);
    if let Some(target) = wanted {
        let due = match timeout.is_null() {
            true => Deadline::Never,
            // SAFETY: the same contract.
            false => timer::deadline(unsafe { timeout.read_unaligned() }),
        };
        wait_threads::arm(id, Wanted { target, due })?;
    }
    Ok(was_set)
}

/// # Safety
/// `timeout` is NULL or points to a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_SetThreadpoolWait(wait: *mut c_void, handle: Handle, timeout: *const i64) {
    // SAFETY: the same contract.
    call(false, || unsafe { set(wait, handle, timeout) });
}

/// # Safety
/// The contract is that of [`ntw_SetThreadpoolWait`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_SetThreadpoolWaitEx(
    wait: *mut c_void,
    handle: Handle,
    timeout: *const i64,
    _reserved: *mut c_void,
) -> i32 {
    // SAFETY: the same contract.
    call(false, || unsafe { set(wait, handle, timeout) }).into()
}

#[unsafe(no_mangle)]
pub extern "C" fn ntw_WaitForThreadpoolWaitCallbacks(wait: *mut c_void, cancel: i32) {
    work::wait_for(wait, cancel, is_wait);
}

#[unsafe(no_mangle)]
pub extern "C" fn ntw_CloseThreadpoolWait(wait: *mut c_void) {
    work::close(wait, is_wait);
}

/// # Safety
/// `wait` is NULL or may be written; the callback may be called with the context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_RegisterWaitForSingleObject(
    wait: *mut Handle,
    object: Handle,
    callback: Option<extern "C-unwind" fn(*mut c_void, u8)>,
    context: *mut c_void,
    milliseconds: u32,
    flags: u32,
) -> i32 {
    call_for_bool(|| {
        let function = Function::Fired(callback.ok_or(crate::last_error::INVALID_PARAMETER)?);
        let target = held(object)?;
        // A wait that fires again and again keeps its object in between.
        let is_again = flags & ONLY_ONCE == 0;
        let kept = target.filter(|target| is_again && target.hold());
        let again = is_again.then_some(Again { target: kept, milliseconds });
        let cause = Wait {
            armed: None,
            again,
            is_alertable: flags & IN_IO_THREAD != 0,
            in_wait_thread: flags & (IN_WAIT_THREAD | IN_IO_THREAD) != 0,
        };
        let environment = Environment { is_long: flags & LONG_FUNCTION != 0, ..Environment::DEFAULT };
        let new = New { cause: Cause::Wait(cause), function, context, environment, queue: None, is_open: true };
        let made = state().ok_or(NOT_ENOUGH_MEMORY).and_then(|mut state| state.create(new));
        let id = made.inspect_err(|_| {
            target.inspect(|target| target.release());
            kept.inspect(|target| target.release());
        })?;
        // Before its function can be called.
        // SAFETY: the same contract.
        unsafe { put(wait, id.pointer()) };
        let due = word::deadline(milliseconds);
        wait_threads::arm(id, Wanted { target, due }).inspect_err(|_| work::close(id.pointer(), is_wait))
    })
}

/// The registered wait that C names, which was not unregistered.
///
/// Errors: `INVALID_HANDLE`.
fn registered(handle: Handle) -> Result<Id<Item>> {
    let state = state().ok_or(NOT_ENOUGH_MEMORY)?;
    let is_registered = |id: &Id<Item>| {
        state.items.get(*id).is_some_and(|item| is_wait(&item.cause) && matches!(item.function, Function::Fired(_)))
    };
    Id::of(handle).filter(is_registered).ok_or(INVALID_HANDLE)
}

#[unsafe(no_mangle)]
pub extern "C" fn ntw_UnregisterWait(wait: Handle) -> i32 {
    call_for_bool(|| completion::close(registered(wait)?, Completion::Nothing, INVALID_HANDLE))
}

#[unsafe(no_mangle)]
pub extern "C" fn ntw_UnregisterWaitEx(wait: Handle, completion: Handle) -> i32 {
    call_for_bool(|| {
        let id = registered(wait)?;
        completion::close(id, Completion::of(completion)?, INVALID_HANDLE)
    })
}
