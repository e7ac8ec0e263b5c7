// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the creation of events, mutexes, semaphores and timers has in common: attributes, names, handles, the error number of a success.

use core::ffi::c_void;

use ntux_sync::{Arena, New, Object, Waiter};

use crate::access::{self, Rights};
use crate::arena::arena;
use crate::boundary::call;
use crate::handle::{self, Flags, Handle};
use crate::last_error::{
    self, ACCESS_DENIED, ALREADY_EXISTS, FILE_NOT_FOUND, INTERNAL_ERROR, INVALID_PARAMETER, Result, SUCCESS, of_object,
};
use crate::name::{self, Created};
use crate::record::{self, First, Kind, Payload, Target};
use crate::text::Text;

/// SECURITY_ATTRIBUTES. Its descriptor is not looked at.
#[repr(C)]
pub struct Attributes {
    length: u32,
    descriptor: *mut c_void,
    inherit: i32,
}

/// The flags of a handle that is created with these attributes.
///
/// # Safety
/// `attributes` is NULL or points to some.
pub unsafe fn flags(attributes: *const Attributes) -> Flags {
    // SAFETY: by the contract.
    let inherit = unsafe { attributes.as_ref() }.is_some_and(|attributes| attributes.inherit != 0);
    Flags { inherit, protect: false }
}

/// The name of an object that is created with flags, of which these are known; else `INVALID_PARAMETER`.
pub fn with_flags(flags: u32, known: u32, name: impl FnOnce() -> Result<Text>) -> impl FnOnce() -> Result<Text> {
    move || if flags & !known == 0 { name() } else { Err(INVALID_PARAMETER) }
}

/// Creates an object in the core.
pub fn object(make: impl FnOnce(&Arena, &Waiter) -> ntux::Result<Object>) -> Result<Object> {
    arena()?.with_waiter(make).map_err(of_object)
}

/// Creates an object, which owns the payload, and its handle; or a handle of the one that has the name. Returns NULL if it fails. The error
/// number says whether the object existed, as on Windows. `new`: what the core creates by a name; none if other processes cannot have it.
///
/// # Safety
/// The contract is that of [`flags`].
pub unsafe fn create(
    kind: Kind,
    attributes: *const Attributes,
    text: impl FnOnce() -> Result<Text>,
    access: Option<u32>,
    payload: Payload,
    new: Option<New>,
    make: impl FnOnce() -> Result<Object>,
) -> Handle {
    // SAFETY: the same contract.
    let flags = unsafe { flags(attributes) };
    call(core::ptr::null_mut(), || {
        let rights = access.map_or(Ok(access::ALL), |mask| access::granted(kind, mask))?;
        let make = || record::create(kind, make()?, payload, First::Handle);
        let (handle, error) = match name::of(text()?)? {
            None => (handle::insert_first(make()?, rights, flags).ok_or(INTERNAL_ERROR)?, SUCCESS),
            Some(name) => {
                let (target, error) = match name::create_or_open(name, kind, new, make)? {
                    Created::New(target) => (target, SUCCESS),
                    Created::Existed(target) if access == Some(0) => {
                        target.drop_handle();
                        return Err(ACCESS_DENIED);
                    }
                    Created::Existed(target) => (target, ALREADY_EXISTS),
                };
                (handle::insert(target, rights, flags)?, error)
            }
        };
        last_error::set(error);
        Ok(handle)
    })
}

/// Opens a handle of the object with this name. Without any it fails with `INVALID_PARAMETER`, with an empty one with `FILE_NOT_FOUND`.
pub fn open(kind: Kind, text: impl FnOnce() -> Result<Text>, access: u32, inherit: i32) -> Handle {
    call(core::ptr::null_mut(), || {
        let text = text()?;
        if text.is_none() {
            return Err(INVALID_PARAMETER);
        }
        let target = name::open(name::of(text)?.ok_or(FILE_NOT_FOUND)?, kind)?;
        let rights = access::granted_of_existing(kind, access).inspect_err(|_| target.drop_handle())?;
        let_in(target, rights, inherit)
    })
}

fn let_in(target: Target, rights: Rights, inherit: i32) -> Result<Handle> {
    handle::insert(target, rights, Flags { inherit: inherit != 0, protect: false })
}
