// SPDX-License-Identifier: MIT OR Apache-2.0
//! What other processes have open.

use std::io::ErrorKind;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use super::stage::Child;
use super::{Outcome, ensure, failed};
use ntux_platform::contract::System;

/// A child and this process open each other's memory, and nothing else. Their lack is no fault.
pub(super) fn files_of_others<S: System>(limit: Duration) -> Outcome {
    let memory = S::create(c"meeting", 4096).map_err(failed("create"))?;
    let file = S::regular_file(memory.as_fd()).map_err(failed("regular_file"))?.ok_or("memory without an identity")?;
    let fd = memory.as_raw_fd() as u32;
    let own = match S::file_of(std::process::id(), fd, file.inode) {
        Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => return Ok(()),
        own => own.map_err(failed("file_of"))?,
    };
    ensure!(S::regular_file(own.as_fd()).is_ok_and(|found| found == Some(file)), "another file");
    let child = Child::start(|| {
        std::thread::sleep(Duration::from_secs(60));
        0
    })?;
    let of_child = S::file_of(child.pid, fd, file.inode).map_err(failed("file_of a child"))?;
    ensure!(S::regular_file(of_child.as_fd()).is_ok_and(|found| found == Some(file)), "another file of a child");
    let other = S::file_of(child.pid, fd, file.inode + 1).map(drop).map_err(|error| error.kind());
    ensure!(other == Err(ErrorKind::NotFound), "a file that is not meant: {other:?}");
    let pid = child.pid;
    child.kill();
    child.end(limit)?;
    let gone = S::file_of(pid, fd, file.inode).map(drop).map_err(|error| error.kind());
    ensure!(gone == Err(ErrorKind::NotFound), "a file of a process that is gone: {gone:?}");
    Ok(())
}
