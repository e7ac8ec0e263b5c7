// SPDX-License-Identifier: MIT OR Apache-2.0
//! Passes a descriptor to another process over a local socket.
#![allow(clippy::unnecessary_cast, reason = "musl has other types for the same fields")]

use core::mem::{MaybeUninit, size_of};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::{UnixDatagram, UnixStream};

use crate::linux::deadly::Call;

/// A control message with one descriptor, as in `linux/socket.h`, which is 8-byte aligned.
#[repr(C)]
struct Rights {
    header: libc::cmsghdr,
    fd: RawFd,
    padding: u32,
}

impl Rights {
    /// Room for a message.
    fn empty() -> Self {
        // SAFETY: all bytes zero is a value: numbers, and what musl pads them with.
        let header = unsafe { MaybeUninit::zeroed().assume_init() };
        Self { header, fd: -1, padding: 0 }
    }
}

const LENGTH: usize = size_of::<libc::cmsghdr>() + size_of::<RawFd>();

/// Sends a byte, with a copy of the descriptor if there is one. If the other end is closed, this fails and raises no
/// signal.
pub fn send(socket: &UnixStream, byte: u8, fd: Option<BorrowedFd<'_>>) -> io::Result<()> {
    with_copy(byte, fd, |message| {
        // SAFETY: a message of one byte and at most one control message, which live during the call.
        unsafe { libc::sendmsg(socket.as_raw_fd(), message, libc::MSG_NOSIGNAL) }
    })
}

/// Returns whether no filter kills the program for what [`post`] takes: a local socket, connected to a name, and a
/// message. Changes the error number.
pub fn may_post() -> bool {
    static CALLS: [Call; 3] = [
        Call::new(libc::SYS_socket, [libc::AF_UNIX as usize, libc::SOCK_DGRAM as usize]),
        Call::new(libc::SYS_connect, [usize::MAX, 0]),
        Call::new(libc::SYS_sendmsg, [usize::MAX, 0]),
    ];
    !Call::any_is_deadly(&CALLS)
}

/// Sends a byte and a copy of the descriptor, at once or not at all. This raises no signal. A library that stands in front
/// of `sendmsg` passes the real function as `sendmsg`.
pub fn post(
    socket: &UnixDatagram,
    byte: u8,
    fd: BorrowedFd<'_>,
    sendmsg: impl FnOnce(RawFd, *const libc::msghdr, libc::c_int) -> isize,
) -> io::Result<()> {
    let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
    with_copy(byte, Some(fd), |message| sendmsg(socket.as_raw_fd(), message, flags))
}

fn with_copy(
    mut byte: u8,
    fd: Option<BorrowedFd<'_>>,
    send: impl FnOnce(*mut libc::msghdr) -> isize,
) -> io::Result<()> {
    let mut rights = Rights { fd: fd.map_or(-1, |fd| fd.as_raw_fd()), ..Rights::empty() };
    rights.header.cmsg_len = LENGTH as _;
    rights.header.cmsg_level = libc::SOL_SOCKET;
    rights.header.cmsg_type = libc::SCM_RIGHTS;
    with_message(&mut byte, fd.is_some().then_some(&mut rights), send).map(drop)
}

/// Receives a byte, and a descriptor if one came with it; the kernel closes further ones. `UnexpectedEof` if the other end is
/// closed, or if a datagram is empty.
pub fn receive(socket: &impl AsFd) -> io::Result<(u8, Option<OwnedFd>)> {
    let mut byte = 0;
    let mut rights = Rights::empty();
    let received = with_message(&mut byte, Some(&mut rights), |message| {
        // SAFETY: room for one byte and one control message, which live during the call.
        unsafe { libc::recvmsg(socket.as_fd().as_raw_fd(), message, libc::MSG_CMSG_CLOEXEC) }
    })?;
    let is_descriptor = rights.header.cmsg_type == libc::SCM_RIGHTS && rights.header.cmsg_len as usize >= LENGTH;
    // SAFETY: the kernel has just made this descriptor for us.
    let fd = is_descriptor.then(|| unsafe { OwnedFd::from_raw_fd(rights.fd) });
    match received {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok((byte, fd)),
    }
}

fn with_message(
    byte: &mut u8,
    rights: Option<&mut Rights>,
    call: impl FnOnce(*mut libc::msghdr) -> isize,
) -> io::Result<usize> {
    let mut part = libc::iovec { iov_base: core::ptr::from_mut(byte).cast(), iov_len: 1 };
    // SAFETY: all bytes zero is a value: no address, no parts, no control messages.
    let mut message: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    message.msg_iov = &mut part;
    message.msg_iovlen = 1;
    if let Some(rights) = rights {
        message.msg_control = core::ptr::from_mut(rights).cast();
        // Room for one descriptor: with the padding it would be two. (musl has a narrower field.)
        message.msg_controllen = LENGTH as _;
    }
    usize::try_from(call(&mut message)).map_err(|_| io::Error::last_os_error())
}

/// The process at the other end: the one that connected, or the one that listens.
pub fn peer(socket: &UnixStream) -> io::Result<u32> {
    let mut found = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    let place = core::ptr::from_mut(&mut found).cast();
    // SAFETY: a place for the answer, of the given length.
    let result =
        unsafe { libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, place, &mut length) };
    if result == 0 { Ok(found.pid as u32) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn a_byte_comes_alone_or_with_a_descriptor() {
        let (here, there) = UnixStream::pair().unwrap();
        assert_eq!(peer(&here).unwrap(), std::process::id());
        let file = std::fs::File::open("/proc/self/status").unwrap();
        send(&here, 7, None).unwrap();
        send(&here, 8, Some(file.as_fd())).unwrap();
        assert!(matches!(receive(&there), Ok((7, None))));
        let (byte, fd) = receive(&there).unwrap();
        let fd = fd.unwrap();
        let link = std::fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd())).unwrap();
        assert_eq!((byte, link.file_name().unwrap().to_str()), (8, Some("status")));
        drop(here);
        assert_eq!(receive(&there).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert_eq!(send(&there, 1, None).unwrap_err().raw_os_error(), Some(libc::EPIPE));
    }

    fn post_own_status(socket: &UnixDatagram, byte: u8) -> io::Result<()> {
        let file = std::fs::File::open("/proc/self/status")?;
        // SAFETY: a message that lives during the call.
        post(socket, byte, file.as_fd(), |fd, message, flags| unsafe { libc::sendmsg(fd, message, flags) })
    }

    #[test]
    fn what_is_posted_waits_when_its_sender_is_gone_and_a_full_box_is_refused() {
        assert!(may_post());
        let (here, there) = UnixDatagram::pair().unwrap();
        let posted = (0..=u8::MAX).take_while(|byte| post_own_status(&here, *byte).is_ok()).count();
        // The kernel's default is 10; systemd raises it.
        if posted <= usize::from(u8::MAX) {
            assert_eq!(post_own_status(&here, 0).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        }
        drop(here);
        for byte in 0..posted {
            let (received, fd) = receive(&there).unwrap();
            assert!(usize::from(received) == byte && fd.is_some(), "{received} {byte}");
        }
        there.set_nonblocking(true).unwrap();
        assert!(receive(&there).is_err());
    }

    #[test]
    fn an_empty_datagram_is_no_message() {
        let (here, there) = UnixDatagram::pair().unwrap();
        here.send(&[]).unwrap();
        assert_eq!(receive(&there).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
