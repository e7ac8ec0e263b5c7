// SPDX-License-Identifier: MIT OR Apache-2.0
//! The real functions behind those of [`crate::entry`]. A function that the C library lacks, because it is older or
//! musl, is replaced by the system call of that name, or fails with `ENOSYS`.

#![allow(non_snake_case, reason = "the names are the C library's")]

use super::fail;
use libc::{DIR, FILE, c_char, c_int, c_long, c_uint, c_ulong, c_void, mode_t, pid_t};
use ntux_platform::atomic::Word64;
use ntux_platform::interposition::next::{address, address_of_version, look_up, variable};

ntux_platform::next_functions! {
    fn open(path: *const c_char, flags: c_int, mode: mode_t);
    fn open64(path: *const c_char, flags: c_int, mode: mode_t) => open(path, flags, mode);
    fn openat(directory: c_int, path: *const c_char, flags: c_int, mode: mode_t);
    fn openat64(directory: c_int, path: *const c_char, flags: c_int, mode: mode_t) => openat(directory, path, flags, mode);
    fn __open_2(path: *const c_char, flags: c_int);
    fn __open64_2(path: *const c_char, flags: c_int);
    fn __openat_2(directory: c_int, path: *const c_char, flags: c_int);
    fn __openat64_2(directory: c_int, path: *const c_char, flags: c_int);
    fn openat2(directory: c_int, path: *const c_char, how: *const How, size: usize) =>
        by_kernel(libc::SYS_openat2, [directory as usize, path as usize, how as usize, size, 0]);
    fn fopen(path: *const c_char, mode: *const c_char) -> *mut FILE;
    fn fopen64(path: *const c_char, mode: *const c_char) -> *mut FILE => fopen(path, mode);
    fn freopen(path: *const c_char, mode: *const c_char, stream: *mut FILE) -> *mut FILE;
    fn freopen64(path: *const c_char, mode: *const c_char, stream: *mut FILE) -> *mut FILE => freopen(path, mode, stream);
    fn fclose(stream: *mut FILE);
    fn pclose(stream: *mut FILE);
    fn popen(command: *const c_char, mode: *const c_char) -> *mut FILE;
    fn system(command: *const c_char);
    fn wordexp(words: *const c_char, found: *mut c_void, flags: c_int);
    fn closedir(directory: *mut DIR);
    fn access(path: *const c_char, mode: c_int);
    fn eaccess(path: *const c_char, mode: c_int);
    fn euidaccess(path: *const c_char, mode: c_int);
    fn faccessat(directory: c_int, path: *const c_char, mode: c_int, flags: c_int);
    fn stat(path: *const c_char, status: *mut libc::stat) => status_at(libc::AT_FDCWD, path, status, 0);
    fn stat64(path: *const c_char, status: *mut libc::stat) => status_at(libc::AT_FDCWD, path, status, 0);
    fn lstat(path: *const c_char, status: *mut libc::stat) => status_at(libc::AT_FDCWD, path, status, libc::AT_SYMLINK_NOFOLLOW);
    fn lstat64(path: *const c_char, status: *mut libc::stat) => status_at(libc::AT_FDCWD, path, status, libc::AT_SYMLINK_NOFOLLOW);
    fn fstatat(directory: c_int, path: *const c_char, status: *mut libc::stat, flags: c_int) => status_at(directory, path, status, flags);
    fn fstatat64(directory: c_int, path: *const c_char, status: *mut libc::stat, flags: c_int) => status_at(directory, path, status, flags);
    fn __xstat(version: c_int, path: *const c_char, status: *mut libc::stat) => status_at(libc::AT_FDCWD, path, status, 0);
    fn __xstat64(version: c_int, path: *const c_char, status: *mut libc::stat) => status_at(libc::AT_FDCWD, path, status, 0);
    fn __lxstat(version: c_int, path: *const c_char, status: *mut libc::stat) => status_at(libc::AT_FDCWD, path, status, libc::AT_SYMLINK_NOFOLLOW);
    fn __lxstat64(version: c_int, path: *const c_char, status: *mut libc::stat) => status_at(libc::AT_FDCWD, path, status, libc::AT_SYMLINK_NOFOLLOW);
    fn __fxstatat(version: c_int, directory: c_int, path: *const c_char, status: *mut libc::stat, flags: c_int) => status_at(directory, path, status, flags);
    fn __fxstatat64(version: c_int, directory: c_int, path: *const c_char, status: *mut libc::stat, flags: c_int) => status_at(directory, path, status, flags);
    fn fstat(fd: c_int, status: *mut libc::stat) => by_kernel(libc::SYS_fstat, [fd as usize, status as usize, 0, 0, 0]);
    fn fstat64(fd: c_int, status: *mut libc::stat) => by_kernel(libc::SYS_fstat, [fd as usize, status as usize, 0, 0, 0]);
    fn __fxstat(version: c_int, fd: c_int, status: *mut libc::stat) => by_kernel(libc::SYS_fstat, [fd as usize, status as usize, 0, 0, 0]);
    fn __fxstat64(version: c_int, fd: c_int, status: *mut libc::stat) => by_kernel(libc::SYS_fstat, [fd as usize, status as usize, 0, 0, 0]);
    fn statx(directory: c_int, path: *const c_char, flags: c_int, mask: c_uint, status: *mut libc::statx) =>
        by_kernel(libc::SYS_statx, [directory as usize, path as usize, flags as usize, mask as usize, status as usize]);
    fn realpath(path: *const c_char, room: *mut c_char) -> *mut c_char;
    fn __realpath_chk(path: *const c_char, room: *mut c_char, size: usize) -> *mut c_char;
    fn canonicalize_file_name(path: *const c_char) -> *mut c_char;
    fn ioctl(fd: c_int, request: c_ulong, argument: *mut c_void);
    fn close(fd: c_int);
    fn mq_close(queue: c_int);
    fn daemon(stay: c_int, keep: c_int);
    fn login_tty(fd: c_int);
    fn unshare(flags: c_int);
    fn clone(
        start: *const c_void,
        stack: *mut c_void,
        flags: c_int,
        argument: *mut c_void,
        parent_number: *mut c_void,
        storage: *mut c_void,
        child_number: *mut c_void
    );
    fn dup(old: c_int);
    fn dup2(old: c_int, new: c_int);
    fn dup3(old: c_int, new: c_int, flags: c_int);
    fn fcntl(fd: c_int, command: c_int, argument: usize);
    fn fcntl64(fd: c_int, command: c_int, argument: usize) => fcntl(fd, command, argument);
    fn posix_spawn_file_actions_adddup2(actions: *mut c_void, fd: c_int, new: c_int);
    fn execve(path: *const c_char, arguments: *const *const c_char, variables: *const *const c_char);
    fn execv(path: *const c_char, arguments: *const *const c_char);
    fn execvp(name: *const c_char, arguments: *const *const c_char);
    fn execvpe(name: *const c_char, arguments: *const *const c_char, variables: *const *const c_char);
    fn fexecve(fd: c_int, arguments: *const *const c_char, variables: *const *const c_char);
    fn execveat(
        directory: c_int,
        path: *const c_char,
        arguments: *const *const c_char,
        variables: *const *const c_char,
        flags: c_int
    ) =>
        by_kernel(
            libc::SYS_execveat,
            [directory as usize, path as usize, arguments as usize, variables as usize, flags as usize]
        );
    fn posix_spawn(
        process: *mut pid_t,
        path: *const c_char,
        actions: *const c_void,
        attributes: *const c_void,
        arguments: *const *const c_char,
        variables: *const *const c_char
    );
    fn posix_spawnp(
        process: *mut pid_t,
        path: *const c_char,
        actions: *const c_void,
        attributes: *const c_void,
        arguments: *const *const c_char,
        variables: *const *const c_char
    );
    fn recvmsg(fd: c_int, message: *mut libc::msghdr, flags: c_int) -> isize;
    fn recvmmsg(fd: c_int, messages: *mut libc::mmsghdr, count: c_uint, flags: c_int, timeout: *mut libc::timespec) =>
        by_kernel(
            libc::SYS_recvmmsg,
            [fd as usize, messages as usize, count as usize, flags as usize, timeout as usize]
        );
    fn pidfd_getfd(process: c_int, fd: c_int, flags: c_uint) =>
        by_kernel(libc::SYS_pidfd_getfd, [process as usize, fd as usize, flags as usize, 0, 0]);
    fn _Fork() => by_kernel(libc::SYS_clone, [libc::SIGCHLD as usize, 0, 0, 0, 0]);
    fn sendmmsg(fd: c_int, messages: *mut libc::mmsghdr, count: c_uint, flags: c_int);
    fn close_range(first: c_uint, last: c_uint, flags: c_int) =>
        by_kernel(libc::SYS_close_range, [first as usize, last as usize, flags as usize, 0, 0]);
    fn pthread_cancel(thread: libc::pthread_t);
    fn sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction);
    fn sendmsg(fd: c_int, message: *const libc::msghdr, flags: c_int) -> isize;
    fn closefrom(first: c_int) -> () => { close_range(first.max(0) as c_uint, c_uint::MAX, 0); };
}

