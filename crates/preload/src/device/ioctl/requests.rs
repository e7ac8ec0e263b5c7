// SPDX-License-Identifier: MIT OR Apache-2.0
//! The numbers of the fourteen requests, and what their arguments consist of.

use crate::c_library::copy::WAIT_SIZE;

/// Composes the number of a request as the kernel's generic header does.
const fn number(direction: u32, nr: u32, size: usize) -> u32 {
    direction << 30 | (size as u32) << 16 | (LETTER as u32) << 8 | nr
}

const LETTER: u8 = b'N';

/// The program writes arguments.
const IN: u32 = 1;

/// The program reads results.
const OUT: u32 = 2;

pub(crate) const CREATE_SEM: u32 = number(IN, 0x80, size_of::<TwoWords>());

pub(crate) const SEM_RELEASE: u32 = number(IN | OUT, 0x81, size_of::<u32>());

pub(crate) const WAIT_ANY: u32 = number(IN | OUT, 0x82, WAIT_SIZE);

pub(crate) const WAIT_ALL: u32 = number(IN | OUT, 0x83, WAIT_SIZE);

pub(crate) const CREATE_MUTEX: u32 = number(IN, 0x84, size_of::<TwoWords>());

pub(crate) const MUTEX_UNLOCK: u32 = number(IN | OUT, 0x85, size_of::<TwoWords>());

pub(crate) const MUTEX_KILL: u32 = number(IN, 0x86, size_of::<u32>());

pub(crate) const CREATE_EVENT: u32 = number(IN, 0x87, size_of::<TwoWords>());

pub(crate) const EVENT_SET: u32 = number(OUT, 0x88, size_of::<u32>());

pub(crate) const EVENT_RESET: u32 = number(OUT, 0x89, size_of::<u32>());

pub(crate) const EVENT_PULSE: u32 = number(OUT, 0x8a, size_of::<u32>());

pub(crate) const SEM_READ: u32 = number(OUT, 0x8b, size_of::<TwoWords>());

pub(crate) const MUTEX_READ: u32 = number(OUT, 0x8c, size_of::<TwoWords>());

pub(crate) const EVENT_READ: u32 = number(OUT, 0x8d, size_of::<TwoWords>());

/// Semaphore: count, max. Mutex: owner, count. Event: manual, signaled.
pub(super) type TwoWords = [u32; 2];

/// The timeout is on the realtime clock.
pub(super) const REALTIME: u32 = 1;

pub(super) const OBJECTS_MAX: usize = ntux_sync::WAIT_MAX;

/// The fourteen, by the lowest byte.
const OURS: [u32; 14] = [
    CREATE_SEM,
    SEM_RELEASE,
    WAIT_ANY,
    WAIT_ALL,
    CREATE_MUTEX,
    MUTEX_UNLOCK,
    MUTEX_KILL,
    CREATE_EVENT,
    EVENT_SET,
    EVENT_RESET,
    EVENT_PULSE,
    SEM_READ,
    MUTEX_READ,
    EVENT_READ,
];

/// True if a request's number is one of the fourteen. The whole 32 bits count.
#[inline(always)]
pub(crate) fn is_ours(request: u32) -> bool {
    const FIRST: u8 = CREATE_SEM as u8;
    OURS.get(usize::from((request as u8).wrapping_sub(FIRST))) == Some(&request)
}
