// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events, mutexes and semaphores by the functions of ntdll, which tell what Win32's do not: the state before a change, and the state; and
//! threads that call each other. Waits for handles are in [`crate::wait`], timers in [`crate::timer`], ports in [`crate::port`].

use core::ffi::c_void;

use ntux_sync::{Arena, New, Object, Waiter};

use crate::apc::{Apc, NtFunction};
use crate::arena::arena;
use crate::attributes::{self, ObjectAttributes};
use crate::boundary::put;
use crate::handle::{self, CURRENT_THREAD, Found, Handle};
use crate::last_error::of_object;
use crate::record::{Kind, Target};
use crate::status::{
    ACCESS_DENIED, ACCESS_VIOLATION, ALERTED, INFO_LENGTH_MISMATCH, INTERNAL_ERROR, INVALID_CID, INVALID_INFO_CLASS,
    INVALID_PARAMETER, OBJECT_TYPE_MISMATCH, Result, SUCCESS, TIMEOUT, call_for_status,
};
use crate::{apc, close, thread, timer, wait};

/// EVENT_TYPE
const NOTIFICATION: u32 = 0;
const SYNCHRONIZATION: u32 = 1;

/// The one class of information that each kind has.
const BASIC: u32 = 0;

/// EVENT_BASIC_INFORMATION
#[repr(C)]
struct EventState {
    kind: u32,
    is_signaled: i32,
}

/// MUTANT_BASIC_INFORMATION
#[repr(C)]
struct MutantState {
    count: i32,
    is_owned_by_caller: u8,
    is_abandoned: u8,
}

/// SEMAPHORE_BASIC_INFORMATION
#[repr(C)]
struct SemaphoreState {
    count: i32,
    maximum: i32,
}

pub fn of_kind(handle: Handle, kind: Kind) -> Result<Found> {
    let found = handle::look_up(handle)?;
    if found.kind == kind { Ok(found) } else { Err(OBJECT_TYPE_MISMATCH) }
}

fn modifiable(handle: Handle, kind: Kind) -> Result<Object> {
    let found = of_kind(handle, kind)?;
    if found.entry.rights().modify { Ok(found.object) } else { Err(ACCESS_DENIED) }
}

fn in_core<R>(operation: impl FnOnce(&Arena, &Waiter) -> ntux::Result<R>) -> Result<R> {
    Ok(arena()?.with_waiter(operation).map_err(of_object)?)
}

/// Answers a query for the basic information of an object.
///
/// # Safety
/// `information` is NULL or may be written, for as many bytes; `length` is NULL or may be written.
unsafe fn answer<T>(
    handle: Handle,
    kind: Kind,
    class: u32,
    information: *mut T,
    bytes: u32,
    length: *mut u32,
    read: impl FnOnce(&Arena, &Waiter, Object) -> ntux::Result<T>,
) -> u32 {
    let state = || {
        let object = of_kind(handle, kind)?.object;
        in_core(|core, waiter| read(core, waiter, object))
    };
    // SAFETY: the same contract.
    unsafe { answered(class == BASIC, information, bytes, length, state) }
}

