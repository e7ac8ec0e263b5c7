//! What is told of a mapping. Who tells it: `linux/watching`, `absent/watching`.

pub use crate::watching_room::{Mappings, limit_and_count, within};

use crate::protection::Protection;

/// One mapping.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mapped {
    /// First address.
    pub start: usize,
    /// First address behind.
    pub end: usize,
    /// What may be done with its pages.
    pub protection: Protection,
    /// What is stored there stays in this process.
    pub is_private: bool,
}
