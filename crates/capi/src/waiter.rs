// SPDX-License-Identifier: MIT OR Apache-2.0
//! Explicit waiters: waits that handlers of signals interrupt and may leave for good.
//!
//! This is one face of the door of `ntux_sync::door`, which has the protocol: here the program's handlers ask, with their own
//! arguments, and the mark of a thread inside is the number of open brackets. The other face is the drop-in device's; what
//! differs, and why, is in the table there.

use core::cell::Cell;
use core::ffi::{c_int, c_void};

use ntux::{Arena, Deadline, Satisfied};
use ntux_platform::to_self::{FAULTS, Information, bit};
use ntux_sync::door::Door;
use ntux_sync::{Object, Waiter as Seat, Wanted};

use crate::boundary::{self, Place, Refusal, call};
use crate::wait::{OBJECTS_MAX, Request, refusal, report};

/// A thread's place in an arena, and what its handlers must know.
pub struct Waiter {
    arena: Arena,
    seat: Seat,
    door: Door,
    /// What the wait at whose door the thread stands was given.
    given: Cell<Option<Given>>,
}

/// What a wait asked for and got, for a handler that ends the thread.
#[derive(Clone, Copy)]
struct Given {
    all: bool,
    objects: [Object; OBJECTS_MAX as usize],
    count: usize,
    alert: Option<Object>,
    owner: u32,
    satisfied: Satisfied,
}

impl Waiter {
    fn new(arena: &Arena) -> Waiter {
        Waiter { arena: arena.clone(), seat: arena.core().waiter(), door: Door::default(), given: Cell::new(None) }
    }

    #[inline(always)]
    fn enter(&self) {
        self.door.enter(self.door.mark() + 1);
    }

    /// True if handlers wait at the door, and the thread is there: [`Door::open`] comes next.
    #[inline(always)]
    fn leave(&self) -> bool {
        self.door.leave(self.door.mark().saturating_sub(1))
    }

    /// True if an operation is in progress around this one.
    fn is_nested(&self) -> bool {
        self.door.mark() > 1
    }

    /// True if the handler is to return at once.
    ///
    /// # Safety
    ///
    /// Called by a handler on the waiter's own thread with its own arguments; `information` may be null.
    unsafe fn defer(&self, signal: c_int, information: *mut libc::siginfo_t, context: *mut c_void) -> bool {
        if bit(signal) & FAULTS != 0 {
            return false;
        }
        let mut unknown = Information::default();
        // SAFETY: null, or the handler's second argument, which is longer and which nobody else uses.
        let information = unsafe { information.cast::<Information>().as_mut() }.unwrap_or(&mut unknown);
        // SAFETY: by the contract.
        unsafe { self.door.answer(signal, information, context) }
    }

    /// None: a handler is due first.
    fn wait(&self, wanted: Wanted<'_>, deadline: Deadline) -> Option<ntux::Result<Satisfied>> {
        let (core, door) = (self.arena.core(), &self.door);
        let ended = core.wait_interruptibly(&self.seat, wanted, deadline, door);
        if let Some(Ok(satisfied)) = ended
            && door.is_owing()
        {
            self.remember(wanted, satisfied);
        }
        ended
    }

    /// A handler is about to run, and may never return.
    #[cold]
    fn remember(&self, wanted: Wanted<'_>, satisfied: Satisfied) {
        let Wanted { all, objects, alert, owner } = wanted;
        let mut given =
            Given { all, objects: [Object(0); OBJECTS_MAX as usize], count: objects.len(), alert, owner, satisfied };
        given.objects[..objects.len()].copy_from_slice(objects);
        self.given.set(Some(given));
    }

    fn give_back(&self) {
        if let Some(Given { all, objects, count, alert, owner, satisfied }) = self.given.take() {
            let wanted = Wanted { all, objects: &objects[..count], alert, owner };
            self.arena.core().give_back(&self.seat, wanted, satisfied);
        }
    }
}

