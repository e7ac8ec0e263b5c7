// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mutexes. A thread owns them by an id ([`thread::owner`]), and knows which, so that its end abandons them.

use core::ffi::c_char;

use ntux_sync::{New, Signal};

use crate::arena::arena;
use crate::boundary::{TRUE, call_for_bool};
use crate::create::{self, Attributes};
use crate::handle::{self, Handle};
use crate::last_error::{Result, of_object};
use crate::record::{Kind, Payload};
use crate::{text, thread};

const INITIAL_OWNER: u32 = 1;

/// # Safety
/// Each pointer is NULL or what the header asks for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_CreateMutexA(attributes: *const Attributes, owned: i32, name: *const c_char) -> Handle {
    // SAFETY: the same contract.
    unsafe { create(attributes, || text::narrow(name), owned != 0, None) }
}

/// # Safety
/// The contract is that of [`ntw_CreateMutexA`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_CreateMutexW(attributes: *const Attributes, owned: i32, name: *const u16) -> Handle {
    // SAFETY: the same contract.
    unsafe { create(attributes, || text::wide(name), owned != 0, None) }
}

/// # Safety
/// The contract is that of [`ntw_CreateMutexA`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_CreateMutexExA(
    attributes: *const Attributes,
    name: *const c_char,
    flags: u32,
    access: u32,
) -> Handle {
    // SAFETY: the same contract.
    unsafe { create_ex(attributes, || text::narrow(name), flags, access) }
}

/// # Safety
/// The contract is that of [`ntw_CreateMutexA`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_CreateMutexExW(
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
    let name = create::with_flags(flags, INITIAL_OWNER, name);
    // SAFETY: the same contract.
    unsafe { create(attributes, name, flags & INITIAL_OWNER != 0, Some(access)) }
}

/// # Safety
/// The contract is that of [`create::flags`].
unsafe fn create(
    attributes: *const Attributes,
    name: impl FnOnce() -> Result<text::Text>,
    owned: bool,
    access: Option<u32>,
) -> Handle {
    let (owner, count) = if owned { (thread::owner(), 1) } else { (0, 0) };
    let make = || {
        let mutex = create::object(|core, waiter| core.mutex_create(waiter, owner, count))?;
        if owned {
            thread::owns(mutex);
        }
        Ok(mutex)
    };
    // SAFETY: the same contract.
    unsafe {
        create::create(Kind::Mutex, attributes, name, access, Payload::Nothing, Some(New::Mutex { owner, count }), make)
    }
}

/// # Safety
/// The contract is that of [`ntw_CreateMutexA`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_OpenMutexA(access: u32, inherit: i32, name: *const c_char) -> Handle {
    // SAFETY: the same contract.
    create::open(Kind::Mutex, || unsafe { text::narrow(name) }, access, inherit)
}

/// # Safety
/// The contract is that of [`ntw_CreateMutexA`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_OpenMutexW(access: u32, inherit: i32, name: *const u16) -> Handle {
    // SAFETY: the same contract.
    create::open(Kind::Mutex, || unsafe { text::wide(name) }, access, inherit)
}

/// Any handle of the mutex will do, as on Windows: the owner needs no right.
#[unsafe(no_mangle)]
pub extern "C" fn ntw_ReleaseMutex(mutex: Handle) -> i32 {
    release_at_once(mutex).unwrap_or_else(|| {
        call_for_bool(|| {
            let object = handle::look_up_kind(mutex, Kind::Mutex)?.object;
            let owner = thread::owner();
            arena()?.with_waiter(|core, waiter| core.mutex_unlock(waiter, object, owner)).map_err(of_object)?;
            thread::owns_less(object);
            Ok(())
        })
    })
}

/// Releases it if that takes one exchange. None if nothing has happened.
#[inline]
fn release_at_once(mutex: Handle) -> Option<i32> {
    let object = handle::look_up_at_once(mutex).ok()?.of_kind(Kind::Mutex).ok()?.object;
    let unlock = Signal::Unlock(thread::owner());
    arena().ok()?.at_once(|core, waiter| core.signal_at_once(waiter, object, unlock))?;
    thread::owns_less(object);
    Some(TRUE)
}
