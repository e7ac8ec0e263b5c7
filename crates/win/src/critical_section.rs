// SPDX-License-Identifier: MIT OR Apache-2.0
//! CRITICAL_SECTION: a recursive lock in the program's memory.
//!
//! As on Windows since Vista it is unfair: whoever comes first takes it. It is [`RawMutex`], which lets nobody starve, and lies where Windows
//! has the semaphore. Zeros are a free one, and so is what RTL_CRITICAL_SECTION's usual initializer gives; `LockCount` and `SpinCount` are
//! kept for programs that look at them, and not obeyed.

use core::cell::Cell;
use core::ffi::c_void;
use core::ptr;

use ntux::{Deadline, RawMutex};
use ntux_platform::atomic::Word64;

use crate::boundary::TRUE;
use crate::thread;

/// CRITICAL_SECTION of the header.
#[repr(C)]
pub struct CriticalSection {
    debug: Cell<*mut DebugInfo>,
    /// -1 in what Windows programs initialize themselves.
    lock_count: Cell<i32>,
    /// Only the owner reads and writes it.
    recursion: Cell<i32>,
    /// The thread that owns it; 0 for none. A thread only compares it with itself.
    owner: Word64,
    lock: RawMutex,
    spin: Cell<usize>,
}

const _: () = assert!(size_of::<CriticalSection>() == 40 && size_of::<RawMutex>() == size_of::<*mut c_void>());

/// RTL_CRITICAL_SECTION_DEBUG of the header: room for what programs write there.
pub struct DebugInfo {
    _room: [u64; 6],
}

const FORCE_DEBUG_INFO: u32 = 0x1000_0000;
const SPIN: u32 = 0x00FF_FFFF;

/// # Safety
/// `section` points to a critical section during `'a`.
unsafe fn at<'a>(section: *mut CriticalSection) -> &'a CriticalSection {
    // SAFETY: by the contract; it changes through cells and atomics only.
    unsafe { &*section }
}

/// # Safety
/// `section` points to memory for one, which nobody uses.
unsafe fn initialize(section: *mut CriticalSection, spin: u32, flags: u32) -> i32 {
    let debug = match flags & FORCE_DEBUG_INFO {
        0 => ptr::without_provenance_mut(usize::MAX),
        _ => Box::into_raw(Box::new(DebugInfo { _room: [0; 6] })),
    };
    let fresh = CriticalSection {
        debug: Cell::new(debug),
        lock_count: Cell::new(-1),
        recursion: Cell::new(0),
        owner: Word64::new(0),
        lock: RawMutex::new(),
        spin: Cell::new((spin & SPIN) as usize),
    };
    // SAFETY: by the contract.
    unsafe { section.write(fresh) };
    TRUE
}

/// # Safety
/// The contract is that of [`initialize`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_InitializeCriticalSection(section: *mut CriticalSection) {
    // SAFETY: the same contract.
    unsafe { initialize(section, 0, 0) };
}

/// # Safety
/// The contract is that of [`initialize`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_InitializeCriticalSectionAndSpinCount(section: *mut CriticalSection, spin: u32) -> i32 {
    // SAFETY: the same contract.
    unsafe { initialize(section, spin, 0) }
}

/// # Safety
/// The contract is that of [`initialize`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_InitializeCriticalSectionEx(section: *mut CriticalSection, spin: u32, flags: u32) -> i32 {
    // SAFETY: the same contract.
    unsafe { initialize(section, spin, flags) }
}

/// # Safety
/// `section` points to a critical section that nobody uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_DeleteCriticalSection(section: *mut CriticalSection) {
    // SAFETY: the same contract.
    let section = unsafe { at(section) };
    let debug = section.debug.replace(ptr::null_mut());
    if !debug.is_null() && debug.addr() != usize::MAX {
        // SAFETY: `initialize` made it of a box.
        drop(unsafe { Box::from_raw(debug) });
    }
}

/// # Safety
/// `section` points to a critical section.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_SetCriticalSectionSpinCount(section: *mut CriticalSection, spin: u32) -> u32 {
    // SAFETY: the same contract.
    unsafe { at(section) }.spin.replace((spin & SPIN) as usize) as u32
}

/// # Safety
/// `section` points to a critical section.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_EnterCriticalSection(section: *mut CriticalSection) {
    // SAFETY: the same contract.
    unsafe { at(section) }.enter(Deadline::Never);
}

/// # Safety
/// `section` points to a critical section.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_TryEnterCriticalSection(section: *mut CriticalSection) -> i32 {
    // SAFETY: the same contract.
    unsafe { at(section) }.enter(Deadline::NOW).into()
}

/// # Safety
/// `section` points to a critical section that the calling thread owns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_LeaveCriticalSection(section: *mut CriticalSection) {
    // SAFETY: the same contract.
    unsafe { at(section) }.leave();
}

impl CriticalSection {
    /// Returns whether the calling thread has it.
    fn enter(&self, deadline: Deadline) -> bool {
        let me = thread::id().into();
        if self.owner.load() == me {
            self.recursion.set(self.recursion.get() + 1);
            return true;
        }
        if !self.lock.lock(deadline) {
            return false;
        }
        self.owner.store(me);
        self.recursion.set(1);
        true
    }

    pub fn leave(&self) {
        let deeper = self.recursion.get() - 1;
        self.recursion.set(deeper);
        if deeper == 0 {
            self.owner.store(0);
            self.lock.unlock();
        }
    }

    /// Enters again, after the wait of a condition variable, during which it was left once.
    pub fn enter_again(&self) {
        self.enter(Deadline::Never);
    }
}
