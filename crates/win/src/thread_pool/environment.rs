// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the program says of a callback when it makes one: TP_CALLBACK_ENVIRON.

use core::ffi::c_void;

use super::callback::Finalization;
use super::group::{CancelCallback, Group};
use super::slab::{Id, Numbered};
use super::workers::Pool;
use crate::last_error::{INVALID_PARAMETER, Result};

/// How many priorities there are: high, normal, low.
pub const PRIORITIES: usize = 3;
const NORMAL: usize = 1;
const LONG_FUNCTION: u32 = 1;

/// As C has the third version. The first one ends behind the flags.
#[repr(C)]
pub struct Environ {
    version: u32,
    pool: *const c_void,
    group: *const c_void,
    cancel: Option<CancelCallback>,
    library: *const c_void,
    activation: *const c_void,
    finalization: Option<Finalization>,
    flags: u32,
    priority: u32,
    size: u32,
}

#[cfg(ntux_explore)]
impl Environ {
    /// One that names a group, for the checker.
    pub fn of_group(group: *const c_void) -> Environ {
        let nothing = core::ptr::null();
        Environ {
            version: 3,
            pool: nothing,
            group,
            cancel: None,
            library: nothing,
            activation: nothing,
            finalization: None,
            flags: 0,
            priority: NORMAL as u32,
            size: size_of::<Environ>() as u32,
        }
    }
}

/// What this library makes of it.
#[derive(Clone, Copy)]
pub struct Environment {
    /// None: the pool of the process.
    pub pool: Option<Id<Pool>>,
    pub group: Option<Id<Group>>,
    pub cancel: Option<CancelCallback>,
    pub finalization: Option<Finalization>,
    pub priority: usize,
    /// It may run for long.
    pub is_long: bool,
}

impl Environment {
    pub const DEFAULT: Environment =
        Environment { pool: None, group: None, cancel: None, finalization: None, priority: NORMAL, is_long: false };

    /// Errors: `INVALID_PARAMETER` for a version, a priority, a pool or a group that there is not.
    ///
    /// # Safety
    /// `environ` is NULL or points to one of the version that it names.
    pub unsafe fn of(environ: *const Environ) -> Result<Environment> {
        if environ.is_null() {
            return Ok(Environment::DEFAULT);
        }
        // SAFETY: not NULL, so every version of it has these members, and the third the priority. No reference is made: it may be shorter.
        let (version, pool, group, cancel, finalization, flags, priority) = unsafe {
            let version = (*environ).version;
            let priority = if version == 3 { (*environ).priority } else { NORMAL as u32 };
            let Environ { pool, group, cancel, finalization, flags, .. } = *environ;
            (version, pool, group, cancel, finalization, flags, priority)
        };
        let priority = Some(priority as usize).filter(|&priority| priority < PRIORITIES).ok_or(INVALID_PARAMETER)?;
        if !matches!(version, 1 | 3) {
            return Err(INVALID_PARAMETER);
        }
        Ok(Environment {
            pool: named(pool)?,
            group: named(group)?,
            cancel,
            finalization,
            priority,
            is_long: flags & LONG_FUNCTION != 0,
        })
    }
}

/// None for NULL.
fn named<T: Numbered>(pointer: *const c_void) -> Result<Option<Id<T>>> {
    if pointer.is_null() { Ok(None) } else { Id::of(pointer).map(Some).ok_or(INVALID_PARAMETER) }
}

const _: () = assert!(core::mem::offset_of!(Environ, priority) == 60 && size_of::<Environ>() == 72);
