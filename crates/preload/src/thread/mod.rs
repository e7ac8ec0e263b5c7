//! The threads of the program: one [`Record`] for each, and how signals reach its handlers.

pub(crate) mod actions;
pub(crate) mod arrival;
pub(crate) mod cancellation;
pub(crate) mod lock;
pub(crate) mod memory;
mod record;
pub(crate) mod signals;

pub(crate) use record::{
    OwnMemory, Record, borrows_memory, current, enter, enter_with, leave, own_memory, prepare, records, take_families,
};
