// SPDX-License-Identifier: MIT OR Apache-2.0
//! The fourteen requests: numbers, argument layouts, and the driver's checks in the driver's order.
//!
//! A request that fails writes nothing and changes nothing, with one exception that the driver also has: if the result
//! cannot be written, the effect stands and the error is `EFAULT`. Only `index` of a wait's arguments is ever written.
//!
//! What is one exchange goes the short way first ([`at_once`]); the rest, and what the short way cannot tell, goes the long one.
//! Between entry and exit of either no handler of the program runs, except between two attempts, where a due one
//! runs (see `thread/signals.rs`). So each attempt reads the arguments and looks up the descriptors again, as the kernel
//! does when it restarts a call.

mod answer;
mod at_once;
pub(crate) mod requests;
mod told;

use super::refusals;
use super::using::meet;
use crate::c_library::cancellation::without_cancellation;
use crate::c_library::copy::{INDEX_OFFSET, WaitArguments};
use crate::c_library::{errno, fail};
use crate::descriptors::{self, Known, Moment, NotOurs, What};
use crate::instances;
use crate::thread::memory::{self, Memory};
use crate::thread::{self, Record, Seated, actions};
use answer::{Answer, Refusal};
use core::ffi::c_int;
use core::mem::MaybeUninit;
use ntux_sync::door::Restart;
use ntux_sync::{Deadline, Kind, New, Object, Wanted};
use requests::*;
use std::os::fd::{BorrowedFd, IntoRawFd};
use std::panic::AssertUnwindSafe;

/// Serves one of the fourteen requests; none when the descriptor is not ours. The error number is set on failure and
/// untouched otherwise. Handlers may run in here and never return: this frame has no destructors.
#[inline(always)]
pub(crate) fn serve(fd: c_int, request: u32, argument: usize) -> Option<c_int> {
    match at_once::serve(fd, request, argument) {
        0 => Some(0),
        at_once::NOT_DONE => serve_in_full(fd, request, argument),
        error => Some(fail(error)),
    }
}

/// Serves the request, whatever it needs.
#[inline(never)]
fn serve_in_full(fd: c_int, request: u32, argument: usize) -> Option<c_int> {
    if !actions::active() && !meet(fd) {
        return None;
    }
    let errno = errno();
    loop {
        // SAFETY: this thread's own error number.
        let error_before = unsafe { *errno };
        let Some(record) = thread::enter() else { return Some(fail(libc::ENOMEM)) };
        let answer = attempt(record, fd, request, argument);
        // SAFETY: as above.
        unsafe { *errno = error_before };
        let handled = thread::leave(record);
        match answer {
            Ok(result) => return Some(result),
            Err(Refusal::Error(error)) => {
                match error {
                    libc::EMFILE => refusals::explain_limit(),
                    libc::ENOENT => refusals::explain_proc(),
                    _ => {}
                }
                return Some(fail(error));
            }
            Err(Refusal::Foreign) => return None,
            Err(Refusal::Interrupted) if handled == Some(Restart::No) => return Some(fail(libc::EINTR)),
            Err(Refusal::Interrupted | Refusal::Again) => {}
        }
    }
}

/// A bug in ntux must not kill the program: a panic becomes `EIO`.
#[inline(never)]
fn attempt(record: &'static Record, fd: c_int, request: u32, argument: usize) -> Answer {
    record.counts.operation();
    let begun = told::begin(record);
    let answer = memory::with(record, |memory| {
        let work = AssertUnwindSafe(|| perform(record, memory, fd, request, argument));
        std::panic::catch_unwind(work).unwrap_or_else(|_| {
            record.door.stand_down();
            Err(Refusal::Error(libc::EIO))
        })
    });
    if let Some(begun) = begun {
        begun.end(record, fd, request, argument, &answer);
    }
    answer
}

#[inline(always)]
fn perform(record: &'static Record, memory: Memory<'_>, fd: c_int, request: u32, argument: usize) -> Answer {
    let known = descriptors::resolve(record, fd)?;
    match known.what {
        What::Device => on_device(record, memory, fd, known.tag, request, argument),
        What::Object(kind, object) => on_object(record, memory, known.tag, (kind, object), request, argument),
    }
}

