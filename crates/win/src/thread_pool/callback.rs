// SPDX-License-Identifier: MIT OR Apache-2.0
//! One call of the program by a thread of this library: what it is told, and what is done when it returns.

use core::cell::Cell;
use core::ffi::c_void;
use core::ptr;

use super::environment::Environment;
use super::item::{self, Cause, Item};
use super::slab::Id;
use super::state::state;
use super::{wait_threads, workers};
use crate::boundary::{call, call_for_bool};
use crate::critical_section::{CriticalSection, ntw_LeaveCriticalSection};
use crate::event::ntw_SetEvent;
use crate::handle::Handle;
use crate::last_error::{GEN_FAILURE, INVALID_PARAMETER, NOT_ENOUGH_MEMORY, Result};
use crate::mutex::ntw_ReleaseMutex;
use crate::semaphore::ntw_ReleaseSemaphore;
use crate::thread;

/// What is called; the context comes second, except where it is all.
#[derive(Clone, Copy)]
pub enum Function {
    Simple(Simple),
    /// Work and timers: the item comes third.
    WithItem(extern "C-unwind" fn(*const Instance, *mut c_void, *mut c_void)),
    /// Waits: how it ended comes fourth.
    WithResult(extern "C-unwind" fn(*const Instance, *mut c_void, *mut c_void, u32)),
    /// QueueUserWorkItem.
    Plain(extern "C-unwind" fn(*mut c_void) -> u32),
    /// Registered waits and timers of queues: not 0 if it was time that ended the wait.
    Fired(extern "C-unwind" fn(*mut c_void, u8)),
}

pub type Simple = extern "C-unwind" fn(*const Instance, *mut c_void);
pub type Finalization = Simple;

/// A wait's result: time has ended it.
pub const TIMEOUT: u32 = 0x102;

/// What the thread of a pool, of the timers or of waits does next.
#[derive(Clone, Copy)]
pub enum Next {
    Call(Begun),
    /// The APCs of the thread.
    Apcs,
    End,
}

/// A call that counts as running, and is to be made.
#[derive(Clone, Copy)]
pub struct Begun {
    item: Id<Item>,
    function: Function,
    context: usize,
    result: u32,
    environment: Environment,
    thread: u32,
    /// The wait begins again.
    again: bool,
}

/// TP_CALLBACK_INSTANCE. It lies on the stack of the thread that makes the call.
pub struct Instance {
    item: Id<Item>,
    thread: u32,
    is_long: Cell<bool>,
    section: Cell<*mut CriticalSection>,
    mutex: Cell<Handle>,
    semaphore: Cell<(Handle, u32)>,
    event: Cell<Handle>,
}

impl Begun {
    pub fn new(item: Id<Item>, known: &Item, result: u32, thread: u32) -> Begun {
        Begun {
            item,
            function: known.function,
            context: known.context,
            result,
            environment: known.environment,
            thread,
            again: matches!(&known.cause, Cause::Wait(wait) if wait.again.is_some()),
        }
    }

    /// Makes the call, and what belongs to it. It may end the thread: nothing here is to be cleaned up.
    pub fn run(self) {
        if self.again {
            call((), || wait_threads::arm_again(self.item));
        }
        let instance = Instance::new(self.item, self.thread, self.environment.is_long);
        let (context, item) = (ptr::with_exposed_provenance_mut(self.context), self.item.pointer());
        match self.function {
            Function::Simple(function) => function(&instance, context),
            Function::WithItem(function) => function(&instance, context, item),
            Function::WithResult(function) => function(&instance, context, item, self.result),
            Function::Plain(function) => _ = function(context),
            Function::Fired(function) => function(context, u8::from(self.result == TIMEOUT)),
        }
        if let Some(finalization) = self.environment.finalization {
            finalization(&instance, context);
        }
        instance.leave();
        call((), || {
            item::finish(self.item);
            Ok(())
        });
    }
}

