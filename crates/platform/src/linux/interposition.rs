//! Tools for libraries that are loaded into programs and interpose on the C library.

pub mod handover;
pub mod next;
pub mod others;
pub mod peek;
pub mod wine;
