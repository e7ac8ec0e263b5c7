//! The device node: which paths mean `/dev/ntsync`, and what opening it does.
//!
//! The real `open` runs first. Its result says whether the path could be read at all, so the kernel refuses a bad
//! pointer, and an open of any other file costs only a check of the end of its path. Only then, if the path means the
//! device and the user does not want the kernel's, this creates an arena and returns its descriptor instead.
//!
//! A path means the device if it ends with the name and leads there: directly, relative to `/dev`, through `..`, or
//! through symbolic links to `/dev` or to the device. A link to the device under another name is left to the kernel,
//! which finds nothing behind it: following it would cost a system call for every failing `open`.
//!
//! An open with `O_CREAT` or `O_PATH` is left to the kernel.

pub(crate) mod ioctl;
#[cfg(not(target_env = "musl"))]
pub(crate) mod loading;
pub(crate) mod multiple;
pub(crate) mod node;
mod wine;

use crate::c_library::{fail, next};
use crate::descriptors::{self, Known, What};
use crate::instances::{self, Unavailable, traced};
use crate::report::environment::{self, Device};
use crate::report::log;
use crate::thread::{self, Record, actions};
use core::ffi::{CStr, c_char, c_int};
use ntux_platform::atomic::Word32;
use ntux_platform::interposition::own_stack::on_own_stack;
use ntux_platform::keeping_errno;
use ntux_sync::{Arena, Capacity, Error};
use std::os::fd::{AsFd, AsRawFd, IntoRawFd, OwnedFd};

const DIRECTORY: &CStr = c"/dev";
const NAME: &[u8] = b"ntsync";

/// An `open` of the program: the real one first, then ours if the path means the device.
///
/// # Safety
/// `path` is what `real` passes to the real function.
#[inline(always)]
pub(crate) unsafe fn open(directory: c_int, path: *const c_char, flags: c_int, real: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: this thread's own error number.
    let error_before = unsafe { *crate::c_library::errno() };
    let result = real();
    if flags & (libc::O_CREAT | libc::O_PATH) != 0 || !has_looked(result) {
        return result;
    }
    // SAFETY: the kernel has looked the path up, so it is a readable string.
    let path = unsafe { CStr::from_ptr(path) }.to_bytes();
    if !is_name(path) || !is_ours(result, directory, path, flags & libc::O_NOFOLLOW == 0) {
        return result;
    }
    replace(result, flags, error_before)
}

/// Whether the kernel opened the file, or found nothing that it could open. Any other error is the kernel's to report.
#[inline(always)]
fn has_looked(result: c_int) -> bool {
    // SAFETY: this thread's own error number.
    let error = || unsafe { *crate::c_library::errno() };
    result >= 0 || matches!(error(), libc::ENOENT | libc::ENXIO | libc::ENODEV | libc::EACCES | libc::EPERM)
}

/// `struct open_how`.
#[repr(C)]
pub(crate) struct How {
    flags: u64,
    mode: u64,
    resolve: u64,
}

/// As [`open`], for an `openat2` of the program.
///
/// # Safety
/// `path` and `how` are what `real` passes to the real function.
pub(crate) unsafe fn open_how(
    directory: c_int,
    path: *const c_char,
    how: *const How,
    real: impl FnOnce() -> c_int,
) -> c_int {
    const NO_SYMLINKS: u64 = 4;
    const IN_ROOT: u64 = 16;
    // SAFETY: this thread's own error number.
    let error_before = unsafe { *crate::c_library::errno() };
    let result = real();
    if !has_looked(result) {
        return result;
    }
    // SAFETY: the kernel has read both and looked the path up.
    let (how, path) = unsafe { (&*how, CStr::from_ptr(path).to_bytes()) };
    let flags = how.flags as c_int;
    let left_alone = flags & (libc::O_CREAT | libc::O_PATH) != 0 || how.resolve & IN_ROOT != 0;
    let follow = flags & libc::O_NOFOLLOW == 0 && how.resolve & NO_SYMLINKS == 0;
    if left_alone || !is_name(path) || !is_ours(result, directory, path, follow) {
        return result;
    }
    replace(result, flags, error_before)
}

/// Whether a path can mean the device at all. Quickly false for almost every path.
#[inline(always)]
pub(crate) fn is_name(path: &[u8]) -> bool {
    path.ends_with(NAME)
}

/// Whether this library would serve an open of this path if there is no node. Preserves the error number.
#[cold]
pub(crate) fn would_serve(directory: c_int, path: &[u8]) -> bool {
    let serves =
        || environment::device() != Device::Kernel && means_device(directory, path, true) && !wine::must_not_serve();
    on_own_stack(|| keeping_errno(serves)).unwrap_or(false)
}

