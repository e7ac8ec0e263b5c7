// SPDX-License-Identifier: MIT OR Apache-2.0
//! POSIX shared memory as XNU has it.
//!
//! An object is a memory file of Linux with its name; a name that is taken is a file in `/dev/shm`.

use std::ffi::CStr;

use libc::{c_char, c_int, c_void, off_t};

use crate::faults::{Deviation, is};
use crate::memory::page_size;
use crate::{errno, refuse};

/// Characters of a name.
const NAME_MAX: usize = 31;
/// How a memory file that is an object is called, and how the kernel shows that.
const PREFIX: &[u8] = b"xnu:";
const SHOWN: &[u8] = b"/memfd:xnu:";
const DELETED: &[u8] = b" (deleted)";

/// A terminated text of bounded length, for where no memory may be taken.
pub(crate) struct Text<const N: usize>([u8; N], usize);

impl<const N: usize> Text<N> {
    pub(crate) fn new(parts: &[&[u8]]) -> Text<N> {
        let mut text = Text([0; N], 0);
        for part in parts {
            let room = (N - 1 - text.1).min(part.len());
            text.0[text.1..text.1 + room].copy_from_slice(&part[..room]);
            text.1 += room;
        }
        text
    }

    pub(crate) fn number(mut number: u64) -> Text<N> {
        let (mut digits, mut start) = ([0u8; 20], 20);
        loop {
            start -= 1;
            digits[start] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                return Text::new(&[&digits[start..]]);
            }
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0[..self.1]
    }

    pub(crate) fn as_ptr(&self) -> *const c_char {
        self.0.as_ptr().cast()
    }
}

/// The name of the object behind a descriptor; none if it is something else.
pub(crate) fn name_of(fd: c_int) -> Option<Text<40>> {
    let number = u64::try_from(fd).ok()?;
    let path = Text::<40>::new(&[b"/proc/self/fd/", Text::<24>::number(number).bytes()]);
    let mut shown = [0u8; 128];
    // SAFETY: a terminated path, and a place of this size.
    let length = unsafe { libc::readlink(path.as_ptr(), shown.as_mut_ptr().cast(), shown.len()) };
    let shown = &shown[..usize::try_from(length).ok()?];
    Some(Text::new(&[shown.strip_prefix(SHOWN)?.strip_suffix(DELETED)?]))
}

/// Returns whether a descriptor is an object. Leaves the error number as it is.
pub(crate) fn is_object(fd: c_int) -> bool {
    let before = errno();
    let found = fd >= 0 && name_of(fd).is_some();
    refuse(before);
    found
}

fn taken(name: &[u8]) -> Text<96> {
    // SAFETY: asks for a number.
    let user = unsafe { libc::getuid() };
    let mut path = Text::new(&[b"/dev/shm/xnu.", Text::<24>::number(user.into()).bytes(), b".", name]);
    let end = path.1;
    path.0[b"/dev/shm/".len()..end].iter_mut().filter(|byte| **byte == b'/').for_each(|byte| *byte = b'.');
    path
}

/// Only what the room asks for: a new object, to read and write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shm_open(name: *const c_char, flags: c_int, mode: libc::mode_t) -> c_int {
    // SAFETY: the caller's terminated name.
    let name = unsafe { CStr::from_ptr(name) }.to_bytes();
    if name.len() > NAME_MAX - usize::from(is(Deviation::ShortNames)) {
        return refuse(libc::ENAMETOOLONG);
    }
    if flags != libc::O_RDWR | libc::O_CREAT | libc::O_EXCL || mode != 0o600 {
        eprintln!("xnu: shm_open with flags {flags:#x} is not simulated");
        std::process::abort();
    }
    let path = taken(name);
    let name = if is(Deviation::OneName) { b"/one" } else { name };
    // SAFETY: terminated texts that outlive the calls.
    unsafe {
        let reserved = libc::open(path.as_ptr(), libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC, 0o600);
        if reserved < 0 {
            return -1;
        }
        libc::close(reserved);
        let shown = Text::<40>::new(&[PREFIX, name]);
        libc::syscall(libc::SYS_memfd_create, shown.as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) as c_int
    }
}

/// See POSIX.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shm_unlink(name: *const c_char) -> c_int {
    // SAFETY: the caller's terminated name; a terminated path.
    unsafe { libc::unlink(taken(CStr::from_ptr(name).to_bytes()).as_ptr()) }
}

