// SPDX-License-Identifier: MIT OR Apache-2.0
//! Forks: no thread is in the middle of an operation on a watcher when the process is copied.
//!
//! The fork hooks lock every watcher, so that a child finds each in a consistent state. (It restarts at the child's first
//! call, see `Watcher`.) A child made by a bare `clone` gets no such care, and no memory that has a file behind it (`backing`).

use std::cell::UnsafeCell;
use std::sync::{Arc, Mutex, MutexGuard, RwLockWriteGuard, Weak};

use ntux_platform::atomic::Word32;
use ntux_platform::once;

use crate::watcher::{Inner, State};

static WATCHERS: Mutex<Vec<Weak<Inner>>> = Mutex::new(Vec::new());
static LOCKS: Locks = Locks(UnsafeCell::new(None));

/// The locks of the thread that forks, from one hook to the other.
struct Locks(UnsafeCell<Option<Everything>>);

struct Everything {
    // Dropped in this order: a lock goes before the watcher that it is in.
    _locks: Vec<RwLockWriteGuard<'static, State>>,
    _watchers: Vec<Arc<Inner>>,
    _list: MutexGuard<'static, Vec<Weak<Inner>>>,
}

// SAFETY: only the thread that forks touches it, between its two hooks. `WATCHERS` is locked meanwhile, so a second thread
// that forks waits there.
unsafe impl Sync for Locks {}

/// Registers a watcher with the fork hooks.
pub(crate) fn remember(inner: &Arc<Inner>) {
    install_hooks();
    let mut watchers = WATCHERS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    watchers.retain(|watcher| watcher.strong_count() > 0);
    watchers.push(Arc::downgrade(inner));
}

/// Installs the hooks. (A value that is made once would need hooks itself.)
fn install_hooks() {
    static IS_DONE: Word32 = Word32::new(0);
    if IS_DONE.compare_exchange(0, 1).is_ok() {
        once::install_hooks();
        ntux_platform::fork::at_fork(lock_all, unlock_all);
    }
}

extern "C" fn lock_all() {
    // A thread that makes a value may be about to take the locks below.
    once::hold_makers();
    let list = WATCHERS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let watchers: Vec<Arc<Inner>> = list.iter().filter_map(Weak::upgrade).collect();
    let locks = watchers.iter().map(|watcher| {
        // SAFETY: the lock is in a watcher that `Everything` keeps alive, and is dropped before it.
        unsafe { core::mem::transmute::<RwLockWriteGuard<'_, State>, RwLockWriteGuard<'static, State>>(watcher.lock()) }
    });
    let locks: Vec<_> = locks.inspect(|state| state.before_fork()).collect();
    let everything = Everything { _locks: locks, _watchers: watchers, _list: list };
    // SAFETY: see `Locks`: the list is locked, so no other thread is here.
    unsafe { *LOCKS.0.get() = Some(everything) };
}

extern "C" fn unlock_all() {
    // SAFETY: as above; in a child this is the only thread.
    let everything = unsafe { (*LOCKS.0.get()).take() };
    drop(everything);
}
