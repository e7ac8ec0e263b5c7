// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sleeps until a descriptor has something to read.

use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// Sleeps until one of the descriptors is readable, a signal arrives, or `time` has passed. Returns which descriptors are
/// readable.
pub fn wait_readable<const N: usize>(descriptors: [BorrowedFd<'_>; N], time: Option<Duration>) -> [bool; N] {
    let mut entries = descriptors.map(|fd| libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 });
    // Rounded up; otherwise the last part of a millisecond would be spent polling.
    let milliseconds = time.map_or(-1, |time| time.as_micros().div_ceil(1000).min(i32::MAX as u128) as i32);
    // SAFETY: as many entries as said.
    unsafe { libc::poll(entries.as_mut_ptr(), N as libc::nfds_t, milliseconds) };
    entries.map(|entry| entry.revents != 0)
}