unsafe fn status(fd: c_int, place: *mut libc::stat) -> c_int {
    // SAFETY: the caller's place.
    let result = unsafe { libc::syscall(libc::SYS_fstat, fd, place) } as c_int;
    if result == 0 && is_object(fd) {
        // SAFETY: as above; it is filled.
        let status = unsafe { &mut *place };
        status.st_mode &= !libc::S_IFMT;
        (status.st_dev, status.st_ino) = (0, 0);
    }
    result
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fstat(fd: c_int, place: *mut libc::stat) -> c_int {
    // SAFETY: the caller's place.
    unsafe { status(fd, place) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fstat64(fd: c_int, place: *mut libc::stat) -> c_int {
    // SAFETY: the caller's place.
    unsafe { status(fd, place) }
}

fn size_of_object(fd: c_int) -> i64 {
    let mut status = std::mem::MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: a place for the answer.
    unsafe {
        libc::syscall(libc::SYS_fstat, fd, status.as_mut_ptr());
        status.assume_init().st_size
    }
}

fn truncate(fd: c_int, length: off_t) -> c_int {
    let set = |length: off_t| {
        // SAFETY: no memory is passed.
        unsafe { libc::syscall(libc::SYS_ftruncate, fd, length) as c_int }
    };
    if !is_object(fd) || is(Deviation::SizesAgain) {
        return set(length);
    }
    if size_of_object(fd) != 0 || length <= 0 {
        return refuse(libc::EINVAL);
    }
    let page = page_size() as off_t;
    match set((length + page - 1) / page * page) {
        // SAFETY: no memory is passed.
        0 => unsafe {
            let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
            libc::syscall(libc::SYS_fcntl, fd, libc::F_ADD_SEALS, seals) as c_int
        },
        failed => failed,
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn ftruncate(fd: c_int, length: off_t) -> c_int {
    truncate(fd, length)
}

#[unsafe(no_mangle)]
pub extern "C" fn ftruncate64(fd: c_int, length: off_t) -> c_int {
    truncate(fd, length)
}

/// Why an object cannot be mapped so; 0 if it can.
pub(crate) fn why_not_mapped(fd: c_int, length: usize, flags: c_int, offset: off_t) -> c_int {
    let size = size_of_object(fd);
    let end = offset.checked_add(length as off_t);
    let is_possible = size > 0 && flags & libc::MAP_SHARED != 0 && end.is_some_and(|end| end <= size);
    if is_possible { 0 } else { libc::EINVAL }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pread(fd: c_int, place: *mut c_void, length: usize, offset: off_t) -> isize {
    if is_object(fd) {
        return refuse(libc::ESPIPE) as isize;
    }
    // SAFETY: the caller's place.
    unsafe { libc::syscall(libc::SYS_pread64, fd, place, length, offset) as isize }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pread64(fd: c_int, place: *mut c_void, length: usize, offset: off_t) -> isize {
    // SAFETY: the caller's place.
    unsafe { pread(fd, place, length, offset) }
}

#[unsafe(no_mangle)]
pub extern "C" fn lseek(fd: c_int, offset: off_t, from: c_int) -> off_t {
    if is_object(fd) {
        return refuse(libc::ESPIPE).into();
    }
    // SAFETY: no memory is passed.
    unsafe { libc::syscall(libc::SYS_lseek, fd, offset, from) }
}

#[unsafe(no_mangle)]
pub extern "C" fn lseek64(fd: c_int, offset: off_t, from: c_int) -> off_t {
    lseek(fd, offset, from)
}

/// `fcntl` takes at most one more argument, which both processors pass as a function with three has it.
unsafe fn control(fd: c_int, command: c_int, argument: usize) -> c_int {
    const SET: [c_int; 2] = [libc::F_OFD_SETLK, libc::F_OFD_SETLKW];
    match command {
        libc::F_GET_SEALS | libc::F_ADD_SEALS => return refuse(libc::EINVAL),
        libc::F_OFD_GETLK | libc::F_GETLK | libc::F_SETLK | libc::F_SETLKW if is_object(fd) => {
            return refuse(libc::EBADF);
        }
        _ if SET.contains(&command) && is_object(fd) => return refuse(libc::EBADF),
        libc::F_OFD_SETLK if is(Deviation::NoLocks) => return refuse(libc::EAGAIN),
        _ => {}
    }
    let command = if is(Deviation::LocksOfProcesses) {
        match command {
            libc::F_OFD_SETLK => libc::F_SETLK,
            libc::F_OFD_GETLK => libc::F_GETLK,
            other => other,
        }
    } else {
        command
    };
    // SAFETY: the caller's argument.
    unsafe { libc::syscall(libc::SYS_fcntl, fd, command, argument) as c_int }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fcntl(fd: c_int, command: c_int, argument: usize) -> c_int {
    // SAFETY: the caller's argument.
    unsafe { control(fd, command, argument) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fcntl64(fd: c_int, command: c_int, argument: usize) -> c_int {
    // SAFETY: the caller's argument.
    unsafe { control(fd, command, argument) }
}
