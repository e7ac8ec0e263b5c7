//! ntux through its C interface, called through pointers as a C program calls a shared library.

use std::hint::black_box;
use std::io;

use core::ffi::c_int;

// Defines the functions that are declared below.
use ntux_capi as _;

use super::{Peer, Reset};

const OBJECTS: u32 = 1 << 20;
const WAITERS: u32 = 1 << 16;
const NO_ALERT: u64 = 0;
const NO_FLAGS: u32 = 0;
const NEVER: u64 = u64::MAX;

/// `ntux_arena`, which C sees from outside only.
#[repr(C)]
struct Arena {
    _inside: [u8; 0],
}

type Create = unsafe extern "C" fn(*const Arena, u32, u32, *mut u64) -> c_int;
type Change = unsafe extern "C" fn(*const Arena, u64, *mut u32) -> c_int;
type ChangeBy = unsafe extern "C" fn(*const Arena, u64, u32, *mut u32) -> c_int;
type Wait = unsafe extern "C" fn(*const Arena, *const u64, u32, u64, u32, u32, u64, *mut u32) -> c_int;

unsafe extern "C" {
    fn ntux_arena_create(objects: u32, waiters: u32, arena: *mut *mut Arena) -> c_int;
    fn ntux_arena_detach(arena: *mut Arena) -> c_int;
    fn ntux_mutex_create(arena: *const Arena, owner: u32, count: u32, mutex: *mut u64) -> c_int;
    fn ntux_mutex_unlock(arena: *const Arena, mutex: u64, owner: u32, previous: *mut u32) -> c_int;
    fn ntux_semaphore_create(arena: *const Arena, count: u32, max: u32, semaphore: *mut u64) -> c_int;
    fn ntux_semaphore_release(arena: *const Arena, semaphore: u64, count: u32, previous: *mut u32) -> c_int;
    fn ntux_event_create(arena: *const Arena, manual: u32, signaled: u32, event: *mut u64) -> c_int;
    fn ntux_event_set(arena: *const Arena, event: u64, previous: *mut u32) -> c_int;
    fn ntux_event_reset(arena: *const Arena, event: u64, previous: *mut u32) -> c_int;
    fn ntux_wait_any(
        arena: *const Arena,
        objects: *const u64,
        count: u32,
        alert: u64,
        owner: u32,
        flags: u32,
        deadline_ns: u64,
        index: *mut u32,
    ) -> c_int;
    fn ntux_wait_all(
        arena: *const Arena,
        objects: *const u64,
        count: u32,
        alert: u64,
        owner: u32,
        flags: u32,
        deadline_ns: u64,
        index: *mut u32,
    ) -> c_int;
}

/// An arena, and the functions as the dynamic linker would have found them.
pub(crate) struct CArena {
    arena: *mut Arena,
    wait_any: Wait,
    wait_all: Wait,
    mutex_unlock: ChangeBy,
    semaphore_release: ChangeBy,
    event_set: Change,
    event_reset: Change,
}

// SAFETY: ntux.h: every function may be called by any thread at any time.
unsafe impl Sync for CArena {}

impl CArena {
    pub(crate) fn open() -> io::Result<Self> {
        let mut arena = core::ptr::null_mut();
        // SAFETY: `arena` is a place for the answer.
        check(unsafe { ntux_arena_create(OBJECTS, WAITERS, &mut arena) })?;
        Ok(Self {
            arena,
            // Otherwise the compiler sees through the call, which it cannot when the library is a shared one.
            wait_any: black_box(ntux_wait_any),
            wait_all: black_box(ntux_wait_all),
            mutex_unlock: black_box(ntux_mutex_unlock),
            semaphore_release: black_box(ntux_semaphore_release),
            event_set: black_box(ntux_event_set),
            event_reset: black_box(ntux_event_reset),
        })
    }

    fn create(&self, function: Create, first: u32, second: u32) -> io::Result<u64> {
        let mut object = 0;
        // SAFETY: the arena is attached until the value is dropped; `object` is a place for the answer.
        check(unsafe { function(self.arena, first, second, &mut object) })?;
        Ok(object)
    }

    #[inline(always)]
    fn wait_for(&self, function: Wait, owner: u32, objects: &[u64]) -> io::Result<usize> {
        let mut index = 0;
        let count = objects.len() as u32;
        // SAFETY: the arena is attached; `objects` has `count` entries; `index` is a place for the answer.
        let result =
            unsafe { function(self.arena, objects.as_ptr(), count, NO_ALERT, owner, NO_FLAGS, NEVER, &mut index) };
        check(result)?;
        Ok(index as usize)
    }

    #[inline(always)]
    fn change(&self, function: Change, object: u64) -> io::Result<()> {
        let mut previous = 0;
        // SAFETY: the arena is attached; `previous` is a place for the answer.
        check(unsafe { function(self.arena, object, &mut previous) })
    }

    #[inline(always)]
    fn change_by(&self, function: ChangeBy, object: u64, argument: u32) -> io::Result<()> {
        let mut previous = 0;
        // SAFETY: the arena is attached; `previous` is a place for the answer.
        check(unsafe { function(self.arena, object, argument, &mut previous) })
    }
}

impl Drop for CArena {
    fn drop(&mut self) {
        // SAFETY: attached by `open`, and not used after this.
        unsafe { ntux_arena_detach(self.arena) };
    }
}

impl Peer for CArena {
    type Thread = u32;
    type Object = u64;

    fn join(&self, owner: u32) -> io::Result<u32> {
        Ok(owner)
    }

    fn mutex(&self, _: &mut u32) -> io::Result<u64> {
        self.create(ntux_mutex_create, 0, 0)
    }

    fn semaphore(&self, _: &mut u32, count: u32, max: u32) -> io::Result<u64> {
        self.create(ntux_semaphore_create, count, max)
    }

    fn event(&self, _: &mut u32, reset: Reset) -> io::Result<u64> {
        self.create(ntux_event_create, u32::from(reset == Reset::Manual), 0)
    }

    #[inline(always)]
    fn wait_any(&self, owner: &mut u32, objects: &[u64]) -> io::Result<usize> {
        self.wait_for(self.wait_any, *owner, objects)
    }

    #[inline(always)]
    fn wait_all(&self, owner: &mut u32, objects: &[u64]) -> io::Result<()> {
        self.wait_for(self.wait_all, *owner, objects).map(|_| ())
    }

    #[inline(always)]
    fn unlock(&self, owner: &mut u32, mutex: u64) -> io::Result<()> {
        self.change_by(self.mutex_unlock, mutex, *owner)
    }

    #[inline(always)]
    fn release(&self, _: &mut u32, semaphore: u64, count: u32) -> io::Result<()> {
        self.change_by(self.semaphore_release, semaphore, count)
    }

    #[inline(always)]
    fn set(&self, _: &mut u32, event: u64) -> io::Result<()> {
        self.change(self.event_set, event)
    }

    #[inline(always)]
    fn reset(&self, _: &mut u32, event: u64) -> io::Result<()> {
        self.change(self.event_reset, event)
    }
}

#[inline(always)]
fn check(result: c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::from_raw_os_error(-result)) } else { Ok(()) }
}