/// Whether a descriptor that `open` returned is an instance of this library's. Preserves the error number.
pub(crate) fn is_instance(fd: c_int) -> bool {
    keeping_errno(|| descriptors::identify(fd).is_ok())
}

/// Whether this library serves the file that was opened, or could not be opened. Preserves the error number.
#[cold]
fn is_ours(result: c_int, directory: c_int, path: &[u8], follow: bool) -> bool {
    let is_ours = || {
        let choice = environment::device();
        let ours = choice != Device::Kernel && means_device(directory, path, follow);
        let usable = ours && choice == Device::Auto && result >= 0 && kernel_serves(result);
        if usable {
            log::opened(true);
        }
        ours && !usable && !wine::must_not_serve()
    };
    on_own_stack(|| keeping_errno(is_ours)).unwrap_or(false)
}

/// Opens an instance in place of the file that the real function opened, if it did.
#[cold]
fn replace(result: c_int, flags: c_int, error_before: c_int) -> c_int {
    if result >= 0 {
        // SAFETY: the descriptor that the real function made for this very call.
        unsafe { next::close(result) };
    }
    let open = || {
        let opened = if flags & libc::O_DIRECTORY != 0 { Err(libc::ENOTDIR) } else { new_instance(flags) };
        opened.inspect_err(|error| explain(*error))
    };
    match on_own_stack(open).unwrap_or(Err(libc::EIO)) {
        Ok(fd) => {
            // SAFETY: this thread's own error number.
            unsafe { *crate::c_library::errno() = error_before };
            fd
        }
        Err(error) => fail(error),
    }
}

/// Says once why there is no device, unless a driver could fail for the same reason.
#[cold]
fn explain(error: c_int) {
    static SAID: Word32 = Word32::new(0);
    let drivers_own = matches!(error, libc::EMFILE | libc::ENFILE | libc::ENOTDIR | libc::EINTR);
    if drivers_own || SAID.compare_exchange(0, 1).is_err() {
        return;
    }
    let reason = match error {
        libc::ENOENT => "/proc/thread-self/fd cannot be opened; is /proc mounted?",
        libc::ENOSYS => "the processor has no exchange of 16 bytes, or the kernel or a filter no memfd_create",
        libc::EPERM | libc::EACCES => {
            "a filter or a security module refuses memfd_create, or to open or lock what it made"
        }
        libc::ENOMEM => {
            "there is no memory for it, or a limit on addresses (ulimit -v) or locked memory (ulimit -l) is too low"
        }
        libc::EFBIG => "the limit on the size of files (ulimit -f, LimitFSIZE=) is too low for its memory",
        _ => "the kernel refuses",
    };
    let process = std::process::id();
    log::say(format_args!(
        "ntux: process {process} gets no /dev/ntsync: {reason} (error {error}); `ntux doctor`, started in the same place, says more\n"
    ));
}

/// Says once that the program has as many descriptors as it may have, where an object would take one more: more objects than a
/// plain program has files. The caller sets the error number afterwards.
#[cold]
pub(crate) fn explain_limit() {
    static SAID: Word32 = Word32::new(0);
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a place for the answer.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } == 0;
    if !known || instances::is_full() || SAID.compare_exchange(0, 1).is_err() {
        return;
    }
    let process = std::process::id();
    let (now, most) = (limit.rlim_cur, limit.rlim_max);
    let what =
        format_args!("process {process} has no descriptor left for an object of /dev/ntsync: its limit is {now}");
    // An `ioctl` is no point where the thread may be cancelled.
    without_cancellation(|| match now < most {
        true => log::say(format_args!("ntux: {what} (ulimit -n); `ntux run --descriptors max` allows {most}\n")),
        false => log::say(format_args!("ntux: {what}, the hard limit (ulimit -Hn)\n")),
    });
}

/// Says once that the process can make no object any more, because it does not see /proc: it has changed its root directory, or somebody
/// has unmounted /proc. An object's descriptor is opened there. To keep a descriptor of /proc instead would let the process out of
/// its root directory. The caller sets the error number afterwards.
#[cold]
pub(crate) fn explain_proc() {
    static SAID: Word32 = Word32::new(0);
    if SAID.compare_exchange(0, 1).is_err() {
        return;
    }
    let process = std::process::id();
    without_cancellation(|| {
        log::say(format_args!(
            "ntux: process {process} can make no object of /dev/ntsync: it does not see /proc any more (chroot, umount); mount /proc in its \
             root directory, or make the objects before. Those that it has work on\n"
        ));
    });
}

