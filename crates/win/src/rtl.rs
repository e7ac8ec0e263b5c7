// SPDX-License-Identifier: MIT OR Apache-2.0
//! The names that ntdll has for what lies in the program's memory: the functions of Win32, with a status in place of a BOOL and an error, and
//! a LARGE_INTEGER in place of milliseconds.

use core::ffi::c_void;
use core::ptr;

use ntux_platform::atomic::Word64;

use crate::address::{self, ntw_WakeByAddressAll, ntw_WakeByAddressSingle};
use crate::barrier::{Barrier, ntw_DeleteSynchronizationBarrier};
use crate::boundary::{call, put};
use crate::condition_variable::{self, *};
use crate::critical_section::*;
use crate::init_once::{self, Begun, INIT_FAILED, ntw_InitOnceInitialize};
use crate::slist::*;
use crate::srw_lock::*;
use crate::status::{INVALID_PARAMETER, PENDING, SUCCESS, UNSUCCESSFUL, call_for_status};
use crate::wait::deadline_at;

/// Functions that are others by another name.
macro_rules! others {
    ($($name:ident($($parameter:ident: $type:ty),*) $(-> $result:ty)? = $other:ident;)*) => {
        $(
            /// # Safety
            /// The contract is that of the other.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($parameter: $type),*) $(-> $result)? {
                // SAFETY: the same contract.
                unsafe { $other($($parameter),*) }
            }
        )*
    };
}

others! {
    ntw_RtlInitializeSRWLock(lock: *mut usize) = ntw_InitializeSRWLock;
    ntw_RtlAcquireSRWLockExclusive(lock: *mut usize) = ntw_AcquireSRWLockExclusive;
    ntw_RtlAcquireSRWLockShared(lock: *mut usize) = ntw_AcquireSRWLockShared;
    ntw_RtlTryAcquireSRWLockExclusive(lock: *mut usize) -> u8 = ntw_TryAcquireSRWLockExclusive;
    ntw_RtlTryAcquireSRWLockShared(lock: *mut usize) -> u8 = ntw_TryAcquireSRWLockShared;
    ntw_RtlReleaseSRWLockExclusive(lock: *mut usize) = ntw_ReleaseSRWLockExclusive;
    ntw_RtlReleaseSRWLockShared(lock: *mut usize) = ntw_ReleaseSRWLockShared;
    ntw_RtlInitializeConditionVariable(variable: *mut usize) = ntw_InitializeConditionVariable;
    ntw_RtlWakeConditionVariable(variable: *mut usize) = ntw_WakeConditionVariable;
    ntw_RtlWakeAllConditionVariable(variable: *mut usize) = ntw_WakeAllConditionVariable;
    ntw_RtlRunOnceInitialize(once: *mut Word64) = ntw_InitOnceInitialize;
    ntw_RtlTryEnterCriticalSection(section: *mut CriticalSection) -> i32 = ntw_TryEnterCriticalSection;
    ntw_RtlSetCriticalSectionSpinCount(section: *mut CriticalSection, spin: u32) -> u32 =
        ntw_SetCriticalSectionSpinCount;
    ntw_RtlInitializeSListHead(header: *mut Header) = ntw_InitializeSListHead;
    ntw_RtlInterlockedPushEntrySList(header: *mut Header, entry: *mut Entry) -> *mut Entry =
        ntw_InterlockedPushEntrySList;
    ntw_RtlInterlockedPopEntrySList(header: *mut Header) -> *mut Entry = ntw_InterlockedPopEntrySList;
    ntw_RtlInterlockedFlushSList(header: *mut Header) -> *mut Entry = ntw_InterlockedFlushSList;
    ntw_RtlInterlockedPushListSList(header: *mut Header, first: *mut Entry, last: *mut Entry, count: u32) -> *mut Entry =
        ntw_InterlockedPushListSListEx;
    ntw_RtlInterlockedPushListSListEx(header: *mut Header, first: *mut Entry, last: *mut Entry, count: u32) -> *mut Entry =
        ntw_InterlockedPushListSListEx;
    ntw_RtlQueryDepthSList(header: *mut Header) -> u16 = ntw_QueryDepthSList;
}

#[unsafe(no_mangle)]
pub extern "C" fn ntw_RtlWakeAddressSingle(address: *const c_void) {
    ntw_WakeByAddressSingle(address);
}

#[unsafe(no_mangle)]
pub extern "C" fn ntw_RtlWakeAddressAll(address: *const c_void) {
    ntw_WakeByAddressAll(address);
}

/// # Safety
/// Both point to as many bytes; those at `address` are changed atomically. `timeout` is NULL or points to a LARGE_INTEGER.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_RtlWaitOnAddress(
    address: *const c_void,
    compared: *const c_void,
    bytes: usize,
    timeout: *const i64,
) -> u32 {
    call_for_status(|| {
        // SAFETY: the same contract.
        unsafe { address::wait(address, compared, bytes, deadline_at(timeout)) }?;
        Ok(SUCCESS)
    })
}

// ==== Critical sections ====

/// # Safety
/// The contract is that of [`ntw_InitializeCriticalSection`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_RtlInitializeCriticalSection(section: *mut CriticalSection) -> u32 {
    // SAFETY: the same contract.
    unsafe { ntw_InitializeCriticalSection(section) };
    SUCCESS.0
}

/// # Safety
/// The contract is that of [`ntw_InitializeCriticalSection`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_RtlInitializeCriticalSectionAndSpinCount(section: *mut CriticalSection, spin: u32) -> u32 {
    // SAFETY: the same contract.
    unsafe { ntw_InitializeCriticalSectionAndSpinCount(section, spin) };
    SUCCESS.0
}

