// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a supervisor says of threads and processes that have ended.

use core::ffi::c_int;

use ntux::Arena;

use crate::boundary::{self, Place, call};

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_arena_bury_thread(arena: *const Arena, process: u32, thread: u64) -> c_int {
    call(|| {
        // SAFETY: the header asks for an attached arena.
        unsafe { boundary::arena(arena)? }.core().bury_thread(process, thread)?;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_arena_bury_process(arena: *const Arena, process: u32) -> c_int {
    call(|| {
        // SAFETY: the header asks for an attached arena.
        unsafe { boundary::arena(arena)? }.core().bury_process(process)?;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_mutex_kill_all(arena: *const Arena, owner: u32, killed: *mut u32) -> c_int {
    call(|| {
        // SAFETY: the header asks for an attached arena and a place that may be written.
        let (arena, killed) = unsafe { (boundary::arena(arena)?, Place::optional(killed)?) };
        let owner = boundary::owner(owner)?;
        killed.put(arena.with_waiter(|core, waiter| core.mutex_kill_all(waiter, owner))?);
        Ok(())
    })
}
