// SPDX-License-Identifier: MIT OR Apache-2.0
//! NT semaphores, mutexes, events and timers with vectored waits, in memory that processes share.
//!
//! The operations have the semantics of the Linux ntsync driver, which has no timers: theirs are those of NT. [`spec`] defines what each does, one step at a time;
//! the rest of this crate is how several threads and processes do it concurrently without a lock.
//!
//! | question | module, the highest first |
//! | --- | --- |
//! | What can be called? | `api` |
//! | What becomes of a signal handler that comes in the middle? | [`door`] |
//! | How does an object reach a waiter, and how does a thread wait? | `protocol`, whose first page says which file does what |
//! | How can an arena be observed without touching it? | [`inspect`] |
//! | What do threads tell onlookers and tracers? | `observe`, [`trace`] |
//! | Where are objects and waiters, and what keeps them alive? | `arena` (checked views, pools, wait sets, peers, lifetimes, names, schedules) |
//! | What depends on the kind of an object? | `kind`, a file for each |
//! | What is stored where? | `format`, a file for each word, and [`fields`], the table of all their parts |
//! | What does an operation mean? | [`spec`] |
//! | What if the memory is rubbish? | `arena` (every index is checked), `budget` (every loop is bounded), [`Error::Corrupt`] |
//! | What if a process dies? | `arena/objects`, `arena/peers`, `arena/descriptor`, and the *Death* part of every file |
//! | How is it shown that a checker catches a mistake? | [`planted`] |
//!
//! No module imports one above it; ARCHITECTURE.md has the picture.
//!
//! No function here is safe to call from a signal handler that interrupted another one on the same [`Waiter`], except
//! [`Waiter::interrupt`] and what [`door`] says.

mod api;
mod arena;
mod budget;
pub mod door;
mod error;
mod format;
pub mod inspect;
mod kind;
mod observe;
pub mod planted;
mod protocol;
pub mod spec;

pub use api::interruptible::Wanted;
pub use arena::Arena;
pub use arena::descriptor::{Gone, Identity, Page};
#[cfg(ntux_explore)]
pub use arena::meeting::{Descriptors, Opened, Place};
pub use arena::names::Name;
pub use arena::queues::Queue;
pub use error::{Error, Result};
pub use format::fields;
pub use format::layout::Capacity;
pub use format::limits::PACKETS_MAX;
pub use kind::{Kind, New, Signal};
pub use ntux_platform::clock::{Clock, Deadline, Due};
pub use ntux_platform::memory::FileId;
pub use observe::trace;
pub use protocol::detached::{Delivered, Detached, Quiet, Registered, Registration};
pub use protocol::waiter::Waiter;

/// Most objects of one wait, without the alert. `NTUX_WAIT_OBJECTS_MAX` in `ntux.h` is the same number.
pub const WAIT_MAX: usize = 64;

/// The longest period of a timer, in nanoseconds: 25 days.
pub const PERIOD_MAX_NS: u64 = format::schedule::PERIOD_MAX_US * format::schedule::NS_PER_US;

/// An object of an arena, as a plain number that means the same in every process that has attached the arena. Never 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(transparent)]
pub struct Object(pub u64);

/// A satisfied wait.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Satisfied {
    /// Which object (0 for wait-all), or the number of objects for the alert.
    pub index: u32,
    /// An acquired mutex had been abandoned.
    pub abandoned: bool,
}

/// State of a timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimerState {
    /// It stays signaled until it is set again.
    pub manual: bool,
    /// A wait could acquire it.
    pub signaled: bool,
    /// When it fires next; none if it is not armed.
    pub due: Option<Due>,
    /// From one due time to the next, in nanoseconds; 0 if it fires once.
    pub period_ns: u64,
}

/// State of the end of an owner.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EndState {
    /// Whose end it is.
    pub owner: u32,
    /// It has ended, so the object is signaled.
    pub ended: bool,
    /// The code that was reported before. None if none was: the owner was killed, as a rule.
    pub code: Option<u32>,
}

/// State of a mutex.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MutexState {
    /// Owner id, 0 when unowned.
    pub owner: u32,
    /// Recursion count.
    pub count: u32,
    /// Its owner was killed, and nobody has acquired it since.
    pub abandoned: bool,
}
