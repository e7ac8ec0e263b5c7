// SPDX-License-Identifier: MIT OR Apache-2.0
//! The threads of the program: one [`Record`] for each, its memory as a call may touch it, and how signals reach its handlers.
//!
//! * [`record`]: where a thread's record is found, by the thread and by a signal; [`lineage`]: which process this is
//! * what a record has: [`counts`], [`seats`], [`families`], the known [`stack`]
//! * [`memory`]: why a bad address is never deadly
//! * [`signals`]: why a handler may run at any instruction, block, and never return. [`arrival`]: the first instructions of a
//!   signal; [`actions`] and [`handlers`]: the program's handlers; [`defaults`]: signals without one; [`cancel_signal`]: the C library's own

pub(crate) mod actions;
mod arrival;
pub(crate) mod cancel_signal;
mod counts;
mod defaults;
mod families;
mod frame;
pub(crate) mod handlers;
mod lineage;
pub(crate) mod lock;
mod mask;
pub(crate) mod memory;
mod record;
mod registers;
mod seats;
mod signals;
pub(crate) mod stack;

pub(crate) use families::FORK_MARKS;
pub(crate) use lineage::{OwnMemory, borrows_memory, forked, own_memory};
pub(crate) use record::{Record, adopt, current, enter, enter_with, leave, prepare, records};
pub(crate) use seats::{Seat, Seated, Seats};
