// SPDX-License-Identifier: MIT OR Apache-2.0
//! The interface of the kernel's newer futex calls: numbers, flags, structure and times, for calls and probes.

use crate::clock::Deadline;
use crate::kernel_futex::Scope;

pub(crate) const SYS_FUTEX_WAITV: libc::c_long = 449;
pub(crate) const SYS_FUTEX_WAKE: libc::c_long = 454;
pub(crate) const SYS_FUTEX_WAIT: libc::c_long = 455;
pub(crate) const SYS_FUTEX_REQUEUE: libc::c_long = 456;

const SIZE_U32: u32 = 2;
const NUMA: u32 = 4;
const PRIVATE: u32 = 128;

/// The flags of a word of 32 bits, with or without a node.
pub(crate) fn flags(scope: Scope, numa: bool) -> u32 {
    SIZE_U32 | if scope == Scope::Private { PRIVATE } else { 0 } | if numa { NUMA } else { 0 }
}

/// The kernel's `struct futex_waitv`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Waitv {
    value: u64,
    address: u64,
    flags: u32,
    reserved: u32,
}

impl Waitv {
    /// An unused entry.
    pub const NOWHERE: Waitv = Waitv { value: 0, address: 0, flags: 0, reserved: 0 };

    /// A word, its expected value, and its [`flags`].
    pub fn new(address: *const u32, expected: u32, flags: u32) -> Waitv {
        Waitv { value: expected.into(), address: address as u64, flags, reserved: 0 }
    }
}

/// A deadline as a time (none without deadline), and its clock.
pub(crate) struct Until {
    time: Option<libc::timespec>,
    pub clock: libc::clockid_t,
}

impl Until {
    pub fn new(deadline: Deadline) -> Until {
        let timespec = |ns: u64| libc::timespec {
            // The quotient is below 2^35, so it fits every time_t of the supported platforms.
            tv_sec: (ns / 1_000_000_000) as _,
            tv_nsec: (ns % 1_000_000_000) as _,
        };
        match deadline {
            Deadline::Never => Until { time: None, clock: libc::CLOCK_MONOTONIC },
            Deadline::Monotonic(ns) => Until { time: Some(timespec(ns)), clock: libc::CLOCK_MONOTONIC },
            Deadline::Realtime(ns) => Until { time: Some(timespec(ns)), clock: libc::CLOCK_REALTIME },
        }
    }

    /// The time for the kernel; valid as long as this is.
    pub fn time(&self) -> *const libc::timespec {
        self.time.as_ref().map_or(core::ptr::null(), core::ptr::from_ref)
    }
}
