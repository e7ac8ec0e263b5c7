// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where a traced program leaves its arenas: a socket in a directory that only this user can enter.
//!
//! The other half is `traced.rs` of the library that is loaded into the program. A message is a byte and a descriptor, and
//! it waits here also when its sender has ended. A path, and not an abstract name: containers often share the directory
//! of temporary files, and seldom the network; and nobody else can send here.

use std::fs::Permissions;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

use ntux_platform::interposition::handover::receive;
use tempfile::TempDir;

/// Messages that are taken at a time; the others stay.
const AT_ONCE: usize = 1024;

pub struct Inbox {
    socket: UnixDatagram,
    place: TempDir,
}

impl Inbox {
    pub fn open() -> io::Result<Inbox> {
        let private = Permissions::from_mode(0o700);
        let place = tempfile::Builder::new().prefix("ntux-trace-").permissions(private).tempdir()?;
        let socket = UnixDatagram::bind(socket_in(&place))?;
        socket.set_nonblocking(true)?;
        Ok(Inbox { socket, place })
    }

    pub fn path(&self) -> PathBuf {
        socket_in(&self.place)
    }

    /// What has been handed over since the last time. Whatever it is: anybody whom the user started can send.
    pub fn take(&self) -> Vec<OwnedFd> {
        let messages = (0..AT_ONCE).map(|_| receive(&self.socket));
        let is_the_last = |error: &io::Error| error.kind() == io::ErrorKind::WouldBlock;
        let messages = messages.take_while(|message| !message.as_ref().is_err_and(is_the_last));
        messages.filter_map(|message| message.ok()?.1).collect()
    }
}

impl AsFd for Inbox {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn socket_in(place: &TempDir) -> PathBuf {
    Path::new(place.path()).join("arenas")
}