/// Says once that the process uses as many devices as it can.
#[cold]
fn explain_full() {
    static SAID: Word32 = Word32::new(0);
    if SAID.compare_exchange(0, 1).is_err() {
        return;
    }
    let (process, most) = (std::process::id(), instances::INSTANCES);
    without_cancellation(|| {
        log::say(format_args!(
            "ntux: process {process} gets no further /dev/ntsync: it has {most} open, the most that ntux serves one process; close some, or \
             make its objects through fewer\n"
        ));
    });
}

/// Whether the kernel's driver works. The first call creates an event, because a node may open and still be unusable.
fn kernel_serves(device: c_int) -> bool {
    static SERVES: Word32 = Word32::new(0);
    const NO: u32 = 1;
    const YES: u32 = 2;
    if SERVES.load() == 0 {
        let mut arguments = [0u32; 2];
        let request = crate::device::ioctl::CREATE_EVENT.into();
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

/// Whether a path that ends with the name means the device, however it is written. `follow` says whether the path may
/// be a symbolic link to the device.
pub(crate) fn means_device(directory: c_int, path: &[u8], follow: bool) -> bool {
    let mut components = path.split(|byte| *byte == b'/').filter(|part| !part.is_empty() && *part != b".");
    let [first, second, third] = core::array::from_fn(|_| components.next());
    let written_out = path.starts_with(b"/") && (first, second, third) == (Some(b"dev"), Some(NAME), None);
    written_out || leads_to_device(directory, path, follow)
}

/// Whether a path that is not plain leads to the device: the kernel resolves its directory, and symbolic links at its
/// end are followed one by one.
#[cold]
#[inline(never)]
fn leads_to_device(directory: c_int, path: &[u8], follow: bool) -> bool {
    const LINKS_MAX: usize = 40;
    let mut room = [[0u8; libc::PATH_MAX as usize]; 2];
    let [place, link] = &mut room;
    let mut length = path.len();
    if length >= place.len() {
        return false;
    }
    place[..length].copy_from_slice(path);
    for _ in 0..=LINKS_MAX {
        let parent = place[..length].iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
        if place[parent..length] == *NAME && is_dev(directory, &mut place[..=parent]) {
            return true;
        }
        place[length] = 0;
        let target = if follow { read_link(directory, &place[..=length], link) } else { None };
        let Some(target) = target else { return false };
        let keep = if target.starts_with(b"/") { 0 } else { parent };
        if keep + target.len() >= place.len() {
            return false;
        }
        length = keep + target.len();
        place[keep..length].copy_from_slice(target);
    }
    false
}

/// Whether a directory is `/dev`. Its path is all but the last byte, and empty for the directory of the descriptor
/// itself. The last byte is restored afterwards.
fn is_dev(directory: c_int, parent: &mut [u8]) -> bool {
    let Some((last, path)) = parent.split_last_mut() else { return false };
    let (after, is_empty) = (core::mem::replace(last, 0), path.is_empty());
    let there = status(directory, if is_empty { c".".as_ptr() } else { parent.as_ptr().cast() });
    if let Some(last) = parent.last_mut() {
        *last = after;
    }
    let file = |status: libc::stat| (status.st_dev, status.st_ino);
    there.is_some() && there.map(file) == status(libc::AT_FDCWD, DIRECTORY.as_ptr()).map(file)
}

/// The kernel's `stat` of a path, which ends with a zero.
pub(crate) fn status(directory: c_int, path: *const c_char) -> Option<libc::stat> {
    let mut status = core::mem::MaybeUninit::<libc::stat>::uninit();
    let [path, room] = [path as usize, status.as_mut_ptr() as usize];
    // SAFETY: a string that ends with a zero, and a place for the answer, which is whole when the call returns 0.
    unsafe {
        let result = next::syscall(libc::SYS_newfstatat, directory as usize, path, room, 0, 0, 0);
        (result == 0).then(|| status.assume_init())
    }
}

/// Where a symbolic link leads, whose path ends with a zero.
fn read_link<'a>(directory: c_int, path: &[u8], room: &'a mut [u8]) -> Option<&'a [u8]> {
    // SAFETY: a string that ends with a zero, and room of the given length.
    let length = unsafe { libc::readlinkat(directory, path.as_ptr().cast(), room.as_mut_ptr().cast(), room.len()) };
    usize::try_from(length).ok().map(|length| &room[..length])
}

/// Creates an instance and returns its descriptor, or an error number.
fn new_instance(flags: c_int) -> Result<c_int, c_int> {
    if !actions::active() {
        begin_use();
    }
    let record = thread::enter().ok_or(libc::ENOMEM)?;
    let result = without_cancellation(|| create(record, flags));
    let _ = thread::leave(record);
    result
}

