// SPDX-License-Identifier: MIT OR Apache-2.0
//! Descriptors of the system behind handles.
//!
//! # Role
//! Such a handle is signaled while the system says that its descriptor can be read, or written. Nothing of that is kept: each wait asks, and
//! a wait that sleeps does so for the objects and the descriptors at once ([`ntux::WaitOrPoll`]), so no thread stands between. Some of what
//! such waits need is kept for the next ones. The object of the record is an event that nobody sets.
//!
//! # One or all
//! A wait for one acquires the first that is signaled, in the order of the handles, as among objects. Nothing is acquired of a descriptor, so
//! a wait for all of several descriptors asks for those that were not ready, then for all again. With an object among them a wait for all is
//! refused: to take the object in the same step in which descriptors are ready is not possible, and to give it back is not exact.
//!
//! # Death
//! The threads of a process die together. A forked child has its parent's descriptors.

use std::os::fd::{BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};

use ntux::{Deadline, Polled, Ready, Satisfied, Wait, WaitOrPoll};
use ntux_platform::atomic::Word32;
use ntux_platform::error::{EMFILE, ENFILE};
use ntux_platform::wake_descriptor::{Patience, poll};
use ntux_sync::Object;

use crate::arena::Arena;
use crate::boundary::call;
use crate::handle::{self, Flags, Handle};
use crate::last_error::{
    CALL_NOT_IMPLEMENTED, INVALID_HANDLE, INVALID_PARAMETER, NOT_ENOUGH_MEMORY, Result, of_object,
};
use crate::record::{self, First, Kind, Payload, Target};
use crate::{access, create, thread};

const WRITABLE: u32 = 1;
const OWN: u32 = 2;

/// What a record owns: the descriptor, and what is asked of it.
pub struct Descriptor {
    fd: RawFd,
    asked: i16,
    /// Not 0: it is closed with the record.
    is_owned: Word32,
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        if self.is_owned.load() != 0 {
            // SAFETY: it is this record's alone: a copy that was made for it, or the program has given it away.
            drop(unsafe { OwnedFd::from_raw_fd(self.fd) });
        }
    }
}

/// A wait, some of whose objects are descriptors.
pub struct Mixed<'a> {
    /// The records, which the caller keeps.
    pub targets: &'a [Target],
    pub objects: &'a [Object],
    pub kinds: &'a [Kind],
    pub owner: u32,
}

/// How it ended.
pub enum Ended {
    /// This is signaled, and acquired if it is an object.
    By(Satisfied),
    Alerted,
    Late,
}

/// The numbers of the handles that are descriptors, and what is asked of each; then the objects, with the numbers of theirs.
struct Parts {
    polled: Vec<Polled>,
    polled_at: Vec<u32>,
    objects: Vec<Object>,
    objects_at: Vec<u32>,
}

impl Mixed<'_> {
    /// Waits for any.
    ///
    /// Errors: those of the core.
    pub fn any(&self, arena: &Arena, alert: Option<Object>, deadline: Deadline) -> Result<Ended> {
        let mut parts = self.parts()?;
        if deadline == Deadline::NOW {
            return self.first(arena, &mut parts);
        }
        let wait = waiting(self.owner, alert, deadline);
        let objects: Vec<ntux::Object> =
            parts.objects.iter().filter_map(|object| ntux::Object::new(object.0)).collect();
        match wait_or_poll(arena, &objects, &mut parts.polled, wait) {
            Ok(Ready::Object(satisfied)) if satisfied.index as usize == objects.len() => Ok(Ended::Alerted),
            Ok(Ready::Object(satisfied)) => {
                let index = parts.objects_at[satisfied.index as usize];
                Ok(Ended::By(Satisfied { index, ..satisfied }))
            }
            Ok(Ready::Descriptors(_)) => Ok(parts.first_found().map_or(Ended::Late, by)),
            Err(ntux::Error::TimedOut) => Ok(Ended::Late),
            Err(error) => Err(of_object(error)),
        }
    }

    /// Acquires the first that is signaled now.
    fn first(&self, arena: &Arena, parts: &mut Parts) -> Result<Ended> {
        ask(&mut parts.polled)?;
        let found = parts.first_found();
        let before = parts.objects_at.iter().filter(|&&index| found.is_none_or(|found| index < found)).count();
        let objects = &parts.objects[..before];
        if before > 0 {
            let taken =
                arena.with_waiter(|core, waiter| core.wait_any(waiter, objects, None, self.owner, Deadline::NOW));
            match taken {
                Ok(satisfied) => {
                    let index = parts.objects_at[satisfied.index as usize];
                    return Ok(Ended::By(Satisfied { index, ..satisfied }));
                }
                Err(ntux::Error::TimedOut) => {}
                Err(error) => return Err(of_object(error)),
            }
        }
        Ok(found.map_or(Ended::Late, by))
    }

    /// Waits for all, which are descriptors.
    ///
    /// Errors: `CALL_NOT_IMPLEMENTED` with an object among them; `INVALID_PARAMETER` if one occurs twice; those of the core.
    pub fn all(&self, arena: &Arena, alert: Option<Object>, deadline: Deadline) -> Result<Ended> {
        let mut parts = self.parts()?;
        if !parts.objects.is_empty() {
            return Err(CALL_NOT_IMPLEMENTED);
        }
        if (1..self.targets.len()).any(|index| self.targets[..index].contains(&self.targets[index])) {
            return Err(INVALID_PARAMETER);
        }
        loop {
            ask(&mut parts.polled)?;
            let Some(missing) = parts.polled.iter_mut().find(|polled| polled.found == 0) else { return Ok(by(0)) };
            if deadline == Deadline::NOW {
                return Ok(Ended::Late);
            }
            let wait = waiting(self.owner, alert, deadline);
            match wait_or_poll(arena, &[], core::slice::from_mut(missing), wait) {
                Ok(Ready::Object(_)) => return Ok(Ended::Alerted),
                Ok(Ready::Descriptors(_)) => {}
                Err(ntux::Error::TimedOut) => return Ok(Ended::Late),
                Err(error) => return Err(of_object(error)),
            }
        }
    }

    fn parts(&self) -> Result<Parts> {
        let mut parts =
            Parts { polled: Vec::new(), polled_at: Vec::new(), objects: Vec::new(), objects_at: Vec::new() };
        for (index, target) in self.targets.iter().enumerate() {
            if self.kinds[index] == Kind::Descriptor {
                let descriptor = of(*target)?;
                parts.polled.push(Polled::new(descriptor.fd, descriptor.asked));
                parts.polled_at.push(index as u32);
            } else {
                parts.objects.push(self.objects[index]);
                parts.objects_at.push(index as u32);
            }
        }
        Ok(parts)
    }
}

