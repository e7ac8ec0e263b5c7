//! Forks: no watcher is in the middle of something when the process is copied.
//!
//! Before a fork every watcher is locked, so that a child finds each in order. (It begins anew at its first call, see
//! `Watcher`.) A child made by a bare `clone` gets what it gets.

use std::cell::UnsafeCell;
use std::sync::{Arc, Mutex, MutexGuard, Once, RwLockWriteGuard, Weak};

use crate::watcher::{Inner, State};

static WATCHERS: Mutex<Vec<Weak<Inner>>> = Mutex::new(Vec::new());
static HELD: Held = Held(UnsafeCell::new(None));

/// What the thread that forks holds meanwhile.
struct Held(UnsafeCell<Option<Everything>>);

struct Everything {
    // Dropped in this order: a lock goes before the watcher that it is in.
    _locks: Vec<RwLockWriteGuard<'static, State>>,
    _watchers: Vec<Arc<Inner>>,
    _list: MutexGuard<'static, Vec<Weak<Inner>>>,
}

// SAFETY: only the thread that forks touches it, between its two hooks, and `WATCHERS` is locked meanwhile: a second thread
// that forks waits there.
unsafe impl Sync for Held {}

/// From here on forks take care of this watcher.
pub(crate) fn remember(inner: &Arc<Inner>) {
    static HOOKS: Once = Once::new();
    HOOKS.call_once(|| ntux_platform::fork::at_fork(lock_all, unlock_all));
    let mut watchers = WATCHERS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    watchers.retain(|watcher| watcher.strong_count() > 0);
    watchers.push(Arc::downgrade(inner));
}

extern "C" fn lock_all() {
    let list = WATCHERS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let watchers: Vec<Arc<Inner>> = list.iter().filter_map(Weak::upgrade).collect();
    let locks = watchers.iter().map(|watcher| {
        // SAFETY: the lock is in a watcher that `Everything` keeps alive, and is dropped before it.
        unsafe { core::mem::transmute::<RwLockWriteGuard<'_, State>, RwLockWriteGuard<'static, State>>(watcher.lock()) }
    });
    let everything = Everything { _locks: locks.collect(), _watchers: watchers, _list: list };
    // SAFETY: see `Held`: the list is locked, so no other thread is here.
    unsafe { *HELD.0.get() = Some(everything) };
}

extern "C" fn unlock_all() {
    // SAFETY: as above; in a child this is the only thread.
    let everything = unsafe { (*HELD.0.get()).take() };
    drop(everything);
}
