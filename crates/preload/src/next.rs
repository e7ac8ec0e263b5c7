//! The real functions behind the ones that [`crate::entry`] stands in front of. One that the C library lacks fails with
//! `ENOSYS`.

use libc::{c_char, c_int, c_uint, c_ulong, c_void, mode_t};

ntux_platform::next_functions! {
    fn open(path: *const c_char, flags: c_int, mode: mode_t);
    fn open64(path: *const c_char, flags: c_int, mode: mode_t);
    fn openat(directory: c_int, path: *const c_char, flags: c_int, mode: mode_t);
    fn openat64(directory: c_int, path: *const c_char, flags: c_int, mode: mode_t);
    fn __open_2(path: *const c_char, flags: c_int);
    fn __open64_2(path: *const c_char, flags: c_int);
    fn __openat_2(directory: c_int, path: *const c_char, flags: c_int);
    fn __openat64_2(directory: c_int, path: *const c_char, flags: c_int);
    fn access(path: *const c_char, mode: c_int);
    fn faccessat(directory: c_int, path: *const c_char, mode: c_int, flags: c_int);
    fn stat(path: *const c_char, status: *mut libc::stat);
    fn stat64(path: *const c_char, status: *mut libc::stat);
    fn lstat(path: *const c_char, status: *mut libc::stat);
    fn lstat64(path: *const c_char, status: *mut libc::stat);
    fn fstatat(directory: c_int, path: *const c_char, status: *mut libc::stat, flags: c_int);
    fn fstatat64(directory: c_int, path: *const c_char, status: *mut libc::stat, flags: c_int);
    fn __xstat(version: c_int, path: *const c_char, status: *mut libc::stat);
    fn __xstat64(version: c_int, path: *const c_char, status: *mut libc::stat);
    fn __lxstat(version: c_int, path: *const c_char, status: *mut libc::stat);
    fn __lxstat64(version: c_int, path: *const c_char, status: *mut libc::stat);
    fn statx(directory: c_int, path: *const c_char, flags: c_int, mask: c_uint, status: *mut libc::statx);
    fn ioctl(fd: c_int, request: c_ulong, argument: *mut c_void);
    fn close(fd: c_int);
    fn dup(old: c_int);
    fn dup2(old: c_int, new: c_int);
    fn dup3(old: c_int, new: c_int, flags: c_int);
    fn fcntl(fd: c_int, command: c_int, argument: usize);
    fn fcntl64(fd: c_int, command: c_int, argument: usize);
    fn posix_spawn_file_actions_adddup2(actions: *mut c_void, fd: c_int, new: c_int);
    fn sendmmsg(fd: c_int, messages: *mut libc::mmsghdr, count: c_uint, flags: c_int);
    fn close_range(first: c_uint, last: c_uint, flags: c_int);
    fn sigprocmask(how: c_int, new: *const libc::sigset_t, old: *mut libc::sigset_t);
    fn pthread_sigmask(how: c_int, new: *const libc::sigset_t, old: *mut libc::sigset_t);
    fn sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction);
    fn sendmsg(fd: c_int, message: *const libc::msghdr, flags: c_int) -> isize;
    fn closefrom(first: c_int) -> ();
}
