// SPDX-License-Identifier: MIT OR Apache-2.0
//! The description of a mapping. `linux/watching`, `macos/watching` and `absent/watching` provide it.

pub use crate::watching_room::{Mappings, limit_and_count, within};

use crate::protection::Protection;

/// One mapping.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mapped {
    /// First address.
    pub start: usize,
    /// First address after it.
    pub end: usize,
    /// Its protection.
    pub protection: Protection,
    /// True if it is private.
    pub is_private: bool,
}
