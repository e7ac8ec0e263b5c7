// SPDX-License-Identifier: MIT OR Apache-2.0
//! Closes and copies descriptors.

use crate::c_library::next;
use crate::descriptors::{self, Copying};
use core::ffi::{c_int, c_long, c_uint, c_void};

interposed! {
    in ".text.ntux_start";
    // They forget the descriptor.
    fn close(fd: c_int) -> c_int => |real| descriptors::released_by(fd, true, || real().into()) as c_int;
    fn __close(fd: c_int) -> c_int as close => |real| descriptors::released_by(fd, true, || real().into()) as c_int;
    // It counts the copy.
    fn dup(old: c_int) -> c_int => |real| counting_copy(old, || real().into()) as c_int;
    // They forget the replaced descriptor, and count the copy.
    fn dup2(old: c_int, new: c_int) -> c_int => |real| replacing(old, new, || real().into()) as c_int;
    fn __dup2(old: c_int, new: c_int) -> c_int as dup2 => |real| replacing(old, new, || real().into()) as c_int;
    // They count copies.
    fn fcntl(fd: c_int, command: c_int, argument: usize) -> c_int => |real| control(fd, command, real);
    fn fcntl64(fd: c_int, command: c_int, argument: usize) -> c_int => |real| control(fd, command, real);
    fn __fcntl(fd: c_int, command: c_int, argument: usize) -> c_int as fcntl => |real| control(fd, command, real);
}

interposed! {
    // It forgets the descriptor: a message queue is one.
    fn mq_close(queue: c_int) -> c_int => |real| descriptors::closed_by(queue, real);
    // It forgets the replaced descriptor, and counts the copy.
    fn dup3(old: c_int, new: c_int, flags: c_int) -> c_int => |real| replacing(old, new, || real().into()) as c_int;
    // It forgets the descriptors.
    fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int => |real| close_all(first, last, flags, real);
    // It forgets the first three descriptors, which it replaces.
    fn daemon(stay: c_int, keep: c_int) -> c_int => |real| descriptors::all_closed_by(0, 2, real);
    // It forgets the first three descriptors, which it replaces, and the terminal's, which it closes.
    fn login_tty(fd: c_int) -> c_int => |real| descriptors::all_closed_by(0, 2, || descriptors::closed_by(fd, real));
    // It notes that threads no longer share their descriptors.
    fn unshare(flags: c_int) -> c_int => |real| {
        part(flags);
        real()
    };
    // It notes a copy that another program gets.
    fn posix_spawn_file_actions_adddup2(actions: *mut c_void, fd: c_int, new: c_int) -> c_int => |real| {
        descriptors::starting::by_actions(fd);
        real()
    };
}

/// Makes a copy of a descriptor, which is counted if the descriptor is.
#[inline(always)]
pub(super) fn counting_copy(old: c_int, copy: impl FnOnce() -> c_long) -> c_long {
    counting_copy_onto(old, |_| copy())
}

#[inline(always)]
fn counting_copy_onto(old: c_int, copy: impl FnOnce(Option<&Copying>) -> c_long) -> c_long {
    let copying = descriptors::begin_copy(old);
    let result = copy(copying.as_ref());
    descriptors::end_copy(copying, result as c_int);
    result
}

/// Makes a copy of a descriptor in place of another one, which is closed.
#[inline(always)]
pub(super) fn replacing(old: c_int, new: c_int, copy: impl FnOnce() -> c_long) -> c_long {
    if old == new {
        return copy();
    }
    counting_copy_onto(old, |copying| descriptors::replaced_by(copying, new, copy))
}

#[inline(always)]
pub(super) fn close_all<R>(first: c_uint, last: c_uint, flags: c_int, real: impl FnOnce() -> R) -> R {
    if flags as c_uint & libc::CLOSE_RANGE_UNSHARE != 0 {
        descriptors::parting();
    }
    descriptors::all_closed_by(first, last, real)
}

/// Forgets the descriptors.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn closefrom(first: c_int) {
    let from = first.max(0) as c_uint;
    descriptors::all_closed_by(from, c_uint::MAX, || {
        // SAFETY: the descriptors are the program's, which asks for it. As the C library does it, in case it has no such function.
        unsafe {
            if next::close_range(from, c_uint::MAX, 0) != 0 {
                next::closefrom(first);
            }
        }
    });
}

#[inline(always)]
pub(super) fn part(flags: c_int) {
    if flags & libc::CLONE_FILES != 0 {
        descriptors::parting();
    }
}

#[inline(always)]
pub(super) fn is_copy(command: c_int) -> bool {
    matches!(command, libc::F_DUPFD | libc::F_DUPFD_CLOEXEC)
}

#[inline(always)]
fn control(fd: c_int, command: c_int, real: impl FnOnce() -> c_int) -> c_int {
    if is_copy(command) { counting_copy(fd, || real().into()) as c_int } else { real() }
}
