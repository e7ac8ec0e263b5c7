// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads by handles: how they begin, end, and are asked about.
//!
//! A thread is one of the C library's, detached. It ends through the C library as well: what it keeps for the thread (`pthread_key_create`,
//! C++'s `thread_local`) is destroyed, and so is what this library keeps ([`crate::thread`]).

use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::ptr;

use crate::apc;
use crate::boundary::{call, call_for_bool, put};
use crate::create::{self, Attributes};
use crate::handle::{self, CURRENT_THREAD, Flags, Handle};
use crate::last_error::{CALL_NOT_IMPLEMENTED, INVALID_PARAMETER, NOT_ENOUGH_MEMORY, Result};
use crate::record::{self, First, Kind, Payload, Target};
use crate::thread::{self, Thread};
use crate::{access, last_error};

/// What a thread of the program does.
pub type Routine = extern "C-unwind" fn(*mut c_void) -> u32;

const CREATE_SUSPENDED: u32 = 0x4;
const STACK_SIZE_PARAM_IS_A_RESERVATION: u32 = 0x1_0000;
/// What ResumeThread returns if it fails.
const FAILED: u32 = u32::MAX;

unsafe extern "C" {
    /// As the C library has them; a thread may end by unwinding.
    fn pthread_create(
        thread: *mut libc::pthread_t,
        attributes: *const libc::pthread_attr_t,
        start: Main,
        argument: *mut c_void,
    ) -> libc::c_int;
}
unsafe extern "C-unwind" {
    fn pthread_exit(value: *mut c_void) -> !;
}

/// What a new thread is told.
#[derive(Clone, Copy)]
struct Task {
    routine: Routine,
    argument: *mut c_void,
    target: Target,
}

/// # Safety
/// `id` is NULL or may be written; the routine may be called with the argument.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_CreateThread(
    attributes: *const Attributes,
    stack: usize,
    routine: Option<Routine>,
    argument: *mut c_void,
    flags: u32,
    id: *mut u32,
) -> Handle {
    call(ptr::null_mut(), || {
        let routine = routine.ok_or(INVALID_PARAMETER)?;
        if flags & !(CREATE_SUSPENDED | STACK_SIZE_PARAM_IS_A_RESERVATION) != 0 {
            return Err(INVALID_PARAMETER);
        }
        let suspended = if flags & CREATE_SUSPENDED != 0 { 1 } else { 0 };
        let thread = Thread::unbegun(suspended);
        let target =
            record::create(Kind::Thread, thread::ended_event()?, Payload::Thread(Box::new(thread)), First::Both)?;
        // SAFETY: the same contract.
        let handle = handle::insert(target, access::ALL, unsafe { create::flags(attributes) })
            .inspect_err(|_| target.release())?;
        if let Err(error) = start(Task { routine, argument, target }, stack) {
            target.release();
            handle::remove(handle)?.drop_handle();
            return Err(error);
        }
        if !id.is_null() {
            // SAFETY: the same contract.
            unsafe { put(id, ask(handle, |thread| Ok(thread.id()))?) };
        }
        Ok(handle)
    })
}

/// Starts a thread, which has a hold of its record then.
///
/// Errors: those of [`detached`].
fn start(task: Task, stack: usize) -> Result<()> {
    let task = Box::into_raw(Box::new(task));
    detached(begin, task.cast(), stack).inspect_err(|_| {
        // SAFETY: made above, and there is no thread that has it.
        drop(unsafe { Box::from_raw(task) });
    })
}

/// What a thread does, for the C library.
pub type Main = extern "C-unwind" fn(*mut c_void) -> *mut c_void;

/// Starts a thread of the C library, detached. `stack` is the size of its stack; 0 for the C library's own.
///
/// Errors: `NOT_ENOUGH_MEMORY`; `INVALID_PARAMETER` for a stack that the system does not allow.
pub fn detached(main: Main, argument: *mut c_void, stack: usize) -> Result<()> {
    #[cfg(ntux_explore)]
    if crate::explored::machine().is_some() {
        crate::explored::start(main, argument);
        return Ok(());
    }
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    let mut thread = MaybeUninit::<libc::pthread_t>::uninit();
    // SAFETY: places for the answers; attributes are initialized before they are used and destroyed afterwards.
    let error = unsafe {
        if libc::pthread_attr_init(attributes.as_mut_ptr()) != 0 {
            return Err(NOT_ENOUGH_MEMORY);
        }
        libc::pthread_attr_setdetachstate(attributes.as_mut_ptr(), libc::PTHREAD_CREATE_DETACHED);
        let sized = if stack == 0 { 0 } else { set_stack(attributes.as_mut_ptr(), stack) };
        let started = match sized {
            0 => pthread_create(thread.as_mut_ptr(), attributes.as_ptr(), main, argument),
            refused => refused,
        };
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        started
    };
    match error {
        0 => Ok(()),
        libc::EINVAL => Err(INVALID_PARAMETER),
        _ => Err(NOT_ENOUGH_MEMORY),
    }
}

