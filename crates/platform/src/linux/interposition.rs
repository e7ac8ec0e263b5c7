// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tools for libraries that are loaded into programs and interpose on the C library.

pub mod handover;
pub mod next;
pub mod objects;
pub mod others;
pub mod own_stack;
pub mod peek;
pub mod until_exec;
pub mod wine;

pub use super::proc;
/// What the information of a signal says to the first instructions of its arrival.
pub use super::to_self::{CODE, SENDER, STAND_IN, code};
