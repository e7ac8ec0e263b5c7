// SPDX-License-Identifier: MIT OR Apache-2.0
//! Places in a signal handler at which a test pauses the handler's thread while other threads run. They exist in tests only.

/// A place, named after the next step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// Before the handler finds the ledger for the address.
    FindLedger,
    /// Before the handler asks the kernel whether the page is writable by now.
    AskKernel,
}

#[cfg(test)]
pub(crate) use chosen::{at, set};

/// Does nothing in the product.
#[cfg(not(test))]
#[inline(always)]
pub(crate) const fn at(_place: Place) {}

#[cfg(test)]
mod chosen {
    use std::cell::Cell;

    use super::Place;

    thread_local! {
        static PAUSE: Cell<fn(Place)> = const { Cell::new(|_| ()) };
    }

    /// Sets what this thread does at every place from now on. It must be async-signal-safe.
    pub(crate) fn set(pause: fn(Place)) {
        PAUSE.set(pause);
    }

    pub(crate) fn at(place: Place) {
        PAUSE.get()(place);
    }
}
