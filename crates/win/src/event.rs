// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events.

use core::ffi::c_char;

use ntux_sync::{Arena, New, Object, Signal, Waiter};

use crate::arena::arena;
use crate::boundary::{TRUE, call_for_bool};
use crate::create::{self, Attributes};
use crate::handle::{self, Found, Handle};
use crate::last_error::{Result, of_object};
use crate::record::{Kind, Payload};
use crate::text;

const MANUAL_RESET: u32 = 1;
const INITIAL_SET: u32 = 2;

/// # Safety
/// Each pointer is NULL or what the header asks for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_CreateEventA(
    attributes: *const Attributes,
    manual: i32,
    signaled: i32,
    name: *const c_char,
) -> Handle {
    // SAFETY: the same contract.
    unsafe { create(attributes, || text::narrow(name), manual != 0, signaled != 0, None) }
}

/// # Safety
/// The contract is that of [`ntw_CreateEventA`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_CreateEventW(
    attributes: *const Attributes,
    manual: i32,
    signaled: i32,
    name: *const u16,
) -> Handle {
    // SAFETY: the same contract.
    unsafe { create(attributes, || text::wide(name), manual != 0, signaled != 0, None) }
}

/// # Safety
/// The contract is that of [`ntw_CreateEventA`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_CreateEventExA(
    attributes: *const Attributes,
    name: *const c_char,
    flags: u32,
    access: u32,
) -> Handle {
    // SAFETY: the same contract.
    unsafe { create_ex(attributes, || text::narrow(name), flags, access) }
}

/// # Safety
/// The contract is that of [`ntw_CreateEventA`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_CreateEventExW(
    attributes: *const Attributes,
    name: *const u16,
    flags: u32,
    access: u32,
) -> Handle {
    // SAFETY: the same contract.
    unsafe { create_ex(attributes, || text::wide(name), flags, access) }
}

/// # Safety
/// The contract is that of [`create::flags`].
unsafe fn create_ex(
    attributes: *const Attributes,
    name: impl FnOnce() -> Result<text::Text>,
    flags: u32,
    access: u32,
) -> Handle {
    let name = create::with_flags(flags, MANUAL_RESET | INITIAL_SET, name);
    // SAFETY: the same contract.
    unsafe { create(attributes, name, flags & MANUAL_RESET != 0, flags & INITIAL_SET != 0, Some(access)) }
}

/// # Safety
/// The contract is that of [`create::flags`].
unsafe fn create(
    attributes: *const Attributes,
    name: impl FnOnce() -> Result<text::Text>,
    manual: bool,
    signaled: bool,
    access: Option<u32>,
) -> Handle {
    let make = || create::object(|core, waiter| core.event_create(waiter, manual, signaled));
    // SAFETY: the same contract.
    unsafe {
        create::create(
            Kind::Event,
            attributes,
            name,
            access,
            Payload::Nothing,
            Some(New::Event { manual, signaled }),
            make,
        )
    }
}

/// # Safety
/// The contract is that of [`ntw_CreateEventA`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_OpenEventA(access: u32, inherit: i32, name: *const c_char) -> Handle {
    // SAFETY: the same contract.
    create::open(Kind::Event, || unsafe { text::narrow(name) }, access, inherit)
}

/// # Safety
/// The contract is that of [`ntw_CreateEventA`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_OpenEventW(access: u32, inherit: i32, name: *const u16) -> Handle {
    // SAFETY: the same contract.
    create::open(Kind::Event, || unsafe { text::wide(name) }, access, inherit)
}

/// Performs an operation that takes one exchange. None if nothing has happened.
#[inline]
fn at_once(handle: Handle, signal: Signal) -> Option<i32> {
    let found = handle::look_up_at_once(handle).and_then(|found| found.of_kind(Kind::Event));
    let object = found.and_then(Found::modifiable).ok()?.object;
    arena().ok()?.at_once(|core, waiter| core.signal_at_once(waiter, object, signal)).map(|_| TRUE)
}

fn perform(handle: Handle, operation: impl FnOnce(&Arena, &Waiter, Object) -> ntux::Result<bool>) -> i32 {
    call_for_bool(|| {
        let object = handle::look_up_modifiable(handle, Kind::Event)?.object;
        arena()?.with_waiter(|core, waiter| operation(core, waiter, object)).map(drop).map_err(of_object)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn ntw_SetEvent(event: Handle) -> i32 {
    at_once(event, Signal::Set).unwrap_or_else(|| perform(event, Arena::event_set))
}

#[unsafe(no_mangle)]
pub extern "C" fn ntw_ResetEvent(event: Handle) -> i32 {
    at_once(event, Signal::Reset).unwrap_or_else(|| perform(event, Arena::event_reset))
}

#[unsafe(no_mangle)]
pub extern "C" fn ntw_PulseEvent(event: Handle) -> i32 {
    perform(event, Arena::event_pulse)
}
