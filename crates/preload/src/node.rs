//! The device node as others see it who only ask whether it is there: `stat`, `access` and their relatives.
//!
//! The real function goes first. Only when it says that there is no such file, and the path means the device, the answer is
//! ours: a character device that everybody may read and write, as the driver makes it.

use core::ffi::{CStr, c_char, c_int, c_uint};
use core::mem::MaybeUninit;
use libc::AT_FDCWD;
use ntux_platform::atomic::Word64;

use crate::device;
use crate::environment::{self, Device};
use crate::next;

/// The driver's major number (miscellaneous devices), and the minor one that the research machine showed.
const MAJOR: c_uint = 10;
const MINOR: c_uint = 260;
type Status = libc::stat;
type Extended = libc::statx;

const MODE: libc::mode_t = libc::S_IFCHR | 0o666;

/// Whether a call that failed asked for the device node, which we serve.
///
/// # Safety
/// `path` is what the call passed to the kernel.
#[cold]
unsafe fn asks_for_ours(directory: c_int, path: *const c_char) -> bool {
    // SAFETY: this thread's own error number.
    let error = unsafe { *crate::errno() };
    if error != libc::ENOENT || environment::device() == Device::Kernel {
        return false;
    }
    // SAFETY: the kernel has looked for the path, so it is a readable string.
    let ours = device::means_device(directory, unsafe { CStr::from_ptr(path) }.to_bytes());
    // SAFETY: as above.
    unsafe { *crate::errno() = error };
    ours
}

/// What `stat` says of the node.
fn status() -> Status {
    // SAFETY: made of integers only, for which zero is a value.
    let mut status: Status = unsafe { MaybeUninit::zeroed().assume_init() };
    status.st_mode = MODE;
    status.st_nlink = 1;
    status.st_blksize = 4096;
    status.st_rdev = libc::makedev(MAJOR, MINOR);
    status
}

/// What `statx` says of the node.
fn extended_status() -> Extended {
    // SAFETY: made of integers only, for which zero is a value.
    let mut status: Extended = unsafe { MaybeUninit::zeroed().assume_init() };
    status.stx_mask = libc::STATX_TYPE | libc::STATX_MODE | libc::STATX_NLINK;
    status.stx_mode = MODE as u16;
    status.stx_nlink = 1;
    status.stx_blksize = 4096;
    status.stx_rdev_major = MAJOR;
    status.stx_rdev_minor = MINOR;
    status
}

/// # Safety
/// `buffer` is where the caller wants the answer.
unsafe fn answer<T>(buffer: *mut T, status: T) -> c_int {
    // SAFETY: the caller's promise, which is the program's.
    unsafe { buffer.write(status) };
    0
}

/// Stands in front of functions of the same name, which return 0 or -1. `directory`, `path`: what they look for; `answer`:
/// what is done when that is the device node.
macro_rules! ask {
    ($(fn $name:ident($($argument:ident: $type:ty),*) in ($directory:expr, $path:expr) => $answer:expr;)*) => {
        $(
            /// Answers for the device node where there is none.
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $name($($argument: $type),*) -> c_int {
                type Function = unsafe extern "C-unwind" fn($($type),*) -> c_int;
                static CACHE: Word64 = Word64::new(0);
                let Some(address) = next::address(&CACHE, concat!(stringify!($name), "\0")) else {
                    return crate::fail(libc::ENOSYS);
                };
                // SAFETY: the C library's function of this name, which takes these arguments: the caller's own.
                unsafe {
                    let real = core::mem::transmute::<usize, Function>(address);
                    let result = real($($argument),*);
                    if result == 0 || !asks_for_ours($directory, $path) {
                        return result;
                    }
                    $answer
                }
            }
        )*
    };
}

ask! {
    fn stat(path: *const c_char, buffer: *mut Status) in (AT_FDCWD, path) => answer(buffer, status());
    fn stat64(path: *const c_char, buffer: *mut Status) in (AT_FDCWD, path) => answer(buffer, status());
    fn lstat(path: *const c_char, buffer: *mut Status) in (AT_FDCWD, path) => answer(buffer, status());
    fn lstat64(path: *const c_char, buffer: *mut Status) in (AT_FDCWD, path) => answer(buffer, status());
    fn fstatat(directory: c_int, path: *const c_char, buffer: *mut Status, flags: c_int) in (directory, path) =>
        answer(buffer, status());
    fn fstatat64(directory: c_int, path: *const c_char, buffer: *mut Status, flags: c_int) in (directory, path) =>
        answer(buffer, status());
    fn __xstat(version: c_int, path: *const c_char, buffer: *mut Status) in (AT_FDCWD, path) => answer(buffer, status());
    fn __xstat64(version: c_int, path: *const c_char, buffer: *mut Status) in (AT_FDCWD, path) => answer(buffer, status());
    fn __lxstat(version: c_int, path: *const c_char, buffer: *mut Status) in (AT_FDCWD, path) => answer(buffer, status());
    fn __lxstat64(version: c_int, path: *const c_char, buffer: *mut Status) in (AT_FDCWD, path) => answer(buffer, status());
    fn __fxstatat(version: c_int, directory: c_int, path: *const c_char, buffer: *mut Status, flags: c_int)
        in (directory, path) => answer(buffer, status());
    fn __fxstatat64(version: c_int, directory: c_int, path: *const c_char, buffer: *mut Status, flags: c_int)
        in (directory, path) => answer(buffer, status());
    fn statx(directory: c_int, path: *const c_char, flags: c_int, mask: c_uint, buffer: *mut Extended) in (directory, path) =>
        answer(buffer, extended_status());
    fn access(path: *const c_char, mode: c_int) in (AT_FDCWD, path) => may(mode);
    fn eaccess(path: *const c_char, mode: c_int) in (AT_FDCWD, path) => may(mode);
    fn euidaccess(path: *const c_char, mode: c_int) in (AT_FDCWD, path) => may(mode);
    fn faccessat(directory: c_int, path: *const c_char, mode: c_int, flags: c_int) in (directory, path) => may(mode);
}

/// Reading and writing is allowed, executing is not.
fn may(mode: c_int) -> c_int {
    if mode & libc::X_OK != 0 { crate::fail(libc::EACCES) } else { 0 }
}
