//! Waiting for any and for all.

use core::ffi::c_int;

use ntux::{Arena, Deadline, Object, Satisfied, Wait};
use ntux_sync::Wanted;

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
    unsafe { serve(arena, request, false, Arena::wait_any) }
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
    unsafe { serve(arena, request, true, Arena::wait_all) }
}

/// # Safety
///
/// Each pointer is null, misaligned, or what the header asks for.
#[inline]
unsafe fn serve(
    arena: *const Arena,
    request: Request,
    all: bool,
    wait: impl Fn(&Arena, &[Object], Wait) -> ntux::Result<Satisfied>,
) -> c_int {
    call(|| {
        // SAFETY: the caller passes an attached arena.
        let arena = unsafe { boundary::arena(arena)? };
        // SAFETY: the caller passes what the header asks for.
        let (Wanted { objects, alert, owner, .. }, deadline, index) = unsafe { request.read(all)? };
        let how = Wait::by(owner).until(deadline);
        let how = if let Some(alert) = alert { how.alert(alert) } else { how };
        report(index, wait(arena, objects, how)?)
    })
}

/// Tells which object a wait has got.
#[inline]
pub fn report(index: Place<u32>, satisfied: Satisfied) -> Result<(), Refusal> {
    index.put(satisfied.index);
    if satisfied.abandoned { Err(Refusal(libc::EOWNERDEAD)) } else { Ok(()) }
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
        let deadline = match (self.flags, self.deadline_ns) {
            (0 | REALTIME, NEVER) => Deadline::Never,
            (0, ns) => Deadline::Monotonic(ns),
            (REALTIME, ns) => Deadline::Realtime(ns),
            _ => return Err(Refusal(libc::EINVAL)),
        };
        if self.owner == 0 || self.count > OBJECTS_MAX {
            return Err(Refusal(libc::EINVAL));
        }
        // SAFETY: an `Object` is a number without invalid values, and the caller passes that many.
        let objects = unsafe { boundary::array(self.objects.cast::<Object>(), self.count)? };
        let alert = (self.alert != 0).then_some(Object(self.alert));
        Ok((Wanted { all, objects, alert, owner: self.owner }, deadline, index))
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
