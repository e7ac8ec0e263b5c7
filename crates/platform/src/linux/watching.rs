//! What Linux has to watch memory with.

pub mod mappings;
pub mod pagemap;
pub mod segv;
pub mod userfault;