impl Instance {
    fn new(item: Id<Item>, thread: u32, is_long: bool) -> Instance {
        Instance {
            item,
            thread,
            is_long: Cell::new(is_long),
            section: Cell::new(ptr::null_mut()),
            mutex: Cell::new(ptr::null_mut()),
            semaphore: Cell::new((ptr::null_mut(), 0)),
            event: Cell::new(ptr::null_mut()),
        }
    }

    /// Does what the call has asked for.
    fn leave(&self) {
        let (section, mutex, (semaphore, count), event) =
            (self.section.get(), self.mutex.get(), self.semaphore.get(), self.event.get());
        // SAFETY: the program has promised that the section is one that this thread is in; no previous count is asked for.
        unsafe {
            if !section.is_null() {
                ntw_LeaveCriticalSection(section);
            }
            if !mutex.is_null() {
                ntw_ReleaseMutex(mutex);
            }
            if !semaphore.is_null() {
                ntw_ReleaseSemaphore(semaphore, count as i32, ptr::null_mut());
            }
        }
        if !event.is_null() {
            ntw_SetEvent(event);
        }
    }

    /// Errors: `INVALID_PARAMETER` for NULL, and if another thread asks.
    ///
    /// # Safety
    /// `instance` is NULL or what a function of the program was given, which has not returned.
    unsafe fn of<'a>(instance: *const Instance) -> Result<&'a Instance> {
        // SAFETY: the caller's promise; it lies in the frame that has called the function.
        let instance = unsafe { instance.as_ref() }.ok_or(INVALID_PARAMETER)?;
        if instance.thread == thread::id() { Ok(instance) } else { Err(GEN_FAILURE) }
    }
}

/// Notes one thing for the end of the call; what was noted first stays.
///
/// # Safety
/// The contract is that of [`Instance::of`].
unsafe fn note(instance: *const Instance, note: impl FnOnce(&Instance)) {
    call((), || {
        // SAFETY: the caller's promise.
        note(unsafe { Instance::of(instance) }?);
        Ok(())
    });
}

/// # Safety
/// `instance` is what the function that calls this was given. The event is one when it returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_SetEventWhenCallbackReturns(instance: *const Instance, event: Handle) {
    // SAFETY: the same contract.
    unsafe { note(instance, |instance| instance.event.set(event)) };
}

/// # Safety
/// The contract is that of [`ntw_SetEventWhenCallbackReturns`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_ReleaseSemaphoreWhenCallbackReturns(
    instance: *const Instance,
    semaphore: Handle,
    count: u32,
) {
    // SAFETY: the same contract.
    unsafe { note(instance, |instance| instance.semaphore.set((semaphore, count))) };
}

/// # Safety
/// The contract is that of [`ntw_SetEventWhenCallbackReturns`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_ReleaseMutexWhenCallbackReturns(instance: *const Instance, mutex: Handle) {
    // SAFETY: the same contract.
    unsafe { note(instance, |instance| instance.mutex.set(mutex)) };
}

/// # Safety
/// The contract is that of [`ntw_SetEventWhenCallbackReturns`]; the calling thread will be in the section when the function returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_LeaveCriticalSectionWhenCallbackReturns(
    instance: *const Instance,
    section: *mut CriticalSection,
) {
    // SAFETY: the same contract.
    unsafe { note(instance, |instance| instance.section.set(section)) };
}

/// # Safety
/// The contract is that of [`Instance::of`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_DisassociateCurrentThreadFromCallback(instance: *const Instance) {
    call((), || {
        // SAFETY: the same contract.
        let item = unsafe { Instance::of(instance) }?.item;
        state().ok_or(NOT_ENOUGH_MEMORY)?.disassociate(item);
        Ok(())
    });
}

/// # Safety
/// The contract is that of [`Instance::of`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_CallbackMayRunLong(instance: *const Instance) -> i32 {
    call_for_bool(|| {
        // SAFETY: the same contract.
        let instance = unsafe { Instance::of(instance) }?;
        if !instance.is_long.get() {
            workers::stays_long(instance.item)?;
            instance.is_long.set(true);
        }
        Ok(())
    })
}
