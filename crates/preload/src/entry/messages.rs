// SPDX-License-Identifier: MIT OR Apache-2.0
//! Takes note of copies that messages carry to other processes, and bring from them.

use crate::c_library::fail;
use crate::descriptors::{self, Moment, receiving, sending};
use crate::device::using;
use core::ffi::{c_int, c_long, c_uint};

interposed! {
    in ".text.ntux_start";
    // It notes copies that another process gets.
    fn sendmsg(fd: c_int, message: *const libc::msghdr, flags: c_int) -> isize => |real| {
        send(fd, message as usize, || real() as c_long) as isize
    };
    // It takes note of copies that come from another process.
    fn recvmsg(fd: c_int, message: *mut libc::msghdr, flags: c_int) -> isize => |real| {
        receive(message as usize, flags, || real() as c_long) as isize
    };
}

interposed! {
    // The same for several messages.
    fn sendmmsg(fd: c_int, messages: *mut libc::mmsghdr, count: c_uint, flags: c_int) -> c_int => |real| {
        send_many(fd, messages as usize, count, || real().into()) as c_int
    };
    fn recvmmsg(
        fd: c_int,
        messages: *mut libc::mmsghdr,
        count: c_uint,
        flags: c_int,
        timeout: *mut libc::timespec
    ) -> c_int => |real| receive_many(messages as usize, flags, || real().into()) as c_int;
    // It takes note of a copy that is taken out of another process.
    fn pidfd_getfd(process: c_int, fd: c_int, flags: c_uint) -> c_int => |real| take(|| real().into()) as c_int;
}

#[inline(always)]
pub(super) fn send(fd: c_int, message: usize, real: impl FnOnce() -> c_long) -> c_long {
    let announced = sending::sent(fd, message);
    let result = real();
    sending::refused(announced, message, result as isize);
    result
}

#[inline(always)]
pub(super) fn send_many(fd: c_int, messages: usize, count: c_uint, real: impl FnOnce() -> c_long) -> c_long {
    let announced = sending::sent_many(fd, messages, count);
    let result = real();
    sending::refused_many(announced, messages, count, result as c_int);
    result
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

#[inline(always)]
pub(super) fn receive_many(messages: usize, flags: c_int, real: impl FnOnce() -> c_long) -> c_long {
    let before = Moment::now();
    let result = real();
    if result > 0 {
        receiving::received_many(messages, result as c_uint, flags, before);
    }
    result
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
