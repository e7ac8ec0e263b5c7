// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arenas: create, attach, descriptor, detach.

use core::ffi::{c_char, c_int};
use std::os::fd::{AsRawFd, BorrowedFd};

use ntux::{Arena, Capacity};

use crate::boundary::{self, Place, Refusal, call, call_for_number};
use crate::opened;

/// A name that is longer is none.
const NAME_MAX: usize = 255;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_arena_create(objects: u32, waiters: u32, arena: *mut *mut Arena) -> c_int {
    call(|| {
        // SAFETY: the header asks for a place that may be written.
        let place = unsafe { Place::required(arena)? };
        place.put(hand_out(Arena::create(Capacity { objects, waiters })?));
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_arena_open(
    name: *const c_char,
    objects: u32,
    waiters: u32,
    arena: *mut *mut Arena,
) -> c_int {
    call(|| {
        // SAFETY: the header asks for a string, and for a place that may be written.
        let (name, place) = unsafe { (boundary::string(name, NAME_MAX)?, Place::required(arena)?) };
        let name = core::str::from_utf8(name).map_err(|_| Refusal(libc::EINVAL))?;
        place.put(hand_out(Arena::open(name, Capacity { objects, waiters })?));
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_arena_create_private(objects: u32, waiters: u32, arena: *mut *mut Arena) -> c_int {
    call(|| {
        // SAFETY: the header asks for a place that may be written.
        let place = unsafe { Place::required(arena)? };
        place.put(hand_out(Arena::create_private(Capacity { objects, waiters })?));
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_arena_attach(fd: c_int, arena: *mut *mut Arena) -> c_int {
    call(|| {
        // SAFETY: the header asks for a place that may be written.
        let place = unsafe { Place::required(arena)? };
        if fd < 0 {
            return Err(Refusal(libc::EBADF));
        }
        // SAFETY: not -1; if it is not open the system says so, and it is borrowed for this call only.
        let fd = unsafe { BorrowedFd::borrow_raw(fd) };
        place.put(hand_out(Arena::attach(fd)?));
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_arena_fd(arena: *const Arena) -> c_int {
    call_for_number(|| {
        // SAFETY: the header asks for an attached arena.
        let fd = unsafe { boundary::arena(arena)? }.core().fd().ok_or(Refusal(libc::EBADF))?;
        Ok(fd.as_raw_fd() as u32)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_arena_detach(arena: *mut Arena) -> c_int {
    call(|| {
        // SAFETY: the header asks for an attached arena.
        opened::close_all(unsafe { boundary::arena(arena)? });
        // SAFETY: it came from `hand_out`, and the header forbids to use it again.
        drop(unsafe { Box::from_raw(arena) });
        Ok(())
    })
}

/// Gives the arena to C, until `ntux_arena_detach`.
fn hand_out(arena: Arena) -> *mut Arena {
    Box::into_raw(Box::new(arena))
}
