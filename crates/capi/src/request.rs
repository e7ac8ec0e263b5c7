// SPDX-License-Identifier: MIT OR Apache-2.0
//! The driver's requests, for programs that were written for it.

use core::ffi::c_int;

use ntux::Arena;

use crate::boundary::{ANOTHER_KIND, NO_OWNER, Place, call};
use crate::event::{ntux_event_create, ntux_event_pulse, ntux_event_read, ntux_event_reset, ntux_event_set};
use crate::mutex::{ntux_mutex_create, ntux_mutex_kill, ntux_mutex_read, ntux_mutex_unlock};
use crate::semaphore::{ntux_semaphore_create, ntux_semaphore_read, ntux_semaphore_release};

/// Systems compose a request's number differently, except for these 16 bits: the driver's letter, and which request it is.
const fn request(which: u16) -> u16 {
    (b'N' as u16) << 8 | which
}

const CREATE_SEM: u16 = request(0x80);
const SEM_RELEASE: u16 = request(0x81);
const CREATE_MUTEX: u16 = request(0x84);
const MUTEX_UNLOCK: u16 = request(0x85);
const MUTEX_KILL: u16 = request(0x86);
const CREATE_EVENT: u16 = request(0x87);
const EVENT_SET: u16 = request(0x88);
const EVENT_RESET: u16 = request(0x89);
const EVENT_PULSE: u16 = request(0x8a);
const SEM_READ: u16 = request(0x8b);
const MUTEX_READ: u16 = request(0x8c);
const EVENT_READ: u16 = request(0x8d);

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ntux_request(arena: *const Arena, object: *mut u64, request: u32, words: *mut u32) -> c_int {
    let bad = call(|| {
        // SAFETY: the header asks for places that may be written.
        unsafe { (Place::required(object)?, Place::required(words)?) };
        Ok(())
    });
    if bad != 0 {
        return bad;
    }
    // SAFETY: by the contract, and neither place is null or misaligned.
    match unsafe { perform(arena, object, request, words) } {
        // The driver has one error for these.
        refused if [ANOTHER_KIND, NO_OWNER].map(|refusal| -refusal.0).contains(&refused) => -libc::EINVAL,
        result => result,
    }
}

/// # Safety
///
/// As for `ntux_request`; `object` and `words` are neither null nor misaligned.
unsafe fn perform(arena: *const Arena, object: *mut u64, request: u32, words: *mut u32) -> c_int {
    let second = words.wrapping_add(1);
    // SAFETY: neither null nor misaligned, so by the contract a number, and the words of this request, of which those that
    // the program has to write are read. The functions want no more of their places than the header does.
    unsafe {
        match request as u16 {
            CREATE_SEM => ntux_semaphore_create(arena, *words, *second, object),
            CREATE_MUTEX => ntux_mutex_create(arena, *words, *second, object),
            CREATE_EVENT => ntux_event_create(arena, *words, *second, object),
            SEM_RELEASE => ntux_semaphore_release(arena, *object, *words, words),
            MUTEX_UNLOCK => ntux_mutex_unlock(arena, *object, *words, second),
            MUTEX_KILL => ntux_mutex_kill(arena, *object, *words),
            EVENT_SET => ntux_event_set(arena, *object, words),
            EVENT_RESET => ntux_event_reset(arena, *object, words),
            EVENT_PULSE => ntux_event_pulse(arena, *object, words),
            SEM_READ => ntux_semaphore_read(arena, *object, words, second),
            MUTEX_READ => ntux_mutex_read(arena, *object, words, second),
            EVENT_READ => ntux_event_read(arena, *object, words, second),
            _ => -libc::ENOTTY,
        }
    }
}
