// SPDX-License-Identifier: MIT OR Apache-2.0
//! The interface of `/dev/ntsync`: its numbers and structures.

use std::ffi::CStr;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

/// Where the device is.
pub const PATH: &CStr = c"/dev/ntsync";

/// The flag of a wait whose deadline is on the wall clock.
pub const WAIT_REALTIME: u32 = 1;

/// The deadline that never comes.
pub const NEVER: u64 = u64::MAX;

/// The ioctl numbers, for architectures with the generic encoding.
pub mod number {
    const WRITE: u32 = 1;
    const READ: u32 = 2;

    /// The number of an ioctl of this device: direction bits, number, size of the argument in bytes.
    pub const fn encode(direction: u32, number: u32, size: u32) -> u32 {
        direction << 30 | size << 16 | (b'N' as u32) << 8 | number
    }

    /// Creates a semaphore.
    pub const CREATE_SEM: u32 = encode(WRITE, 0x80, 8);
    /// Adds to a semaphore.
    pub const SEM_RELEASE: u32 = encode(READ | WRITE, 0x81, 4);
    /// Waits for any object.
    pub const WAIT_ANY: u32 = encode(READ | WRITE, 0x82, 40);
    /// Waits for all objects.
    pub const WAIT_ALL: u32 = encode(READ | WRITE, 0x83, 40);
    /// Creates a mutex.
    pub const CREATE_MUTEX: u32 = encode(WRITE, 0x84, 8);
    /// Unlocks a mutex.
    pub const MUTEX_UNLOCK: u32 = encode(READ | WRITE, 0x85, 8);
    /// Declares a mutex's owner dead.
    pub const MUTEX_KILL: u32 = encode(WRITE, 0x86, 4);
    /// Creates an event.
    pub const CREATE_EVENT: u32 = encode(WRITE, 0x87, 8);
    /// Sets an event.
    pub const EVENT_SET: u32 = encode(READ, 0x88, 4);
    /// Resets an event.
    pub const EVENT_RESET: u32 = encode(READ, 0x89, 4);
    /// Pulses an event.
    pub const EVENT_PULSE: u32 = encode(READ, 0x8a, 4);
    /// Reads a semaphore.
    pub const SEM_READ: u32 = encode(READ, 0x8b, 8);
    /// Reads a mutex.
    pub const MUTEX_READ: u32 = encode(READ, 0x8c, 8);
    /// Reads an event.
    pub const EVENT_READ: u32 = encode(READ, 0x8d, 8);

    /// Those that go to the device itself.
    pub const OF_DEVICE: [u32; 5] = [CREATE_SEM, CREATE_MUTEX, CREATE_EVENT, WAIT_ANY, WAIT_ALL];
    /// Those that go to an object.
    pub const OF_OBJECT: [u32; 9] =
        [SEM_RELEASE, MUTEX_UNLOCK, MUTEX_KILL, EVENT_SET, EVENT_RESET, EVENT_PULSE, SEM_READ, MUTEX_READ, EVENT_READ];
}

/// The arguments of a wait, as the device takes them.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitArgs {
    /// Deadline in nanoseconds.
    pub timeout: u64,
    /// Address of the descriptors.
    pub objs: u64,
    /// How many there are.
    pub count: u32,
    /// The result.
    pub index: u32,
    /// Bit 0: the deadline is on the wall clock.
    pub flags: u32,
    /// The owner that acquires mutexes.
    pub owner: u32,
    /// A descriptor, or 0 for none.
    pub alert: u32,
    /// Must be 0.
    pub pad: u32,
}

/// Opens the device with these flags: a new instance.
pub fn open(flags: i32) -> io::Result<OwnedFd> {
    // SAFETY: the path is a C string.
    match unsafe { libc::open(PATH.as_ptr(), flags) } {
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: the descriptor is new and nobody else's.
        fd => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
    }
}
