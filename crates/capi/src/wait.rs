// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waiting for any and for all.

use core::ffi::c_int;

use ntux::{Arena, Deadline, Error, Satisfied};
use ntux_sync::{Object, Wanted};

use crate::boundary::{self, Place, Refusal, call};

const REALTIME: u32 = 1;
const NEVER: u64 = u64::MAX;
pub const OBJECTS_MAX: u32 = ntux_sync::WAIT_MAX as u32;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_wait_any(
    arena: *const Arena,
    objects: *const u64,
    count: u32,
    alert: u64,
    owner: u32,
    flags: u32,
    deadline_ns: u64,
    index: *mut u32,
) -> c_int {
    let request = Request { objects, count, alert, owner, flags, deadline_ns, index };
    // SAFETY: the header asks for the same.
    unsafe { request.acquire_at_once(arena).unwrap_or_else(|| serve(arena, request, false)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_wait_all(
    arena: *const Arena,
    objects: *const u64,
    count: u32,
    alert: u64,
    owner: u32,
    flags: u32,
    deadline_ns: u64,
    index: *mut u32,
) -> c_int {
    let request = Request { objects, count, alert, owner, flags, deadline_ns, index };
    // SAFETY: the header asks for the same.
    unsafe { serve(arena, request, true) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_signal_and_wait(
    arena: *const Arena,
    signal: u64,
    object: u64,
    alert: u64,
    owner: u32,
    flags: u32,
    deadline_ns: u64,
    index: *mut u32,
) -> c_int {
    call(|| {
        // SAFETY: the header asks for an attached arena and a place that may be written.
        let (arena, index) = unsafe { (boundary::arena(arena)?, Place::optional(index)?) };
        let (deadline, owner) = (deadline(flags, deadline_ns)?, boundary::owner(owner)?);
        let alert = (alert != 0).then_some(Object(alert));
        let ended = arena.with_waiter(|core, waiter| {
            core.signal_and_wait(waiter, Object(signal), Object(object), alert, owner, deadline)
        });
        report(index, ended?)
    })
}

/// # Safety
///
/// Each pointer is null, misaligned, or what the header asks for.
#[inline(never)]
unsafe fn serve(arena: *const Arena, request: Request, all: bool) -> c_int {
    call(|| {
        // SAFETY: the caller passes an attached arena, and what the header asks for.
        let (arena, (wanted, deadline, index)) = unsafe { (boundary::arena(arena)?, request.read(all)?) };
        let Wanted { objects, alert, owner, .. } = wanted;
        let ended = arena.with_waiter(|core, waiter| match all {
            false => core.wait_any(waiter, objects, alert, owner, deadline),
            true => core.wait_all(waiter, objects, alert, owner, deadline),
        });
        report(index, ended.map_err(|error| refusal(arena.core(), wanted, error))?)
    })
}

/// Why a wait failed whose other arguments are right ([`Request::read`]): the core, like the driver, has one error for all reasons
/// that concern the objects.
#[cold]
pub fn refusal(core: &ntux_sync::Arena, wanted: Wanted<'_>, error: Error) -> Refusal {
    /// An object occurs twice.
    const TWICE: Refusal = Refusal(libc::EEXIST);
    // What was closed when the wait looked still is.
    let is_closed = |object: &Object| core.kind(*object) == Err(Error::NoSuchObject);
    match error {
        Error::Invalid if wanted.all && !wanted.objects.iter().chain(&wanted.alert).any(is_closed) => TWICE,
        Error::Invalid => Error::NoSuchObject.into(),
        other => other.into(),
    }
}

/// Tells which object a wait has got.
#[inline]
pub fn report(index: Place<u32>, satisfied: Satisfied) -> Result<(), Refusal> {
    index.put(satisfied.index);
    if satisfied.abandoned { Err(Refusal(libc::EOWNERDEAD)) } else { Ok(()) }
}

/// The deadline that C passed.
#[inline(always)]
pub fn deadline(flags: u32, deadline_ns: u64) -> Result<Deadline, Refusal> {
    match (flags, deadline_ns) {
        (0 | REALTIME, NEVER) => Ok(Deadline::Never),
        (0, ns) => Ok(Deadline::Monotonic(ns)),
        (REALTIME, ns) => Ok(Deadline::Realtime(ns)),
        _ => Err(Refusal(libc::EINVAL)),
    }
}

/// The arguments of a wait, as C passed them.
#[derive(Clone, Copy)]
pub struct Request {
    pub objects: *const u64,
    pub count: u32,
    pub alert: u64,
    pub owner: u32,
    pub flags: u32,
    pub deadline_ns: u64,
    pub index: *mut u32,
}

impl Request {
    /// Takes the one object of a wait without an alert, if that takes one exchange, and nothing else; `None` if nothing has happened
    /// ([`boundary::signal_at_once`]).
    ///
    /// # Safety
    ///
    /// What [`Request::read`] and [`boundary::arena`] demand.
    #[inline(always)]
    unsafe fn acquire_at_once(&self, arena: *const Arena) -> Option<c_int> {
        if self.count != 1 || self.alert != 0 || self.owner == 0 || self.flags & !REALTIME != 0 {
            return None;
        }
        // SAFETY: by the contract.
        let (arena, objects, index) = unsafe {
            let objects = boundary::array(self.objects.cast::<Object>(), 1).ok()?;
            (boundary::arena(arena).ok()?, objects, Place::optional(self.index).ok()?)
        };
        let satisfied = arena.at_once(|core, waiter| core.acquire_at_once(waiter, objects[0], self.owner))?;
        Some(if report(index, satisfied).is_ok() { 0 } else { -libc::EOWNERDEAD })
    }

    /// What to wait for, until when, and where the index goes. What does not concern the objects is checked first, as the
    /// driver does.
    ///
    /// # Safety
    ///
    /// The index is null, misaligned, or a place that may be written; the objects are null, misaligned, or `self.count`
    /// objects that nobody writes during `'a`.
    #[inline]
    pub unsafe fn read<'a>(&self, all: bool) -> Result<(Wanted<'a>, Deadline, Place<u32>), Refusal> {
        // SAFETY: by the contract.
        let index = unsafe { Place::optional(self.index)? };
        let deadline = deadline(self.flags, self.deadline_ns)?;
        let owner = boundary::owner(self.owner)?;
        if self.count > OBJECTS_MAX {
            return Err(Refusal(libc::E2BIG));
        }
        // SAFETY: an `Object` is a number without invalid values, and the caller passes that many.
        let objects = unsafe { boundary::array(self.objects.cast::<Object>(), self.count)? };
        let alert = (self.alert != 0).then_some(Object(self.alert));
        Ok((Wanted { all, objects, alert, owner }, deadline, index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_has_the_limit_of_the_core() {
        let line = format!("#define NTUX_WAIT_OBJECTS_MAX {OBJECTS_MAX}\n");
        assert!(include_str!("../include/ntux.h").contains(&line), "{line}");
    }
}