/// `struct open_how`.
#[repr(C)]
pub(crate) struct How {
    pub(crate) flags: u64,
    mode: u64,
    pub(crate) resolve: u64,
}

/// A function that an older C library lacks: before 2.33 `stat` and its variants, before 2.28 `statx`, before 2.34 the
/// rest.
///
/// # Safety
/// As for the system call.
unsafe fn by_kernel(number: c_long, arguments: [usize; 5]) -> c_int {
    let [first, second, third, fourth, fifth] = arguments;
    // SAFETY: the caller's promise.
    unsafe { syscall(number, first, second, third, fourth, fifth, 0) as c_int }
}

/// `fstatat`. The kernel's structure is the C library's.
///
/// # Safety
/// As for the function itself.
unsafe fn status_at(directory: c_int, path: *const c_char, status: *mut libc::stat, flags: c_int) -> c_int {
    let arguments = [directory as usize, path as usize, status as usize, flags as usize, 0];
    // SAFETY: the caller's promise.
    unsafe { by_kernel(libc::SYS_newfstatat, arguments) }
}

macro_rules! next_globs {
    ($($name:ident;)*) => {
        $(
            /// The real function of this name. It has two versions, and nobody knows for which one the caller was
            /// built: one that brings its own functions for directories may lack one that the newer version calls.
            ///
            /// # Safety
            /// As for the function itself.
            pub(crate) unsafe fn $name(
                pattern: *const c_char,
                flags: c_int,
                on_error: *const c_void,
                found: *mut c_void,
            ) -> c_int {
                type Function = unsafe extern "C-unwind" fn(*const c_char, c_int, *const c_void, *mut c_void) -> c_int;
                static OLD: Word64 = Word64::new(0);
                static NEW: Word64 = Word64::new(0);
                let name = concat!(stringify!($name), "\0");
                let address = match flags & OWN_FUNCTIONS {
                    0 => ntux_platform::interposition::next::address(&NEW, name),
                    _ => address_of_version(&OLD, name, FIRST_VERSION),
                };
                let Some(address) = address else { return fail(libc::ENOSYS) };
                // SAFETY: the C library's function of this name, which takes these arguments.
                let function = unsafe { core::mem::transmute::<usize, Function>(address) };
                // SAFETY: the caller's promise.
                unsafe { function(pattern, flags, on_error, found) }
            }
        )*
    };
}

