// SPDX-License-Identifier: MIT OR Apache-2.0
//! Each thread's waiter in each arena that it uses, so that callers need not pass one.
//!
//! A thread keeps a list of them; when the thread ends, the list returns the waiters to their arenas. The one used last
//! is also in [`LAST`], so that the usual lookup is one comparison. A child of `fork` inherits the list of the thread
//! that forked; the core detects that such a waiter belongs to the parent, and takes another one.

use std::cell::{Cell, RefCell};
use std::marker::PhantomPinned;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use ntux_platform::liveness;
use ntux_sync::{Arena, Waiter};

use crate::reactor;

thread_local! {
    /// Null, or a place of `PLACES`. Has no destructor, so reading it is one load.
    static LAST: Cell<Last> = const { Cell::new(Last::NOWHERE) };
    static PLACES: RefCell<Places> = const { RefCell::new(Places(Vec::new())) };
}

#[derive(Clone, Copy)]
struct Last {
    attached: *const Attached,
    waiter: *const Waiter,
}

impl Last {
    const NOWHERE: Last = Last { attached: ptr::null(), waiter: ptr::null() };
}

/// An attachment of an arena, the waiters that threads have in it, and what serves its asynchronous waits.
pub(crate) struct Attached {
    arena: ManuallyDrop<Arena>,
    waiters: Arc<Waiters>,
    pub(crate) reactor: reactor::Place,
    /// The reactor's thread may look into the arena while this is being dropped: a `&mut` of it is not the only way to it.
    _shared: PhantomPinned,
}

/// The waiters that threads of one process have in an attachment.
struct Waiters {
    /// A forked child leaves the list alone, because another thread of its parent may have had the lock.
    lineage: u64,
    list: Mutex<Vec<Registered>>,
}

/// A waiter in some thread's [`Place`]. It is valid while it is in the list.
struct Registered(*const Waiter);

// SAFETY: used under the list's lock only, and only when no thread can be inside an operation with it any more: when
// the attachment ends, which every operation borrows.
unsafe impl Send for Registered {}

impl Attached {
    pub(crate) fn new(arena: Arena) -> Attached {
        let waiters = Waiters { lineage: liveness::lineage(), list: Mutex::default() };
        let reactor = reactor::Place::default();
        Attached { arena: ManuallyDrop::new(arena), waiters: Arc::new(waiters), reactor, _shared: PhantomPinned }
    }
}

impl Deref for Attached {
    type Target = Arena;

    #[inline(always)]
    fn deref(&self) -> &Arena {
        &self.arena
    }
}

impl Drop for Attached {
    /// Threads that continue to live keep their places, so the slots of these in the arena are returned here.
    fn drop(&mut self) {
        let is_alone = self.reactor.end(&self.arena);
        if let Some(mut list) = self.waiters.lock() {
            for Registered(waiter) in list.drain(..) {
                // SAFETY: its place takes it from the list, under this lock, before it goes; nobody else uses it
                // (`Registered`).
                self.arena.retire(unsafe { &*waiter });
            }
        }
        if is_alone {
            // SAFETY: dropped once, here.
            unsafe { ManuallyDrop::drop(&mut self.arena) };
        }
    }
}

impl Waiters {
    /// None in a forked child.
    fn lock(&self) -> Option<MutexGuard<'_, Vec<Registered>>> {
        let ours = self.lineage == liveness::lineage();
        ours.then(|| self.list.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A thread's place in one arena, returned when dropped.
struct Place {
    /// Weak, so that an idle thread does not keep the arena attached; but its address is not used again meanwhile.
    attached: Weak<Attached>,
    waiters: Arc<Waiters>,
    waiter: Waiter,
}

impl Place {
    fn new(attached: &Arc<Attached>) -> Box<Place> {
        let waiters = Arc::clone(&attached.waiters);
        let place = Box::new(Place { attached: Arc::downgrade(attached), waiters, waiter: attached.waiter() });
        if let Some(mut list) = place.waiters.lock() {
            list.push(Registered(&place.waiter));
        }
        place
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(mut list) = self.waiters.lock() {
            list.retain(|&Registered(waiter)| !ptr::eq(waiter, &self.waiter));
        }
        if let Some(arena) = self.attached.upgrade() {
            arena.retire(&self.waiter);
        }
    }
}

/// The places that a thread has taken so far.
#[expect(clippy::vec_box, reason = "a place keeps its address when the list grows")]
struct Places(Vec<Box<Place>>);

impl Drop for Places {
    fn drop(&mut self) {
        LAST.set(Last::NOWHERE);
    }
}

/// Calls `operation` with this thread's waiter in `arena`.
#[inline]
pub(crate) fn with<R>(attached: &Arc<Attached>, operation: impl FnOnce(&Waiter) -> R) -> R {
    let last = LAST.get();
    let waiter = if last.attached == Arc::as_ptr(attached) { last.waiter } else { find(attached) };
    // One call of `operation`, so that it is compiled into its caller.
    let passing = waiter.is_null().then(|| Place::new(attached));
    let waiter = match &passing {
        Some(place) => &place.waiter,
        // SAFETY: a place is dropped by its own thread only: when its arena is gone, which the caller holds, or by the
        // end of the list, which clears `LAST`.
        None => unsafe { &*waiter },
    };
    operation(waiter)
}

/// This thread's waiter in `arena`, if that is the arena that the thread used last.
#[inline(always)]
pub(crate) fn last(attached: &Arc<Attached>) -> Option<&Waiter> {
    let last = LAST.get();
    // SAFETY: as in `with`; no place is dropped while the caller uses it, on this thread, as nothing is called between.
    (last.attached == Arc::as_ptr(attached)).then(|| unsafe { &*last.waiter })
}

/// Finds or takes this thread's place in `arena` and makes it the last used one.
///
/// Null if the thread is ending and its list is gone, and in a misplaced call from a signal handler.
#[cold]
fn find(attached: &Arc<Attached>) -> *const Waiter {
    let found = PLACES.try_with(|places| {
        let places = &mut places.try_borrow_mut().ok()?.0;
        LAST.set(Last::NOWHERE);
        places.retain(|place| place.attached.strong_count() > 0);
        let same = |place: &Place| place.attached.as_ptr() == Arc::as_ptr(attached);
        let index = places.iter().position(|place| same(place)).unwrap_or_else(|| {
            places.push(Place::new(attached));
            places.len() - 1
        });
        let waiter: *const Waiter = &places[index].waiter;
        LAST.set(Last { attached: Arc::as_ptr(attached), waiter });
        Some(waiter)
    });
    found.ok().flatten().unwrap_or(ptr::null())
}
