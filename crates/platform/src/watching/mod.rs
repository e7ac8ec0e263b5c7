//! What write watches need of the system: page faults told to the program, the list of written pages, mappings, the signal of a
//! forbidden access, and calls that copy into watched memory.
//!
//! It is a room here, and not a part of the crate `ntux-watch`, because the kernel is entered in this crate only; and no crate
//! of its own, because it shares the filters' check, the features left out and the error numbers with the rest.

pub mod mappings;
pub mod pagemap;
pub mod readiness;
pub mod segv;
pub mod transfer;
pub mod userfault;
