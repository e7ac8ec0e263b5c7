// SPDX-License-Identifier: MIT OR Apache-2.0
//! Work that the program submits.

use core::ffi::c_void;

use super::callback::{Function, Instance, Simple};
use super::environment::{Environ, Environment};
use super::item::{self, Cause, Item, New, Until};
use super::queue::LONG_FUNCTION;
use super::slab::Id;
use super::state::{State, state};
use super::wait_threads;
use crate::boundary::{call, call_for_bool};
use crate::last_error::{INVALID_PARAMETER, NOT_ENOUGH_MEMORY, Result};

/// The item of this cause that C names, which the program has not closed.
///
/// Errors: `INVALID_PARAMETER`.
pub fn open(state: &State, pointer: *mut c_void, is_cause: fn(&Cause) -> bool) -> Result<Id<Item>> {
    let id = Id::of(pointer).ok_or(INVALID_PARAMETER)?;
    state.items.get(id).filter(|item| item.is_open && is_cause(&item.cause)).map(|_| id).ok_or(INVALID_PARAMETER)
}

/// Makes an item that the program will close.
///
/// Errors: `INVALID_PARAMETER`, `NOT_ENOUGH_MEMORY`.
///
/// # Safety
/// The contract is that of [`Environment::of`].
pub unsafe fn create(
    cause: Cause,
    function: Option<Function>,
    context: *mut c_void,
    environ: *const Environ,
) -> Result<*mut c_void> {
    let function = function.ok_or(INVALID_PARAMETER)?;
    // SAFETY: the same contract.
    let environment = unsafe { Environment::of(environ) }?;
    let mut state = state().ok_or(NOT_ENOUGH_MEMORY)?;
    state.create(New { cause, function, context, environment, queue: None, is_open: true }).map(Id::pointer)
}

/// Waits for the calls of an item, and cancels those that have not begun, if that is asked for.
pub fn wait_for(pointer: *mut c_void, cancel: i32, is_cause: fn(&Cause) -> bool) {
    call((), || {
        let id = {
            let mut state = state().ok_or(NOT_ENOUGH_MEMORY)?;
            let id = open(&state, pointer, is_cause)?;
            if cancel != 0 {
                state.cancel(id);
            }
            id
        };
        item::wait(id, Until::Waited);
        Ok(())
    });
}

/// Closes an item; its pending calls are still made.
pub fn close(pointer: *mut c_void, is_cause: fn(&Cause) -> bool) {
    call((), || {
        let id = {
            let mut state = state().ok_or(NOT_ENOUGH_MEMORY)?;
            let id = open(&state, pointer, is_cause)?;
            state.close(id);
            id
        };
        wait_threads::until_left(id);
        state().ok_or(NOT_ENOUGH_MEMORY)?.settle(id);
        Ok(())
    });
}

fn is_work(cause: &Cause) -> bool {
    matches!(cause, Cause::Work)
}

/// # Safety
/// `environ` is NULL or points to one; the function may be called with the context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_CreateThreadpoolWork(
    function: Option<extern "C-unwind" fn(*const Instance, *mut c_void, *mut c_void)>,
    context: *mut c_void,
    environ: *const Environ,
) -> *mut c_void {
    // SAFETY: the same contract.
    call(core::ptr::null_mut(), || unsafe { create(Cause::Work, function.map(Function::WithItem), context, environ) })
}

#[unsafe(no_mangle)]
pub extern "C" fn ntw_SubmitThreadpoolWork(work: *mut c_void) {
    call((), || {
        let mut state = state().ok_or(NOT_ENOUGH_MEMORY)?;
        let id = open(&state, work, is_work)?;
        state.submit(id);
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn ntw_WaitForThreadpoolWorkCallbacks(work: *mut c_void, cancel: i32) {
    wait_for(work, cancel, is_work);
}

#[unsafe(no_mangle)]
pub extern "C" fn ntw_CloseThreadpoolWork(work: *mut c_void) {
    close(work, is_work);
}

/// Submits what is called once.
fn submit_once(function: Option<Function>, context: *mut c_void, environment: Environment) -> Result<()> {
    let function = function.ok_or(INVALID_PARAMETER)?;
    let mut state = state().ok_or(NOT_ENOUGH_MEMORY)?;
    let new = New { cause: Cause::Simple, function, context, environment, queue: None, is_open: false };
    let id = state.create(new)?;
    state.submit(id);
    Ok(())
}

/// # Safety
/// The contract is that of [`ntw_CreateThreadpoolWork`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_TrySubmitThreadpoolCallback(
    function: Option<Simple>,
    context: *mut c_void,
    environ: *const Environ,
) -> i32 {
    // SAFETY: the same contract.
    call_for_bool(|| submit_once(function.map(Function::Simple), context, unsafe { Environment::of(environ) }?))
}

/// Which thread calls it does not differ by the flags, as on Windows since Vista.
#[unsafe(no_mangle)]
pub extern "C" fn ntw_QueueUserWorkItem(
    function: Option<extern "C-unwind" fn(*mut c_void) -> u32>,
    context: *mut c_void,
    flags: u32,
) -> i32 {
    let environment = Environment { is_long: flags & LONG_FUNCTION != 0, ..Environment::DEFAULT };
    call_for_bool(|| submit_once(function.map(Function::Plain), context, environment))
}
