// SPDX-License-Identifier: MIT OR Apache-2.0
//! Objects by name.

use core::ffi::{c_char, c_int};

use ntux::Arena;
use ntux_sync::{Name, New, Object};

use crate::boundary::{self, Place, Refusal, call};
use crate::object::kind_of;

/// A to Z are looked for as a to z.
const IGNORE_CASE: u32 = 1;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_semaphore_create_named(
    arena: *const Arena,
    name: *const c_char,
    flags: u32,
    count: u32,
    max: u32,
    semaphore: *mut u64,
    existed: *mut u32,
) -> c_int {
    // SAFETY: the header asks for the same.
    unsafe { create(arena, name, flags, New::Semaphore { count, max }, semaphore, existed) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_mutex_create_named(
    arena: *const Arena,
    name: *const c_char,
    flags: u32,
    owner: u32,
    count: u32,
    mutex: *mut u64,
    existed: *mut u32,
) -> c_int {
    // SAFETY: the header asks for the same.
    unsafe { create(arena, name, flags, New::Mutex { owner, count }, mutex, existed) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_event_create_named(
    arena: *const Arena,
    name: *const c_char,
    flags: u32,
    manual: u32,
    signaled: u32,
    event: *mut u64,
    existed: *mut u32,
) -> c_int {
    let new = New::Event { manual: manual != 0, signaled: signaled != 0 };
    // SAFETY: the header asks for the same.
    unsafe { create(arena, name, flags, new, event, existed) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_object_open_named(
    arena: *const Arena,
    name: *const c_char,
    flags: u32,
    kind: c_int,
    object: *mut u64,
) -> c_int {
    call(|| {
        // SAFETY: the header asks for an attached arena, a string, and a place that may be written.
        let (arena, place) = unsafe { (boundary::arena(arena)?, Place::required(object)?) };
        // SAFETY: the same.
        let name = named(unsafe { boundary::string(name, Name::MAX)? }, flags)?;
        let kind = kind_of(kind).ok_or(Refusal(libc::EINVAL))?;
        place.put(arena.core().open_named(name, kind)?.0);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_object_make_permanent(arena: *const Arena, object: u64) -> c_int {
    call(|| {
        // SAFETY: the header asks for an attached arena.
        unsafe { boundary::arena(arena)? }.core().make_permanent(Object(object))?;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_object_make_temporary(arena: *const Arena, object: u64) -> c_int {
    call(|| {
        // SAFETY: the header asks for an attached arena.
        unsafe { boundary::arena(arena)? }.core().make_temporary(Object(object))?;
        Ok(())
    })
}

/// # Safety
///
/// `arena`, `name`, `object` and `existed` are null, misaligned, or an attached arena, a string, and places that may be written.
pub unsafe fn create(
    arena: *const Arena,
    name: *const c_char,
    flags: u32,
    new: New,
    object: *mut u64,
    existed: *mut u32,
) -> c_int {
    call(|| {
        // SAFETY: by the contract.
        let (arena, place) = unsafe { (boundary::arena(arena)?, Place::required(object)?) };
        // SAFETY: by the contract.
        let (name, did_exist) = unsafe { (boundary::string(name, Name::MAX)?, Place::optional(existed)?) };
        let name = named(name, flags)?;
        let (created, existed) = arena.with_waiter(|arena, waiter| arena.create_named(waiter, name, new))?;
        place.put(created.0);
        did_exist.put(existed.into());
        Ok(())
    })
}

fn named(text: &[u8], flags: u32) -> Result<Name<'_>, Refusal> {
    let name = Name::new(text)?;
    match flags {
        0 => Ok(name),
        IGNORE_CASE => Ok(name.ignoring_case()),
        _ => Err(Refusal(libc::EINVAL)),
    }
}
