// SPDX-License-Identifier: MIT OR Apache-2.0
//! The functions of `ntux.h` that the proofs call, as Rust must declare them: once, for the library that is linked and for
//! one that is loaded.

use core::ffi::{CStr, c_char, c_int, c_void};

/// `ntux_arena`, which C sees from outside only.
#[repr(C)]
pub struct Arena {
    _inside: [u8; 0],
}

/// `ntux_waiter`, likewise.
#[repr(C)]
pub struct Waiter {
    _inside: [u8; 0],
}

/// `struct ntux_delivered`
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names are those of the header")]
pub struct Delivered {
    pub key: u64,
    pub registration: u64,
    pub index: u32,
    pub abandoned: u32,
}

/// A function that creates an object from two numbers.
pub type Create = unsafe extern "C" fn(*const Arena, u32, u32, *mut u64) -> c_int;
/// A function that changes an object, and tells its value before.
pub type Change = unsafe extern "C" fn(*const Arena, u64, *mut u32) -> c_int;
/// The same with a number.
pub type ChangeBy = unsafe extern "C" fn(*const Arena, u64, u32, *mut u32) -> c_int;
/// A function that reads the two values of an object.
pub type Read = unsafe extern "C" fn(*const Arena, u64, *mut u32, *mut u32) -> c_int;
/// A wait: objects and their number, alert, owner, flags, deadline in nanoseconds, and a place for the index.
pub type Wait = unsafe extern "C" fn(*const Arena, *const u64, u32, u64, u32, u32, u64, *mut u32) -> c_int;

/// The flag of a wait whose deadline is on the wall clock.
pub const REALTIME: u32 = 1;
/// The deadline that never comes.
pub const NEVER: u64 = u64::MAX;

macro_rules! functions {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {
        mod linked {
            use super::{Arena, Delivered, Waiter, c_char, c_int};

            unsafe extern "C" {
                $(
                    #[link_name = concat!("ntux_", stringify!($name))]
                    pub(super) fn $name($($argument: $type),*) -> c_int;
                )*
            }
        }

        /// Every function by its name in the header, without the prefix.
        #[derive(Clone, Copy)]
        pub struct Functions {
            $(
                #[doc = concat!("`ntux_", stringify!($name), "`")]
                pub $name: unsafe extern "C" fn($($type),*) -> c_int,
            )*
        }

        impl Functions {
            /// Those that are linked: the program must link `ntux-capi`.
            // Inlined: so only a program that calls this refers to them.
            #[inline(always)]
            pub fn linked() -> Functions {
                Functions { $($name: linked::$name,)* }
            }

            /// Those that `find` finds by their names.
            ///
            /// # Safety
            /// What it finds are the functions of `ntux.h`.
            pub unsafe fn found(mut find: impl FnMut(&CStr) -> *mut c_void) -> Functions {
                let mut function = |name: &'static str| {
                    let found = find(CStr::from_bytes_with_nul(name.as_bytes()).expect("it ends with a zero"));
                    assert!(!found.is_null(), "no {name}");
                    found
                };
                // SAFETY: the types are those of the header, and the caller's promise.
                unsafe {
                    Functions {
                        $($name: core::mem::transmute::<*mut c_void, unsafe extern "C" fn($($type),*) -> c_int>(
                            function(concat!("ntux_", stringify!($name), "\0")),
                        ),)*
                    }
                }
            }
        }
    };
}

