// SPDX-License-Identifier: MIT OR Apache-2.0
//! A forked child, for tests that have the watchdog.

use crate::watchdog;

/// What `body` says in a child process, whose arena and handles are inherited.
pub fn says(body: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child only uses its own copies, makes no assumption about other threads, and leaves by `_exit`.
    match unsafe { libc::fork() } {
        -1 => panic!("fork: {}", std::io::Error::last_os_error()),
        0 => {
            watchdog::start();
            let good = body();
            // SAFETY: ends this process at once.
            unsafe { libc::_exit(i32::from(!good)) }
        }
        child => {
            let mut status = 0;
            // SAFETY: `status` is a place for the answer.
            assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
            status == 0
        }
    }
}
