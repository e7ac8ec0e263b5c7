// SPDX-License-Identifier: MIT OR Apache-2.0
//! XNU's information about a forbidden access.

use super::{MacOs, frames};
use crate::watching::segv::ForbiddenAccess;

impl ForbiddenAccess for MacOs {
    const SIGNAL: libc::c_int = frames::FORBIDDEN_ACCESS;

    unsafe fn is_store(context: *const libc::c_void) -> Option<bool> {
        // SAFETY: the caller's promise.
        unsafe { frames::is_store(context) }
    }
}
