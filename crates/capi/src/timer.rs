// SPDX-License-Identifier: MIT OR Apache-2.0
//! Timers.

use core::ffi::{c_char, c_int};

use ntux::Arena;
use ntux_sync::{Clock, Due, New, Object, PERIOD_MAX_NS};

use crate::boundary::{self, Place, Refusal, call, of_object};
use crate::names;

/// The clock is `CLOCK_REALTIME`.
const REALTIME: u32 = 1;
/// The clock is `CLOCK_BOOTTIME`.
const BOOTTIME: u32 = 2;
/// The due time counts from now.
const RELATIVE: u32 = 4;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_timer_create(arena: *const Arena, manual: u32, timer: *mut u64) -> c_int {
    call(|| {
        // SAFETY: the header asks for an attached arena and a place that may be written.
        let (arena, place) = unsafe { (boundary::arena(arena)?, Place::required(timer)?) };
        place.put(arena.with_waiter(|arena, waiter| arena.timer_create(waiter, manual != 0))?.0);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_timer_create_named(
    arena: *const Arena,
    name: *const c_char,
    flags: u32,
    manual: u32,
    timer: *mut u64,
    existed: *mut u32,
) -> c_int {
    // SAFETY: the header asks for the same.
    unsafe { names::create(arena, name, flags, New::Timer { manual: manual != 0 }, timer, existed) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_timer_set(arena: *const Arena, timer: u64, flags: u32, due: u64, period: u64) -> c_int {
    call(|| {
        // SAFETY: the header asks for an attached arena.
        let arena = unsafe { boundary::arena(arena)? };
        let clock = match flags & !RELATIVE {
            0 => Clock::Monotonic,
            REALTIME => Clock::Wall,
            BOOTTIME => Clock::Boot,
            _ => return Err(Refusal(libc::EINVAL)),
        };
        if period > PERIOD_MAX_NS {
            return Err(Refusal(libc::EINVAL));
        }
        let due = if flags & RELATIVE == 0 { Due { clock, at_ns: due } } else { Due::after_ns(clock, due) };
        let set = arena.with_waiter(|arena, waiter| arena.timer_set(waiter, Object(timer), due, period));
        set.map_err(of_object)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_timer_cancel(arena: *const Arena, timer: u64) -> c_int {
    call(|| {
        // SAFETY: the header asks for an attached arena.
        let arena = unsafe { boundary::arena(arena)? };
        arena.with_waiter(|arena, waiter| arena.timer_cancel(waiter, Object(timer))).map_err(of_object)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_timer_read(
    arena: *const Arena,
    timer: u64,
    manual: *mut u32,
    signaled: *mut u32,
    flags: *mut u32,
    due: *mut u64,
    period: *mut u64,
) -> c_int {
    call(|| {
        // SAFETY: the header asks for an attached arena and places that may be written.
        let (arena, manual, signaled) =
            unsafe { (boundary::arena(arena)?, Place::optional(manual)?, Place::optional(signaled)?) };
        // SAFETY: the same.
        let (flags, due, period) =
            unsafe { (Place::optional(flags)?, Place::optional(due)?, Place::optional(period)?) };
        let state = arena.with_waiter(|arena, waiter| arena.timer_read(waiter, Object(timer))).map_err(of_object)?;
        manual.put(state.manual.into());
        signaled.put(state.signaled.into());
        flags.put(match state.due.map(|due| due.clock) {
            None | Some(Clock::Monotonic) => 0,
            Some(Clock::Wall) => REALTIME,
            Some(Clock::Boot) => BOOTTIME,
        });
        due.put(state.due.map_or(0, |due| due.at_ns));
        period.put(state.period_ns);
        Ok(())
    })
}
