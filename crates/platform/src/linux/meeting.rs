// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files by which processes find each other, and descriptors of other processes, by /proc.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};

use super::{Linux, proc};
use crate::meeting::Meetings;
use crate::memory::owned;
use crate::path::Path;
use crate::{environment, liveness};

/// Somebody may remove the file again and again; nobody does so for long.
const TRIES: u32 = 1000;

impl Meetings for Linux {
    fn place(name: &CStr, start: &[u8]) -> io::Result<OwnedFd> {
        let directory = directory()?;
        for _ in 0..TRIES {
            match open_in(&directory, name) {
                Err(error) if error.raw_os_error() == Some(libc::ENOENT) => {}
                other => return other,
            }
            match make_in(&directory, name, start) {
                Err(error) if error.raw_os_error() == Some(libc::EEXIST) => {}
                other => return other,
            }
        }
        Err(io::Error::from_raw_os_error(libc::EAGAIN))
    }

    fn file_of(pid: u32, fd: u32, inode: u64) -> io::Result<OwnedFd> {
        let opened = proc::Entry::of(pid).open_file(fd, inode, libc::O_RDWR | libc::O_NOCTTY);
        match opened {
            Err(error) if error.kind() == io::ErrorKind::NotFound && is_hidden(pid) => {
                Err(io::Error::from_raw_os_error(libc::EACCES))
            }
            opened => opened,
        }
    }
}

/// Returns true if a process has this number which /proc does not show: it hides from this one (`hidepid`), or there is no /proc, or
/// that of another namespace.
fn is_hidden(pid: u32) -> bool {
    let entry = Path::new(format_args!("/proc/{pid}"));
    // SAFETY: a terminated path.
    let is_shown = unsafe { libc::access(entry.as_ptr(), libc::F_OK) } == 0;
    // It is asked last: a process that has ended meanwhile is not shown either.
    !is_shown && !liveness::is_number_free(pid)
}

/// The user's directory, which is nobody else's. Makes it if it is not there.
fn directory() -> io::Result<OwnedFd> {
    // SAFETY: asks for a number.
    let user = unsafe { libc::geteuid() };
    let path = match runtime_directory() {
        Some(path) => [path.to_bytes(), b"/ntux"].concat(),
        None => format!("/dev/shm/ntux-{user}").into_bytes(),
    };
    let path = CString::new(path)?;
    // SAFETY: a terminated path.
    let made = unsafe { libc::mkdir(path.as_ptr(), 0o700) } == 0;
    if !made && crate::errno() != libc::EEXIST {
        return Err(io::Error::last_os_error());
    }
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    // SAFETY: as above.
    let directory = owned(unsafe { libc::open(path.as_ptr(), flags) })?;
    let status = super::memory::status(&directory)?;
    if status.st_uid != user || status.st_mode & 0o077 != 0 {
        return Err(io::Error::from_raw_os_error(libc::EPERM));
    }
    Ok(directory)
}

/// What the variable says, if this program may believe its environment. (One that runs as another user than who started it may not.)
fn runtime_directory() -> Option<&'static CStr> {
    // SAFETY: asks for a number.
    let is_foreign = unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
    environment::value(c"XDG_RUNTIME_DIR").filter(|path| !is_foreign && path.to_bytes().starts_with(b"/"))
}

fn open_in(directory: &OwnedFd, name: &CStr) -> io::Result<OwnedFd> {
    let flags = libc::O_RDWR | libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC;
    // SAFETY: a descriptor of ours, and a terminated name.
    let file = owned(unsafe { libc::openat(directory.as_raw_fd(), name.as_ptr(), flags) })?;
    // SAFETY: asks for a number.
    let user = unsafe { libc::geteuid() };
    match super::memory::status(&file)?.st_uid == user {
        true => Ok(file),
        false => Err(io::Error::from_raw_os_error(libc::EPERM)),
    }
}

/// The file gets its name when it is whole.
fn make_in(directory: &OwnedFd, name: &CStr, start: &[u8]) -> io::Result<OwnedFd> {
    let flags = libc::O_RDWR | libc::O_TMPFILE | libc::O_CLOEXEC;
    // SAFETY: a descriptor of ours, and a terminated path.
    let file = owned(unsafe { libc::openat(directory.as_raw_fd(), c".".as_ptr(), flags, 0o600) })?;
    File::from(file.try_clone()?).write_all(start)?;
    let mut linked = Err(io::Error::from_raw_os_error(libc::ENOSYS));
    for path in proc::own_descriptor_paths(file.as_raw_fd()) {
        // SAFETY: terminated paths, and a descriptor of ours.
        let result = unsafe {
            libc::linkat(libc::AT_FDCWD, path.as_ptr(), directory.as_raw_fd(), name.as_ptr(), libc::AT_SYMLINK_FOLLOW)
        };
        linked = if result == 0 { Ok(file.try_clone()?) } else { Err(io::Error::last_os_error()) };
        if !matches!(&linked, Err(error) if error.raw_os_error() == Some(libc::ENOENT)) {
            break;
        }
    }
    linked
}
