// SPDX-License-Identifier: MIT OR Apache-2.0
//! Closes and copies descriptors.

use crate::c_library::next;
use crate::descriptors::{self, Copying};
use core::ffi::{c_int, c_long, c_uint, c_void};

macro_rules! closing {
    ($($name:ident;)*) => {
        $(
            /// Forgets the descriptor.
            #[unsafe(link_section = ".text.ntux_start")]
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $name(fd: c_int) -> c_int {
                // SAFETY: the caller's own argument.
                descriptors::released_by(fd, true, || unsafe { next::close(fd) }.into()) as c_int
            }
        )*
    };
}

closing! {
    close;
    __close;
}

/// Forgets the descriptor: a message queue is one.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn mq_close(queue: c_int) -> c_int {
    // SAFETY: the caller's own argument.
    descriptors::closed_by(queue, || unsafe { next::mq_close(queue) })
}

/// Counts the copy.
#[unsafe(link_section = ".text.ntux_start")]
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn dup(old: c_int) -> c_int {
    // SAFETY: the caller's own argument.
    counting_copy(old, || unsafe { next::dup(old) }.into()) as c_int
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

macro_rules! replacing_functions {
    ($($name:ident;)*) => {
        $(
            /// Forgets the replaced descriptor, and counts the copy.
            #[unsafe(link_section = ".text.ntux_start")]
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $name(old: c_int, new: c_int) -> c_int {
                // SAFETY: the caller's own arguments.
                replacing(old, new, || unsafe { next::dup2(old, new) }.into()) as c_int
            }
        )*
    };
}

replacing_functions! {
    dup2;
    __dup2;
}

/// Forgets the replaced descriptor, and counts the copy.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn dup3(old: c_int, new: c_int, flags: c_int) -> c_int {
    // SAFETY: the caller's own arguments.
    replacing(old, new, || unsafe { next::dup3(old, new, flags) }.into()) as c_int
}

/// Forgets the descriptors.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    close_all(first, last, flags, || really_close_range(first, last, flags))
}

fn really_close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    // SAFETY: the descriptors are the program's, which asks for it.
    unsafe { next::close_range(first, last, flags) }
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
        // As the C library does it, in case it has no such function.
        if really_close_range(from, c_uint::MAX, 0) != 0 {
            // SAFETY: the caller's own argument.
            unsafe { next::closefrom(first) };
        }
    });
}

/// Forgets the first three descriptors, which it replaces.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn daemon(stay: c_int, keep: c_int) -> c_int {
    // SAFETY: the caller's own arguments.
    descriptors::all_closed_by(0, 2, || unsafe { next::daemon(stay, keep) })
}

/// Forgets the first three descriptors, which it replaces, and the terminal's, which it closes.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn login_tty(fd: c_int) -> c_int {
    // SAFETY: the caller's own argument.
    descriptors::all_closed_by(0, 2, || descriptors::closed_by(fd, || unsafe { next::login_tty(fd) }))
}

/// Notes that threads no longer share their descriptors.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn unshare(flags: c_int) -> c_int {
    part(flags);
    // SAFETY: the caller's own argument.
    unsafe { next::unshare(flags) }
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

macro_rules! descriptor_control {
    ($($name:ident => $next:ident;)*) => {
        $(
            /// Counts copies.
            #[unsafe(link_section = ".text.ntux_start")]
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $name(fd: c_int, command: c_int, argument: usize) -> c_int {
                // SAFETY: the caller's own arguments.
                let real = || unsafe { next::$next(fd, command, argument) };
                if is_copy(command) { counting_copy(fd, || real().into()) as c_int } else { real() }
            }
        )*
    };
}

descriptor_control! {
    fcntl => fcntl;
    fcntl64 => fcntl64;
    __fcntl => fcntl;
}

/// Notes a copy that another program gets.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn posix_spawn_file_actions_adddup2(actions: *mut c_void, fd: c_int, new: c_int) -> c_int {
    descriptors::starting::by_actions(fd);
    // SAFETY: the caller's own arguments.
    unsafe { next::posix_spawn_file_actions_adddup2(actions, fd, new) }
}
