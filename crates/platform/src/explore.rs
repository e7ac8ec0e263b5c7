//! The seam for model checkers (feature `explore`): every shared access asks here first.
//!
//! A checker installs a [`Scheduler`] for the threads that it drives; a thread that has none runs unhindered. The
//! scheduler is called *before* each access and may switch to another thread of execution; the access itself then
//! happens at once, so one call is one step of an interleaving.

use std::cell::Cell;

use crate::kernel_futex::Entry;

/// What the calling thread is about to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read a word at this address.
    Load(usize),
    /// Write a word, or read, compare and write it, at this address.
    Update(usize),
    /// Wake sleepers on the word at this address.
    Wake(usize),
}

/// Decides who runs next.
pub trait Scheduler {
    /// Called before each access.
    fn step(&self, access: Access);
    /// Sleep while the 32-bit word at `address` holds `expected`; false when the deadline (if any) passed.
    /// The comparison and the falling asleep are one step.
    fn sleep(&self, address: usize, expected: u32, has_deadline: bool) -> bool;
    /// Wake at most `count` sleepers on `address`; returns how many.
    fn wake(&self, address: usize, count: u32) -> u32;

    /// The calls of [`crate::kernel_futex`], for a checker that plays the kernel's futexes whole; the others have none.
    fn kernel(&self) -> Option<&dyn Kernel> {
        None
    }
}

/// The kernel's futexes, as a checker plays them. Each comparison with the queueing that follows it is one step; error
/// numbers are the kernel's.
pub trait Kernel {
    /// See [`crate::kernel_futex::wait_any`]; each entry has a bitset.
    fn wait_any(&self, entries: &[(Entry, u32)], has_deadline: bool) -> Result<usize, i32>;
    /// See [`crate::kernel_futex::wake`].
    fn wake(&self, address: usize, count: u32, mask: u32) -> u32;
    /// See [`crate::kernel_futex::times_asleep`].
    fn times_asleep(&self) -> u64;
}

thread_local! {
    static SCHEDULER: Cell<Option<&'static dyn Scheduler>> = const { Cell::new(None) };
}

/// Installs `scheduler` for the calling thread, or removes it.
pub fn install(scheduler: Option<&'static dyn Scheduler>) {
    SCHEDULER.with(|cell| cell.set(scheduler));
}

/// The scheduler of the calling thread.
pub(crate) fn current() -> Option<&'static dyn Scheduler> {
    SCHEDULER.with(Cell::get)
}

/// Announces an access.
pub(crate) fn step(access: Access) {
    if let Some(scheduler) = current() {
        scheduler.step(access);
    }
}
