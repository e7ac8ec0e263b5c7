// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operations on objects of all kinds.

use core::ffi::c_int;

use ntux::Arena;
use ntux_sync::{Kind, Object};

use crate::boundary::{self, Place, call, call_for_number};

/// NTUX_KIND_...
fn number_of(kind: Kind) -> u32 {
    match kind {
        Kind::Semaphore => 1,
        Kind::Mutex => 2,
        Kind::AutoEvent => 3,
        Kind::ManualEvent => 4,
        Kind::SyncTimer => 5,
        Kind::ManualTimer => 6,
        Kind::End => 7,
    }
}

/// The kind with this number.
pub(crate) fn kind_of(number: c_int) -> Option<Kind> {
    let timers = [Kind::SyncTimer, Kind::ManualTimer];
    let others = [Kind::Semaphore, Kind::Mutex, Kind::AutoEvent, Kind::ManualEvent, Kind::End];
    others.into_iter().chain(timers).find(|&kind| number_of(kind) as c_int == number)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_object_kind(arena: *const Arena, object: u64) -> c_int {
    call_for_number(|| {
        // SAFETY: the header asks for an attached arena.
        let kind = unsafe { boundary::arena(arena)? }.core().kind(Object(object))?;
        Ok(number_of(kind))
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_object_close(arena: *const Arena, object: u64) -> c_int {
    call(|| {
        // SAFETY: the header asks for an attached arena.
        unsafe { boundary::arena(arena)? }.core().close(Object(object))?;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_object_adopt(arena: *const Arena, object: u64) -> c_int {
    call(|| {
        // SAFETY: the header asks for an attached arena.
        unsafe { boundary::arena(arena)? }.core().adopt(Object(object))?;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_object_hold(arena: *const Arena, object: u64) -> c_int {
    call(|| {
        // SAFETY: the header asks for an attached arena.
        unsafe { boundary::arena(arena)? }.core().hold(Object(object))?;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_object_hold_for(arena: *const Arena, object: u64, process: u32) -> c_int {
    call(|| {
        // SAFETY: the header asks for an attached arena.
        unsafe { boundary::arena(arena)? }.core().hold_for(Object(object), process)?;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_object_holds(arena: *const Arena, object: u64, holds: *mut u32) -> c_int {
    call(|| {
        // SAFETY: the header asks for an attached arena and a place that may be written.
        let (arena, place) = unsafe { (boundary::arena(arena)?, Place::optional(holds)?) };
        place.put(arena.core().holds(Object(object))?);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_object_release(arena: *const Arena, object: u64) -> c_int {
    call(|| {
        // SAFETY: the header asks for an attached arena.
        unsafe { boundary::arena(arena)? }.core().release(Object(object))?;
        Ok(())
    })
}
