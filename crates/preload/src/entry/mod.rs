//! The C library's functions on which this library interposes. Each decides quickly whether the call concerns ntux, and
//! if not, passes it on unchanged.
//!
//! What every process runs, and what most of them call, stands in one section: the kernel maps text in pieces of 64 KiB, and each
//! piece costs a fault at each start, and one more after each fork.
//!
//! The frames here may be unwound (by a cancelled `close`, or a handler that ends its thread), so they have no
//! destructors.

use crate::c_library::next;
use crate::descriptors::{self, Moment, leaving, receiving, starting};
use crate::device::{self, ioctl as requests, node};
use crate::report::{environment, log};
use crate::thread::{self, actions, cancellation, signals};
use core::ffi::{c_char, c_int, c_long, c_uint, c_ulong, c_void};
use libc::{AT_FDCWD, mode_t};

use ntux_platform::interposition::objects::{Visit, iterate};

mod exec;
#[cfg(not(target_env = "musl"))]
mod loading;
mod own;
mod streams;
mod syscall;

// The library's name for itself, as the C library's functions take it. It is in an object of the compiler's, which `build.rs` leaves out.
core::arch::global_asm!(
    ".pushsection .data.ntux_start,\"aw\",@progbits",
    ".weak __dso_handle",
    ".hidden __dso_handle",
    ".p2align 3",
    "__dso_handle:",
    ".quad 0",
    ".popsection",
);

/// Runs when the library is loaded.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = start;

#[unsafe(link_section = ".text.ntux_start")]
extern "C" fn start() {
    next::resolve();
    next::resolve_for_children();
    own::bind_late();
    next::resolve_syscall();
    thread::prepare();
    environment::device();
    environment::spin();
    starting::remember_entry();
}

/// Runs when the program exits normally.
#[used]
#[unsafe(link_section = ".fini_array")]
static AT_EXIT: extern "C" fn() = log::at_exit;

/// Tells a sanitizer's runtime of this library last.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn dl_iterate_phdr(visit: Visit, data: *mut c_void) -> c_int {
    // SAFETY: the caller's own arguments.
    unsafe { iterate(visit, data) }
}

macro_rules! open_by_path {
    ($($name:ident($($mode:ident)?) => $next:ident;)*) => {
        $(
            /// Opens the device if the path means it.
            #[unsafe(link_section = ".text.ntux_start")]
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $name(path: *const c_char, flags: c_int $(, $mode: mode_t)?) -> c_int {
                // SAFETY: the caller's own arguments.
                unsafe { device::open(AT_FDCWD, path, flags, || next::$next(path, flags $(, $mode)?)) }
            }
        )*
    };
}

macro_rules! open_in_directory {
    ($($name:ident($($mode:ident)?);)*) => {
        $(
            /// Opens the device if the path means it.
            #[unsafe(link_section = ".text.ntux_start")]
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
    open(mode) => open;
    open64(mode) => open64;
    __open(mode) => open;
    __open64(mode) => open64;
    __open_2() => __open_2;
    __open64_2() => __open64_2;
}

open_in_directory! {
    openat(mode);
    openat64(mode);
    __openat_2();
    __openat64_2();
}

/// Opens the device if the path means it.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn openat2(
    directory: c_int,
    path: *const c_char,
    how: *const device::How,
    size: usize,
) -> c_int {
    let number = libc::SYS_openat2;
    let real = || {
        // SAFETY: the caller's own arguments.
        or_by_number(unsafe { next::openat2(directory, path, how, size) }, || unsafe {
            next::syscall(number, directory as usize, path as usize, how as usize, size, 0, 0)
        })
    };
    // SAFETY: as above.
    unsafe { device::open_how(directory, path, how, real) }
}

/// What the real function returned; or, if the C library has no such function, the kernel's answer. A program that
/// finds this library's function by name must not be worse off than without it.
fn or_by_number(result: c_int, by_number: impl FnOnce() -> core::ffi::c_long) -> c_int {
    // SAFETY: this thread's own error number.
    if result < 0 && unsafe { *crate::c_library::errno() } == libc::ENOSYS { by_number() as c_int } else { result }
}

/// Says that the node exists.
#[unsafe(link_section = ".text.ntux_start")]
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn access(path: *const c_char, mode: c_int) -> c_int {
    // SAFETY: the caller's own arguments.
    unsafe { node::access(AT_FDCWD, path, mode, || next::access(path, mode)) }
}

/// Says that the node exists.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn faccessat(directory: c_int, path: *const c_char, mode: c_int, flags: c_int) -> c_int {
    // SAFETY: the caller's own arguments.
    unsafe { node::access(directory, path, mode, || next::faccessat(directory, path, mode, flags)) }
}

