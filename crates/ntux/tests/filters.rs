// SPDX-License-Identifier: MIT OR Apache-2.0
//! Descriptors of queues in a sandbox that closes while the program runs. The one test installs a filter in its thread, and this process
//! does without io_uring from then on.
#![cfg(target_os = "linux")]

#[path = "../../platform/tests/readable/readable.rs"]
#[expect(dead_code, reason = "the process has its filter")]
mod readable;
#[path = "../../platform/tests/seccomp/rule.rs"]
mod seccomp;

use std::time::Duration;

use ntux::{Arena, Capacity, Deadline, Error, Queue, Wait, within};
use ntux_platform::wake_descriptor::why_no_ring;
use readable::{LONG_MS, becomes_readable, settles};
use seccomp::Rule;

const IO_URING_ENTER: libc::c_long = 426;

#[test]
fn descriptors_that_are_made_after_a_filter_was_installed_work() {
    let arena = Arena::create(Capacity { objects: 64, waiters: 64 }).unwrap();
    let is_ring = why_no_ring().is_none();
    let before = Queue::create(&arena).unwrap();
    before.fd().unwrap();
    Rule::errno(IO_URING_ENTER, libc::EPERM).install().unwrap();
    for key in 0..2 {
        let queue = Queue::create(&arena).unwrap();
        let (fd, is_empty) = (queue.fd().unwrap(), || assert_eq!(queue.next(Deadline::NOW), Err(Error::TimedOut)));
        settles(fd, is_empty);
        queue.post(key).unwrap();
        assert!(becomes_readable(fd, LONG_MS));
        assert_eq!(queue.next(Deadline::NOW).unwrap().key, key);
        settles(fd, is_empty);
    }
    let soon = Wait::by(1).until(within(Duration::from_millis(2)));
    assert_eq!(arena.wait_any_or_poll(&[], &mut [], soon), Err(Error::TimedOut));
    // The descriptor that was made before says why it is of no use.
    before.post(3).unwrap();
    assert_eq!(before.next(Deadline::NOW).unwrap().key, 3);
    let refused = if is_ring { Error::Os(libc::EPERM) } else { Error::TimedOut };
    assert_eq!(before.next(Deadline::NOW), Err(refused));
}
