//! The device node: which paths mean `/dev/ntsync`, and what opening it does.
//!
//! The real `open` goes first. Its result says whether the path could be read at all, so that a bad pointer is the
//! kernel's to refuse, and an open of any other file costs a look at the end of its path. Only then, if the path means
//! the device and the user does not want the kernel's, an arena is created and its descriptor returned instead.
//!
//! An open with `O_CREAT` or `O_PATH` is left to the kernel.

use crate::descriptors::{self, Known, What};
use crate::environment::{self, Device};
use crate::instances::{self, Unavailable};
use crate::threads::Record;
use crate::{actions, fail, log, next, threads};
use core::ffi::{CStr, c_char, c_int};
use ntux_platform::atomic::Word32;
use ntux_platform::keeping_errno;
use ntux_sync::{Arena, Capacity, Error};
use std::os::fd::{AsFd, AsRawFd, IntoRawFd, OwnedFd};

const DIRECTORY: &[u8] = b"/dev";
const NAME: &[u8] = b"ntsync";

/// An `open` of the program: the real one first, then ours if the path means the device.
///
/// # Safety
/// `path` is what `real` passes to the real function.
#[inline(always)]
pub(crate) unsafe fn open(directory: c_int, path: *const c_char, flags: c_int, real: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: this thread's own error number.
    let error_before = unsafe { *crate::errno() };
    let result = real();
    if flags & (libc::O_CREAT | libc::O_PATH) != 0 {
        return result;
    }
    // SAFETY: this thread's own error number.
    if result < 0 && unsafe { *crate::errno() } == libc::EFAULT {
        return result;
    }
    // SAFETY: the kernel could read the path, so it is a readable string.
    let path = unsafe { CStr::from_ptr(path) }.to_bytes();
    if !is_name(path) || !is_ours(result, directory, path) {
        return result;
    }
    replace(result, flags, error_before)
}

/// Whether a path may mean the device at all: quickly no for almost every path.
#[inline(always)]
pub(crate) fn is_name(path: &[u8]) -> bool {
    path.ends_with(NAME)
}

/// Whether this library would serve an open of this path if there is no node. The error number stays as it was.
#[cold]
pub(crate) fn would_serve(directory: c_int, path: &[u8]) -> bool {
    keeping_errno(|| environment::device() != Device::Kernel && means_device(directory, path))
}

/// Whether this library serves the file that was opened, or could not be. The error number stays as it was.
#[cold]
fn is_ours(result: c_int, directory: c_int, path: &[u8]) -> bool {
    keeping_errno(|| {
        let choice = environment::device();
        let ours = choice != Device::Kernel && means_device(directory, path);
        let usable = ours && choice == Device::Auto && result >= 0 && kernel_serves(result);
        if usable {
            log::opened(true);
        }
        ours && !usable
    })
}

/// Opens an instance in place of what the real function opened, if it did.
#[cold]
fn replace(result: c_int, flags: c_int, error_before: c_int) -> c_int {
    if result >= 0 {
        // SAFETY: the descriptor that the real function made for this very call.
        unsafe { next::close(result) };
    }
    let opened = if flags & libc::O_DIRECTORY != 0 { Err(libc::ENOTDIR) } else { new_instance(flags) };
    match opened {
        Ok(fd) => {
            // SAFETY: this thread's own error number.
            unsafe { *crate::errno() = error_before };
            fd
        }
        Err(error) => fail(error),
    }
}

/// Whether the kernel's driver works, found out once by creating an event: a node may open and still be unusable.
fn kernel_serves(device: c_int) -> bool {
    static SERVES: Word32 = Word32::new(0);
    const NO: u32 = 1;
    const YES: u32 = 2;
    if SERVES.load() == 0 {
        let mut arguments = [0u32; 2];
        let request = crate::ioctl::CREATE_EVENT.into();
        // SAFETY: the request reads two words.
        let event = unsafe { next::ioctl(device, request, arguments.as_mut_ptr().cast()) };
        if event >= 0 {
            // SAFETY: made just now.
            unsafe { next::close(event) };
        }
        SERVES.store(if event >= 0 { YES } else { NO });
    }
    SERVES.load() == YES
}

/// Whether a path that ends with the name means the device, however it is written.
pub(crate) fn means_device(directory: c_int, path: &[u8]) -> bool {
    let mut components = path.split(|byte| *byte == b'/').filter(|part| !part.is_empty() && *part != b".");
    let first = components.next();
    let rest = (components.next(), components.next());
    match (path.first() == Some(&b'/'), first, rest) {
        (true, Some(b"dev"), (Some(NAME), None)) => true,
        (false, Some(NAME), (None, _)) => is_dev(directory),
        _ => false,
    }
}