/// # Safety
///
/// `pointer` is null, misaligned, or came from `ntux_waiter_create` on this thread and is not destroyed during `'a`.
#[inline]
unsafe fn checked<'a>(pointer: *const Waiter) -> Result<&'a Waiter, c_int> {
    match pointer.is_aligned() {
        _ if pointer.is_null() => Err(-libc::EFAULT),
        false => Err(-libc::EINVAL),
        // SAFETY: neither null nor misaligned, so by the contract a waiter that outlives `'a`.
        true => Ok(unsafe { &*pointer }),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_waiter_create(arena: *const Arena, waiter: *mut *mut Waiter) -> c_int {
    call(|| {
        // SAFETY: the header asks for an attached arena and a place that may be written.
        let (arena, place) = unsafe { (boundary::arena(arena)?, Place::required(waiter)?) };
        place.put(Box::into_raw(Box::new(Waiter::new(arena))));
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_waiter_destroy(waiter: *mut Waiter) -> c_int {
    call(|| {
        // SAFETY: the header asks for a waiter of this thread.
        let known = unsafe { checked(waiter) }.map_err(|error| Refusal(-error))?;
        known.give_back();
        known.arena.core().retire(&known.seat);
        // SAFETY: it came from `ntux_waiter_create`, and the header forbids to use it again.
        drop(unsafe { Box::from_raw(waiter) });
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_waiter_give_back(waiter: *const Waiter) -> c_int {
    call(|| {
        // SAFETY: the header asks for a waiter of this thread.
        unsafe { checked(waiter) }.map_err(|error| Refusal(-error))?.give_back();
        Ok(())
    })
}

/// Handlers may leave this frame for good: it has no destructors.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ntux_waiter_defer(
    waiter: *const Waiter,
    signal: c_int,
    information: *mut libc::siginfo_t,
    context: *mut c_void,
) -> c_int {
    if waiter.is_null() {
        return 0;
    }
    if !waiter.is_aligned() || !(1..=64).contains(&signal) {
        return -libc::EINVAL;
    }
    if context.is_null() {
        return -libc::EFAULT;
    }
    // SAFETY: the header asks for a waiter of this thread, and for the handler's own arguments.
    c_int::from(unsafe { (*waiter).defer(signal, information, context) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_waiter_enter(waiter: *const Waiter) -> c_int {
    // SAFETY: the header asks for a waiter of this thread.
    match unsafe { checked(waiter) } {
        Ok(waiter) => {
            waiter.enter();
            0
        }
        Err(error) => error,
    }
}

/// Handlers may leave this frame for good: it has no destructors.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ntux_waiter_leave(waiter: *const Waiter) -> c_int {
    // SAFETY: the header asks for a waiter of this thread.
    match unsafe { checked(waiter) } {
        Ok(waiter) => {
            if waiter.leave() {
                waiter.door.open();
            }
            0
        }
        Err(error) => error,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ntux_waiter_wait_any(
    waiter: *const Waiter,
    objects: *const u64,
    count: u32,
    alert: u64,
    owner: u32,
    flags: u32,
    deadline_ns: u64,
    index: *mut u32,
) -> c_int {
    // SAFETY: the header asks for the same.
    unsafe { serve(waiter, Request { objects, count, alert, owner, flags, deadline_ns, index }, false) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ntux_waiter_wait_all(
    waiter: *const Waiter,
    objects: *const u64,
    count: u32,
    alert: u64,
    owner: u32,
    flags: u32,
    deadline_ns: u64,
    index: *mut u32,
) -> c_int {
    // SAFETY: the header asks for the same.
    unsafe { serve(waiter, Request { objects, count, alert, owner, flags, deadline_ns, index }, true) }
}

/// Handlers may leave this frame for good: it has no destructors.
///
/// # Safety
///
/// Each pointer is null, misaligned, or what the header asks for.
#[inline(always)]
unsafe fn serve(waiter: *const Waiter, request: Request, all: bool) -> c_int {
    // SAFETY: by the contract.
    let waiter = match unsafe { checked(waiter) } {
        Ok(waiter) => waiter,
        Err(error) => return error,
    };
    loop {
        waiter.enter();
        // SAFETY: by the contract.
        let ended = unsafe { attempt(waiter, request, all) };
        if waiter.leave() {
            waiter.door.open();
            waiter.given.set(None);
        }
        if let Some(result) = ended {
            return result;
        }
    }
}

/// None: a handler is due first, and the door comes next.
///
/// # Safety
///
/// What [`serve`] demands.
#[inline(never)]
unsafe fn attempt(waiter: &Waiter, request: Request, all: bool) -> Option<c_int> {
    let mut begun = true;
    let result = call(|| {
        // SAFETY: by the contract.
        let (wanted, deadline, index) = unsafe { request.read(all)? };
        match waiter.wait(wanted, deadline) {
            None => {
                begun = false;
                Err(Refusal(libc::EINTR))
            }
            Some(ended) => report(index, ended.map_err(|error| refusal(waiter.arena.core(), wanted, error))?),
        }
    });
    (begun || waiter.is_nested()).then_some(result)
}