macro_rules! access_by_effective_user {
    ($($name:ident;)*) => {
        $(
            /// Says that the node exists.
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $name(path: *const c_char, mode: c_int) -> c_int {
                // SAFETY: the caller's own arguments.
                unsafe { node::access(AT_FDCWD, path, mode, || next::$name(path, mode)) }
            }
        )*
    };
}

access_by_effective_user! {
    eaccess;
    euidaccess;
}

macro_rules! status_by_path {
    ($($name:ident($($version:ident)?) => $flags:expr;)*) => {
        $(
            /// Describes the node. (Old programs say which version of the structure they know.)
            #[unsafe(link_section = ".text.ntux_start")]
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $name(
                $($version: c_int,)?
                path: *const c_char,
                status: *mut libc::stat,
            ) -> c_int {
                let real = || {
                    // SAFETY: the caller's own arguments.
                    or_by_number(unsafe { next::$name($($version,)? path, status) }, || unsafe {
                        let [directory, path, status] = [AT_FDCWD as usize, path as usize, status as usize];
                        next::syscall(libc::SYS_newfstatat, directory, path, status, $flags as usize, 0, 0)
                    })
                };
                // SAFETY: as above.
                unsafe { node::stat(AT_FDCWD, path, status, real) }
            }
        )*
    };
}

status_by_path! {
    stat() => 0;
    stat64() => 0;
    lstat() => libc::AT_SYMLINK_NOFOLLOW;
    lstat64() => libc::AT_SYMLINK_NOFOLLOW;
    __xstat(version) => 0;
    __xstat64(version) => 0;
    __lxstat(version) => libc::AT_SYMLINK_NOFOLLOW;
    __lxstat64(version) => libc::AT_SYMLINK_NOFOLLOW;
}

macro_rules! status_of_descriptor {
    ($($name:ident($($version:ident)?);)*) => {
        $(
            /// Describes a descriptor of ours like the driver's.
            #[unsafe(link_section = ".text.ntux_start")]
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $name($($version: c_int,)? fd: c_int, status: *mut libc::stat) -> c_int {
                let real = || {
                    // SAFETY: the caller's own arguments.
                    or_by_number(unsafe { next::$name($($version,)? fd, status) }, || unsafe {
                        next::syscall(libc::SYS_fstat, fd as usize, status as usize, 0, 0, 0, 0)
                    })
                };
                // SAFETY: as above.
                unsafe { node::fstat(fd, status, real) }
            }
        )*
    };
}

status_of_descriptor! {
    fstat();
    fstat64();
    __fxstat(version);
    __fxstat64(version);
}

macro_rules! status_in_directory {
    ($($name:ident($($version:ident)?);)*) => {
        $(
            /// Describes the node.
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $name(
                $($version: c_int,)?
                directory: c_int,
                path: *const c_char,
                status: *mut libc::stat,
                flags: c_int,
            ) -> c_int {
                let real = || {
                    // SAFETY: the caller's own arguments.
                    or_by_number(unsafe { next::$name($($version,)? directory, path, status, flags) }, || unsafe {
                        let [directory, path, status] = [directory as usize, path as usize, status as usize];
                        next::syscall(libc::SYS_newfstatat, directory, path, status, flags as usize, 0, 0)
                    })
                };
                // SAFETY: as above.
                unsafe { node::stat_in(directory, path, status, real) }
            }
        )*
    };
}

