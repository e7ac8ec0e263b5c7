// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel sends no wake for a thread that dies.

use crate::robust::{Fields, WakesAtDeath};

/// Marks a system without [`WakesAtDeath`].
pub trait NoWakesAtDeath {}

impl<S: NoWakesAtDeath> WakesAtDeath for S {
    fn head() -> *mut Fields {
        core::ptr::null_mut()
    }
}