functions! {
    arena_create(objects: u32, waiters: u32, arena: *mut *mut Arena);
    arena_attach(fd: c_int, arena: *mut *mut Arena);
    arena_fd(arena: *const Arena);
    arena_detach(arena: *mut Arena);
    arena_bury_process(arena: *const Arena, process: u32);
    object_close(arena: *const Arena, object: u64);
    object_adopt(arena: *const Arena, object: u64);
    object_hold(arena: *const Arena, object: u64);
    object_hold_for(arena: *const Arena, object: u64, process: u32);
    object_holds(arena: *const Arena, object: u64, holds: *mut u32);
    object_release(arena: *const Arena, object: u64);
    object_open_named(arena: *const Arena, name: *const c_char, flags: u32, kind: c_int, object: *mut u64);
    object_make_permanent(arena: *const Arena, object: u64);
    object_make_temporary(arena: *const Arena, object: u64);
    semaphore_create_named(
        arena: *const Arena,
        name: *const c_char,
        flags: u32,
        count: u32,
        max: u32,
        semaphore: *mut u64,
        existed: *mut u32
    );
    mutex_create_named(
        arena: *const Arena,
        name: *const c_char,
        flags: u32,
        owner: u32,
        count: u32,
        mutex: *mut u64,
        existed: *mut u32
    );
    event_create_named(
        arena: *const Arena,
        name: *const c_char,
        flags: u32,
        manual: u32,
        signaled: u32,
        event: *mut u64,
        existed: *mut u32
    );
    semaphore_create(arena: *const Arena, count: u32, max: u32, semaphore: *mut u64);
    semaphore_release(arena: *const Arena, semaphore: u64, count: u32, previous: *mut u32);
    semaphore_read(arena: *const Arena, semaphore: u64, count: *mut u32, max: *mut u32);
    mutex_create(arena: *const Arena, owner: u32, count: u32, mutex: *mut u64);
    mutex_unlock(arena: *const Arena, mutex: u64, owner: u32, previous: *mut u32);
    mutex_kill(arena: *const Arena, mutex: u64, owner: u32);
    mutex_read(arena: *const Arena, mutex: u64, owner: *mut u32, count: *mut u32);
    timer_create(arena: *const Arena, manual: u32, timer: *mut u64);
    timer_create_named(
        arena: *const Arena,
        name: *const c_char,
        flags: u32,
        manual: u32,
        timer: *mut u64,
        existed: *mut u32
    );
    timer_set(arena: *const Arena, timer: u64, flags: u32, due: u64, period: u64);
    timer_cancel(arena: *const Arena, timer: u64);
    timer_read(
        arena: *const Arena,
        timer: u64,
        manual: *mut u32,
        signaled: *mut u32,
        flags: *mut u32,
        due: *mut u64,
        period: *mut u64
    );
    event_create(arena: *const Arena, manual: u32, signaled: u32, event: *mut u64);
    event_set(arena: *const Arena, event: u64, previous: *mut u32);
    event_reset(arena: *const Arena, event: u64, previous: *mut u32);
    event_pulse(arena: *const Arena, event: u64, previous: *mut u32);
    event_read(arena: *const Arena, event: u64, manual: *mut u32, signaled: *mut u32);
    wait_any(
        arena: *const Arena,
        objects: *const u64,
        count: u32,
        alert: u64,
        owner: u32,
        flags: u32,
        deadline_ns: u64,
        index: *mut u32
    );
    wait_all(
        arena: *const Arena,
        objects: *const u64,
        count: u32,
        alert: u64,
        owner: u32,
        flags: u32,
        deadline_ns: u64,
        index: *mut u32
    );
    queue_create(arena: *const Arena, queue: *mut u64);
    queue_close(arena: *const Arena, queue: u64);
    queue_wait(
        arena: *const Arena,
        queue: u64,
        objects: *const u64,
        count: u32,
        owner: u32,
        flags: u32,
        key: u64,
        registration: *mut u64,
        index: *mut u32
    );
    queue_post(arena: *const Arena, queue: u64, key: u64);
    queue_get(
        arena: *const Arena,
        queue: u64,
        flags: u32,
        deadline_ns: u64,
        delivered: *mut Delivered,
        room: u32
    );
    queue_cancel(arena: *const Arena, registration: u64, index: *mut u32);
    owner_of_thread(arena: *const Arena, owner: *mut u32);
    owner_create(arena: *const Arena, owner: *mut u32);
    owner_end(arena: *const Arena, owner: u32);
    end_create(arena: *const Arena, owner: u32, end: *mut u64);
    end_report(arena: *const Arena, end: u64, code: u32);
    end_read(arena: *const Arena, end: u64, owner: *mut u32, ended: *mut u32, code: *mut u32);
    waiter_create(arena: *const Arena, waiter: *mut *mut Waiter);
    waiter_destroy(waiter: *mut Waiter);
    waiter_wait_any(
        waiter: *const Waiter,
        objects: *const u64,
        count: u32,
        alert: u64,
        owner: u32,
        flags: u32,
        deadline_ns: u64,
        index: *mut u32
    );
    waiter_wait_all(
        waiter: *const Waiter,
        objects: *const u64,
        count: u32,
        alert: u64,
        owner: u32,
        flags: u32,
        deadline_ns: u64,
        index: *mut u32
    );
}
