// SPDX-License-Identifier: MIT OR Apache-2.0
//! A word with a memory node beside it.

#![allow(clippy::disallowed_types, reason = "these are the program's words, not the library's")]

use std::sync::atomic::{AtomicI32, AtomicU32};

pub use ntux_platform::kernel_futex::numa::ANY_NODE;

/// A futex of 32 bits, and the node on which the kernel keeps its waiters ([`crate::Futex::numa`]).
///
/// The node changes where the kernel searches, not what the operations mean. Waits and wakes that find different nodes
/// miss each other, so change the node only while nobody waits.
#[repr(C, align(8))]
#[derive(Debug)]
pub struct NumaWord {
    /// The futex.
    pub value: AtomicU32,
    /// The number of a node, or [`ANY_NODE`]; then the next operation replaces it with the node of its thread.
    pub node: AtomicI32,
}

impl NumaWord {
    /// A word that the node of its first user serves.
    pub const fn new(value: u32) -> NumaWord {
        NumaWord { value: AtomicU32::new(value), node: AtomicI32::new(ANY_NODE) }
    }
}
