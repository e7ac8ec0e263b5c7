//! Each thread's own waiter in each arena that it uses, so that no caller has to carry one around.
//!
//! A thread keeps a list of them, which ends with the thread and returns the waiters to their arenas. The one used last
//! is also in [`LAST`], so that the usual lookup is one comparison. A child of `fork` inherits the list of the thread
//! that forked; the core sees that such a waiter belongs to the parent and takes another one.

use std::cell::{Cell, RefCell};
use std::ptr;
use std::sync::{Arc, Weak};

use ntux_sync::{Arena, Waiter};

thread_local! {
    /// Null, or a place of `PLACES`. Has no destructor, so reading it is one load.
    static LAST: Cell<Last> = const { Cell::new(Last::NOWHERE) };
    static PLACES: RefCell<Places> = const { RefCell::new(Places(Vec::new())) };
}

#[derive(Clone, Copy)]
struct Last {
    arena: *const Arena,
    waiter: *const Waiter,
}

impl Last {
    const NOWHERE: Last = Last { arena: ptr::null(), waiter: ptr::null() };
}

/// A thread's place in one arena, given back when dropped.
struct Place {
    /// Weak, so that an idle thread does not keep the arena attached; but its address is not used again meanwhile.
    arena: Weak<Arena>,
    waiter: Waiter,
}

impl Place {
    fn new(arena: &Arc<Arena>) -> Place {
        Place { arena: Arc::downgrade(arena), waiter: arena.waiter() }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(arena) = self.arena.upgrade() {
            arena.retire(&self.waiter);
        }
    }
}

/// What a thread has taken so far.
#[expect(clippy::vec_box, reason = "a place keeps its address when the list grows")]
struct Places(Vec<Box<Place>>);

impl Drop for Places {
    fn drop(&mut self) {
        LAST.set(Last::NOWHERE);
    }
}

/// Calls `operation` with this thread's waiter in `arena`.
#[inline]
pub(crate) fn with<R>(arena: &Arc<Arena>, operation: impl FnOnce(&Waiter) -> R) -> R {
    let last = LAST.get();
    let waiter = if last.arena == Arc::as_ptr(arena) { last.waiter } else { find(arena) };
    // One call of `operation`, so that it is compiled into its caller.
    let passing = waiter.is_null().then(|| Place::new(arena));
    let waiter = match &passing {
        Some(place) => &place.waiter,
        // SAFETY: a place is dropped by its own thread only: when its arena is gone, which the caller holds, or by the
        // end of the list, which clears `LAST`.
        None => unsafe { &*waiter },
    };
    operation(waiter)
}

/// Finds or takes this thread's place in `arena` and makes it the last used one.
///
/// Null if the thread is ending and its list is gone, and in a misplaced call from a signal handler.
#[cold]
fn find(arena: &Arc<Arena>) -> *const Waiter {
    let found = PLACES.try_with(|places| {
        let places = &mut places.try_borrow_mut().ok()?.0;
        LAST.set(Last::NOWHERE);
        places.retain(|place| place.arena.strong_count() > 0);
        let index = places.iter().position(|place| place.arena.as_ptr() == Arc::as_ptr(arena)).unwrap_or_else(|| {
            places.push(Box::new(Place::new(arena)));
            places.len() - 1
        });
        let waiter: *const Waiter = &places[index].waiter;
        LAST.set(Last { arena: Arc::as_ptr(arena), waiter });
        Some(waiter)
    });
    found.ok().flatten().unwrap_or(ptr::null())
}
