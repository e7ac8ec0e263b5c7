// SPDX-License-Identifier: MIT OR Apache-2.0
//! What write watches need from the system: page faults reported to the program, the list of written pages, mappings,
//! the signal of a forbidden access, and calls that copy into watched memory.
//!
//! This is a room here, and not a part of the crate `ntux-watch`, because only this crate enters the kernel. It is not
//! a separate crate, because it shares the check for deadly filters, the disabled features and the error numbers with
//! the rest.

pub mod mappings;
pub mod pagemap;
pub mod readiness;
pub mod segv;
pub mod transfer;
pub mod userfault;
