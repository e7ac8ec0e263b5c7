//! Each thread's own waiter in each arena that it uses, so that no caller has to carry one around.
//!
//! A thread keeps a list of them, the last used one in front, so that the usual lookup is one comparison. The list ends
//! with the thread and returns the waiters to their arenas. A child of `fork` inherits the list of the thread that forked;
//! the core sees that such a waiter belongs to the parent and takes another one.

use std::cell::RefCell;
use std::sync::{Arc, Weak};

use ntux_sync::{Arena, Waiter};

/// A thread's place in one arena.
struct Place {
    /// Weak, so that an idle thread does not keep the arena attached; but its address is not used again meanwhile.
    arena: Weak<Arena>,
    waiter: Waiter,
}

impl Place {
    #[inline]
    fn is_in(&self, arena: &Arc<Arena>) -> bool {
        Weak::as_ptr(&self.arena) == Arc::as_ptr(arena)
    }
}

thread_local! {
    static PLACES: RefCell<Vec<Place>> = const { RefCell::new(Vec::new()) };
}

/// Calls `operation` with this thread's waiter in `arena`.
#[inline]
pub(crate) fn with<R>(arena: &Arc<Arena>, operation: impl Fn(&Waiter) -> R) -> R {
    let result = PLACES.try_with(|places| {
        if let Some(place) = places.borrow().first().filter(|place| place.is_in(arena)) {
            return Some(operation(&place.waiter));
        }
        bring_to_front(places, arena).then(|| operation(&places.borrow()[0].waiter))
    });
    match result {
        Ok(Some(result)) => result,
        // The thread is ending and its list is gone, or it is a misplaced call from a signal handler.
        _ => with_passing_waiter(arena, operation),
    }
}

/// Makes this thread's place in `arena` the first of the list; not possible while an operation is using the list.
#[cold]
fn bring_to_front(places: &RefCell<Vec<Place>>, arena: &Arc<Arena>) -> bool {
    let Ok(mut places) = places.try_borrow_mut() else { return false };
    places.retain(|place| place.arena.strong_count() > 0);
    let found = places.iter().position(|place| place.is_in(arena));
    let index = found.unwrap_or_else(|| {
        places.push(Place { arena: Arc::downgrade(arena), waiter: arena.waiter() });
        places.len() - 1
    });
    places.swap(0, index);
    true
}

#[cold]
fn with_passing_waiter<R>(arena: &Arc<Arena>, operation: impl Fn(&Waiter) -> R) -> R {
    operation(&arena.waiter())
}