/// `GLOB_ALTDIRFUNC`.
const OWN_FUNCTIONS: c_int = 1 << 9;
/// glibc's name for the version in which it came to this architecture.
const FIRST_VERSION: &str = if cfg!(target_arch = "x86_64") { "GLIBC_2.2.5\0" } else { "GLIBC_2.17\0" };

next_globs! {
    glob;
    glob64;
}

/// Where the real `syscall` is; 0 until the constructor has looked it up. Looking it up on first use could be too
/// early: allocators choose `syscall` for their first steps because nothing behind it allocates.
pub(crate) static SYSCALL: Word64 = Word64::new(0);

/// Where the real `dlopen` is; 0 until it was called.
#[cfg(not(target_env = "musl"))]
pub(crate) static DLOPEN: Word64 = Word64::new(0);

/// Where the real `dlopen` is.
#[cfg(not(target_env = "musl"))]
pub(crate) fn dlopen() -> Option<usize> {
    address(&DLOPEN, "dlopen\0")
}

/// Where the real `dlmopen` is.
#[cfg(not(target_env = "musl"))]
pub(crate) fn dlmopen() -> Option<usize> {
    static DLMOPEN: Word64 = Word64::new(0);
    address(&DLMOPEN, "dlmopen\0")
}

/// Looks up what children that are forked to start a program call before they do. Each of them would look it up again, and have the
/// pages copied on which the tables and the answers are.
pub(crate) fn resolve_for_children() {
    macro_rules! resolve {
        ($($name:ident)*) => {
            $(let _ = address(&cache::$name, concat!(stringify!($name), "\0"));)*
        };
    }
    resolve!(close dup2 execve fcntl ioctl open sigaction);
}