/// The thread's seat in the instance; none is taken before the arguments are read and all descriptors looked up.
#[inline(always)]
fn seat(record: &'static Record, tag: u32) -> Result<Seated<'static>, Refusal> {
    instances::seat(record, tag).ok_or(Refusal::Again)
}

fn on_device(
    record: &'static Record,
    memory: Memory<'_>,
    fd: c_int,
    tag: u32,
    request: u32,
    argument: usize,
) -> Answer {
    match request {
        WAIT_ANY | WAIT_ALL => wait(record, memory, tag, request == WAIT_ALL, argument),
        CREATE_SEM => {
            let [count, max] = memory.read_two(argument)?;
            create(record, fd, tag, Kind::Semaphore, New::Semaphore { count, max })
        }
        CREATE_MUTEX => {
            let [owner, count] = memory.read_two(argument)?;
            create(record, fd, tag, Kind::Mutex, New::Mutex { owner, count })
        }
        CREATE_EVENT => {
            let [manual, signaled] = memory.read_two(argument)?;
            let kind = if manual != 0 { Kind::ManualEvent } else { Kind::AutoEvent };
            create(record, fd, tag, kind, New::Event { manual: manual != 0, signaled: signaled != 0 })
        }
        _ => Err(Refusal::Error(libc::ENOTTY)),
    }
}

fn create(record: &'static Record, fd: c_int, tag: u32, kind: Kind, new: New) -> Answer {
    let Seated { arena, waiter } = seat(record, tag)?;
    // SAFETY: the descriptor meant this device a moment ago. If the program closes it meanwhile and the number is used
    // again, the new descriptor is of another file and means nothing, or nothing good, to a program that races like
    // this.
    let device = unsafe { BorrowedFd::borrow_raw(fd) };
    let (before, own) = (Moment::now(), thread::own_memory());
    let (created, object) = without_cancellation(|| {
        if own.is_some() {
            arena.found_family(device);
        }
        arena.descriptor_create(waiter, device, new)
    })?;
    let created = created.into_raw_fd();
    let known = Known { tag, what: What::Object(kind, object) };
    descriptors::remember_new(arena, created, known, arena.may_release(object), before, own);
    Ok(created)
}

#[inline(always)]
fn on_object(
    record: &'static Record,
    memory: Memory<'_>,
    tag: u32,
    (kind, object): (Kind, Object),
    request: u32,
    argument: usize,
) -> Answer {
    match request {
        SEM_RELEASE => {
            let count = memory.read_word(argument)?;
            let Seated { arena, waiter } = of_kind(record, tag, kind == Kind::Semaphore)?;
            written(memory, argument, arena.semaphore_release(waiter, object, count)?)
        }
        SEM_READ => {
            let Seated { arena, waiter } = of_kind(record, tag, kind == Kind::Semaphore)?;
            let (count, max) = arena.semaphore_read(waiter, object)?;
            both_written(memory, argument, [count, max])
        }
        MUTEX_UNLOCK => {
            let [owner, _] = memory.read_two(argument)?;
            let Seated { arena, waiter } = by_owner(record, tag, kind, owner)?;
            let count = arena.mutex_unlock(waiter, object, owner)?;
            written(memory, argument.wrapping_add(size_of::<u32>()), count)
        }
        MUTEX_KILL => {
            let owner = memory.read_word(argument)?;
            let Seated { arena, waiter } = by_owner(record, tag, kind, owner)?;
            arena.mutex_kill(waiter, object, owner)?;
            Ok(0)
        }
        MUTEX_READ => {
            let Seated { arena, waiter } = of_kind(record, tag, kind == Kind::Mutex)?;
            let state = arena.mutex_read(waiter, object)?;
            both_written(memory, argument, [state.owner, state.count])?;
            if state.abandoned { Err(Refusal::Error(libc::EOWNERDEAD)) } else { Ok(0) }
        }
        EVENT_SET => {
            let Seated { arena, waiter } = of_kind(record, tag, kind.is_event())?;
            written(memory, argument, u32::from(arena.event_set(waiter, object)?))
        }
        EVENT_RESET => {
            let Seated { arena, waiter } = of_kind(record, tag, kind.is_event())?;
            written(memory, argument, u32::from(arena.event_reset(waiter, object)?))
        }
        EVENT_PULSE => {
            let Seated { arena, waiter } = of_kind(record, tag, kind.is_event())?;
            written(memory, argument, u32::from(arena.event_pulse(waiter, object)?))
        }
        EVENT_READ => {
            let Seated { arena, waiter } = of_kind(record, tag, kind.is_event())?;
            let (manual, signaled) = arena.event_read(waiter, object)?;
            both_written(memory, argument, [u32::from(manual), u32::from(signaled)])
        }
        _ => Err(Refusal::Error(libc::ENOTTY)),
    }
}

#[inline(always)]
fn of_kind(record: &'static Record, tag: u32, fits: bool) -> Result<Seated<'static>, Refusal> {
    if fits { seat(record, tag) } else { Err(Refusal::Error(libc::EINVAL)) }
}

#[inline(always)]
fn by_owner(record: &'static Record, tag: u32, kind: Kind, owner: u32) -> Result<Seated<'static>, Refusal> {
    if owner == 0 { Err(Refusal::Error(libc::EINVAL)) } else { of_kind(record, tag, kind == Kind::Mutex) }
}

#[inline(always)]
fn written(memory: Memory<'_>, address: usize, word: u32) -> Answer {
    memory.write_word(address, word)?;
    Ok(0)
}

#[inline(always)]
fn both_written(memory: Memory<'_>, address: usize, words: TwoWords) -> Answer {
    memory.write_two(address, &words)?;
    Ok(0)
}

/// Not inlined: its room for 64 objects would be on the stack of every request.
#[inline(never)]
fn wait(record: &'static Record, memory: Memory<'_>, tag: u32, all: bool, argument: usize) -> Answer {
    let WaitArguments { timeout_ns, objects: list, count, flags, owner, alert, pad } = memory.read_wait(argument)?;
    let count = count as usize;
    if pad != 0 || flags & !REALTIME != 0 || owner == 0 || count > OBJECTS_MAX {
        return Err(Refusal::Error(libc::EINVAL));
    }
    let mut room = [const { MaybeUninit::uninit() }; OBJECTS_MAX];
    let descriptors = memory.read_slice(list as usize, &mut room[..count])?;
    let mut room = [const { MaybeUninit::uninit() }; OBJECTS_MAX];
    for (place, fd) in room.iter_mut().zip(descriptors) {
        place.write(object_of(record, tag, *fd)?);
    }
    // SAFETY: the first `count` places were written just now.
    let objects = unsafe { core::slice::from_raw_parts(room.as_ptr().cast::<Object>(), count) };
    let alert = match alert {
        0 => None,
        fd => Some(object_of(record, tag, fd as c_int)?),
    };
    let Seated { arena, waiter } = seat(record, tag)?;
    let sleeps = waiter.sleeps();
    let wanted = Wanted { all, objects, alert, owner };
    let deadline = deadline(timeout_ns, flags & REALTIME != 0);
    // A signal that came before this point could not interrupt the wait, so its handler goes first, as if it had come
    // before the call. No further one can come.
    let ended = arena.wait_interruptibly(waiter, wanted, deadline, &record.door);
    let ended = ended.ok_or(Refusal::Again)?;
    record.counts.wait(waiter.sleeps() - sleeps);
    let satisfied = ended?;
    memory.write_word(argument.wrapping_add(INDEX_OFFSET), satisfied.index)?;
    if satisfied.abandoned { Err(Refusal::Error(libc::EOWNERDEAD)) } else { Ok(0) }
}

/// The object behind one descriptor of a wait. Anything else gives `EINVAL`.
#[inline(always)]
fn object_of(record: &'static Record, tag: u32, fd: c_int) -> Result<Object, Refusal> {
    let known = match descriptors::look_up(fd) {
        (Some(known), _) if known.tag == tag => Ok(known),
        _ => descriptors::resolve(record, fd),
    };
    match known {
        Ok(Known { tag: its, what: What::Object(_, object) }) if its == tag => Ok(object),
        Err(NotOurs::Unavailable(error)) => Err(Refusal::Error(error)),
        Err(NotOurs::Changing) => Err(Refusal::Again),
        _ => Err(Refusal::Error(libc::EINVAL)),
    }
}

/// The kernel's clock values are signed: a negative one never comes on one clock, and is long past on the other.
fn deadline(timeout_ns: u64, realtime: bool) -> Deadline {
    const NEGATIVE: u64 = 1 << 63;
    match (timeout_ns, realtime) {
        (u64::MAX, _) | (NEGATIVE.., false) => Deadline::Never,
        (NEGATIVE.., true) => Deadline::NOW,
        (ns, true) => Deadline::Realtime(ns),
        (ns, false) => Deadline::Monotonic(ns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_fourteen_numbers_are_ours() {
        let ours: Vec<u32> = (0..=u32::from(u16::MAX)).map(|low| 0xc004_0000 | low).filter(|n| is_ours(*n)).collect();
        assert_eq!(ours, [SEM_RELEASE]);
        assert!(is_ours(0x4008_4e80) && is_ours(0xc028_4e83) && is_ours(0x8008_4e8d));
        for other in [0x4008_4e81, 0xc00c_4e80, 0x5401, 0x4e80, 0, u32::MAX] {
            assert!(!is_ours(other), "{other:#x}");
        }
    }

    #[test]
    fn deadlines_as_the_kernel_takes_them() {
        assert_eq!(deadline(u64::MAX, false), Deadline::Never);
        assert_eq!(deadline(u64::MAX, true), Deadline::Never);
        assert_eq!(deadline(1 << 63, false), Deadline::Never);
        assert_eq!(deadline(1 << 63, true), Deadline::NOW);
        assert_eq!(deadline(5, false), Deadline::Monotonic(5));
        assert_eq!(deadline(5, true), Deadline::Realtime(5));
    }
}
