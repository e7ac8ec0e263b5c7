// SPDX-License-Identifier: MIT OR Apache-2.0
//! Takes note of copies that messages carry to other processes, and bring from them.

use crate::c_library::{fail, next};
use crate::descriptors::{self, Moment, receiving, sending};
use crate::device::using;
use core::ffi::{c_int, c_long, c_uint};

/// Notes copies that another process gets.
#[unsafe(link_section = ".text.ntux_start")]
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sendmsg(fd: c_int, message: *const libc::msghdr, flags: c_int) -> isize {
    // SAFETY: the caller's own arguments.
    send(fd, message as usize, || unsafe { next::sendmsg(fd, message, flags) } as c_long) as isize
}

#[inline(always)]
pub(super) fn send(fd: c_int, message: usize, real: impl FnOnce() -> c_long) -> c_long {
    let announced = sending::sent(fd, message);
    let result = real();
    sending::refused(announced, message, result as isize);
    result
}

/// Notes copies that another process gets.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sendmmsg(fd: c_int, messages: *mut libc::mmsghdr, count: c_uint, flags: c_int) -> c_int {
    // SAFETY: the caller's own arguments.
    send_many(fd, messages as usize, count, || unsafe { next::sendmmsg(fd, messages, count, flags) }.into()) as c_int
}

#[inline(always)]
pub(super) fn send_many(fd: c_int, messages: usize, count: c_uint, real: impl FnOnce() -> c_long) -> c_long {
    let announced = sending::sent_many(fd, messages, count);
    let result = real();
    sending::refused_many(announced, messages, count, result as c_int);
    result
}

/// Takes note of copies that come from another process.
#[unsafe(link_section = ".text.ntux_start")]
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn recvmsg(fd: c_int, message: *mut libc::msghdr, flags: c_int) -> isize {
    // SAFETY: the caller's own arguments.
    receive(message as usize, flags, || unsafe { next::recvmsg(fd, message, flags) } as c_long) as isize
}

#[inline(always)]
pub(super) fn receive(message: usize, flags: c_int, real: impl FnOnce() -> c_long) -> c_long {
    let before = Moment::now();
    let result = real();
    if result >= 0 {
        receiving::received(message, flags, before);
    }
    result
}

/// Takes note of copies that come from another process.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn recvmmsg(
    fd: c_int,
    messages: *mut libc::mmsghdr,
    count: c_uint,
    flags: c_int,
    timeout: *mut libc::timespec,
) -> c_int {
    // SAFETY: the caller's own arguments.
    receive_many(messages as usize, flags, || unsafe { next::recvmmsg(fd, messages, count, flags, timeout) }.into())
        as c_int
}

#[inline(always)]
pub(super) fn receive_many(messages: usize, flags: c_int, real: impl FnOnce() -> c_long) -> c_long {
    let before = Moment::now();
    let result = real();
    if result > 0 {
        receiving::received_many(messages, result as c_uint, flags, before);
    }
    result
}

/// Takes note of a copy that is taken out of another process.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pidfd_getfd(process: c_int, fd: c_int, flags: c_uint) -> c_int {
    // SAFETY: the caller's own arguments.
    take(|| unsafe { next::pidfd_getfd(process, fd, flags) }.into()) as c_int
}

#[inline(always)]
pub(super) fn take(real: impl FnOnce() -> c_long) -> c_long {
    let result = real();
    if result < 0 || may_keep(result as c_int) { result } else { fail(libc::EBADF).into() }
}

fn may_keep(fd: c_int) -> bool {
    descriptors::forget(fd);
    !using::uses(fd) || receiving::taken(fd)
}
