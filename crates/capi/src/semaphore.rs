// SPDX-License-Identifier: MIT OR Apache-2.0
//! Semaphores.

use core::ffi::c_int;

use ntux::Arena;
use ntux_sync::{Object, Signal};

use crate::boundary::{self, Place, call, of_object, signal_at_once};

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_semaphore_create(
    arena: *const Arena,
    count: u32,
    max: u32,
    semaphore: *mut u64,
) -> c_int {
    call(|| {
        // SAFETY: the header asks for an attached arena and a place that may be written.
        let (arena, place) = unsafe { (boundary::arena(arena)?, Place::required(semaphore)?) };
        place.put(arena.with_waiter(|arena, waiter| arena.semaphore_create(waiter, count, max))?.0);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_semaphore_release(
    arena: *const Arena,
    semaphore: u64,
    count: u32,
    previous: *mut u32,
) -> c_int {
    // SAFETY: the header asks for the same.
    if let Some(done) = unsafe { signal_at_once(arena, semaphore, Signal::Release(count), previous) } {
        return done;
    }
    call(|| {
        // SAFETY: the header asks for an attached arena and a place that may be written.
        let (arena, place) = unsafe { (boundary::arena(arena)?, Place::optional(previous)?) };
        let released = arena.with_waiter(|arena, waiter| arena.semaphore_release(waiter, Object(semaphore), count));
        place.put(released.map_err(of_object)?);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_semaphore_read(
    arena: *const Arena,
    semaphore: u64,
    count: *mut u32,
    max: *mut u32,
) -> c_int {
    call(|| {
        // SAFETY: the header asks for an attached arena and places that may be written.
        let (arena, count, max) = unsafe { (boundary::arena(arena)?, Place::optional(count)?, Place::optional(max)?) };
        let state =
            arena.with_waiter(|arena, waiter| arena.semaphore_read(waiter, Object(semaphore))).map_err(of_object)?;
        count.put(state.0);
        max.put(state.1);
        Ok(())
    })
}