/// Whether a directory descriptor, or `AT_FDCWD`, stands for `/dev`.
fn is_dev(directory: c_int) -> bool {
    let mut found = [0u8; 8];
    let mut path = [0u8; 32];
    let link: &CStr = match directory {
        libc::AT_FDCWD => c"/proc/self/cwd",
        fd if fd >= 0 => {
            use std::io::Write;
            let _ = write!(&mut path[..31], "/proc/self/fd/{fd}");
            CStr::from_bytes_until_nul(&path).unwrap_or_default()
        }
        _ => return false,
    };
    // SAFETY: a string that ends with a zero, and a buffer of the given length.
    let length = unsafe { libc::readlink(link.as_ptr(), found.as_mut_ptr().cast(), found.len()) };
    length == DIRECTORY.len() as isize && found.starts_with(DIRECTORY)
}

/// Creates an instance and returns its descriptor, or an error number.
fn new_instance(flags: c_int) -> Result<c_int, c_int> {
    if !actions::active() {
        actions::activate();
    }
    let record = threads::enter().ok_or(libc::ENOMEM)?;
    let result = without_cancellation(|| create(record, flags));
    let _ = threads::leave(record);
    result
}

fn create(record: &Record, flags: c_int) -> Result<c_int, c_int> {
    instances::collect(record);
    let fd = Arena::create_file(Capacity::default()).map_err(|error| error_number(&error))?;
    let arena = Arena::map_for_descriptors(fd.as_fd()).map_err(|error| error_number(&error))?;
    set_close_on_exec(&fd, flags & libc::O_CLOEXEC != 0);
    let tag = instances::find_or_add(arena.file(), || Ok(arena)).map_err(|why| unavailable(&why))?;
    let (_, seen) = descriptors::look_up(fd.as_raw_fd());
    descriptors::remember(fd.as_raw_fd(), seen, Known { tag, what: What::Device });
    log::opened(false);
    Ok(fd.into_raw_fd())
}

fn set_close_on_exec(fd: &OwnedFd, wanted: bool) {
    let flags = if wanted { libc::FD_CLOEXEC } else { 0 };
    // SAFETY: a descriptor that is open.
    unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFD, flags) };
}

/// Before the device was first used: whether this descriptor is ours after all, received or inherited from another
/// process. If so, from now on handlers are wrapped.
#[cold]
pub(crate) fn meet(fd: c_int) -> bool {
    let ours = keeping_errno(|| environment::device() != Device::Kernel && descriptors::identify(fd).is_ok());
    if ours {
        actions::activate();
    }
    ours
}

/// The error number of a refused operation.
pub(crate) fn error_number(error: &Error) -> c_int {
    error.errno()
}

/// The error number when this process can take no further instance.
pub(crate) fn unavailable(why: &Unavailable) -> c_int {
    match why {
        Unavailable::TableFull => libc::ENOMEM,
        Unavailable::Core(error) => error_number(error),
    }
}

/// Runs `work` so that a cancelled thread does not end in one of the C library's functions that it calls.
pub(crate) fn without_cancellation<R>(work: impl FnOnce() -> R) -> R {
    const DISABLE: c_int = 1;
    unsafe extern "C" {
        fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
    }
    let mut old = 0;
    // SAFETY: valid states, and a place for the old one.
    unsafe { pthread_setcancelstate(DISABLE, &mut old) };
    let result = work();
    // SAFETY: the state from before.
    unsafe { pthread_setcancelstate(old, core::ptr::null_mut()) };
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_mean_the_device() {
        for path in ["/dev/ntsync", "//dev/ntsync", "/dev//ntsync", "/./dev/./ntsync"] {
            assert!(means_device(libc::AT_FDCWD, path.as_bytes()), "{path}");
        }
        for path in
            ["ntsync", "/ntsync", "/dev/ntsync/", "/dev/xntsync", "/dev/a/ntsync", "/dev/ntsync/ntsync", "dev/ntsync"]
        {
            let ends = path.as_bytes().ends_with(NAME);
            assert!(!(ends && means_device(libc::AT_FDCWD, path.as_bytes())), "{path}");
        }
        let dev = std::fs::File::open("/dev").unwrap();
        assert!(means_device(dev.as_raw_fd(), b"ntsync"));
        assert!(means_device(dev.as_raw_fd(), b"./ntsync"));
        let proc = std::fs::File::open("/proc").unwrap();
        assert!(!means_device(proc.as_raw_fd(), b"ntsync"));
    }
}
