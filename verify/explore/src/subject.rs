// SPDX-License-Identifier: MIT OR Apache-2.0
//! The subjects of exploration.

mod arena;
mod barging;
mod meetings;
pub mod toy;

pub use arena::{ArenaSubject, Perform, create, perform, perform_at_once_first};
pub use barging::Barging;
pub use meetings::Meetings;
use ntux_sync::spec::{Outcome, ThreadId};

use crate::program::Call;

/// An implementation of the operations in memory that can be put back to an earlier content.
///
/// Calls of different threads interleave at every shared access, on one thread of the operating system. A call may
/// never be finished, so nothing may be borrowed for its duration that the next execution needs.
pub trait Subject {
    /// Begins an execution. The memory is as it was when the subject was made.
    fn begin(&self);
    /// A thread enters it.
    fn enter(&self, thread: ThreadId);
    /// Makes a call on behalf of a thread.
    fn call(&self, thread: ThreadId, call: &Call) -> Outcome;
    /// Interrupts the wait of a thread, as a signal handler on it would.
    fn interrupt(&self, thread: ThreadId);
    /// Ends the interruption.
    fn resume(&self, thread: ThreadId);
}
