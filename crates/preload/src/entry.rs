//! The C library's functions that this library stands in front of. Each decides quickly whether the call concerns us,
//! and if not, passes it on as it came.
//!
//! The frames here may be unwound (a cancelled `close`, a handler that ends its thread), so they have no destructors.

use crate::{
    actions, cancellation, descriptors, device, environment, ioctl as requests, leaving, log, next, node, signals,
    threads,
};
use core::ffi::{c_char, c_int, c_uint, c_ulong, c_void};
use libc::{AT_FDCWD, mode_t};

mod syscall;

/// Runs when the library is loaded.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = start;

extern "C" fn start() {
    next::resolve();
    next::resolve_syscall();
    threads::prepare();
    environment::device();
    environment::spin();
}

/// Runs when the program ends in order.
#[used]
#[unsafe(link_section = ".fini_array")]
static AT_EXIT: extern "C" fn() = log::at_exit;

macro_rules! open_by_path {
    ($($name:ident($($mode:ident)?);)*) => {
        $(
            /// Opens the device if the path means it.
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $name(path: *const c_char, flags: c_int $(, $mode: mode_t)?) -> c_int {
                // SAFETY: the caller's own arguments.
                unsafe { device::open(AT_FDCWD, path, flags, || next::$name(path, flags $(, $mode)?)) }
            }
        )*
    };
}

macro_rules! open_in_directory {
    ($($name:ident($($mode:ident)?);)*) => {
        $(
            /// Opens the device if the path means it.
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $name(
                directory: c_int,
                path: *const c_char,
                flags: c_int
                $(, $mode: mode_t)?
            ) -> c_int {
                // SAFETY: the caller's own arguments.
                unsafe { device::open(directory, path, flags, || next::$name(directory, path, flags $(, $mode)?)) }
            }
        )*
    };
}

open_by_path! {
    open(mode);
    open64(mode);
    __open_2();
    __open64_2();
}

open_in_directory! {
    openat(mode);
    openat64(mode);
    __openat_2();
    __openat64_2();
}

/// Says that the node is there.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn access(path: *const c_char, mode: c_int) -> c_int {
    // SAFETY: the caller's own arguments.
    unsafe { node::access(AT_FDCWD, path, mode, || next::access(path, mode)) }
}

/// Says that the node is there.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn faccessat(directory: c_int, path: *const c_char, mode: c_int, flags: c_int) -> c_int {
    // SAFETY: the caller's own arguments.
    unsafe { node::access(directory, path, mode, || next::faccessat(directory, path, mode, flags)) }
}

macro_rules! status_by_path {
    ($($name:ident($($version:ident)?);)*) => {
        $(
            /// Describes the node. (Programs built long ago say which version of the structure they know.)
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $name(
                $($version: c_int,)?
                path: *const c_char,
                status: *mut libc::stat,
            ) -> c_int {
                // SAFETY: the caller's own arguments.
                unsafe { node::stat(AT_FDCWD, path, status, || next::$name($($version,)? path, status)) }
            }
        )*
    };
}

status_by_path! {
    stat();
    stat64();
    lstat();
    lstat64();
    __xstat(version);
    __xstat64(version);
    __lxstat(version);
    __lxstat64(version);
}

macro_rules! status_in_directory {
    ($($name:ident;)*) => {
        $(
            /// Describes the node.
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $name(
                directory: c_int,
                path: *const c_char,
                status: *mut libc::stat,
                flags: c_int,
            ) -> c_int {
                // SAFETY: the caller's own arguments.
                unsafe { node::stat(directory, path, status, || next::$name(directory, path, status, flags)) }
            }
        )*
    };
}

status_in_directory! {
    fstatat;
    fstatat64;
}

/// Describes the node.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn statx(
    directory: c_int,
    path: *const c_char,
    flags: c_int,
    mask: c_uint,
    status: *mut libc::statx,
) -> c_int {
    // SAFETY: the caller's own arguments.
    unsafe { node::statx(directory, path, status, || next::statx(directory, path, flags, mask, status)) }
}

/// Serves the requests of the device and of objects.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn ioctl(fd: c_int, request: c_ulong, argument: *mut c_void) -> c_int {
    // The kernel looks at 32 bits of the request.
    let request_word = request as u32;
    if requests::is_ours(request_word)
        && let Some(result) = requests::serve(fd, request_word, argument as usize)
    {
        return result;
    }
    leaving::by_ioctl(fd, request_word);
    // SAFETY: the caller's own arguments.
    unsafe { next::ioctl(fd, request, argument) }
}

/// Drops what is known about the descriptor.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn close(fd: c_int) -> c_int {
    descriptors::closing(fd);
    // SAFETY: the caller's own argument.
    let result = unsafe { next::close(fd) };
    descriptors::forget(fd);
    result
}

/// Takes note of a copy that an exec keeps.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn dup(old: c_int) -> c_int {
    leaving::kept(old);
    // SAFETY: the caller's own argument.
    unsafe { next::dup(old) }
}

/// Drops what is known about the descriptor that is replaced, and takes note of a copy that an exec keeps.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn dup2(old: c_int, new: c_int) -> c_int {
    leaving::kept(old);
    descriptors::closing(new);
    // SAFETY: the caller's own arguments.
    let result = unsafe { next::dup2(old, new) };
    descriptors::forget(new);
    result
}

