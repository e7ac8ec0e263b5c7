// SPDX-License-Identifier: MIT OR Apache-2.0
//! The last that a thread does: it tells its end, after the destructors of its keys (`pthread_key_create`) have run.
//!
//! # Role
//! A thread that has waited for another one may end the process next, or unload what the other one has used. So the end is told when the
//! destructors of other libraries are through, as `pthread_join` returns after them. The C library first runs the destructors of C++'s and
//! Rust's values, then those of keys, in rounds: a value that was set again meanwhile has another round. The end has a key of its own,
//! whose value sets itself again in each round but the last that is certain to come.
//!
//! # Death
//! A thread that is about to end, and does not come so far, ends with its process. `exit` runs no destructors of keys: its process ends.

use core::ffi::c_void;

use ntux_platform::once::Once;

use crate::thread::End;

/// One round less than POSIX promises: a C library may run the destructors of values in one of them.
const ROUNDS: u32 = 3;

struct Awaited {
    end: End,
    round: u32,
}

/// None if all keys are taken.
fn key() -> Option<libc::pthread_key_t> {
    static KEY: Once<Option<libc::pthread_key_t>> = Once::new();
    *KEY.get_or_make(|| {
        let mut key = 0;
        // SAFETY: the key is written; the destructor is for what `put` stores there.
        (unsafe { libc::pthread_key_create(&mut key, Some(go_on)) } == 0).then_some(key)
    })
}

/// Tells the end of the calling thread in the last round; now if that cannot be.
pub fn tell(end: End) {
    put(Awaited { end, round: 1 });
}

/// Stores it for the next round.
fn put(awaited: Awaited) {
    let value = Box::into_raw(Box::new(awaited));
    // SAFETY: the key has this destructor, which takes the box back.
    if key().is_none_or(|key| unsafe { libc::pthread_setspecific(key, value.cast()) } != 0) {
        // SAFETY: made above; nobody else has it.
        unsafe { Box::from_raw(value) }.end.tell();
    }
}

/// A round.
unsafe extern "C" fn go_on(value: *mut c_void) {
    // SAFETY: `put` has stored a box, which the C library gives back once.
    let Awaited { end, round } = *unsafe { Box::from_raw(value.cast::<Awaited>()) };
    if round < ROUNDS { put(Awaited { end, round: round + 1 }) } else { end.tell() }
}
