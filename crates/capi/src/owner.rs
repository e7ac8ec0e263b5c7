// SPDX-License-Identifier: MIT OR Apache-2.0
//! Owners whose end is noticed.

use core::ffi::c_int;

use ntux::{Arena, Error};
use ntux_sync::Object;

use crate::boundary::{self, NO_OWNER, Place, Refusal, call, of_object};

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

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_end_create(arena: *const Arena, owner: u32, end: *mut u64) -> c_int {
    call(|| {
        // SAFETY: the header asks for an attached arena and a place that may be written.
        let (arena, end) = unsafe { (boundary::arena(arena)?, Place::required(end)?) };
        let created = arena.with_waiter(|core, waiter| core.end_create(waiter, owner));
        end.put(created.map_err(|error| if error == Error::Invalid { NO_OWNER } else { error.into() })?.0);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_end_report(arena: *const Arena, end: u64, code: u32) -> c_int {
    call(|| {
        // SAFETY: the header asks for an attached arena.
        let arena = unsafe { boundary::arena(arena)? };
        let in_time =
            arena.with_waiter(|core, waiter| core.end_report(waiter, Object(end), code)).map_err(of_object)?;
        if in_time { Ok(()) } else { Err(Refusal(libc::EALREADY)) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_end_read(
    arena: *const Arena,
    end: u64,
    owner: *mut u32,
    ended: *mut u32,
    code: *mut u32,
) -> c_int {
    call(|| {
        // SAFETY: the header asks for an attached arena, and for places that may be written, or none.
        let (arena, owner, ended, code) = unsafe {
            (boundary::arena(arena)?, Place::optional(owner)?, Place::optional(ended)?, Place::optional(code)?)
        };
        let state = arena.with_waiter(|core, waiter| core.end_read(waiter, Object(end))).map_err(of_object)?;
        owner.put(state.owner);
        ended.put(state.ended.into());
        code.put(state.code.unwrap_or(0));
        if state.ended && state.code.is_none() { Err(Refusal(libc::EOWNERDEAD)) } else { Ok(()) }
    })
}