impl Parts {
    /// The number of the first descriptor of which something was found. A descriptor that the program has closed is found, too.
    fn first_found(&self) -> Option<u32> {
        let index = self.polled.iter().position(|polled| polled.found != 0)?;
        Some(self.polled_at[index])
    }
}

/// What a thread keeps for its next wait. Another thread cannot use it: that would interrupt calls of this one.
pub struct Kept(WaitOrPoll);

/// How many threads keep one: each has a descriptor, and one of the arena's queues.
static KEPT: Word32 = Word32::new(0);
const KEPT_MAX: u32 = 64;

impl Kept {
    /// None if many threads keep one already.
    fn new(waits: WaitOrPoll) -> Option<Kept> {
        let kept = Kept(waits);
        // Dropped, it is counted less.
        (KEPT.fetch_add(1) < KEPT_MAX).then_some(kept)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        KEPT.fetch_add(1_u32.wrapping_neg());
    }
}

fn wait_or_poll(arena: &Arena, objects: &[ntux::Object], polled: &mut [Polled], wait: Wait) -> ntux::Result<Ready> {
    if let Some(mut kept) = thread::take_kept() {
        let ended = kept.0.wait_any(objects, polled, wait);
        // After any other error it may not be good for the next.
        if matches!(ended, Ok(_) | Err(ntux::Error::TimedOut)) {
            thread::keep(kept);
        }
        return ended;
    }
    let mut waits = WaitOrPoll::create(arena)?;
    let ended = waits.wait_any(objects, polled, wait);
    if matches!(ended, Ok(_) | Err(ntux::Error::TimedOut))
        && let Some(kept) = Kept::new(waits)
    {
        thread::keep(kept);
    }
    ended
}

fn by(index: u32) -> Ended {
    Ended::By(Satisfied { index, abandoned: false })
}

fn waiting(owner: u32, alert: Option<Object>, deadline: Deadline) -> Wait {
    let wait = Wait::by(owner).until(deadline);
    match alert.and_then(|alert| ntux::Object::new(alert.0)) {
        Some(alert) => wait.alert(alert),
        None => wait,
    }
}

/// The caller keeps the record.
///
/// Errors: `INVALID_HANDLE` if it is of another kind.
fn of<'a>(target: Target) -> Result<&'a Descriptor> {
    // SAFETY: the caller keeps it.
    target.record().and_then(|record| unsafe { record.descriptor() }).ok_or(INVALID_HANDLE)
}

/// Asks the system what holds now.
fn ask(polled: &mut [Polled]) -> Result<()> {
    polled.iter_mut().for_each(|polled| polled.found = 0);
    poll(polled, Patience::None).map(drop).map_err(|_| NOT_ENOUGH_MEMORY)
}

#[unsafe(no_mangle)]
pub extern "C" fn ntw_HandleFromFd(fd: i32, flags: u32) -> Handle {
    call(core::ptr::null_mut(), || {
        if flags & !(WRITABLE | OWN) != 0 {
            return Err(INVALID_PARAMETER);
        }
        let is_owned = flags & OWN != 0;
        let copy = copy(fd)?;
        let kept = if is_owned { fd } else { copy.into_raw_fd() };
        let asked = if flags & WRITABLE != 0 { Polled::WRITABLE } else { Polled::READABLE };
        let descriptor = Descriptor { fd: kept, asked, is_owned: Word32::new(u32::from(!is_owned)) };
        let never = create::object(|core, waiter| core.event_create(waiter, true, false))?;
        let target = record::create(Kind::Descriptor, never, Payload::Descriptor(Box::new(descriptor)), First::Both)?;
        let handle = handle::insert(target, access::ALL, Flags::default());
        if handle.is_ok() && is_owned {
            of(target)?.is_owned.store(1);
        }
        target.release();
        handle
    })
}

/// Another descriptor of the same.
///
/// Errors: `INVALID_HANDLE` if it is not open.
fn copy(fd: RawFd) -> Result<OwnedFd> {
    if fd < 0 {
        return Err(INVALID_HANDLE);
    }
    // SAFETY: not negative; used for one call of the system, which refuses what is not open.
    let copy = unsafe { BorrowedFd::borrow_raw(fd) }.try_clone_to_owned();
    copy.map_err(|error| match error.raw_os_error() {
        Some(EMFILE | ENFILE) => NOT_ENOUGH_MEMORY,
        _ => INVALID_HANDLE,
    })
}