/// Returns true if this process certainly has one thread. glibc counts the threads that it made itself, from 2.32 on.
#[unsafe(link_section = ".text.ntux_start")]
pub(crate) fn is_single_threaded() -> bool {
    static WHERE: Word64 = Word64::new(UNKNOWN);
    const UNKNOWN: u64 = 0;
    const NOWHERE: u64 = 1;
    if WHERE.load() == UNKNOWN {
        WHERE.store(variable("__libc_single_threaded\0").map_or(NOWHERE, |address| address as u64));
    }
    match WHERE.load() {
        NOWHERE => false,
        // SAFETY: the C library's variable of this name, a byte, which is as good as a load of it.
        place => unsafe { (place as *const u8).read_volatile() != 0 },
    }
}

/// Looks the real `syscall` up.
pub(crate) fn resolve_syscall() {
    let _ = look_up(&SYSCALL, "syscall\0");
}

/// The real `syscall`; [`bare_syscall`] until it is known.
///
/// # Safety
/// As for the function itself.
pub(crate) unsafe fn syscall(
    number: c_long,
    first: usize,
    second: usize,
    third: usize,
    fourth: usize,
    fifth: usize,
    sixth: usize,
) -> c_long {
    type Function = unsafe extern "C-unwind" fn(c_long, usize, usize, usize, usize, usize, usize) -> c_long;
    // SAFETY: null, or the C library's function of this name, which takes these arguments.
    let real = unsafe { core::mem::transmute::<usize, Option<Function>>(SYSCALL.load() as usize) };
    // SAFETY: the caller's promise.
    unsafe { real.unwrap_or(bare_syscall)(number, first, second, third, fourth, fifth, sixth) }
}

/// The instruction itself, with what the C library's `syscall` makes of its answer.
///
/// # Safety
/// As for the system call.
pub(crate) unsafe extern "C-unwind" fn bare_syscall(
    number: c_long,
    first: usize,
    second: usize,
    third: usize,
    fourth: usize,
    fifth: usize,
    sixth: usize,
) -> c_long {
    let answer: c_long;
    // SAFETY: the caller's own system call.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        core::arch::asm!(
            "syscall",
            inlateout("rax") number => answer,
            in("rdi") first,
            in("rsi") second,
            in("rdx") third,
            in("r10") fourth,
            in("r8") fifth,
            in("r9") sixth,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        core::arch::asm!(
            "svc #0",
            in("x8") number,
            inlateout("x0") first => answer,
            in("x1") second,
            in("x2") third,
            in("x3") fourth,
            in("x4") fifth,
            in("x5") sixth,
            options(nostack),
        );
    }
    if (-4095..0).contains(&answer) { fail(-answer as c_int).into() } else { answer }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn what_an_old_c_library_lacks_is_done_by_the_kernel() {
        // SAFETY: all bytes zero is a value, and a place for the answer.
        let mut status: libc::stat = unsafe { core::mem::zeroed() };
        let executable = std::fs::metadata("/proc/self/exe").unwrap();
        // SAFETY: a path that ends with a zero, and a place for the answer.
        assert_eq!(unsafe { status_at(libc::AT_FDCWD, c"/proc/self/exe".as_ptr(), &mut status, 0) }, 0);
        assert_eq!((status.st_ino, status.st_size as u64), (executable.ino(), executable.len()));
        let flags = libc::AT_SYMLINK_NOFOLLOW;
        // SAFETY: as above.
        assert_eq!(unsafe { status_at(libc::AT_FDCWD, c"/proc/self/exe".as_ptr(), &mut status, flags) }, 0);
        assert_eq!(status.st_mode & libc::S_IFMT, libc::S_IFLNK);
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        let arguments = [file.as_raw_fd() as usize, &raw mut status as usize, 0, 0, 0];
        // SAFETY: as above.
        assert_eq!(unsafe { by_kernel(libc::SYS_fstat, arguments) }, 0);
        assert_eq!(status.st_ino, executable.ino());
        // SAFETY: as above.
        assert_eq!(unsafe { status_at(libc::AT_FDCWD, c"/nowhere".as_ptr(), &mut status, 0) }, -1);
        // SAFETY: this thread's own error number.
        assert_eq!(unsafe { *crate::c_library::errno() }, libc::ENOENT);
    }
}
