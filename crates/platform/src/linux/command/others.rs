// SPDX-License-Identifier: MIT OR Apache-2.0
//! How to look at other processes without doing anything to them.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::linux::proc;

/// Opens a file to read it, if it is a regular one, or shared memory; none if it is something else. Opening that could wait, or do
/// things, and a path such as `/proc/PID/fd/N` can lead to something else at any time: so the file is held by a descriptor that
/// only names it, looked at, and opened through that.
pub fn open_regular(path: &Path) -> io::Result<Option<OwnedFd>> {
    let named = std::fs::File::options().read(true).custom_flags(libc::O_PATH).open(path)?;
    if !named.metadata()?.is_file() {
        return Ok(None);
    }
    proc::open_descriptor(named.as_raw_fd(), libc::O_RDONLY).map(Some)
}

/// Returns whether two threads have the same table of descriptors; none if the kernel does not say, or one of them is
/// gone.
pub fn share_descriptors(one: u32, other: u32) -> Option<bool> {
    const KCMP_FILES: libc::c_int = 2;
    // SAFETY: a call that touches no memory.
    match unsafe { libc::syscall(libc::SYS_kcmp, one, other, KCMP_FILES, 0, 0) } {
        0 => Some(true),
        1.. => Some(false),
        _ => None,
    }
}
