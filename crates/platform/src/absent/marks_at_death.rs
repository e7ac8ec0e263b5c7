// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel marks no word of a thread that dies.

use std::ptr::NonNull;

use crate::life::MarksAtDeath;

/// Marks a system without [`MarksAtDeath`].
pub trait NoMarksAtDeath {}

impl<S: NoMarksAtDeath> MarksAtDeath for S {
    fn map_again(_page: *const u8) -> Option<NonNull<u8>> {
        None
    }

    unsafe fn unmap_again(_pages: NonNull<u8>) {}
}
