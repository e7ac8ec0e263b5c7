// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests that change their process run in one of their own: the same program, told to run that one test.

use std::os::fd::IntoRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus};

use crate::systems::IS_MACOS;

const MARK: &str = "NTUX_WATCH_TEST_CHILD";

/// What a test's own process starts with.
pub struct Child {
    command: Command,
}

/// Returns whether this is the test's own process.
pub fn is_child() -> bool {
    std::env::var_os(MARK).is_some()
}

/// The same test, in a process of its own. `test` is its path, such as `fork::in_a_child`.
pub fn child(test: &str) -> Child {
    let program = std::env::current_exe().expect("path of the test");
    let mut command = if IS_MACOS { Command::new(program) } else { by_descriptor(&program) };
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]).env(MARK, "1");
    Child { command }
}

/// A child that drops privileges could not walk to the program by its path. The descriptor stays open for the child.
fn by_descriptor(program: &Path) -> Command {
    let fd = std::fs::File::open(program).expect("the test itself").into_raw_fd();
    let mut command = Command::new(format!("/proc/self/fd/{fd}"));
    // SAFETY: fcntl is async-signal-safe; the descriptor is the child's own copy.
    unsafe {
        command.pre_exec(move || {
            if libc::fcntl(fd, libc::F_SETFD, 0) < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) }
        })
    };
    command
}

impl Child {
    pub fn env(mut self, name: &str, value: &str) -> Child {
        self.command.env(name, value);
        self
    }

    /// Runs something between fork and exec. It may only do what a signal handler may.
    pub fn prepare(mut self, prepare: impl FnMut() -> std::io::Result<()> + Send + Sync + 'static) -> Child {
        // SAFETY: the callers in this crate make system calls and nothing else.
        unsafe { self.command.pre_exec(prepare) };
        self
    }

    /// Runs it; how it ended, and what it printed.
    pub fn run(mut self) -> (ExitStatus, String) {
        let output = self.command.output().expect("the test can be started again");
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        (output.status, text)
    }

    /// Runs it; it must pass.
    pub fn must_pass(self) {
        let (status, text) = self.run();
        assert!(status.success() && text.contains("1 passed"), "{status}\n{text}");
    }

    /// Runs it; it must be killed by this signal.
    pub fn must_die_of(self, signal: i32) {
        let (status, text) = self.run();
        assert_eq!(status.signal(), Some(signal), "{status}\n{text}");
    }
}
