//! The real functions behind the ones that [`crate::entry`] stands in front of. One that the C library lacks fails with
//! `ENOSYS`.

use libc::{c_char, c_int, c_long, c_uint, c_ulong, c_void, mode_t};
use ntux_platform::atomic::Word64;
use ntux_platform::next::look_up;

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
    fn pthread_cancel(thread: libc::pthread_t);
    fn sigprocmask(how: c_int, new: *const libc::sigset_t, old: *mut libc::sigset_t);
    fn pthread_sigmask(how: c_int, new: *const libc::sigset_t, old: *mut libc::sigset_t);
    fn sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction);
    fn sendmsg(fd: c_int, message: *const libc::msghdr, flags: c_int) -> isize;
    fn closefrom(first: c_int) -> ();
}

/// Where the real `syscall` is; 0 until the constructor has looked it up. Looking it up on first use could be too early:
/// allocators choose `syscall` for their first steps because nothing behind it allocates.
pub(crate) static SYSCALL: Word64 = Word64::new(0);

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
    if (-4095..0).contains(&answer) { crate::fail(-answer as c_int).into() } else { answer }
}