fn create(record: &Record, flags: c_int) -> Result<c_int, c_int> {
    instances::collect(record);
    let fd = Arena::create_file(Capacity::default()).map_err(|error| error_number(&error))?;
    let arena = Arena::map_for_descriptors(fd.as_fd()).map_err(|error| error_number(&error))?;
    match arena.can_make_descriptors(fd.as_fd()).map_err(|error| error_number(&error)) {
        // An object may find a free descriptor later.
        Ok(()) | Err(libc::EMFILE | libc::ENFILE) => {}
        Err(error) => return Err(error),
    }
    traced::made(&arena, fd.as_fd());
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

/// Called before the device was first used: whether this descriptor is ours after all, received or inherited from
/// another process. If so, handlers are wrapped from now on.
#[cold]
pub(crate) fn meet(fd: c_int) -> bool {
    let ours = keeping_errno(|| environment::device() != Device::Kernel && descriptors::identify(fd).is_ok());
    if ours {
        begin_use();
    }
    ours
}

/// This process uses the device from now on.
#[cold]
fn begin_use() {
    actions::activate();
    #[cfg(not(target_env = "musl"))]
    crate::device::loading::device_is_used();
}

/// Whether a descriptor is one of this library's, which is in use from now on if it is.
pub(crate) fn uses(fd: c_int) -> bool {
    if actions::active() { is_instance(fd) } else { meet(fd) }
}

/// The error number of a refused operation.
pub(crate) fn error_number(error: &Error) -> c_int {
    error.errno()
}

/// The error number if this process can take no further instance. A process that has as many as ntux serves finds no further
/// number for one, as where it has too many descriptors; a driver would have gone on, so this is said.
pub(crate) fn unavailable(why: &Unavailable) -> c_int {
    match why {
        Unavailable::TableFull => {
            explain_full();
            libc::EMFILE
        }
        Unavailable::Core(error) => error_number(error),
    }
}

/// Ends the thread if it was cancelled.
pub(crate) fn end_if_cancelled() {
    unsafe extern "C-unwind" {
        fn pthread_testcancel();
    }
    // SAFETY: has no precondition; no frame above has anything to clean up.
    unsafe { pthread_testcancel() };
}

/// Runs `work` with cancellation disabled, so that a cancelled thread does not end inside a C library function.
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

    /// In the kernel's own directory of devices, where this process need not be able to create anything.
    #[test]
    fn paths_that_mean_the_device() {
        let means = |path: &str| is_name(path.as_bytes()) && means_device(libc::AT_FDCWD, path.as_bytes(), true);
        for path in ["/dev/ntsync", "//dev/ntsync", "/dev//ntsync", "/./dev/./ntsync", "/dev/../dev/ntsync"] {
            assert!(means(path), "{path}");
        }
        for path in ["/proc/self/root/dev/ntsync", "/proc/self/../../dev/./ntsync"] {
            assert!(means(path), "{path}");
        }
        for path in ["ntsync", "/ntsync", "/dev/ntsync/", "/dev/xntsync", "/dev/a/ntsync", "/dev/ntsync/ntsync"] {
            assert!(!means(path), "{path}");
        }
        let in_directory = |directory: &str, path: &str| {
            let directory = std::fs::File::open(directory).unwrap();
            means_device(directory.as_raw_fd(), path.as_bytes(), true)
        };
        assert!(
            in_directory("/dev", "ntsync") && in_directory("/dev", "./ntsync") && in_directory("/dev", "/dev/ntsync")
        );
        assert!(in_directory("/", "dev/ntsync") && in_directory("/proc", "../dev/ntsync"));
        assert!(!in_directory("/proc", "ntsync") && !in_directory("/dev", "dev/ntsync"));
    }

    #[test]
    fn links_are_followed_where_that_is_wanted() {
        let room = std::env::temp_dir().join(format!("ntux-links-{}", std::process::id()));
        std::fs::create_dir(&room).unwrap();
        let link = |target: &str, name: &str| std::os::unix::fs::symlink(target, room.join(name)).unwrap();
        link("/dev", "dev");
        link("/dev/ntsync", "ntsync");
        link("ntsync", "my-ntsync");
        link("dev/../dev/ntsync", "other-ntsync");
        link("round-ntsync", "round-ntsync");
        link("/dev/ntsync/", "slash-ntsync");
        link("/dev/null", "null-ntsync");
        let means =
            |name: &str, follow| means_device(libc::AT_FDCWD, room.join(name).to_str().unwrap().as_bytes(), follow);
        for name in ["dev/ntsync", "ntsync", "my-ntsync", "other-ntsync"] {
            assert!(means(name, true), "{name}");
            assert_eq!(means(name, false), name == "dev/ntsync", "{name}");
        }
        for name in ["round-ntsync", "slash-ntsync", "null-ntsync", "no-ntsync", "dev/x-ntsync"] {
            assert!(!means(name, true), "{name}");
        }
        std::fs::remove_dir_all(&room).unwrap();
    }
}