/// As `dup2`.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn dup3(old: c_int, new: c_int, flags: c_int) -> c_int {
    leaving::by_dup3(old, flags);
    descriptors::closing(new);
    // SAFETY: the caller's own arguments.
    let result = unsafe { next::dup3(old, new, flags) };
    descriptors::forget(new);
    result
}

/// Drops what is known about the descriptors.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    descriptors::within(first, last).for_each(descriptors::closing);
    // SAFETY: the caller's own arguments.
    let result = unsafe { next::close_range(first, last, flags) };
    descriptors::within(first, last).for_each(descriptors::forget);
    result
}

/// Drops what is known about the descriptors.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn closefrom(first: c_int) {
    let from = first.max(0) as c_uint;
    descriptors::within(from, c_uint::MAX).for_each(descriptors::closing);
    // SAFETY: the caller's own argument.
    unsafe { next::closefrom(first) };
    descriptors::within(from, c_uint::MAX).for_each(descriptors::forget);
}

macro_rules! descriptor_control {
    ($($name:ident;)*) => {
        $(
            /// Takes note of copies that an exec keeps.
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $name(fd: c_int, command: c_int, argument: usize) -> c_int {
                leaving::by_fcntl(fd, command, argument);
                // SAFETY: the caller's own arguments.
                unsafe { next::$name(fd, command, argument) }
            }
        )*
    };
}

descriptor_control! {
    fcntl;
    fcntl64;
}

/// Takes note of a copy that another program gets.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn posix_spawn_file_actions_adddup2(actions: *mut c_void, fd: c_int, new: c_int) -> c_int {
    leaving::kept(fd);
    // SAFETY: the caller's own arguments.
    unsafe { next::posix_spawn_file_actions_adddup2(actions, fd, new) }
}

/// Takes note of copies that another process gets.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sendmsg(fd: c_int, message: *const libc::msghdr, flags: c_int) -> isize {
    leaving::sent(message as usize);
    // SAFETY: the caller's own arguments.
    unsafe { next::sendmsg(fd, message, flags) }
}

/// Takes note of copies that another process gets.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sendmmsg(fd: c_int, messages: *mut libc::mmsghdr, count: c_uint, flags: c_int) -> c_int {
    leaving::sent_many(messages as usize, count);
    // SAFETY: the caller's own arguments.
    unsafe { next::sendmmsg(fd, messages, count, flags) }
}

macro_rules! changing_mask {
    ($($name:ident;)*) => {
        $(
            /// Takes note of the thread's new mask.
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $name(
                how: c_int,
                new: *const libc::sigset_t,
                old: *mut libc::sigset_t,
            ) -> c_int {
                // SAFETY: the caller's own arguments.
                let result = unsafe { next::$name(how, new, old) };
                if !new.is_null() && actions::active() {
                    signals::note_changed_mask();
                }
                result
            }
        )*
    };
}

changing_mask! {
    sigprocmask;
    pthread_sigmask;
}

/// Lets a thread that is inside this library come to its end first.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_cancel(thread: libc::pthread_t) -> c_int {
    // SAFETY: the caller's own argument.
    unsafe { cancellation::cancel(thread) }
}

/// Keeps the program's view of its handlers.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int {
    // SAFETY: the caller's own arguments.
    unsafe { actions::sigaction(signal, new, old) }
}

/// The same under glibc's other name.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __sigaction(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    // SAFETY: the caller's own arguments.
    unsafe { actions::sigaction(signal, new, old) }
}

macro_rules! as_signal {
    ($($name:ident => $install:path;)*) => {
        $(
            /// Installs a handler and returns the one before.
            #[unsafe(no_mangle)]
            extern "C-unwind" fn $name(signal: c_int, handler: usize) -> usize {
                $install(signal, handler)
            }
        )*
    };
}

as_signal! {
    signal => actions::signal;
    bsd_signal => actions::signal;
    ssignal => actions::signal;
    sysv_signal => one_shot;
    __sysv_signal => one_shot;
    sigset => set;
}

fn one_shot(signal: c_int, handler: usize) -> usize {
    actions::replace_handler(signal, handler, 0, libc::SA_RESETHAND | libc::SA_NODEFER)
}

/// `sigset`: a handler that also unblocks its signal, or `SIG_HOLD`, which blocks it.
fn set(signal: c_int, handler: usize) -> usize {
    const SIG_HOLD: usize = 2;
    if !(1..=64).contains(&signal) {
        crate::fail(libc::EINVAL);
        return libc::SIG_ERR;
    }
    let hold = handler == SIG_HOLD;
    let before = if hold { actions::handler(signal) } else { actions::replace_handler(signal, handler, 0, 0) };
    if before == libc::SIG_ERR {
        return before;
    }
    let how = if hold { libc::SIG_BLOCK } else { libc::SIG_UNBLOCK };
    if signals::change(how, signals::bit(signal)) & signals::bit(signal) != 0 { SIG_HOLD } else { before }
}

/// Ignores a signal.
#[unsafe(no_mangle)]
extern "C-unwind" fn sigignore(signal: c_int) -> c_int {
    if actions::replace_handler(signal, libc::SIG_IGN, 0, 0) == libc::SIG_ERR { -1 } else { 0 }
}

/// Says whether a signal interrupts calls.
#[unsafe(no_mangle)]
extern "C-unwind" fn siginterrupt(signal: c_int, interrupts: c_int) -> c_int {
    actions::siginterrupt(signal, interrupts != 0)
}
