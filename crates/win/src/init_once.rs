// SPDX-License-Identifier: MIT OR Apache-2.0
//! INIT_ONCE: something that one thread does, or several try.
//!
//! # Picture
//! ```text
//!  63                    2 1 0
//! +-----------------------+---+    0  nobody has begun      1  one thread does it, others wait
//! |        context        |   |    2  done, with a context  3  several threads try; the first that completes wins
//! +-----------------------+---+    in 0, 1 and 3 the context is 0
//! ```
//! # Transitions
//! | from | to | by |
//! | --- | --- | --- |
//! | 0 | 1 or 3 | [`begin`] |
//! | 1 | 2 or 0, then a wake of all | [`complete`] |
//! | 3 | 2 | [`complete`], ASYNC |

use core::ffi::c_void;
use core::ptr;

use ntux::Deadline;
use ntux_platform::atomic::Word64;

use crate::boundary::{FALSE, TRUE, call_for_bool, put};
use crate::last_error::{GEN_FAILURE, INVALID_PARAMETER, Result};
use crate::planted::{Bug, planted};
use crate::word;

const CHECK_ONLY: u32 = 1;
const ASYNC: u32 = 2;
pub const INIT_FAILED: u32 = 4;

const FREE: u64 = 0;
const ONE_DOES: u64 = 1;
const DONE: u64 = 2;
const SEVERAL_TRY: u64 = 3;
const STAGE: u64 = 3;

/// What does it.
pub type Function = extern "C-unwind" fn(*mut Word64, *mut c_void, *mut *mut c_void) -> i32;

/// How a beginning went.
pub enum Begun {
    /// The caller does it.
    Pending,
    Done(u64),
}

pub fn begin(once: &Word64, flags: u32) -> Result<Begun> {
    if flags & !(CHECK_ONLY | ASYNC) != 0 || flags == CHECK_ONLY | ASYNC {
        return Err(INVALID_PARAMETER);
    }
    loop {
        let seen = once.load();
        match (seen & STAGE, flags) {
            (DONE, _) => return Ok(Begun::Done(seen & !STAGE)),
            (_, CHECK_ONLY) => return Err(GEN_FAILURE),
            (FREE, _) => {
                let next = if flags == ASYNC { SEVERAL_TRY } else { ONE_DOES };
                if once.compare_exchange(seen, next).is_ok() {
                    return Ok(Begun::Pending);
                }
            }
            (SEVERAL_TRY, ASYNC) => return Ok(Begun::Pending),
            (ONE_DOES, 0) => {
                word::wait_long(once, seen, Deadline::Never);
            }
            _ => return Err(INVALID_PARAMETER),
        }
    }
}

pub fn complete(once: &Word64, flags: u32, context: u64) -> Result<()> {
    let failed = flags & INIT_FAILED != 0;
    let is_wrong = flags & !(ASYNC | INIT_FAILED) != 0 || failed && (context != 0 || flags & ASYNC != 0);
    if is_wrong || context & STAGE != 0 {
        return Err(INVALID_PARAMETER);
    }
    let next = if failed { FREE } else { context | DONE };
    loop {
        let seen = once.load();
        match (seen & STAGE, flags & ASYNC != 0) {
            (ONE_DOES, false) | (SEVERAL_TRY, true) => {}
            (ONE_DOES | SEVERAL_TRY, _) => return Err(INVALID_PARAMETER),
            _ => return Err(GEN_FAILURE),
        }
        if once.compare_exchange(seen, next).is_ok() {
            if !(failed && planted(Bug::FailsSilently)) {
                word::wake_all_long(once);
            }
            return Ok(());
        }
    }
}

/// # Safety
/// `once` points to memory for one that nobody uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_InitOnceInitialize(once: *mut Word64) {
    // SAFETY: the same contract.
    unsafe { once.write(Word64::new(FREE)) }
}

/// # Safety
/// `once` points to an INIT_ONCE; the others are NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_InitOnceBeginInitialize(
    once: *mut Word64,
    flags: u32,
    pending: *mut i32,
    context: *mut *mut c_void,
) -> i32 {
    call_for_bool(|| {
        // SAFETY: the same contract.
        unsafe {
            match begin(&*once, flags)? {
                Begun::Pending => put(pending, TRUE),
                Begun::Done(value) => {
                    put(pending, FALSE);
                    put(context, ptr::with_exposed_provenance_mut(value as usize));
                }
            }
        }
        Ok(())
    })
}

/// # Safety
/// `once` points to an INIT_ONCE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_InitOnceComplete(once: *mut Word64, flags: u32, context: *mut c_void) -> i32 {
    // SAFETY: the same contract.
    call_for_bool(|| complete(unsafe { &*once }, flags, context.expose_provenance() as u64))
}

/// # Safety
/// `once` points to an INIT_ONCE, `context` is NULL or may be written; the function may be called with the parameter.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ntw_InitOnceExecuteOnce(
    once: *mut Word64,
    function: Function,
    parameter: *mut c_void,
    context: *mut *mut c_void,
) -> i32 {
    let mut pending = FALSE;
    // SAFETY: the same contract.
    unsafe {
        if ntw_InitOnceBeginInitialize(once, 0, &mut pending, context) == FALSE {
            return FALSE;
        }
        if pending == FALSE {
            return TRUE;
        }
        // Outside of what has anything to clean up.
        if function(once, parameter, context) == FALSE {
            ntw_InitOnceComplete(once, INIT_FAILED, ptr::null_mut());
            return FALSE;
        }
        let value = if context.is_null() { ptr::null_mut() } else { context.read() };
        ntw_InitOnceComplete(once, 0, value)
    }
}
