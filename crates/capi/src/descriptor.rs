// SPDX-License-Identifier: MIT OR Apache-2.0
//! Descriptors: of queues, of single objects, and beside objects in a wait.

use core::ffi::c_int;
use std::os::fd::AsRawFd;
use std::ptr;

use ntux::{Arena, Error, ObjectFd, Polled, Ready, Satisfied, Wait};

use crate::boundary::{self, Place, Refusal, call, call_for_number};
use crate::queue::of_queue;
use crate::{opened, wait};

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_queue_fd(arena: *const Arena, queue: u64) -> c_int {
    call_for_number(|| {
        // SAFETY: the header asks for an attached arena.
        let arena = unsafe { boundary::arena(arena)? };
        let queue = opened::queue(arena, queue).ok_or(Error::NoSuchObject)?;
        Ok(queue.fd().map_err(of_queue)?.as_raw_fd() as u32)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_object_fd(arena: *const Arena, object: u64, owner: u32) -> c_int {
    call_for_number(|| {
        // SAFETY: the header asks for an attached arena.
        let arena = unsafe { boundary::arena(arena)? };
        let owner = boundary::owner(owner)?;
        let object = ntux::Object::new(object).ok_or(Refusal::from(Error::NoSuchObject))?;
        Ok(opened::list_object(arena, ObjectFd::create(arena, object, owner).map_err(of_queue)?) as u32)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_object_fd_take(arena: *const Arena, fd: c_int) -> c_int {
    call(|| {
        // SAFETY: the header asks for an attached arena.
        let arena = unsafe { boundary::arena(arena)? };
        let object = opened::object(arena, fd).ok_or(Error::NoSuchObject)?;
        wait::report(nowhere(), object.take().map_err(of_queue)?)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_object_fd_close(arena: *const Arena, fd: c_int) -> c_int {
    call_for_number(|| {
        // SAFETY: the header asks for an attached arena.
        let arena = unsafe { boundary::arena(arena)? };
        let object = opened::take_out_object(arena, fd).ok_or(Error::NoSuchObject)?;
        let closed = object.end().map_err(of_queue)?;
        closed.map_or(Ok(0), |satisfied: Satisfied| wait::report(nowhere(), satisfied).map(|()| 1))
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_wait_any_or_poll(
    arena: *const Arena,
    objects: *const u64,
    count: u32,
    descriptors: *mut Polled,
    descriptors_count: u32,
    alert: u64,
    owner: u32,
    flags: u32,
    deadline_ns: u64,
    index: *mut u32,
) -> c_int {
    call_for_number(|| {
        let request = wait::Request { objects, count, alert, owner, flags, deadline_ns, index };
        // SAFETY: the header asks for an attached arena, and for so many descriptors, which nobody else uses meanwhile.
        let (arena, descriptors) =
            unsafe { (boundary::arena(arena)?, boundary::room(descriptors, descriptors_count as usize)?) };
        descriptors.iter_mut().for_each(|polled| polled.found = 0);
        // SAFETY: the header asks for the same as a wait.
        let (wanted, deadline, index) = unsafe { request.read(false)? };
        let objects = wanted.objects.iter().map(|object| ntux::Object::new(object.0)).collect::<Option<Vec<_>>>();
        let objects = objects.ok_or(Refusal::from(Error::NoSuchObject))?;
        let wait = Wait::by(wanted.owner).until(deadline);
        let wait = match wanted.alert.and_then(|alert| ntux::Object::new(alert.0)) {
            Some(alert) => wait.alert(alert),
            None => wait,
        };
        if objects.len() == wait::OBJECTS_MAX as usize && alert != 0 {
            return Err(Refusal(libc::E2BIG));
        }
        match arena.wait_any_or_poll(&objects, descriptors, wait).map_err(|error| refusal(arena, wanted, error))? {
            Ready::Descriptors(ready) => Ok(ready as u32),
            Ready::Object(satisfied) => wait::report(index, satisfied).map(|()| 0),
        }
    })
}

#[cold]
fn refusal(arena: &Arena, wanted: ntux_sync::Wanted<'_>, error: Error) -> Refusal {
    match error {
        Error::Invalid => wait::refusal(arena.core(), wanted, error),
        other => other.into(),
    }
}

/// The caller knows which object it is.
fn nowhere() -> Place<u32> {
    // SAFETY: no place.
    unsafe { Place::optional(ptr::null_mut()) }.unwrap_or_else(|_| unreachable!("null is allowed"))
}
