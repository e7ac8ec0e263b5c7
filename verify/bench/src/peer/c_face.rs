// SPDX-License-Identifier: MIT OR Apache-2.0
//! ntux through its C interface, called through pointers as a C program calls a shared library.

use std::hint::black_box;
use std::io;

use core::ffi::c_int;

// Defines the functions.
use ntux_capi as _;
use ntux_testkit::c::{Arena, Change, ChangeBy, Create, Functions, NEVER, Wait};

use super::{Peer, Reset};

const OBJECTS: u32 = 1 << 20;
const WAITERS: u32 = 1 << 16;
const NO_ALERT: u64 = 0;
const NO_FLAGS: u32 = 0;

/// An arena, and the functions as the dynamic linker would have found them.
pub(crate) struct CArena {
    arena: *mut Arena,
    functions: Functions,
}

// SAFETY: ntux.h: every function may be called by any thread at any time.
unsafe impl Sync for CArena {}

impl CArena {
    pub(crate) fn open() -> io::Result<Self> {
        // Otherwise the compiler sees through the calls, which it cannot when the library is a shared one.
        let functions = black_box(Functions::linked());
        let mut arena = core::ptr::null_mut();
        // SAFETY: `arena` is a place for the answer.
        check(unsafe { (functions.arena_create)(OBJECTS, WAITERS, &mut arena) })?;
        Ok(Self { arena, functions })
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
        unsafe { (self.functions.arena_detach)(self.arena) };
    }
}

impl Peer for CArena {
    type Thread = u32;
    type Object = u64;

    fn join(&self, owner: u32) -> io::Result<u32> {
        Ok(owner)
    }

    fn mutex(&self, _: &mut u32) -> io::Result<u64> {
        self.create(self.functions.mutex_create, 0, 0)
    }

    fn semaphore(&self, _: &mut u32, count: u32, max: u32) -> io::Result<u64> {
        self.create(self.functions.semaphore_create, count, max)
    }

    fn event(&self, _: &mut u32, reset: Reset) -> io::Result<u64> {
        self.create(self.functions.event_create, u32::from(reset == Reset::Manual), 0)
    }

    #[inline(always)]
    fn wait_any(&self, owner: &mut u32, objects: &[u64]) -> io::Result<usize> {
        self.wait_for(self.functions.wait_any, *owner, objects)
    }

    #[inline(always)]
    fn wait_all(&self, owner: &mut u32, objects: &[u64]) -> io::Result<()> {
        self.wait_for(self.functions.wait_all, *owner, objects).map(|_| ())
    }

    #[inline(always)]
    fn unlock(&self, owner: &mut u32, mutex: u64) -> io::Result<()> {
        self.change_by(self.functions.mutex_unlock, mutex, *owner)
    }

    #[inline(always)]
    fn release(&self, _: &mut u32, semaphore: u64, count: u32) -> io::Result<()> {
        self.change_by(self.functions.semaphore_release, semaphore, count)
    }

    #[inline(always)]
    fn set(&self, _: &mut u32, event: u64) -> io::Result<()> {
        self.change(self.functions.event_set, event)
    }

    #[inline(always)]
    fn reset(&self, _: &mut u32, event: u64) -> io::Result<()> {
        self.change(self.functions.event_reset, event)
    }
}

#[inline(always)]
fn check(result: c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::from_raw_os_error(-result)) } else { Ok(()) }
}
