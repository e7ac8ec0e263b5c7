// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arenas of running programs: finding them, and what /proc tells of the processes that share one.

mod asleep;
mod copy;
pub mod examine;
pub mod find;
pub mod handles;
pub mod memory;
pub mod proc;
pub mod processes;
pub mod scene;
pub mod shown;
pub mod signaled;
pub mod state;
pub mod tables;
pub mod words;