status_in_directory! {
    fstatat();
    fstatat64();
    __fxstatat(version);
    __fxstatat64(version);
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
    let real = || {
        // SAFETY: the caller's own arguments.
        or_by_number(unsafe { next::statx(directory, path, flags, mask, status) }, || unsafe {
            let [flags, mask] = [flags as usize, mask as usize];
            next::syscall(libc::SYS_statx, directory as usize, path as usize, flags, mask, status as usize, 0)
        })
    };
    // SAFETY: as above.
    unsafe { node::statx(directory, path, status, real) }
}

/// Names the node.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn realpath(path: *const c_char, room: *mut c_char) -> *mut c_char {
    // SAFETY: the caller's own arguments.
    unsafe { node::realpath(path, room, || next::realpath(path, room)) }
}

/// As `realpath`.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __realpath_chk(path: *const c_char, room: *mut c_char, size: usize) -> *mut c_char {
    // SAFETY: the caller's own arguments. The real function has ended the program if there is less room than needed.
    unsafe { node::realpath(path, room, || next::__realpath_chk(path, room, size)) }
}

/// As `realpath`.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn canonicalize_file_name(path: *const c_char) -> *mut c_char {
    // SAFETY: the caller's own argument.
    unsafe { node::realpath(path, core::ptr::null_mut(), || next::canonicalize_file_name(path)) }
}

macro_rules! finding_paths {
    ($($name:ident;)*) => {
        $(
            /// Finds the node by its path.
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $name(
                pattern: *const c_char,
                flags: c_int,
                on_error: *const c_void,
                found: *mut c_void,
            ) -> c_int {
                // SAFETY: the caller's own arguments.
                unsafe { node::glob(pattern, flags, |flags| next::$name(pattern, flags, on_error, found)) }
            }
        )*
    };
}

finding_paths! {
    glob;
    glob64;
}

/// Serves the requests of the device and of objects.
#[unsafe(link_section = ".text.ntux_start")]
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn ioctl(fd: c_int, request: c_ulong, argument: *mut c_void) -> c_int {
    // The kernel looks at 32 bits of the request.
    let request_word = request as u32;
    if requests::is_ours(request_word)
        && let Some(result) = requests::serve(fd, request_word, argument as usize)
    {
        return result;
    }
    // SAFETY: the caller's own arguments.
    unsafe { next::ioctl(fd, request, argument) }
}

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
fn counting_copy(old: c_int, copy: impl FnOnce() -> c_long) -> c_long {
    counting_copy_onto(old, |_| copy())
}

#[inline(always)]
fn counting_copy_onto(old: c_int, copy: impl FnOnce(Option<&descriptors::Copying>) -> c_long) -> c_long {
    let copying = descriptors::begin_copy(old);
    let result = copy(copying.as_ref());
    descriptors::end_copy(copying, result as c_int);
    result
}

/// As [`counting_copy`], onto a descriptor that is closed.
#[inline(always)]
fn replacing(old: c_int, new: c_int, copy: impl FnOnce() -> c_long) -> c_long {
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

/// As `dup2`.
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
    or_by_number(unsafe { next::close_range(first, last, flags) }, || unsafe {
        next::syscall(libc::SYS_close_range, first as usize, last as usize, flags as usize, 0, 0, 0)
    })
}

