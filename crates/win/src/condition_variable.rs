// SPDX-License-Identifier: MIT OR Apache-2.0
//! CONDITION_VARIABLE: the word counts wakes. A thread reads it while it has the lock, and sleeps while it is the same; so a wake that comes
//! after the lock was released is not missed. (Unless 2^32 wakes come between the two.) Wakes may be spurious, as on Windows.

use ntux::Deadline;

use crate::boundary::call_for_bool;
use crate::critical_section::CriticalSection;
use crate::last_error::{INVALID_PARAMETER, Result, TIMEOUT};
use crate::planted::{Bug, planted};
use crate::srw_lock::SrwLock;
use crate::word::{self, ANY, aligned, deadline};

const LOCKMODE_SHARED: u32 = 1;

/// # Safety
/// `variable` points to memory for one that nobody uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_InitializeConditionVariable(variable: *mut usize) {
    // SAFETY: the same contract.
    unsafe { variable.write_unaligned(0) }
}

/// # Safety
/// `variable` points to a condition variable.
unsafe fn sleep(
    variable: *mut usize,
    deadline: Deadline,
    release: impl FnOnce(),
    acquire: impl FnOnce(),
) -> Result<()> {
    // SAFETY: the same contract.
    let wakes = unsafe { aligned(variable) };
    let mut seen = wakes.load();
    release();
    if planted(Bug::ReadsLate) {
        seen = wakes.load();
    }
    let timed_out = word::wait(wakes, seen, ANY, deadline) && wakes.load() == seen;
    acquire();
    if timed_out { Err(TIMEOUT) } else { Ok(()) }
}

/// # Safety
/// Both point to what the header says; the calling thread owns the section once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_SleepConditionVariableCS(
    variable: *mut usize,
    section: *mut CriticalSection,
    milliseconds: u32,
) -> i32 {
    call_for_bool(|| {
        // SAFETY: the same contract.
        unsafe { sleep_with_section(variable, section, deadline(milliseconds)) }
    })
}

/// # Safety
/// The contract is that of [`ntw_SleepConditionVariableCS`].
pub unsafe fn sleep_with_section(
    variable: *mut usize,
    section: *mut CriticalSection,
    deadline: Deadline,
) -> Result<()> {
    // SAFETY: the same contract.
    unsafe { sleep(variable, deadline, || (*section).leave(), || (*section).enter_again()) }
}

/// # Safety
/// Both point to what the header says; the calling thread has the lock, in the mode of the flags.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_SleepConditionVariableSRW(
    variable: *mut usize,
    lock: *mut usize,
    milliseconds: u32,
    flags: u32,
) -> i32 {
    call_for_bool(|| {
        // SAFETY: the same contract.
        unsafe { sleep_with_lock(variable, lock, deadline(milliseconds), flags) }
    })
}

/// # Safety
/// The contract is that of [`ntw_SleepConditionVariableSRW`].
pub unsafe fn sleep_with_lock(variable: *mut usize, lock: *mut usize, deadline: Deadline, flags: u32) -> Result<()> {
    // SAFETY: the same contract.
    let lock = unsafe { SrwLock::at(lock) };
    // SAFETY: the same contract.
    unsafe {
        match flags {
            0 => sleep(variable, deadline, || lock.release_exclusive(), || lock.acquire_exclusive()),
            LOCKMODE_SHARED => sleep(variable, deadline, || lock.release_shared(), || lock.acquire_shared()),
            _ => Err(INVALID_PARAMETER),
        }
    }
}

/// # Safety
/// `variable` points to a condition variable.
unsafe fn wake(variable: *mut usize, count: u32) {
    // SAFETY: the same contract.
    let wakes = unsafe { aligned(variable) };
    wakes.fetch_add(1);
    word::wake(wakes, count, ANY);
}

/// # Safety
/// `variable` points to a condition variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_WakeConditionVariable(variable: *mut usize) {
    // SAFETY: the same contract.
    unsafe { wake(variable, 1) }
}

/// # Safety
/// `variable` points to a condition variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_WakeAllConditionVariable(variable: *mut usize) {
    // SAFETY: the same contract.
    unsafe { wake(variable, u32::MAX) }
}
