// SPDX-License-Identifier: MIT OR Apache-2.0
//! Semaphores.

use core::ffi::c_char;

use ntux_sync::{New, Signal};

use crate::arena::arena;
use crate::boundary::{TRUE, call_for_bool, put};
use crate::create::{self, Attributes};
use crate::handle::{self, Handle};
use crate::last_error::{INVALID_PARAMETER, Result, of_object};
use crate::record::{Kind, Payload};
use crate::text;

/// # Safety
/// Each pointer is NULL or what the header asks for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_CreateSemaphoreA(
    attributes: *const Attributes,
    initial: i32,
    maximum: i32,
    name: *const c_char,
) -> Handle {
    // SAFETY: the same contract.
    unsafe { create(attributes, || text::narrow(name), initial, maximum, None) }
}

/// # Safety
/// The contract is that of [`ntw_CreateSemaphoreA`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_CreateSemaphoreW(
    attributes: *const Attributes,
    initial: i32,
    maximum: i32,
    name: *const u16,
) -> Handle {
    // SAFETY: the same contract.
    unsafe { create(attributes, || text::wide(name), initial, maximum, None) }
}

/// # Safety
/// The contract is that of [`ntw_CreateSemaphoreA`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_CreateSemaphoreExA(
    attributes: *const Attributes,
    initial: i32,
    maximum: i32,
    name: *const c_char,
    flags: u32,
    access: u32,
) -> Handle {
    // SAFETY: the same contract.
    unsafe { create(attributes, create::with_flags(flags, 0, || text::narrow(name)), initial, maximum, Some(access)) }
}

/// # Safety
/// The contract is that of [`ntw_CreateSemaphoreA`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_CreateSemaphoreExW(
    attributes: *const Attributes,
    initial: i32,
    maximum: i32,
    name: *const u16,
    flags: u32,
    access: u32,
) -> Handle {
    // SAFETY: the same contract.
    unsafe { create(attributes, create::with_flags(flags, 0, || text::wide(name)), initial, maximum, Some(access)) }
}

/// # Safety
/// The contract is that of [`create::flags`].
unsafe fn create(
    attributes: *const Attributes,
    name: impl FnOnce() -> Result<text::Text>,
    initial: i32,
    maximum: i32,
    access: Option<u32>,
) -> Handle {
    let is_possible = maximum > 0 && (0..=maximum).contains(&initial);
    let name = || if is_possible { name() } else { Err(INVALID_PARAMETER) };
    let make = || create::object(|core, waiter| core.semaphore_create(waiter, initial as u32, maximum as u32));
    let new = New::Semaphore { count: initial as u32, max: maximum as u32 };
    // SAFETY: the same contract.
    unsafe { create::create(Kind::Semaphore, attributes, name, access, Payload::Nothing, Some(new), make) }
}

/// # Safety
/// The contract is that of [`ntw_CreateSemaphoreA`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_OpenSemaphoreA(access: u32, inherit: i32, name: *const c_char) -> Handle {
    // SAFETY: the same contract.
    create::open(Kind::Semaphore, || unsafe { text::narrow(name) }, access, inherit)
}

/// # Safety
/// The contract is that of [`ntw_CreateSemaphoreA`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_OpenSemaphoreW(access: u32, inherit: i32, name: *const u16) -> Handle {
    // SAFETY: the same contract.
    create::open(Kind::Semaphore, || unsafe { text::wide(name) }, access, inherit)
}

/// # Safety
/// `previous` is NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_ReleaseSemaphore(semaphore: Handle, count: i32, previous: *mut i32) -> i32 {
    let released = release_at_once(semaphore, count);
    // SAFETY: the same contract.
    unsafe {
        if let Some(before) = released {
            put(previous, before as i32);
            return TRUE;
        }
        call_for_bool(|| {
            if count <= 0 {
                return Err(INVALID_PARAMETER);
            }
            let object = handle::look_up_modifiable(semaphore, Kind::Semaphore)?.object;
            let release = |core: &ntux_sync::Arena, waiter: &_| core.semaphore_release(waiter, object, count as u32);
            let before = arena()?.with_waiter(release).map_err(of_object)?;
            put(previous, before as i32);
            Ok(())
        })
    }
}

/// Releases it if that takes one exchange. None if nothing has happened.
#[inline]
fn release_at_once(semaphore: Handle, count: i32) -> Option<u32> {
    let found = handle::look_up_at_once(semaphore).ok()?.of_kind(Kind::Semaphore).ok()?.modifiable();
    let object = found.ok().filter(|_| count > 0)?.object;
    arena().ok()?.at_once(|core, waiter| core.signal_at_once(waiter, object, Signal::Release(count as u32)))
}
