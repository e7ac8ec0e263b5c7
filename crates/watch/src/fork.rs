//! Forks: no watcher is in the middle of something when the process is copied.
//!
//! Before a fork every watcher is locked, so that a child finds each in order. (It begins anew at its first call, see
//! `Watcher`.) A child made by a bare `clone` gets what it gets, and nothing of what the file in `backing` is behind.

use std::cell::UnsafeCell;
use std::sync::{Arc, Mutex, MutexGuard, RwLockWriteGuard, Weak};

use ntux_platform::atomic::Word32;

use crate::watcher::{Inner, State};

/// Held by who finds something out once and for all: a child would wait for him for ever.
static FINDING_OUT: Mutex<()> = Mutex::new(());
static WATCHERS: Mutex<Vec<Weak<Inner>>> = Mutex::new(Vec::new());
static HELD: Held = Held(UnsafeCell::new(None));

/// What the thread that forks holds meanwhile.
struct Held(UnsafeCell<Option<Everything>>);

struct Everything {
    // Dropped in this order: a lock goes before the watcher that it is in.
    _locks: Vec<RwLockWriteGuard<'static, State>>,
    _watchers: Vec<Arc<Inner>>,
    _list: MutexGuard<'static, Vec<Weak<Inner>>>,
    _finding_out: MutexGuard<'static, ()>,
}

// SAFETY: only the thread that forks touches it, between its two hooks, and `WATCHERS` is locked meanwhile: a second thread
// that forks waits there.
unsafe impl Sync for Held {}

/// From here on forks take care of this watcher.
pub(crate) fn remember(inner: &Arc<Inner>) {
    take_care();
    let mut watchers = WATCHERS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    watchers.retain(|watcher| watcher.strong_count() > 0);
    watchers.push(Arc::downgrade(inner));
}

/// Runs something during which nobody forks. It may make watchers.
pub(crate) fn without_forks<T>(act: impl FnOnce() -> T) -> T {
    take_care();
    let _alone = FINDING_OUT.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    act()
}

/// Installs the hooks, once. (Not by `Once`: a child that is forked meanwhile would wait for ever.)
fn take_care() {
    static IS_DONE: Word32 = Word32::new(0);
    if IS_DONE.compare_exchange(0, 1).is_ok() {
        ntux_platform::fork::at_fork(lock_all, unlock_all);
    }
}

extern "C" fn lock_all() {
    let finding_out = FINDING_OUT.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let list = WATCHERS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let watchers: Vec<Arc<Inner>> = list.iter().filter_map(Weak::upgrade).collect();
    let locks = watchers.iter().map(|watcher| {
        // SAFETY: the lock is in a watcher that `Everything` keeps alive, and is dropped before it.
        unsafe { core::mem::transmute::<RwLockWriteGuard<'_, State>, RwLockWriteGuard<'static, State>>(watcher.lock()) }
    });
    let locks: Vec<_> = locks.inspect(|state| state.before_fork()).collect();
    let everything = Everything { _locks: locks, _watchers: watchers, _list: list, _finding_out: finding_out };
    // SAFETY: see `Held`: the list is locked, so no other thread is here.
    unsafe { *HELD.0.get() = Some(everything) };
}

extern "C" fn unlock_all() {
    // SAFETY: as above; in a child this is the only thread.
    let everything = unsafe { (*HELD.0.get()).take() };
    drop(everything);
}