/// # Safety
/// The contract is that of [`ntw_InitializeCriticalSection`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_RtlInitializeCriticalSectionEx(
    section: *mut CriticalSection,
    spin: u32,
    flags: u32,
) -> u32 {
    // SAFETY: the same contract.
    unsafe { ntw_InitializeCriticalSectionEx(section, spin, flags) };
    SUCCESS.0
}

/// # Safety
/// The contract is that of [`ntw_EnterCriticalSection`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_RtlEnterCriticalSection(section: *mut CriticalSection) -> u32 {
    // SAFETY: the same contract.
    unsafe { ntw_EnterCriticalSection(section) };
    SUCCESS.0
}

/// # Safety
/// The contract is that of [`ntw_LeaveCriticalSection`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_RtlLeaveCriticalSection(section: *mut CriticalSection) -> u32 {
    // SAFETY: the same contract.
    unsafe { ntw_LeaveCriticalSection(section) };
    SUCCESS.0
}

/// # Safety
/// The contract is that of [`ntw_DeleteCriticalSection`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_RtlDeleteCriticalSection(section: *mut CriticalSection) -> u32 {
    // SAFETY: the same contract.
    unsafe { ntw_DeleteCriticalSection(section) };
    SUCCESS.0
}

// ==== Condition variables ====

/// # Safety
/// The contract is that of [`ntw_SleepConditionVariableCS`]; `timeout` is NULL or points to a LARGE_INTEGER.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_RtlSleepConditionVariableCS(
    variable: *mut usize,
    section: *mut CriticalSection,
    timeout: *const i64,
) -> u32 {
    call_for_status(|| {
        // SAFETY: the same contract.
        unsafe { condition_variable::sleep_with_section(variable, section, deadline_at(timeout)) }?;
        Ok(SUCCESS)
    })
}

/// # Safety
/// The contract is that of [`ntw_SleepConditionVariableSRW`]; `timeout` is NULL or points to a LARGE_INTEGER.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_RtlSleepConditionVariableSRW(
    variable: *mut usize,
    lock: *mut usize,
    timeout: *const i64,
    flags: u32,
) -> u32 {
    call_for_status(|| {
        // SAFETY: the same contract.
        unsafe { condition_variable::sleep_with_lock(variable, lock, deadline_at(timeout), flags) }?;
        Ok(SUCCESS)
    })
}

// ==== What is done once ====

/// RTL_RUN_ONCE_INIT_FN: as PINIT_ONCE_FN.
type Once = init_once::Function;

/// # Safety
/// `once` points to an RTL_RUN_ONCE; `context` is NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_RtlRunOnceBeginInitialize(
    once: *mut Word64,
    flags: u32,
    context: *mut *mut c_void,
) -> u32 {
    call_for_status(|| {
        // SAFETY: the same contract.
        match init_once::begin(unsafe { &*once }, flags)? {
            Begun::Pending => Ok(PENDING),
            Begun::Done(value) => {
                // SAFETY: the same contract.
                unsafe { put(context, ptr::with_exposed_provenance_mut(value as usize)) };
                Ok(SUCCESS)
            }
        }
    })
}

/// # Safety
/// `once` points to an RTL_RUN_ONCE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_RtlRunOnceComplete(once: *mut Word64, flags: u32, context: *mut c_void) -> u32 {
    call_for_status(|| {
        // SAFETY: the same contract.
        init_once::complete(unsafe { &*once }, flags, context.expose_provenance() as u64)?;
        Ok(SUCCESS)
    })
}

/// # Safety
/// `once` points to an RTL_RUN_ONCE, `context` is NULL or may be written; the function may be called with the parameter.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ntw_RtlRunOnceExecuteOnce(
    once: *mut Word64,
    function: Once,
    parameter: *mut c_void,
    context: *mut *mut c_void,
) -> u32 {
    // SAFETY: the same contract.
    unsafe {
        let begun = ntw_RtlRunOnceBeginInitialize(once, 0, context);
        if begun != PENDING.0 {
            return begun;
        }
        // Outside of what has anything to clean up.
        if function(once, parameter, context) == 0 {
            ntw_RtlRunOnceComplete(once, INIT_FAILED, ptr::null_mut());
            return UNSUCCESSFUL.0;
        }
        let value = if context.is_null() { ptr::null_mut() } else { context.read() };
        ntw_RtlRunOnceComplete(once, 0, value)
    }
}

// ==== Barriers ====

/// The flag of ntdll: the deletion waits for who enters so. Win32's says the contrary.
const DELETION_WAITS: u32 = 0x10000;

/// Any number, as on Windows: at a barrier for no thread all wait for ever.
///
/// # Safety
/// `barrier` is NULL or points to memory for one that nobody uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_RtlInitBarrier(barrier: *mut Barrier, total: i32, _spins: i32) -> u32 {
    if barrier.is_null() {
        return INVALID_PARAMETER.0;
    }
    let total = if total == 0 { u32::MAX } else { total as u32 };
    // SAFETY: the same contract.
    unsafe { barrier.write(Barrier::of(total)) };
    SUCCESS.0
}

/// # Safety
/// `barrier` is NULL or points to a barrier.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_RtlBarrier(barrier: *mut Barrier, flags: u32) -> u8 {
    // SAFETY: the same contract.
    let Some(barrier) = (unsafe { barrier.as_ref() }) else { return 0 };
    call(0, || Ok(barrier.enter(flags & DELETION_WAITS != 0).into()))
}

/// # Safety
/// `barrier` is NULL or points to a barrier that nobody enters any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_RtlDeleteBarrier(barrier: *mut Barrier) -> u32 {
    if !barrier.is_null() {
        // SAFETY: the same contract.
        unsafe { ntw_DeleteSynchronizationBarrier(barrier) };
    }
    SUCCESS.0
}
