// SPDX-License-Identifier: MIT OR Apache-2.0
//! System calls that copy to or from the caller's memory.
#![allow(clippy::unnecessary_cast, reason = "musl has other types for the same fields")]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// `read`.
pub fn read(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the buffer is valid for its whole length, and the call writes no more.
    count(unsafe { libc::read(fd.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len()) })
}

/// `readv`.
pub fn readv(fd: BorrowedFd<'_>, buffers: &mut [io::IoSliceMut<'_>]) -> io::Result<usize> {
    let number = i32::try_from(buffers.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: an `IoSliceMut` is laid out as `iovec` on Unix, as the standard library guarantees; each names a valid
    // buffer.
    count(unsafe { libc::readv(fd.as_raw_fd(), buffers.as_mut_ptr().cast(), number) })
}

/// `recv`.
pub fn recv(fd: BorrowedFd<'_>, buffer: &mut [u8], flags: i32) -> io::Result<usize> {
    // SAFETY: the buffer is valid for its whole length, and the call writes no more.
    count(unsafe { libc::recv(fd.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), flags) })
}

/// The argument and result of `recvmsg`.
pub type Message = libc::msghdr;

/// `recvmsg`.
///
/// # Safety
/// What the message names is valid for the call.
pub unsafe fn recvmsg(fd: BorrowedFd<'_>, message: &mut Message, flags: i32) -> io::Result<usize> {
    // SAFETY: the caller's promise.
    count(unsafe { libc::recvmsg(fd.as_raw_fd(), message, flags) })
}

/// Every place that `recvmsg` may write to: address and length.
///
/// # Safety
/// The message's array of buffers is valid.
pub unsafe fn places(message: &Message) -> Vec<(usize, usize)> {
    let own = (core::ptr::from_ref(message) as usize, size_of::<Message>());
    let name = (message.msg_name as usize, message.msg_namelen as usize);
    let control = (message.msg_control as usize, message.msg_controllen as usize);
    let mut places = vec![own, name, control];
    for index in 0..message.msg_iovlen as usize {
        // SAFETY: the caller's promise: the array has so many entries.
        let buffer = unsafe { &*message.msg_iov.add(index) };
        places.push((buffer.iov_base as usize, buffer.iov_len));
    }
    places
}

fn count(result: libc::ssize_t) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}
