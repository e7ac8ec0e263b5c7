// SPDX-License-Identifier: MIT OR Apache-2.0
//! Owners whose end is noticed.

use core::ffi::c_int;

use ntux::Arena;

use crate::boundary::{self, Place, call};

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_owner_of_thread(arena: *const Arena, owner: *mut u32) -> c_int {
    call(|| {
        // SAFETY: the header asks for an attached arena and a place that may be written.
        let (arena, owner) = unsafe { (boundary::arena(arena)?, Place::required(owner)?) };
        owner.put(arena.with_waiter(|core, waiter| core.owner_of_this_thread(waiter))?);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_owner_create(arena: *const Arena, owner: *mut u32) -> c_int {
    call(|| {
        // SAFETY: the header asks for an attached arena and a place that may be written.
        let (arena, owner) = unsafe { (boundary::arena(arena)?, Place::required(owner)?) };
        owner.put(arena.with_waiter(|core, waiter| core.owner_create(waiter))?);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_owner_end(arena: *const Arena, owner: u32) -> c_int {
    call(|| {
        // SAFETY: the header asks for an attached arena.
        let arena = unsafe { boundary::arena(arena)? };
        arena.with_waiter(|core, waiter| core.owner_end(waiter, owner))?;
        Ok(())
    })
}
