//! Sleeping until a descriptor has something to read.

use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// Sleeps until one of two descriptors has something to read, or a signal comes, or the time is over if there is one; which
/// of them have.
pub fn wait_readable(first: BorrowedFd<'_>, second: BorrowedFd<'_>, time: Option<Duration>) -> (bool, bool) {
    let entry = |fd: BorrowedFd<'_>| libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let mut entries = [entry(first), entry(second)];
    // Rounded up: the last part of a millisecond would be spent polling.
    let milliseconds = time.map_or(-1, |time| time.as_micros().div_ceil(1000).min(i32::MAX as u128) as i32);
    // SAFETY: two entries, as said.
    unsafe { libc::poll(entries.as_mut_ptr(), 2, milliseconds) };
    (entries[0].revents != 0, entries[1].revents != 0)
}
