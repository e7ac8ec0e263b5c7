// SPDX-License-Identifier: MIT OR Apache-2.0
//! One descriptor in one message.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

/// Room for one descriptor: a header of 16 bytes, the number, and padding.
#[repr(C, align(8))]
struct Control([u8; 24]);

const HEADER: usize = 16;
const LENGTH: usize = HEADER + size_of::<RawFd>();

impl Control {
    fn new(fd: RawFd) -> Control {
        let mut bytes = [0; 24];
        bytes[..8].copy_from_slice(&LENGTH.to_ne_bytes());
        bytes[8..12].copy_from_slice(&libc::SOL_SOCKET.to_ne_bytes());
        bytes[12..HEADER].copy_from_slice(&libc::SCM_RIGHTS.to_ne_bytes());
        bytes[HEADER..LENGTH].copy_from_slice(&fd.to_ne_bytes());
        Control(bytes)
    }

    /// Calls `go` with a message of one byte and this.
    fn with_message(&mut self, go: impl FnOnce(*mut libc::msghdr) -> isize) -> io::Result<()> {
        let mut byte = 0u8;
        let mut part = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
        // SAFETY: msghdr is made of integers and pointers, for which zero is a value.
        let mut message: libc::msghdr = unsafe { core::mem::zeroed() };
        (message.msg_iov, message.msg_iovlen) = (&raw mut part, 1);
        (message.msg_control, message.msg_controllen) = (self.0.as_mut_ptr().cast(), self.0.len() as _);
        if go(&raw mut message) == 1 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

pub(super) fn send(socket: &UnixStream, fd: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: a whole message, alive during the call.
    let go = |message: *mut libc::msghdr| unsafe { libc::sendmsg(socket.as_raw_fd(), message, 0) };
    Control::new(fd.as_raw_fd()).with_message(go)
}

/// The descriptor closes at an exec.
pub(super) fn receive(socket: &UnixStream) -> io::Result<OwnedFd> {
    let mut control = Control::new(-1);
    // SAFETY: a whole message with room for one descriptor, alive during the call.
    control.with_message(|message| unsafe { libc::recvmsg(socket.as_raw_fd(), message, libc::MSG_CMSG_CLOEXEC) })?;
    match RawFd::from_ne_bytes([control.0[16], control.0[17], control.0[18], control.0[19]]) {
        -1 => Err(io::ErrorKind::InvalidData.into()),
        // SAFETY: the kernel has just given it to us.
        fd => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
    }
}
