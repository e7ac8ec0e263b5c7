// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events.

use core::ffi::c_int;

use ntux::Arena;
use ntux_sync::{Object, Signal, Waiter};

use crate::boundary::{self, Place, call, of_object, signal_at_once};

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_event_create(arena: *const Arena, manual: u32, signaled: u32, event: *mut u64) -> c_int {
    call(|| {
        // SAFETY: the header asks for an attached arena and a place that may be written.
        let (arena, place) = unsafe { (boundary::arena(arena)?, Place::required(event)?) };
        let (manual, signaled) = (manual != 0, signaled != 0);
        place.put(arena.with_waiter(|arena, waiter| arena.event_create(waiter, manual, signaled))?.0);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_event_set(arena: *const Arena, event: u64, previous: *mut u32) -> c_int {
    // SAFETY: the header asks for the same.
    if let Some(done) = unsafe { signal_at_once(arena, event, Signal::Set, previous) } {
        return done;
    }
    // SAFETY: the header asks for the same.
    unsafe { change(arena, event, previous, ntux_sync::Arena::event_set) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_event_reset(arena: *const Arena, event: u64, previous: *mut u32) -> c_int {
    // SAFETY: the header asks for the same.
    if let Some(done) = unsafe { signal_at_once(arena, event, Signal::Reset, previous) } {
        return done;
    }
    // SAFETY: the header asks for the same.
    unsafe { change(arena, event, previous, ntux_sync::Arena::event_reset) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_event_pulse(arena: *const Arena, event: u64, previous: *mut u32) -> c_int {
    // SAFETY: the header asks for the same.
    unsafe { change(arena, event, previous, ntux_sync::Arena::event_pulse) }
}

/// # Safety
///
/// `arena` and `previous` are null, misaligned, or an attached arena and a place that may be written.
#[inline]
unsafe fn change(
    arena: *const Arena,
    event: u64,
    previous: *mut u32,
    operation: impl Fn(&ntux_sync::Arena, &Waiter, Object) -> ntux::Result<bool>,
) -> c_int {
    call(|| {
        // SAFETY: the caller passes an attached arena and a place that may be written.
        let (arena, place) = unsafe { (boundary::arena(arena)?, Place::optional(previous)?) };
        let was_signaled = arena.with_waiter(|arena, waiter| operation(arena, waiter, Object(event)));
        place.put(was_signaled.map_err(of_object)?.into());
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_event_read(
    arena: *const Arena,
    event: u64,
    manual: *mut u32,
    signaled: *mut u32,
) -> c_int {
    call(|| {
        // SAFETY: the header asks for an attached arena and places that may be written.
        let (arena, manual, signaled) =
            unsafe { (boundary::arena(arena)?, Place::optional(manual)?, Place::optional(signaled)?) };
        let state = arena.with_waiter(|arena, waiter| arena.event_read(waiter, Object(event))).map_err(of_object)?;
        manual.put(state.0.into());
        signaled.put(state.1.into());
        Ok(())
    })
}
