// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mutexes.

use core::ffi::c_int;

use ntux::Arena;
use ntux_sync::{Object, Signal};

use crate::boundary::{self, Place, Refusal, call, of_object, signal_at_once};

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_mutex_create(arena: *const Arena, owner: u32, count: u32, mutex: *mut u64) -> c_int {
    call(|| {
        // SAFETY: the header asks for an attached arena and a place that may be written.
        let (arena, place) = unsafe { (boundary::arena(arena)?, Place::required(mutex)?) };
        place.put(arena.with_waiter(|arena, waiter| arena.mutex_create(waiter, owner, count))?.0);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_mutex_unlock(arena: *const Arena, mutex: u64, owner: u32, previous: *mut u32) -> c_int {
    // SAFETY: the header asks for the same.
    if let Some(done) = unsafe { signal_at_once(arena, mutex, Signal::Unlock(owner), previous) } {
        return done;
    }
    call(|| {
        // SAFETY: the header asks for an attached arena and a place that may be written.
        let (arena, place) = unsafe { (boundary::arena(arena)?, Place::optional(previous)?) };
        let owner = boundary::owner(owner)?;
        let unlocked = arena.with_waiter(|arena, waiter| arena.mutex_unlock(waiter, Object(mutex), owner));
        place.put(unlocked.map_err(of_object)?);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_mutex_kill(arena: *const Arena, mutex: u64, owner: u32) -> c_int {
    call(|| {
        // SAFETY: the header asks for an attached arena.
        let arena = unsafe { boundary::arena(arena)? };
        let owner = boundary::owner(owner)?;
        arena.with_waiter(|arena, waiter| arena.mutex_kill(waiter, Object(mutex), owner)).map_err(of_object)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_mutex_read(arena: *const Arena, mutex: u64, owner: *mut u32, count: *mut u32) -> c_int {
    call(|| {
        // SAFETY: the header asks for an attached arena and places that may be written.
        let (arena, owner, count) =
            unsafe { (boundary::arena(arena)?, Place::optional(owner)?, Place::optional(count)?) };
        let state = arena.with_waiter(|arena, waiter| arena.mutex_read(waiter, Object(mutex))).map_err(of_object)?;
        owner.put(state.owner);
        count.put(state.count);
        if state.abandoned { Err(Refusal(libc::EOWNERDEAD)) } else { Ok(()) }
    })
}
