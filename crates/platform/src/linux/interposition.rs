//! What libraries need that are loaded into programs and stand in front of the C library there.

pub mod handover;
pub mod next;
pub mod others;
pub mod peek;
pub mod wine;
