// SPDX-License-Identifier: MIT OR Apache-2.0
//! Linux's means to watch memory.

mod mappings;
mod pagemap;
mod segv;
mod userfault;

pub use mappings::{Mappings, limit_and_count, within};
pub use pagemap::Pagemap;
pub use userfault::Userfault;