/// Answers a query for a class of information, if there `is_such`.
///
/// # Safety
/// The contract is that of [`answer`].
pub unsafe fn answered<T>(
    is_such: bool,
    information: *mut T,
    bytes: u32,
    length: *mut u32,
    read: impl FnOnce() -> Result<T>,
) -> u32 {
    call_for_status(|| {
        if !is_such {
            return Err(INVALID_INFO_CLASS);
        }
        if bytes as usize != size_of::<T>() {
            return Err(INFO_LENGTH_MISMATCH);
        }
        if information.is_null() {
            return Err(ACCESS_VIOLATION);
        }
        let state = read()?;
        // SAFETY: the same contract: so much room.
        unsafe {
            put(information, state);
            put(length, bytes);
        }
        Ok(SUCCESS)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn ntw_NtClose(handle: Handle) -> u32 {
    call_for_status(|| {
        close::close_handle(handle)?;
        Ok(SUCCESS)
    })
}

/// DUPLICATE_SAME_ATTRIBUTES
const SAME_ATTRIBUTES: u32 = 4;
const INHERIT: u32 = 2;

/// # Safety
/// `duplicate` is NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_NtDuplicateObject(
    from: Handle,
    source: Handle,
    to: Handle,
    duplicate: *mut Handle,
    access: u32,
    attributes: u32,
    options: u32,
) -> u32 {
    call_for_status(|| {
        let inherit = (options & SAME_ATTRIBUTES == 0).then_some(attributes & INHERIT != 0);
        // SAFETY: the same contract.
        unsafe { close::duplicate_to(duplicate, close::Asked { from, source, to, access, inherit, options }) }?;
        Ok(SUCCESS)
    })
}

// ==== Asynchronous calls ====

/// Without a function nothing is called, and no wait ends, as on Windows.
#[unsafe(no_mangle)]
pub extern "C" fn ntw_NtQueueApcThread(
    thread: Handle,
    function: Option<NtFunction>,
    first: usize,
    second: usize,
    third: usize,
) -> u32 {
    call_for_status(|| {
        if thread.addr() != CURRENT_THREAD {
            of_kind(thread, Kind::Thread)?;
        }
        apc::queue_by_handle(thread, function.map(|function| Apc::Nt(function, [first, second, third])))?;
        Ok(SUCCESS)
    })
}

/// Calls what is due. It may end the thread: nothing here is to be cleaned up.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn ntw_NtTestAlert() -> u32 {
    call_for_status(|| {
        timer::look_at_own();
        Ok(SUCCESS)
    });
    apc::run();
    SUCCESS.0
}

// ==== Events ====

/// # Safety
/// `event` is NULL or may be written; `attributes` is NULL or points to some, and what they point to is there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_NtCreateEvent(
    event: *mut Handle,
    access: u32,
    attributes: *const ObjectAttributes,
    kind: u32,
    signaled: u8,
) -> u32 {
    let new = match kind {
        NOTIFICATION => Ok(New::Event { manual: true, signaled: signaled != 0 }),
        SYNCHRONIZATION => Ok(New::Event { manual: false, signaled: signaled != 0 }),
        _ => Err(INVALID_PARAMETER),
    };
    // SAFETY: the same contract.
    unsafe { attributes::create(Kind::Event, event, access, attributes, new) }
}

/// # Safety
/// The contract is that of [`ntw_NtCreateEvent`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_NtOpenEvent(event: *mut Handle, access: u32, attributes: *const ObjectAttributes) -> u32 {
    // SAFETY: the same contract.
    unsafe { attributes::open(Kind::Event, event, access, attributes) }
}

/// # Safety
/// `before` is NULL or may be written.
unsafe fn change(
    event: Handle,
    before: *mut i32,
    operation: impl FnOnce(&Arena, &Waiter, Object) -> ntux::Result<bool>,
) -> u32 {
    call_for_status(|| {
        let object = modifiable(event, Kind::Event)?;
        let was_signaled = in_core(|core, waiter| operation(core, waiter, object))?;
        // SAFETY: the same contract.
        unsafe { put(before, was_signaled.into()) };
        Ok(SUCCESS)
    })
}

/// # Safety
/// `before` is NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_NtSetEvent(event: Handle, before: *mut i32) -> u32 {
    // SAFETY: the same contract.
    unsafe { change(event, before, Arena::event_set) }
}

/// # Safety
/// The contract is that of [`ntw_NtSetEvent`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_NtResetEvent(event: Handle, before: *mut i32) -> u32 {
    // SAFETY: the same contract.
    unsafe { change(event, before, Arena::event_reset) }
}

