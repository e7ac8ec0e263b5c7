// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can be done with handles of every kind: close, duplicate, flags.

use crate::access::{self, Rights};
use crate::boundary::{call_for_bool, put};
use crate::handle::{self, CURRENT_PROCESS, CURRENT_THREAD, Flags, Handle};
use crate::last_error::{CALL_NOT_IMPLEMENTED, INVALID_HANDLE, INVALID_PARAMETER, Result};
use crate::record::{Kind, Target};
use crate::{handed_over, process, thread};

const FLAG_INHERIT: u32 = 1;
const FLAG_PROTECT: u32 = 2;
const DUPLICATE_CLOSE_SOURCE: u32 = 1;
const DUPLICATE_SAME_ACCESS: u32 = 2;

/// Errors: `INVALID_HANDLE`, also for one that is protected.
pub fn close_handle(handle: Handle) -> Result<()> {
    // Closing these does nothing, successfully.
    if !handle::is_pseudo(handle) {
        handle::remove(handle)?.drop_handle();
    }
    Ok(())
}

#[unsafe(no_mangle)]
pub extern "C" fn ntw_CloseHandle(handle: Handle) -> i32 {
    call_for_bool(|| close_handle(handle))
}

/// # Safety
/// `duplicate` is NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_DuplicateHandle(
    from: Handle,
    source: Handle,
    to: Handle,
    duplicate: *mut Handle,
    access: u32,
    inherit: i32,
    options: u32,
) -> i32 {
    call_for_bool(|| {
        let asked = Asked { from, source, to, access, inherit: Some(inherit != 0), options };
        // SAFETY: the same contract.
        unsafe { duplicate_to(duplicate, asked) }
    })
}

/// What a duplicate is asked for.
pub struct Asked {
    pub from: Handle,
    pub source: Handle,
    pub to: Handle,
    pub access: u32,
    /// None: as the source.
    pub inherit: Option<bool>,
    pub options: u32,
}

/// # Safety
/// `duplicate` is NULL or may be written.
pub unsafe fn duplicate_to(duplicate: *mut Handle, asked: Asked) -> Result<()> {
    let Asked { from, source, to, access, inherit, options } = asked;
    if !process::is_own(from)? {
        return Err(CALL_NOT_IMPLEMENTED);
    }
    let inherit = inherit.unwrap_or_else(|| handle::look_up(source).is_ok_and(|found| found.entry.flags().inherit));
    let mask = (options & DUPLICATE_SAME_ACCESS == 0).then_some(access);
    let duplicated = match process::other(to)? {
        None => copy(source, mask, inherit),
        Some(other) => handed_over::give(source, mask, inherit, &other),
    };
    // What is not there changes nothing.
    if duplicated == Err(CALL_NOT_IMPLEMENTED) {
        return Err(CALL_NOT_IMPLEMENTED);
    }
    if options & DUPLICATE_CLOSE_SOURCE != 0
        && !handle::is_pseudo(source)
        // Whether that works does not matter to the duplicate: somebody else may have closed it by now.
        && let Ok(target) = handle::remove(source)
    {
        target.drop_handle();
    }
    // SAFETY: the same contract.
    unsafe { put(duplicate, duplicated.unwrap_or(core::ptr::null_mut())) };
    duplicated.map(drop)
}

/// A second handle of what this one names.
fn copy(source: Handle, access: Option<u32>, inherit: bool) -> Result<Handle> {
    let (target, kind, rights) = counted(source)?;
    let rights = match access {
        None => rights,
        Some(mask) => access::granted(kind, mask).inspect_err(|_| target.drop_handle())?,
    };
    handle::insert(target, rights, Flags { inherit, protect: false })
}

/// What a handle names, with one handle more counted.
fn counted(source: Handle) -> Result<(Target, Kind, Rights)> {
    match source.addr() {
        CURRENT_PROCESS => Ok((process::record_of_own()?, Kind::Process, access::ALL)),
        CURRENT_THREAD => {
            let target = thread::of_caller()?;
            target.add_handle().then_some((target, Kind::Thread, access::ALL)).ok_or(INVALID_HANDLE)
        }
        _ => {
            let found = handle::look_up(source)?;
            let target = found.entry.target();
            target.open().then_some((target, found.kind, found.entry.rights())).ok_or(INVALID_HANDLE)
        }
    }
}

/// # Safety
/// `flags` is NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntw_GetHandleInformation(handle: Handle, flags: *mut u32) -> i32 {
    call_for_bool(|| {
        let found = match handle.addr() {
            CURRENT_PROCESS | CURRENT_THREAD => Flags::default(),
            _ => handle::look_up(handle)?.entry.flags(),
        };
        let bits = if found.inherit { FLAG_INHERIT } else { 0 } | if found.protect { FLAG_PROTECT } else { 0 };
        // SAFETY: the same contract.
        unsafe { put(flags, bits) };
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn ntw_SetHandleInformation(handle: Handle, mask: u32, flags: u32) -> i32 {
    call_for_bool(|| {
        if mask & !(FLAG_INHERIT | FLAG_PROTECT) != 0 {
            return Err(INVALID_PARAMETER);
        }
        let chosen = |bit, before| if mask & bit != 0 { flags & bit != 0 } else { before };
        handle::set_flags(handle, &|before| Flags {
            inherit: chosen(FLAG_INHERIT, before.inherit),
            protect: chosen(FLAG_PROTECT, before.protect),
        })
    })
}
