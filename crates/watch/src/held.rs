//! Places in a signal handler at which a test holds its thread while other threads go on. In a product they do not exist.

/// A place, named after what comes next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// Finding the ledger for the address.
    FindLedger,
    /// Asking the kernel whether the page is writable by now.
    AskKernel,
}

#[cfg(test)]
pub(crate) use chosen::{at, set};

/// Nobody is held, in a product.
#[cfg(not(test))]
#[inline(always)]
pub(crate) const fn at(_place: Place) {}

#[cfg(test)]
mod chosen {
    use std::cell::Cell;

    use super::Place;

    thread_local! {
        static HOLD: Cell<fn(Place)> = const { Cell::new(|_| ()) };
    }

    /// What this thread does at every place from now on. It must be async-signal-safe.
    pub(crate) fn set(hold: fn(Place)) {
        HOLD.set(hold);
    }

    pub(crate) fn at(place: Place) {
        HOLD.get()(place);
    }
}