#[unsafe(no_mangle)]
pub extern "C" fn ntw_NtClearEvent(event: Handle) -> u32 {
    // SAFETY: NULL.
    unsafe { change(event, core::ptr::null_mut(), Arena::event_reset) }
}

/// # Safety
/// The contract is that of [`ntw_NtSetEvent`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_NtPulseEvent(event: Handle, before: *mut i32) -> u32 {
    // SAFETY: the same contract.
    unsafe { change(event, before, Arena::event_pulse) }
}

/// # Safety
/// `information` is NULL or may be written, for as many bytes; `length` is NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_NtQueryEvent(
    event: Handle,
    class: u32,
    information: *mut c_void,
    bytes: u32,
    length: *mut u32,
) -> u32 {
    // SAFETY: the same contract.
    unsafe {
        answer(event, Kind::Event, class, information.cast(), bytes, length, |core, waiter, object| {
            let (manual, is_signaled) = core.event_read(waiter, object)?;
            let kind = if manual { NOTIFICATION } else { SYNCHRONIZATION };
            Ok(EventState { kind, is_signaled: is_signaled.into() })
        })
    }
}

// ==== Mutexes, which ntdll calls mutants ====

/// How ntdll counts: 1 for a mutex that nobody owns, one less for each time that the owner has acquired it.
fn mutant_count(times: u32) -> i32 {
    1i32.wrapping_sub_unsigned(times)
}

/// # Safety
/// The contract is that of [`ntw_NtCreateEvent`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_NtCreateMutant(
    mutant: *mut Handle,
    access: u32,
    attributes: *const ObjectAttributes,
    owned: u8,
) -> u32 {
    let (owner, count) = if owned != 0 { (thread::owner(), 1) } else { (0, 0) };
    // SAFETY: the same contract.
    unsafe { attributes::create(Kind::Mutex, mutant, access, attributes, Ok(New::Mutex { owner, count })) }
}

/// # Safety
/// The contract is that of [`ntw_NtCreateEvent`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_NtOpenMutant(
    mutant: *mut Handle,
    access: u32,
    attributes: *const ObjectAttributes,
) -> u32 {
    // SAFETY: the same contract.
    unsafe { attributes::open(Kind::Mutex, mutant, access, attributes) }
}

/// # Safety
/// `before` is NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_NtReleaseMutant(mutant: Handle, before: *mut i32) -> u32 {
    call_for_status(|| {
        let object = of_kind(mutant, Kind::Mutex)?.object;
        let owner = thread::owner();
        let times = in_core(|core, waiter| core.mutex_unlock(waiter, object, owner))?;
        thread::owns_less(object);
        // SAFETY: the same contract.
        unsafe { put(before, mutant_count(times)) };
        Ok(SUCCESS)
    })
}

/// # Safety
/// The contract is that of [`ntw_NtQueryEvent`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_NtQueryMutant(
    mutant: Handle,
    class: u32,
    information: *mut c_void,
    bytes: u32,
    length: *mut u32,
) -> u32 {
    let owner = thread::owner();
    // SAFETY: the same contract.
    unsafe {
        answer(mutant, Kind::Mutex, class, information.cast(), bytes, length, |core, waiter, object| {
            let state = core.mutex_read(waiter, object)?;
            Ok(MutantState {
                count: mutant_count(state.count),
                is_owned_by_caller: (state.count != 0 && state.owner == owner).into(),
                is_abandoned: state.abandoned.into(),
            })
        })
    }
}

// ==== Semaphores ====

/// # Safety
/// The contract is that of [`ntw_NtCreateEvent`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_NtCreateSemaphore(
    semaphore: *mut Handle,
    access: u32,
    attributes: *const ObjectAttributes,
    initial: i32,
    maximum: i32,
) -> u32 {
    let is_possible = maximum > 0 && (0..=maximum).contains(&initial);
    let new = New::Semaphore { count: initial as u32, max: maximum as u32 };
    let new = if is_possible { Ok(new) } else { Err(INVALID_PARAMETER) };
    // SAFETY: the same contract.
    unsafe { attributes::create(Kind::Semaphore, semaphore, access, attributes, new) }
}