#[inline(always)]
fn close_all<R>(first: c_uint, last: c_uint, flags: c_int, real: impl FnOnce() -> R) -> R {
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
fn part(flags: c_int) {
    if flags & libc::CLONE_FILES != 0 {
        descriptors::parting();
    }
}

macro_rules! making_a_process {
    ($($name:ident;)*) => {
        $(
            /// Notes a process that shares this one's memory but not its descriptors, unless it borrows the memory only
            /// until it starts a program. (A function that is variadic in C uses the same registers and stack here;
            /// arguments that the caller did not pass are not used.)
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $name(
                start: *const c_void,
                stack: *mut c_void,
                flags: c_int,
                argument: *mut c_void,
                parent_number: *mut c_void,
                storage: *mut c_void,
                child_number: *mut c_void,
            ) -> c_int {
                const MEMORY: c_int = libc::CLONE_VM | libc::CLONE_FILES | libc::CLONE_VFORK;
                if flags & MEMORY == libc::CLONE_VM {
                    descriptors::parted();
                }
                if flags & (libc::CLONE_VM | libc::CLONE_VFORK) == libc::CLONE_VM {
                    descriptors::count_forks();
                }
                // SAFETY: the caller's own arguments.
                let real = || unsafe { next::clone(start, stack, flags, argument, parent_number, storage, child_number) };
                if flags & libc::CLONE_VM != 0 {
                    return real();
                }
                descriptors::before_fork();
                let result = real();
                descriptors::after_fork();
                result
            }
        )*
    };
}

making_a_process! {
    clone;
    __clone;
}

/// Notes a fork of which the C library tells nobody.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn _Fork() -> c_int {
    descriptors::before_fork();
    // SAFETY: has no arguments.
    let result = unsafe { next::_Fork() };
    if result == 0 {
        descriptors::forked()
    } else {
        descriptors::after_fork()
    }
    result
}

#[inline(always)]
fn is_copy(command: c_int) -> bool {
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
    leaving::by_actions(fd);
    // SAFETY: the caller's own arguments.
    unsafe { next::posix_spawn_file_actions_adddup2(actions, fd, new) }
}

/// Notes copies that another process gets.
#[unsafe(link_section = ".text.ntux_start")]
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sendmsg(fd: c_int, message: *const libc::msghdr, flags: c_int) -> isize {
    let announced = leaving::sent(fd, message as usize);
    // SAFETY: the caller's own arguments.
    let result = unsafe { next::sendmsg(fd, message, flags) };
    leaving::refused(announced, message as usize, result);
    result
}

/// Notes copies that another process gets.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sendmmsg(fd: c_int, messages: *mut libc::mmsghdr, count: c_uint, flags: c_int) -> c_int {
    let announced = leaving::sent_many(fd, messages as usize, count);
    // SAFETY: the caller's own arguments.
    let result = unsafe { next::sendmmsg(fd, messages, count, flags) };
    leaving::refused_many(announced, messages as usize, count, result);
    result
}

/// Takes note of copies that come from another process.
#[unsafe(link_section = ".text.ntux_start")]
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn recvmsg(fd: c_int, message: *mut libc::msghdr, flags: c_int) -> isize {
    let before = Moment::now();
    // SAFETY: the caller's own arguments.
    let result = unsafe { next::recvmsg(fd, message, flags) };
    if result >= 0 {
        receiving::received(message as usize, flags, before);
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
    let before = Moment::now();
    // SAFETY: the caller's own arguments.
    let result = unsafe { next::recvmmsg(fd, messages, count, flags, timeout) };
    if result > 0 {
        receiving::received_many(messages as usize, result as c_uint, flags, before);
    }
    result
}

/// Takes note of a copy that is taken out of another process.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pidfd_getfd(process: c_int, fd: c_int, flags: c_uint) -> c_int {
    // SAFETY: the caller's own arguments.
    let result = or_by_number(unsafe { next::pidfd_getfd(process, fd, flags) }, || unsafe {
        next::syscall(libc::SYS_pidfd_getfd, process as usize, fd as usize, flags as usize, 0, 0, 0)
    });
    if result < 0 || receiving::taken(result) { result } else { crate::c_library::fail(libc::EBADF) }
}

/// Lets a thread that is inside this library complete its operation first.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_cancel(thread: libc::pthread_t) -> c_int {
    // SAFETY: the caller's own argument.
    unsafe { cancellation::cancel(thread) }
}

/// Keeps the program's view of its handlers.
#[unsafe(link_section = ".text.ntux_start")]
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int {
    // SAFETY: the caller's own arguments.
    unsafe { actions::sigaction(signal, new, old) }
}

/// The same under glibc's other name.
#[unsafe(link_section = ".text.ntux_start")]
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
            #[unsafe(link_section = ".text.ntux_start")]
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
        crate::c_library::fail(libc::EINVAL);
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
