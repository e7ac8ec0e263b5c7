//! Arenas of running programs: finding them, and what /proc tells of those who share one.

mod asleep;
mod copy;
pub mod examine;
pub mod find;
pub mod proc;
pub mod processes;
pub mod scene;
pub mod signaled;
pub mod tables;
pub mod words;
