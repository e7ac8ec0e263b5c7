//! The kernel does nothing for who dies.

use crate::robust::{Fields, WakesAtDeath};

/// Of a system without [`WakesAtDeath`].
pub trait NoWakesAtDeath {}

impl<S: NoWakesAtDeath> WakesAtDeath for S {
    fn head() -> *mut Fields {
        core::ptr::null_mut()
    }
}
