// SPDX-License-Identifier: MIT OR Apache-2.0
//! Queues: waits that are registered, their results, and packets.

use core::ffi::c_int;

use ntux::{Arena, Deadline, Error, Satisfied};
use ntux_sync::{Delivered, Detached, Object, Queue, Registered, Registration, Wanted};

use crate::boundary::{self, Place, Refusal, call, call_for_number};
use crate::opened;
use crate::wait::{self, OBJECTS_MAX};

/// The wait is for all objects, in one step.
const ALL: u32 = 1;
/// `ntux_registration` of what waits for nothing.
const NONE: u64 = 0;

/// `struct ntux_delivered`
#[repr(C)]
pub struct Taken {
    key: u64,
    registration: u64,
    index: u32,
    abandoned: u32,
}

impl From<Delivered> for Taken {
    fn from(delivered: Delivered) -> Taken {
        let Delivered { registration, key, satisfied } = delivered;
        let registration = registration.map_or(NONE, Registration::to_bits);
        Taken { key, registration, index: satisfied.index, abandoned: satisfied.abandoned.into() }
    }
}

/// The queue with this number, if one can have it.
fn named(queue: u64) -> Result<Queue, Refusal> {
    Queue::from_bits(queue).ok_or(Error::NoSuchObject.into())
}

/// Why an operation on a queue failed whose other arguments are right.
pub fn of_queue(error: Error) -> Refusal {
    match error {
        Error::Invalid => Error::NoSuchObject.into(),
        other => other.into(),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_queue_create(arena: *const Arena, queue: *mut u64) -> c_int {
    call(|| {
        // SAFETY: the header asks for an attached arena and a place that may be written.
        let (arena, place) = unsafe { (boundary::arena(arena)?, Place::required(queue)?) };
        place.put(opened::list_queue(arena, ntux::Queue::create(arena)?));
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_queue_close(arena: *const Arena, queue: u64) -> c_int {
    call(|| {
        // SAFETY: the header asks for an attached arena.
        let arena = unsafe { boundary::arena(arena)? };
        let queue = opened::take_out_queue(arena, queue).ok_or(Error::NoSuchObject)?;
        queue.close().map_err(of_queue)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_queue_wait(
    arena: *const Arena,
    queue: u64,
    objects: *const u64,
    count: u32,
    owner: u32,
    flags: u32,
    key: u64,
    registration: *mut u64,
    index: *mut u32,
) -> c_int {
    call(|| {
        // SAFETY: the header asks for an attached arena and places that may be written.
        let (arena, registration, index) =
            unsafe { (boundary::arena(arena)?, Place::required(registration)?, Place::optional(index)?) };
        if flags & !ALL != 0 {
            return Err(Refusal(libc::EINVAL));
        }
        let owner = boundary::owner(owner)?;
        if count > OBJECTS_MAX {
            return Err(Refusal(libc::E2BIG));
        }
        // SAFETY: an `Object` is a number without invalid values, and the header asks for that many.
        let objects = unsafe { boundary::array(objects.cast::<Object>(), count)? };
        let (queue, wanted) = (named(queue)?, Detached { objects, all: flags & ALL != 0, owner, key });
        let registered = arena.with_waiter(|arena, waiter| arena.wait_detached(waiter, queue, wanted));
        match registered.map_err(|error| of_registration(arena.core(), wanted, error))? {
            Registered::Waits(number) => {
                registration.put(number.to_bits());
                Ok(())
            }
            Registered::Satisfied(satisfied) => {
                registration.put(NONE);
                wait::report(index, satisfied)
            }
        }
    })
}

/// Why a registration failed whose other arguments are right: the core has one error for the queue and the objects.
#[cold]
fn of_registration(core: &ntux_sync::Arena, wanted: Detached<'_>, error: Error) -> Refusal {
    let Detached { objects, all, owner, .. } = wanted;
    let twice = (1..objects.len()).any(|later| objects[..later].contains(&objects[later]));
    // Without an object that occurs twice, all that can be wrong is that something is none.
    wait::refusal(core, Wanted { objects, all: all && twice, alert: None, owner }, error)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_queue_post(arena: *const Arena, queue: u64, key: u64) -> c_int {
    call(|| {
        // SAFETY: the header asks for an attached arena.
        let (arena, queue) = (unsafe { boundary::arena(arena)? }, named(queue)?);
        arena.with_waiter(|arena, waiter| arena.post(waiter, queue, key)).map_err(of_queue)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_queue_get(
    arena: *const Arena,
    queue: u64,
    flags: u32,
    deadline_ns: u64,
    delivered: *mut Taken,
    room: u32,
) -> c_int {
    call_for_number(|| {
        // SAFETY: the header asks for an attached arena.
        let arena = unsafe { boundary::arena(arena)? };
        let deadline = wait::deadline(flags, deadline_ns)?;
        if room == 0 {
            return Err(Refusal(libc::EINVAL));
        }
        // SAFETY: the header asks for room for so many.
        let places = unsafe { boundary::room(delivered, room as usize)? };
        let (number, queue, mut taken) = (queue, named(queue)?, 0);
        for place in places {
            let until = if taken == 0 { deadline } else { Deadline::NOW };
            match arena.with_waiter(|arena, waiter| arena.collect(waiter, queue, until)) {
                Ok(delivered) => *place = delivered.into(),
                Err(Error::TimedOut) if taken == 0 => {
                    opened::queue(arena, number)
                        .map_or(Ok(()), |queue| queue.arm(Deadline::Never))
                        .map_err(of_queue)?;
                    return Err(Error::TimedOut.into());
                }
                Err(error) if taken == 0 => return Err(of_queue(error)),
                // An error comes back when there is nothing to lose.
                Err(_) => break,
            }
            taken += 1;
        }
        Ok(taken)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_queue_cancel(arena: *const Arena, registration: u64, index: *mut u32) -> c_int {
    call_for_number(|| {
        // SAFETY: the header asks for an attached arena and a place that may be written.
        let (arena, index) = unsafe { (boundary::arena(arena)?, Place::optional(index)?) };
        let cancelled =
            arena.with_waiter(|arena, waiter| arena.cancel(waiter, Registration::from_bits(registration)))?;
        cancelled.map_or(Ok(0), |satisfied: Satisfied| wait::report(index, satisfied).map(|()| 1))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_has_the_size_that_the_header_gives_it() {
        assert_eq!((size_of::<Taken>(), align_of::<Taken>()), (24, 8));
    }

    #[test]
    fn the_header_has_the_limit_of_the_core() {
        let line = format!("#define NTUX_QUEUE_PACKETS_MAX {}\n", ntux_sync::PACKETS_MAX);
        assert!(include_str!("../include/ntux.h").contains(&line), "{line}");
    }
}
