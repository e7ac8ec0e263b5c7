//! Waiting for any and for all.

use core::ffi::c_int;

use ntux::{Arena, Deadline, Object, Satisfied, Wait};

use crate::boundary::{self, Place, Refusal, call};

const REALTIME: u32 = 1;
const NEVER: u64 = u64::MAX;
const OBJECTS_MAX: u32 = 64;

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
    let request = Request { arena, objects, count, alert, owner, flags, deadline_ns, index };
    // SAFETY: the header asks for the same.
    unsafe { request.serve(Arena::wait_any) }
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
    let request = Request { arena, objects, count, alert, owner, flags, deadline_ns, index };
    // SAFETY: the header asks for the same.
    unsafe { request.serve(Arena::wait_all) }
}

/// The arguments of a wait, as passed by C.
struct Request {
    arena: *const Arena,
    objects: *const u64,
    count: u32,
    alert: u64,
    owner: u32,
    flags: u32,
    deadline_ns: u64,
    index: *mut u32,
}

impl Request {
    /// # Safety
    ///
    /// Each pointer is null, misaligned, or what the header asks for.
    #[inline]
    unsafe fn serve(self, wait: impl Fn(&Arena, &[Object], Wait) -> ntux::Result<Satisfied>) -> c_int {
        call(|| {
            // SAFETY: the caller passes an attached arena and a place that may be written.
            let (arena, index) = unsafe { (boundary::arena(self.arena)?, Place::optional(self.index)?) };
            let how = self.how()?;
            // SAFETY: the caller passes `count` objects that nobody writes meanwhile.
            let objects = unsafe { self.objects()? };
            let satisfied = wait(arena, objects, how)?;
            index.put(satisfied.index);
            if satisfied.abandoned { Err(Refusal(libc::EOWNERDEAD)) } else { Ok(()) }
        })
    }

    /// Checks everything but the objects first, as the driver does.
    #[inline]
    fn how(&self) -> Result<Wait, Refusal> {
        let deadline = match (self.flags, self.deadline_ns) {
            (0 | REALTIME, NEVER) => Deadline::Never,
            (0, ns) => Deadline::Monotonic(ns),
            (REALTIME, ns) => Deadline::Realtime(ns),
            _ => return Err(Refusal(libc::EINVAL)),
        };
        if self.owner == 0 {
            return Err(Refusal(libc::EINVAL));
        }
        let wait = Wait::by(self.owner).until(deadline);
        Ok(if self.alert == 0 { wait } else { wait.alert(Object(self.alert)) })
    }

    /// # Safety
    ///
    /// `self.objects` is null, misaligned, or points to `self.count` objects that nobody writes during `'a`.
    #[inline]
    unsafe fn objects<'a>(&self) -> Result<&'a [Object], Refusal> {
        if self.count > OBJECTS_MAX {
            return Err(Refusal(libc::EINVAL));
        }
        // SAFETY: an `Object` is a number without invalid values, and the caller passes that many.
        unsafe { boundary::array(self.objects.cast::<Object>(), self.count) }
    }
}
