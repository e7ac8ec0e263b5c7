// SPDX-License-Identifier: MIT OR Apache-2.0
//! One lock of `std` and two of `parking_lot`, by functions of C: `crates/win/suites/speed` measures them beside those of libntux-win.

use std::cell::UnsafeCell;
use std::sync::{Mutex, MutexGuard, PoisonError};

use parking_lot::lock_api::{RawMutex as _, RawRwLock as _};
use parking_lot::{RawMutex, RawRwLock};

/// A value that has cache lines of its own.
#[repr(align(128))]
struct Apart<T>(T);

/// The guard of whoever has the lock.
struct Held(UnsafeCell<Option<MutexGuard<'static, ()>>>);

// SAFETY: only the thread that has the lock uses it, and that thread drops the guard which it has put there.
unsafe impl Sync for Held {}

static STD: Apart<Mutex<()>> = Apart(Mutex::new(()));
static HELD: Apart<Held> = Apart(Held(UnsafeCell::new(None)));
static PARKING_LOT: Apart<RawMutex> = Apart(RawMutex::INIT);
static PARKING_LOT_RW: Apart<RawRwLock> = Apart(RawRwLock::INIT);

#[unsafe(no_mangle)]
extern "C" fn lock_std() {
    let guard = STD.0.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: this thread has the lock.
    unsafe { *HELD.0.0.get() = Some(guard) };
}

#[unsafe(no_mangle)]
extern "C" fn unlock_std() {
    // SAFETY: the caller has the lock until the guard is dropped, which is after it was taken out.
    drop(unsafe { (*HELD.0.0.get()).take() });
}

#[unsafe(no_mangle)]
extern "C" fn lock_parking_lot() {
    PARKING_LOT.0.lock();
}

#[unsafe(no_mangle)]
extern "C" fn unlock_parking_lot() {
    // SAFETY: the caller has the lock.
    unsafe { PARKING_LOT.0.unlock() };
}

#[unsafe(no_mangle)]
extern "C" fn share_parking_lot() {
    PARKING_LOT_RW.0.lock_shared();
}

#[unsafe(no_mangle)]
extern "C" fn unshare_parking_lot() {
    // SAFETY: the caller shares the lock.
    unsafe { PARKING_LOT_RW.0.unlock_shared() };
}
