// SPDX-License-Identifier: MIT OR Apache-2.0
//! Descriptors that become readable, for the tests of every crate: by each mechanism.

use std::os::fd::{AsRawFd, BorrowedFd};
use std::process::Command;

/// Longer than anything takes that happens.
pub const LONG_MS: i32 = 60_000;

/// Returns false if nothing happens for this long.
pub fn becomes_readable(fd: BorrowedFd<'_>, within_ms: i32) -> bool {
    let mut polled = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    loop {
        // SAFETY: one entry, which outlives the call.
        match unsafe { libc::poll(&mut polled, 1, within_ms) } {
            -1 => assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(libc::EINTR)),
            ready => return ready == 1,
        }
    }
}

/// It may be readable for nothing, but not for ever: who looks finds nothing, and that arms it.
pub fn settles(fd: BorrowedFd<'_>, look: impl Fn()) {
    for _ in 0..1000 {
        if !becomes_readable(fd, 20) {
            return;
        }
        look();
    }
    panic!("it is always readable");
}

/// This program, in a process without io_uring.
pub fn without_rings() -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env("NTUX_WITHOUT", "io_uring");
    command
}

/// Runs the other tests by this command. The names of those that do so contain `mechanism`.
pub fn again(command: &mut Command) {
    let output = command.args(["--skip", "mechanism", "--test-threads=2"]).output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stdout));
}
