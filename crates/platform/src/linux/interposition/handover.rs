//! Passes a descriptor to another process over a local socket.
#![allow(clippy::unnecessary_cast, reason = "musl has other types for the same fields")]

use core::mem::{MaybeUninit, size_of};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

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
pub fn send(socket: &UnixStream, mut byte: u8, fd: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let mut rights = Rights { fd: fd.map_or(-1, |fd| fd.as_raw_fd()), ..Rights::empty() };
    rights.header.cmsg_len = LENGTH as _;
    rights.header.cmsg_level = libc::SOL_SOCKET;
    rights.header.cmsg_type = libc::SCM_RIGHTS;
    with_message(&mut byte, fd.is_some().then_some(&mut rights), |message| {
        // SAFETY: a message of one byte and at most one control message, which live during the call.
        unsafe { libc::sendmsg(socket.as_raw_fd(), message, libc::MSG_NOSIGNAL) }
    })
    .map(drop)
}

/// Receives a byte, and a descriptor if one came with it. `UnexpectedEof` if the other end is closed.
pub fn receive(socket: &UnixStream) -> io::Result<(u8, Option<OwnedFd>)> {
    let mut byte = 0;
    let mut rights = Rights::empty();
    let received = with_message(&mut byte, Some(&mut rights), |message| {
        // SAFETY: room for one byte and one control message, which live during the call.
        unsafe { libc::recvmsg(socket.as_raw_fd(), message, libc::MSG_CMSG_CLOEXEC) }
    })?;
    if received == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let is_descriptor = rights.header.cmsg_type == libc::SCM_RIGHTS && rights.header.cmsg_len as usize >= LENGTH;
    // SAFETY: the kernel has just made this descriptor for us.
    Ok((byte, is_descriptor.then(|| unsafe { OwnedFd::from_raw_fd(rights.fd) })))
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
        message.msg_controllen = size_of::<Rights>() as _; // musl has a narrower one
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
}