/// # Safety
/// The contract is that of [`ntw_NtCreateEvent`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_NtOpenSemaphore(
    semaphore: *mut Handle,
    access: u32,
    attributes: *const ObjectAttributes,
) -> u32 {
    // SAFETY: the same contract.
    unsafe { attributes::open(Kind::Semaphore, semaphore, access, attributes) }
}

/// # Safety
/// `before` is NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_NtReleaseSemaphore(semaphore: Handle, count: u32, before: *mut u32) -> u32 {
    call_for_status(|| {
        let object = modifiable(semaphore, Kind::Semaphore)?;
        if count == 0 {
            return Err(INVALID_PARAMETER);
        }
        let counted = in_core(|core, waiter| core.semaphore_release(waiter, object, count))?;
        // SAFETY: the same contract.
        unsafe { put(before, counted) };
        Ok(SUCCESS)
    })
}

/// # Safety
/// The contract is that of [`ntw_NtQueryEvent`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_NtQuerySemaphore(
    semaphore: Handle,
    class: u32,
    information: *mut c_void,
    bytes: u32,
    length: *mut u32,
) -> u32 {
    // SAFETY: the same contract.
    unsafe {
        answer(semaphore, Kind::Semaphore, class, information.cast(), bytes, length, |core, waiter, object| {
            let (count, maximum) = core.semaphore_read(waiter, object)?;
            Ok(SemaphoreState { count: count as i32, maximum: maximum as i32 })
        })
    }
}

// ==== Threads that call each other by id ====

/// A handle of the thread with this id more was counted.
fn thread_of(id: Handle) -> Result<Target> {
    u32::try_from(id.addr()).ok().and_then(thread::open).ok_or(INVALID_CID)
}

/// Calls threads, of each of which a handle was counted.
fn call_threads(targets: &[Target]) {
    for &target in targets {
        if let Some(thread) = thread::of(target) {
            thread.call();
        }
        target.drop_handle();
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn ntw_NtAlertThreadByThreadId(id: Handle) -> u32 {
    call_for_status(|| {
        call_threads(&[thread_of(id)?]);
        Ok(SUCCESS)
    })
}

/// All, or none if one of them is none.
///
/// # Safety
/// `ids` points to `count` numbers, or is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_NtAlertMultipleThreadByThreadId(
    ids: *const Handle,
    count: u32,
    _boosts: *mut c_void,
    _boost: *mut c_void,
) -> u32 {
    call_for_status(|| {
        if count == 0 {
            return Ok(SUCCESS);
        }
        if ids.is_null() {
            return Err(ACCESS_VIOLATION);
        }
        let mut targets = Vec::new();
        for index in 0..count as usize {
            // SAFETY: the same contract; below the count.
            match thread_of(unsafe { ids.add(index).read_unaligned() }) {
                Ok(target) => targets.push(target),
                Err(error) => {
                    targets.iter().for_each(|target: &Target| target.drop_handle());
                    return Err(error);
                }
            }
        }
        call_threads(&targets);
        Ok(SUCCESS)
    })
}

/// The address is for whoever looks at the thread; nothing is done with it.
///
/// # Safety
/// `timeout` is NULL or points to a LARGE_INTEGER.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_NtWaitForAlertByThreadId(_address: *const c_void, timeout: *const i64) -> u32 {
    call_for_status(|| {
        // SAFETY: the same contract.
        let deadline = unsafe { wait::deadline_at(timeout) };
        let thread = thread::of(thread::of_caller()?).ok_or(INTERNAL_ERROR)?;
        Ok(if thread.wait_for_call(deadline) { ALERTED } else { TIMEOUT })
    })
}