/// The size of a stack that is not asked for; 0 if the C library does not say it.
pub fn usual_stack() -> usize {
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    let mut bytes = 0;
    // SAFETY: a place for the attributes, which are initialized before they are read and destroyed afterwards, and one for the answer.
    unsafe {
        if libc::pthread_attr_init(attributes.as_mut_ptr()) == 0 {
            libc::pthread_attr_getstacksize(attributes.as_ptr(), &mut bytes);
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
        }
    }
    bytes
}

/// # Safety
/// The attributes are initialized.
unsafe fn set_stack(attributes: *mut libc::pthread_attr_t, stack: usize) -> libc::c_int {
    const PAGE: usize = 1 << 16;
    let bytes = stack.max(libc::PTHREAD_STACK_MIN).next_multiple_of(PAGE);
    // SAFETY: by the contract.
    unsafe { libc::pthread_attr_setstacksize(attributes, bytes) }
}

/// The first function of a thread. What the program's function unwinds through has nothing to clean up.
extern "C-unwind" fn begin(task: *mut c_void) -> *mut c_void {
    // SAFETY: `start` made it of a box, for this thread alone.
    let Task { routine, argument, target } = *unsafe { Box::from_raw(task.cast::<Task>()) };
    let may_begin = call(Err(0), || {
        thread::begin(target);
        Ok(thread::of(target).map_or(Ok(()), Thread::may_begin))
    });
    let code = match may_begin {
        Err(code) => code,
        Ok(()) => {
            // Those that were queued before it began.
            apc::run();
            routine(argument)
        }
    };
    thread::will_exit_with(code);
    ptr::null_mut()
}

#[unsafe(no_mangle)]
pub extern "C-unwind" fn ntw_ExitThread(code: u32) -> ! {
    thread::will_exit_with(code);
    // SAFETY: no frame of this library above has anything to clean up: functions of the program are called outside of what has.
    unsafe { pthread_exit(ptr::null_mut()) }
}

#[unsafe(no_mangle)]
pub extern "C" fn ntw_GetCurrentThread() -> Handle {
    ptr::without_provenance_mut(CURRENT_THREAD)
}

#[unsafe(no_mangle)]
pub extern "C" fn ntw_GetCurrentThreadId() -> u32 {
    thread::known_id().unwrap_or_else(|| call(0, || Ok(thread::tell_id())))
}

/// A handle of a thread of this process that has told its id.
#[unsafe(no_mangle)]
pub extern "C" fn ntw_OpenThread(access: u32, inherit: i32, id: u32) -> Handle {
    call(ptr::null_mut(), || {
        let rights = access::granted_of_existing(Kind::Thread, access)?;
        let own =
            if id == thread::id() { Some(thread::of_caller()?).filter(|target| target.add_handle()) } else { None };
        let target = own.or_else(|| thread::open(id)).ok_or(INVALID_PARAMETER)?;
        handle::insert(target, rights, Flags { inherit: inherit != 0, protect: false })
    })
}

/// Asks about the thread of a handle.
fn ask<R>(handle: Handle, question: impl FnOnce(&Thread) -> Result<R>) -> Result<R> {
    let target = match handle.addr() {
        CURRENT_THREAD => thread::of_caller()?,
        _ => handle::look_up_kind(handle, Kind::Thread)?.entry.target(),
    };
    if !target.hold() {
        return Err(last_error::INVALID_HANDLE);
    }
    let answer = thread::of(target).ok_or(last_error::INVALID_HANDLE).and_then(question);
    target.release();
    answer
}

#[unsafe(no_mangle)]
pub extern "C" fn ntw_GetThreadId(thread: Handle) -> u32 {
    call(0, || ask(thread, |thread| Ok(thread.id())))
}

/// # Safety
/// `code` is NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_GetExitCodeThread(thread: Handle, code: *mut u32) -> i32 {
    call_for_bool(|| {
        let exit_code = ask(thread, |thread| Ok(thread.exit_code()))?;
        // SAFETY: the same contract.
        unsafe { put(code, exit_code) };
        Ok(())
    })
}

/// Only one that has not begun can be suspended: a thread stopped anywhere can have any lock.
#[unsafe(no_mangle)]
pub extern "C" fn ntw_SuspendThread(thread: Handle) -> u32 {
    call(FAILED, || ask(thread, Thread::suspend_unbegun))
}

#[unsafe(no_mangle)]
pub extern "C" fn ntw_ResumeThread(thread: Handle) -> u32 {
    call(FAILED, || ask(thread, |thread| Ok(thread.resume())))
}

/// Only one that has not begun can be ended from outside.
#[unsafe(no_mangle)]
pub extern "C" fn ntw_TerminateThread(thread: Handle, code: u32) -> i32 {
    call_for_bool(|| ask(thread, |thread| if thread.end_unbegun(code) { Ok(()) } else { Err(CALL_NOT_IMPLEMENTED) }))
}
